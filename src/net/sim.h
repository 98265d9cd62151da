// A Net without sockets, clock or entropy: connections are pairs of buffers, time is
// what the caller says, and randomness comes from a seed. Everything above the transport
// is the real thing, and an iteration does things in the order in which the loop does them.
// The same calls give the same bytes.
//
// The functions here are the other side of such a Net: its clients and its clock. The
// clients are named by ids of their own, which stay good until net_free: what was
// written to a connection can be read when the server has closed it. None of them is for
// use from within NetEvents.
#pragma once

#include "net/net.h"

typedef uint32_t SimId;  // 0: none

enum {
  SIM_START_MS = 1000000,        // what net_now_ms begins with
  SIM_WINDOW_BYTES = 256 << 10,  // see net_sim_window
};

/// How the server's side of a connection has ended.
typedef enum SimEnding { SIM_OPEN, SIM_ENDED, SIM_RESET } SimEnding;

/// As net_new. net_free, net_stop and all that names no loop work as ever; net_listen
/// and net_run do not.
Net *net_new_simulated(const NetLimits *limits, const NetEvents *events, void *data,
                       uint64_t seed);

/// A client connects; the server learns of it in the next iteration. 0 when there are too
/// many.
SimId net_sim_connect(Net *net, Framing framing, const char *address);

bool net_sim_is_client(const Net *net, SimId id);

/// The client sends. Ignored once it has shut down or reset the connection.
void net_sim_write(Net *net, SimId id, const void *bytes, size_t size);

/// What the server has written that was not read yet. Valid until the next call that
/// takes this Net.
const uint8_t *net_sim_peek(const Net *net, SimId id, size_t *size);

/// The client has read what net_sim_peek gave. Returns how it ended after that.
SimEnding net_sim_take(Net *net, SimId id);

/// The client sends nothing more (its FIN), or is gone at once (its RST).
void net_sim_shutdown(Net *net, SimId id);
void net_sim_reset(Net *net, SimId id);

/// How many bytes may be on their way to the client, unread, before the server's writes
/// would block.
void net_sim_window(Net *net, SimId id, size_t bytes);

/// The next iteration takes the input of these clients first, in this order; else it goes by
/// when it was sent.
void net_sim_order(Net *net, const SimId *ids, size_t count);

/// Sets the clock to `now_ms`, unless that has passed, and iterates until nothing is left
/// to do at that time. False when there is no end to it.
bool net_sim_iterate(Net *net, uint64_t now_ms);

/// When there is something to do: now, or when the next timer is due; UINT64_MAX when
/// there is none.
uint64_t net_sim_due(const Net *net);
