// A Net: sockets, framing of byte streams into packets or lines, and fan-out.
// The only layer that knows libuv. Everything crosses this interface as ids and bytes, so
// that it does not say on which thread sockets are served (io_threads.h).
//
// Output is collected and written by a flush: what is CRITICAL at the end of the
// iteration, the rest at most `batch_hz` times a second. A connection sees one ordered
// stream within a priority, however many groups it is in.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/timers.h"
#include "net/out.h"
#include "wire/code.h"
#include "wire/packet.h"

typedef struct Net Net;
typedef struct Loop Loop;  // os/loop.h
typedef uint32_t ConnId;   // 0: none; a stale id is ignored by every function here
typedef uint32_t GroupId;  // 0: none

typedef enum Framing {
  FRAMING_PACKETS,
  FRAMING_LINES,
  FRAMING_SNIFF,  // for net_listen alone: the first bytes tell packets from HTTP
  FRAMING_ADMIN,  // of net/admin.h alone
} Framing;
typedef enum Overflow { DROP_NEWEST, DROP_OLDEST, OVERFLOW_DISCONNECT } Overflow;

enum {
  ADDRESS_SIZE = 46,              // text of an IPv6 address and its NUL
  NET_BACKLOG_BYTES = 8 << 20,    // bytes that may wait for one slow connection,
  NET_BACKLOG_TOTAL = 256 << 20,  // until so many wait for all of them:
  NET_BACKLOG_SHARE = 128 << 10,  // then no more for each than this
  NET_BACKLOG_KEPT = 256 << 10,   // and OUT_KEEP ones that much beyond either
  NET_OUTBUF_BYTES =
      512 << 10,         // a source with more than this pending is flushed early
  NET_LINGER_MS = 2000,  // how long a closing connection may take to read the rest
  NET_PACKET_DEADLINE_MS = 10000,  // a packet once begun is complete by then; a line
  NET_TYPED_BYTES = 1 << 10,       // once it is longer than people type
};

typedef struct NetLimits {
  uint32_t max_payload;           // bytes of one packet's payload or of one line
  uint32_t channel_capacity;      // messages that may wait for one connection
  Overflow overflow;              // what happens past the capacity
  uint32_t batch_hz;              // flushes a second; 0: one each iteration of the loop
  uint32_t handshake_timeout_ms;  // for the head of an HTTP request; 0: none
  bool allows_plain_udp;          // datagrams that are not sealed
} NetLimits;

typedef struct ConnInfo {
  Framing framing;
  const char *transport;  // "tcp", "ws", "udp", "text"; static
  bool is_tls;
  uint64_t since_ms;           // when it was accepted, or began to ask for a WebSocket
  char address[ADDRESS_SIZE];  // of the peer, without port
  const char
      *refusal;  // net's: why it may not stay, decided when it came; static, or NULL
} ConnInfo;

/// What net tells the layer above. `data` is what net_new was given. From inside any of
/// these, any net function may be called; a connection closed there gets no further
/// call.
typedef struct NetEvents {
  /// Somebody has come of whom it is not known yet whether he will be a peer: he has said
  /// nothing so far, or speaks HTTP. Returns NULL, or why he may not stay (static). After
  /// NULL comes `leave`, when he has become one (before `open`) or is gone.
  const char *(*enter)(void *data, const char *address);
  void (*leave)(void *data, const char *address);
  /// A connection is there. Returns what `conn_data` is passed from now on.
  void *(*open)(void *data, ConnId conn, const ConnInfo *info);
  /// A whole packet; its payload is valid during the call only.
  void (*packet)(void *data, void *conn_data, const Packet *packet);
  /// A whole line without its end, valid during the call only.
  void (*line)(void *data, void *conn_data, const char *text, size_t size);
  /// A packet that came by itself and might have been lost: before or after others that were
  /// sent earlier, and before the connection has said what it has to say first, too.
  void (*unreliable_packet)(void *data, void *conn_data, const Packet *packet);
  /// Why nobody may come from `address` now (static), or NULL; asked before there is a
  /// connection, of those who come by UDP.
  const char *(*refuse)(void *data, const char *address);
  /// The other side broke a rule (CODE_PAYLOAD_TOO_LARGE, CODE_PROTOCOL,
  /// CODE_SLOW_CONSUMER), left a packet unfinished (CODE_IDLE_TIMEOUT), or costs the
  /// most when all have too many unfinished bytes (CODE_SERVER_FULL). It can still be
  /// written to; the answer must be net_close.
  void (*fault)(void *data, void *conn_data, Code code, const char *text);
  /// `dropped` messages of group `tag` (0: sent to it directly) were dropped since the
  /// last call, `queued` wait. At most once a connection and flush.
  void (*drops)(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                uint32_t queued);
  /// May be NULL. The other side ended it, as in `close`, which is not called then: the id stays
  /// valid until net_end, and nothing more is handed up.
  void (*ending)(void *data, void *conn_data, Code code);
  /// The other side ended it: CODE_CLOSED after an orderly end, else CODE_RESET. The id
  /// is stale.
  void (*close)(void *data, void *conn_data, Code code);
  /// All input of this iteration of the loop has been handed up; output follows. Returns
  /// whether there is more to do, in which case the next iteration comes at once.
  bool (*iteration)(void *data, uint64_t now_ms);
  /// May be NULL. The output of the iteration has left.
  void (*flushed)(void *data);
  void *iteration_data;  // what `iteration` is passed instead of `data`, when not NULL
} NetEvents;

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data);

/// Asserts that every handle is closed; net_run must have returned.
void net_free(Net *net);

/// Listens at `host`:`*port`; port 0 takes a free one and stores it. Returns 0 or an
/// error.
int net_listen(Net *net, const char *host, uint16_t *port, Framing framing);

/// Stops listening at all of these; connections that stand stay.
void net_unlisten(Net *net);

/// Runs until net_stop and until everything is closed.
void net_run(Net *net);

/// One iteration: see loop_poll, loop_fd and loop_timeout_ms (os/loop.h).
bool net_poll(Net *net, int timeout_ms);
int net_fd(const Net *net);
int net_timeout_ms(const Net *net);

/// Stops listening and closes what is left; connections that were closed before get up
/// to NET_LINGER_MS to read what waits for them.
void net_stop(Net *net);

/// Takes new limits into use (max_payload for connections opened from now on).
void net_set_limits(Net *net, const NetLimits *limits);

/// Monotonic time, the same all through an iteration.
uint64_t net_now_ms(const Net *net);

/// Monotonic time read from the clock now.
uint64_t net_clock_us(const Net *net);

/// Unix time in microseconds.
uint64_t net_unix_us(const Net *net);

/// Random bytes: from the kernel, or in a simulation from its seed.
void net_random(Net *net, void *bytes, size_t size);

/// Whether sockets, time and randomness are simulated (see sim.h).
bool net_is_simulated(const Net *net);

/// Monotonic time of the machine, in a simulation too: for how long something takes
/// that has to be stopped when it takes too long.
uint64_t net_real_us(void);

/// Timers driven by the loop.
Timers *net_timers(Net *net);

/// The loop, for what src/os does; NULL in a simulation.
Loop *net_loop(Net *net);

/// Queues `out` for one connection.
void net_write(Net *net, ConnId conn, const Out *out);

/// Ends a connection: reading stops, what waits is written for at most NET_LINGER_MS,
/// then the socket closes. The id is stale at once and `close` is not called.
void net_close(Net *net, ConnId conn);

/// The same, and where the transport has a way to say so (a WebSocket has), the other side
/// is told why. `text` may be NULL.
void net_end(Net *net, ConnId conn, Code code, const char *text);

/// What the callbacks of the connection are passed from now on.
void net_set_data(Net *net, ConnId conn, void *conn_data);

/// Stops handing up packets (and reading) until net_unthrottle; what has arrived is kept.
void net_throttle(Net *net, ConnId conn);
void net_unthrottle(Net *net, ConnId conn);

/// Hands up the waiting input of released connections now, instead of at the end of the
/// iteration. Returns whether any were released.
bool net_resume(Net *net);

/// Payloads over `bytes` are a fault from now on.
void net_set_max_payload(Net *net, ConnId conn, uint32_t bytes);

/// What a connection was sent, its groups' messages included; one that was dropped after
/// it had to wait is counted here too.
typedef struct NetSent {
  uint64_t packets;  // or lines
  uint64_t bytes;
} NetSent;

/// What a connection was sent so far; zeros when it is gone. What another thread serves may
/// be counted a moment later, here and below.
NetSent net_sent(const Net *net, ConnId conn);

/// What connections that have ended were sent, their last words included. Zeroed by who
/// embeds it.
typedef struct NetCounter {
  NetSent sent;
  struct Endpoint *endpoints;  // net's: those that are counted here when they end
} NetCounter;

/// Has the connection counted there when it ends, and nowhere else. `counter` has to be
/// valid until it is closed.
void net_set_counter(Net *net, ConnId conn, NetCounter *counter);

/// Nothing more is added to it.
void net_close_counter(NetCounter *counter);

/// What all connections were sent, those that are gone included.
NetSent net_sent_in_all(const Net *net);

/// Messages, and their bytes, that wait for a connection that does not read fast enough;
/// zeros when it keeps up.
NetSent net_queued(const Net *net, ConnId conn);

/// The same of all connections.
NetSent net_queued_in_all(const Net *net);

/// A set of connections that get the same bytes. `tag` comes back in `drops`.
GroupId net_group_open(Net *net, uint32_t tag);

/// What was written to the group before is still delivered.
void net_group_close(Net *net, GroupId group);

/// A connection may be in many groups, once in each. It leaves them when it closes.
void net_group_join(Net *net, GroupId group, ConnId conn);
void net_group_leave(Net *net, GroupId group, ConnId conn);

/// Queues `out` for every member but the `except_count` connections in `except`. Framed
/// and stored once, whatever the number of members.
void net_group_write(Net *net, GroupId group, const Out *out, const ConnId *except,
                     uint32_t except_count);
