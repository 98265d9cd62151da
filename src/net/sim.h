// A Net without sockets, clock or entropy: connections are pairs of buffers, the caller sets
// the time, and randomness comes from a seed. Everything above the transport is the real thing,
// and an iteration has the order of the loop's. The same calls give the same bytes.
//
// The functions here are the other side of such a Net: its clients and its clock. Ids of clients
// stay valid until net_free, so that a test can read what the server wrote before it closed the
// connection. No callback of NetEvents may call them.
#pragma once

#include "net/net.h"

typedef uint32_t SimId;  // 0: none

enum {
  SIM_START_MS = 1000000,        // net_now_ms at the start
  SIM_WINDOW_BYTES = 256 << 10,  // see net_sim_window
};

/// The state of the server's side of a connection.
typedef enum SimEnding { SIM_OPEN, SIM_ENDED, SIM_RESET } SimEnding;

/// Makes one, as net_new does. All functions of net.h work but those of the loop and of
/// listening.
Net *net_new_simulated(const NetLimits *limits, const NetEvents *events, void *data,
                       uint64_t seed);

/// Connects a client, which the server accepts in the next iteration. Returns 0 when there are
/// too many.
SimId net_sim_connect(Net *net, Framing framing, const char *address);

bool net_sim_is_client(const Net *net, SimId id);

/// Sends bytes of the client; ignored once it has shut down or reset the connection.
void net_sim_write(Net *net, SimId id, const void *bytes, size_t size);

/// Returns the server's bytes that the client has not read, valid until the next call of this
/// Net.
const uint8_t *net_sim_peek(const Net *net, SimId id, size_t *size);

/// Reads what net_sim_peek returned. Returns the state behind it.
SimEnding net_sim_take(Net *net, SimId id);

/// Ends the client's stream (its FIN), or the whole connection at once (its RST).
void net_sim_shutdown(Net *net, SimId id);
void net_sim_reset(Net *net, SimId id);

/// Sets the unread bytes beyond which the server's writes would block.
void net_sim_window(Net *net, SimId id, size_t bytes);

/// Has the next iteration take the input of these clients first, in this order, instead of in
/// that in which it was sent.
void net_sim_order(Net *net, const SimId *ids, size_t count);

/// Sets the clock to `now_ms`, unless that has passed, and iterates until nothing is left to do
/// at that time. Returns false when that does not end.
bool net_sim_iterate(Net *net, uint64_t now_ms);

/// Returns when there is something to do: now, when the next timer is due, or UINT64_MAX.
uint64_t net_sim_due(const Net *net);
