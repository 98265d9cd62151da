// What the rest of net asks of TLS.
#pragma once

#include "net/internal.h"
#include "net/transport.h"
#include "wire/reader.h"

enum { TLS_FIRST_BYTE = 0x16 };  // of a record of its handshake

// tls.c
/// Returns a transport that puts TLS around `below`, which has read nothing yet, and owns it;
/// its user is still to be set. NULL, which is logged, without a certificate. `address` is of
/// the other side, in ADDRESS_SIZE bytes; `due_ms` is the deadline of the handshake,
/// monotonic, 0 for none.
Transport *tls_wrap(Net *net, Transport *below, const char *address, uint64_t due_ms);
// tls_server.c
/// Returns whether the certificate in use is for this name.
bool tls_has_name(const Net *net, Text name);
