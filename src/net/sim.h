// A Net without sockets, clock or entropy. Connections are pairs of buffers, the caller
// sets the time, and randomness comes from a seed. All code above the transport is the
// same as in the server, and an iteration has the same order. The same calls give the
// same bytes.
//
// The functions here control the clients and the clock of such a Net. Client ids stay
// valid until net_free, so that a test can read what the server wrote before it closed
// the connection. NetEvents callbacks must not call these functions.
#pragma once

#include "net/net.h"

typedef uint32_t SimId;  // id of a client; 0: none

enum {
  SIM_START_MS = 1000000,        // net_now_ms at the start
  SIM_WINDOW_BYTES = 256 << 10,  // default of net_sim_window
};

/// The state of the server's side of a connection.
typedef enum SimEnding { SIM_OPEN, SIM_ENDED, SIM_RESET } SimEnding;

/// Makes a simulated Net; the first three arguments are as for net_new. All functions
/// of net.h work except those for the loop and for listening.
Net *net_new_simulated(const NetLimits *limits, const NetEvents *events, void *data,
                       uint64_t seed);

/// Connects a client, which the server accepts in the next iteration. Returns 0 if too
/// many clients exist.
SimId net_sim_connect(Net *net, Framing framing, const char *address);

/// Sets the clock of a new Net, for a server that starts later than another one.
void net_sim_set_clock(Net *net, uint64_t now_ms);

bool net_sim_is_client(const Net *net, SimId id);

/// Sends bytes from the client. Ignored after the client has shut down or reset the
/// connection.
void net_sim_write(Net *net, SimId id, const void *bytes, size_t size);

/// Returns the server's bytes that the client has not read. They are valid until the
/// next call for this Net.
const uint8_t *net_sim_peek(const Net *net, SimId id, size_t *size);

/// Removes the bytes that net_sim_peek returned. Returns the state of the server's side
/// after them.
SimEnding net_sim_take(Net *net, SimId id);

/// End the client's stream (its FIN), or the whole connection at once (its RST).
void net_sim_shutdown(Net *net, SimId id);
void net_sim_reset(Net *net, SimId id);

/// Sets the number of unread bytes beyond which the server's writes would block.
void net_sim_window(Net *net, SimId id, size_t bytes);

/// Makes the next iteration read the input of these clients first, in this order.
/// Without this call, the server reads clients in the order in which they have sent.
void net_sim_order(Net *net, const SimId *ids, size_t count);

/// Sets the clock to `now_ms`, unless that time has passed, and iterates until nothing
/// is left to do at that time. Returns false if work is left after very many
/// iterations.
bool net_sim_iterate(Net *net, uint64_t now_ms);

/// Returns the time of the next work: now, the time of the next timer, or UINT64_MAX.
uint64_t net_sim_due(const Net *net);
