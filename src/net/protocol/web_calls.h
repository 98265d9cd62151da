// What the rest of net asks of the web: HTTP and WebSockets.
#pragma once

#include "base/buf.h"
#include "net/internal.h"
#include "net/protocol.h"

extern const Protocol SNIFF, HTTP, WEBSOCKET;

// sniff.c
/// Puts TLS around the transport of a conn whose first bytes are these; see tls_wrap.
void web_begin_tls(Conn *conn, const char *address, uint64_t due_ms,
                   const uint8_t *bytes, size_t size);
/// What net keeps for the web, made when it is first asked for.
Web *web_of(Net *net);
void web_free(Net *net);
