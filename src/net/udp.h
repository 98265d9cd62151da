// UDP: datagrams beside the stream of a connection (attached), or instead of it
// (alone). The contract is docs/protocol.md, section 16. wire/udp/handshake.h and
// wire/udp/link.h have the bytes and the state of one connection.
//
// The server stores nothing for an address until the address has proven that it
// receives answers. Until then the server never sends it more bytes than it has
// received from it.
#pragma once

#include "net/net.h"

enum {
  NET_UDP_KEY_SIZE = 32,
  NET_HASHES_MAX = 16,  // protocol hashes that are valid at a time
};

/// Counters of all datagrams, including those of ended connections and of unknown
/// senders.
typedef struct UdpTotals {
  uint64_t links;                     // connections by UDP that exist now
  uint64_t accepted;                  // connections by UDP so far
  uint64_t attached;                  // accepted connections beside a stream
  uint64_t challenged;                // requests answered with a cookie
  uint64_t rejected;                  // requests answered with REJECTED
  uint64_t received, received_bytes;  // received datagrams and their bytes
  uint64_t refused;  // received datagrams that were unknown, not authentic, or repeated
  uint64_t sent, sent_bytes;  // sent datagrams and their bytes
  uint64_t unsent;            // datagrams in `sent` that the kernel did not take
  uint64_t lost;              // sent datagrams without an acknowledgement
  uint64_t resent_bytes;      // bytes of streams that were sent again
  uint64_t moved;             // changes of a connection's address
} UdpTotals;

/// Counters of one connection.
typedef struct UdpFigures {
  uint64_t received, received_bytes;
  uint64_t sent, sent_bytes;
  uint64_t lost;
  uint64_t resent_bytes;
  uint32_t rtt_us;  // smoothed round trip; 0: unknown
  bool passes;      // whether datagrams get through
} UdpFigures;

/// Sets the protocol hashes (copied, at most NET_HASHES_MAX) that clients may have
/// besides 0.
void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count);

/// Serves UDP at `host` on `count` ports from `*port` on. If `*port` is 0, stores the
/// free port that was chosen. Each remote of the Net also gets a port, after these, for
/// the connections that the remote serves. Call it once, for a Net that is not
/// simulated. Returns 0 or an error. After an error, nothing has changed, and `*port`
/// is the port that failed (ERR_INVALID: it would be above 65535).
int net_udp_open(Net *net, const char *host, uint16_t *port, uint32_t count);

/// Lets the client of a connection, now peer number `peer`, attach by UDP. Stores a new
/// key, which replaces the previous key. If the client already uses UDP alone, stores
/// no key, but lets the client fill the window of its stream. Returns the port to
/// attach to, or 0 if the client cannot attach.
uint16_t net_udp_offer(Net *net, ConnId conn, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]);

/// Returns the counters of all datagrams.
UdpTotals net_udp_totals(const Net *net);

/// Stores the counters of a connection; returns false if the connection does not use
/// UDP.
bool net_udp_figures(const Net *net, ConnId conn, UdpFigures *figures);
