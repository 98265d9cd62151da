// Io threads: the sockets of a Net served by threads of their own, each with a share
// of the connections. Nothing else of net's interface changes: what is reported is reported
// on the thread that runs the Net, in the same order for each connection.
#pragma once

#include "net/net.h"

enum { NET_IO_THREADS_MAX = 64 };

/// Has `count` threads serve the connections to what net_listen listens on; 0 changes
/// nothing. Once, before net_listen, of a Net that is not simulated. Returns 0, or an error
/// when a thread cannot be had; then the Net is only good for net_free.
int net_serve(Net *net, uint32_t count);
