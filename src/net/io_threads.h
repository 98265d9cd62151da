// Io threads serve the sockets of a Net, each a share of the connections. Nothing else of net's
// interface changes: callbacks run on the thread that runs the Net, in the same order for each
// connection.
#pragma once

#include "net/net.h"

enum { NET_IO_THREADS_MAX = 64 };

/// Starts `count` threads, which serve all connections that net_listen accepts; 0 changes nothing.
/// Once, before net_listen, for a Net that is not simulated. Returns 0, or an error when a thread
/// cannot be had; then the Net is only good for net_free.
int net_serve(Net *net, uint32_t count);
