// The internal header of net: the Net itself. Nothing above net includes it.
#pragma once

#include "base/list.h"
#include "base/slots.h"
#include "base/timers.h"
#include "net/endpoint.h"
#include "net/net.h"
#include "net/udp.h"
#include "os/loop.h"

typedef struct Conn Conn;            // conn.h
typedef struct Transport Transport;  // transport.h
typedef struct Protocol Protocol;    // protocol.h
typedef struct Outbuf Outbuf;        // output.h
typedef struct Group Group;          // output.h
typedef struct TlsServer TlsServer;  // tls_internal.h
typedef struct UdpServer UdpServer;  // udp_internal.h
typedef struct Web Web;              // site.h
typedef struct AdminPort AdminPort;  // admin_port.h
typedef struct Listener Listener;    // tcp.c
typedef struct Sim Sim;              // sim.c

enum {
  READ_BUFFER_BYTES = 64 << 10,  // read buffer shared by all connections of a loop
  ACCEPT_SLICE_US = 10000,       // time of events.accept in an iteration after which
                                 // further connections wait for the next one
};

/// Sums for the limits that all connections share, whichever threads serve them.
typedef struct NetTotals {
  _Atomic uint64_t backlog_packets, backlog_bytes;  // bytes and packets in all backlogs
  _Atomic uint64_t unfinished_bytes;  // bytes of unfinished packets, lines and messages
  _Atomic uint64_t udp_bytes;         // received bytes of UDP streams behind a gap
  _Atomic uint32_t refused;           // refused connections that still linger
  uint32_t threads;                   // number of threads that serve connections
} NetTotals;

/// The source of time and randomness.
typedef struct NetClock {
  uint64_t (*now_ms)(const Net *net);
  uint64_t (*clock_us)(const Net *net);
  uint64_t (*unix_us)(const Net *net);
  void (*random)(Net *net, void *bytes, size_t size);
} NetClock;

struct Net {
  const NetClock *clock;
  Sim *sim;        // simulation; NULL: time, randomness and sockets are real
  Loop loop;       // unused in a simulation
  Timers *timers;  // timers of the loop or of the simulation
  Timer flush_timer;
  uint64_t next_flush_us;
  NetLimits limits;
  NetEvents events;
  const Protocol *const *protocols;  // initial protocols of connections, by Framing
  void *data;
  Slots conns, groups;
  uint64_t sequence;
  Outbuf *free_outbufs;
  uint32_t free_outbuf_count;
  List dirty_groups, dirty_conns;  // groups and conns with pending output
  List ended;                      // endpoints whose end must be reported
  List resumed;                    // endpoints whose input may be waiting
  List dropping;                   // Conns with dropped messages to report
  NetSent sent[TRANSPORT_COUNT];   // messages sent to all connections so far
  uint64_t replaced;               // see net_replaced
  Listener *listeners;
  uint64_t accept_us;  // time that events.accept has taken in this iteration
  uint64_t accept_warned_ms;
  uint64_t descriptors;  // descriptors that this process may open
  NetTotals own_totals,
      *totals;              // own_totals, or the totals of the Net behind `home`
  size_t unfinished_bytes;  // this Net's share of totals->unfinished_bytes
  NetPart *parts;           // list in the order of adding
  Remote **remotes;  // remotes that serve this Net's connections; none: the Net serves
                     // them itself
  uint32_t remote_count;
  Remote *home;  // the Net for which this one serves connections; NULL: none
  /// Puts TLS around a transport; see tls_wrap.
  Transport *(*encrypt)(Net *net, Transport *below, const char *address,
                        uint64_t due_ms);
  /// EndpointOps.udp_offer for a Conn; NULL: no UDP
  uint16_t (*udp_offer)(Conn *conn, uint32_t peer, uint64_t nonce);
  /// Copies the counters of an open, known Conn to its proxy; NULL: no proxies
  void (*publish)(const Conn *conn);
  Web *web;                         // part for the site; NULL: not used yet
  TlsServer *tls;                   // part for TLS; NULL: not used yet
  AdminPort *admin;                 // part for the admin listener; NULL: none
  UdpServer *udp;                   // part for UDP; NULL: no UDP
  uint64_t hashes[NET_HASHES_MAX];  // argument of net_set_hashes
  uint32_t hash_count;
  bool is_stopping;
  bool is_ending;  // net_free is running, so nothing is reported any more
  uint8_t read_buffer[READ_BUFFER_BYTES];
};

/// Makes a Net without a loop.
Net *net_make(const NetLimits *limits, const NetEvents *events, void *data);
/// Opens the Net's loop. Returns 0, or an error without any change.
int net_open_loop(Net *net);
/// Ends an iteration at a time of net_clock_us: the layers above handle its input, then
/// their output leaves. Returns whether work is left.
bool net_end_iteration(Net *net, uint64_t now_us);

// clock.c
extern const NetClock MACHINE_CLOCK;

// sim.c
/// Gives a new Net a simulation instead of a loop. `end` ends an iteration.
void sim_init(Net *net, uint64_t seed, bool (*end)(Net *net, uint64_t now_us));
/// Stops accepting clients.
void sim_stop(Net *net);
/// Closes and frees all connections.
void sim_free(Net *net);

// udp/offer.c
// Returns the port at which the client of a conn may attach by UDP, or 0.
uint16_t udp_port_to_attach(const Conn *conn);

// tcp.c
/// Destroys all connections, closing ones included.
void tcp_destroy_all(Net *net);

/// Accepts connections that wait because events.accept took too long. Returns whether
/// others still wait.
bool tcp_accept_waiting(Net *net);

/// Returns whether a new connection may stay, before anything is read from it.
bool net_accepts(Net *net, const ConnInfo *info);

/// Returns whether events.accept has time left in this iteration.
static inline bool net_may_accept(const Net *net) {
  return net->accept_us < ACCEPT_SLICE_US;
}
