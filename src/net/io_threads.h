// Io threads serve the sockets of a Net; each thread has a share of the connections.
// The rest of net's interface stays the same: callbacks run on the thread that runs the
// Net, in the same order for each connection.
#pragma once

#include "net/net.h"

enum { NET_IO_THREADS_MAX = 64 };

/// Starts `count` threads, which serve all connections that net_listen accepts; 0
/// changes nothing. Call it once, before net_listen, for a Net that is not simulated.
/// Returns 0, or an error if a thread cannot be started; the only valid call is
/// net_free then.
int net_serve(Net *net, uint32_t count);
