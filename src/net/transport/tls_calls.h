// The calls of the rest of net for TLS.
#pragma once

#include "net/internal.h"
#include "net/transport.h"

// tls.c
/// Makes a transport that puts TLS around `below`, which has read nothing yet, and owns it; the
/// caller sets its user. Logs, and returns NULL, without a certificate. `address` has ADDRESS_SIZE
/// bytes, of the other side; `due_ms` is the deadline of the handshake, monotonic, 0 for none.
Transport *tls_wrap(Net *net, Transport *below, const char *address, uint64_t due_ms);
