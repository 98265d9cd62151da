// UDP: datagrams beside the stream of a connection (attached), or instead of it (alone).
// docs/protocol.md, section 16, is the contract; the bytes and the state of one connection
// are in wire/udp/handshake.h and wire/udp/link.h.
//
// The server keeps nothing for an address that has not proven that it receives answers, and
// never sends it more bytes than it has received from it.
#pragma once

#include "net/net.h"

enum {
  NET_UDP_KEY_SIZE = 32,
  NET_HASHES_MAX = 16,  // protocol hashes that are good at a time
};

/// Counters of all datagrams, those of ended connections and of strangers included.
typedef struct UdpTotals {
  uint64_t links;                     // connections by UDP that exist now
  uint64_t accepted;                  // connections so far,
  uint64_t attached;                  // of these, beside a stream
  uint64_t challenged;                // requests that were sent a cookie,
  uint64_t rejected;                  // or REJECTED
  uint64_t received, received_bytes;  // datagrams
  uint64_t refused;           // of these: of no connection, not authentic, or repeated
  uint64_t sent, sent_bytes;  // datagrams
  uint64_t unsent;            // of these, those that the kernel did not take
  uint64_t lost;              // and those that were not acknowledged
  uint64_t resent_bytes;      // of streams
  uint64_t moved;             // connections that changed their address
} UdpTotals;

/// Counters of one connection.
typedef struct UdpFigures {
  uint64_t received, received_bytes;
  uint64_t sent, sent_bytes;
  uint64_t lost;
  uint64_t resent_bytes;
  uint32_t rtt_us;  // smoothed round trip; 0: not known yet
  bool passes;      // datagrams get through
} UdpFigures;

/// Sets the protocol hashes, copied, that clients may have besides 0; at most NET_HASHES_MAX.
void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count);

/// Serves UDP at `host` on `count` ports that begin with `*port`; 0 becomes a free one. Each
/// remote of the Net has a port of its own behind them, for clients that attach to a stream
/// which it serves. Once, of a Net that is not simulated. Returns 0, or an error and
/// its port in `*port` (ERR_INVALID: beyond 65535); then nothing has changed.
int net_udp_open(Net *net, const char *host, uint16_t *port, uint32_t count);

/// Lets the client of a connection, now peer number `peer`, attach with the key that this makes,
/// which replaces the one before; a client alone may fill the window of its stream. Returns
/// the port to attach to; 0, without a key, where none is offered.
uint16_t net_udp_offer(Net *net, ConnId conn, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]);

/// Returns the counters of all datagrams.
UdpTotals net_udp_totals(const Net *net);

/// Stores the counters of a connection; returns false where it has nothing by UDP.
bool net_udp_figures(const Net *net, ConnId conn, UdpFigures *figures);
