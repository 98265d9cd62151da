// UDP: datagrams beside the stream of a connection (attached), or instead of it (alone).
// docs/protocol.md, section 16, is the contract; the bytes and the state of one connection
// are in wire/udp/handshake.h and wire/udp/link.h.
//
// Nothing is kept for an address that has not shown that it gets what it is sent, and it is
// never sent more than came from it.
#pragma once

#include "net/net.h"

enum {
  NET_UDP_KEY_SIZE = 32,
  NET_HASHES_MAX = 16,  // protocol hashes that are good at a time
};

/// What has become of all datagrams, of connections that are gone and of strangers too.
typedef struct UdpTotals {
  uint32_t links;                     // connections by UDP that are there now
  uint64_t accepted;                  // connections so far,
  uint64_t attached;                  // of these, beside a stream
  uint64_t challenged;                // requests that were sent a cookie,
  uint64_t rejected;                  // or REJECTED
  uint64_t received, received_bytes;  // datagrams
  uint64_t refused;  // of these: of no connection, not authentic or there before
  uint64_t sent, sent_bytes;  // datagrams
  uint64_t unsent;            // of these, what the kernel did not take
  uint64_t lost;              // and what was not acknowledged
  uint64_t resent_bytes;      // of streams
  uint64_t moved;             // connections that changed their address
} UdpTotals;

/// The same of one connection.
typedef struct UdpFigures {
  uint64_t received, received_bytes;
  uint64_t sent, sent_bytes;
  uint64_t lost;
  uint64_t resent_bytes;
  uint32_t rtt_us;  // smoothed round trip; 0: not known yet
  bool passes;      // datagrams get through
} UdpFigures;

/// The protocol hashes with which clients may come besides 0, at most NET_HASHES_MAX. Copied.
void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count);

/// Serves UDP at `host` on `count` ports that begin with `*port`; 0 becomes a free one. Each
/// remote of the Net has a port of its own behind them, for those who attach to a stream that it
/// has. Once, of a Net that is not simulated. Returns 0, or an error with the port that it is
/// about in `*port` (ERR_INVALID: they go beyond 65535); then nothing has changed.
int net_udp_open(Net *net, const char *host, uint16_t *port, uint32_t count);

/// The client of a connection is welcome as peer number `peer`. It may attach, with a key that
/// is made now and replaces the one before; one that is alone may fill the window of its
/// stream. Returns the port to attach to; 0 where there is none for it, and then no key.
uint16_t net_udp_offer(Net *net, ConnId conn, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]);

UdpTotals net_udp_totals(const Net *net);

/// False where the connection has nothing by UDP.
bool net_udp_figures(const Net *net, ConnId conn, UdpFigures *figures);
