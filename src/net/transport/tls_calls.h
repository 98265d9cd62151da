// Functions of TLS that the rest of net calls.
#pragma once

#include "net/internal.h"
#include "net/transport.h"

// tls.c
/// Makes a transport that puts TLS around `below` and owns it. `below` must not have
/// read anything. The caller sets the new transport's user. If the Net has no
/// certificate, logs that and returns NULL. `address`: address of the other side, of
/// ADDRESS_SIZE bytes. `due_ms`: monotonic deadline of the handshake; 0: none.
Transport *tls_wrap(Net *net, Transport *below, const char *address, uint64_t due_ms);
