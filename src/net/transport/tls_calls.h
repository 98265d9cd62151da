// What the rest of net asks of TLS.
#pragma once

#include "net/internal.h"
#include "net/transport.h"

// tls.c
/// Returns a transport that puts TLS around `below`, which has read nothing yet, and owns it;
/// its user is still to be set. NULL, which is logged, without a certificate. `address` is of
/// the other side, in ADDRESS_SIZE bytes; `due_ms` is the deadline of the handshake,
/// monotonic, 0 for none.
Transport *tls_wrap(Net *net, Transport *below, const char *address, uint64_t due_ms);
