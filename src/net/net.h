// A Net serves connections: sockets, the framing of byte streams into packets or lines, and
// fan-out to groups. No layer above net uses libuv's sockets. All that crosses this interface is
// ids and bytes, so it does not say which thread serves a socket (io_threads.h).
//
// A flush writes the collected output: that of PRIORITY_CRITICAL at the end of each iteration, the
// rest at most `batch_hz` times a second. A connection sees one ordered stream within a
// priority, however many groups it is in.
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
typedef uint32_t ConnId;   // 0: none; every function here ignores a stale id
typedef uint32_t GroupId;  // 0: none

typedef enum Framing {
  FRAMING_PACKETS,
  FRAMING_LINES,
  FRAMING_SNIFF,  // of net_listen alone: the first bytes tell packets from HTTP
  FRAMING_ADMIN,  // of net/admin.h alone
} Framing;
typedef enum Overflow { DROP_NEWEST, DROP_OLDEST, OVERFLOW_DISCONNECT } Overflow;

enum {
  ADDRESS_SIZE = 46,              // text of an IPv6 address and its NUL
  NET_BACKLOG_BYTES = 8 << 20,    // bytes that may wait for one slow connection,
  NET_BACKLOG_TOTAL = 256 << 20,  // until this many wait for all of them:
  NET_BACKLOG_SHARE = 128 << 10,  // then each may have this many,
  NET_BACKLOG_KEPT = 256 << 10,   // and OUT_KEEP ones this many beyond either limit
  NET_OUTBUF_BYTES = 512 << 10,  // pending bytes beyond which a source is flushed early
  NET_LINGER_MS = 2000,          // time in which a closing connection may read the rest
  NET_PACKET_DEADLINE_MS = 10000,  // time from the begin of a packet to its end; of a
  NET_TYPED_BYTES = 1 << 10,       // line once it is longer than people type
};

typedef struct NetLimits {
  uint32_t max_payload;           // bytes of one packet's payload or of one line
  uint32_t channel_capacity;      // messages that may wait for one connection
  Overflow overflow;              // rule for messages past the capacity
  uint32_t batch_hz;              // flushes a second; 0: one each iteration of the loop
  uint32_t handshake_timeout_ms;  // time for the head of an HTTP request; 0: no limit
  bool allows_plain_udp;          // accepts datagrams that are not encrypted
} NetLimits;

typedef struct ConnInfo {
  Framing framing;
  const char *transport;  // "tcp", "ws", "udp", "text"; static
  bool is_tls;
  uint64_t since_ms;           // when it was accepted, or began to ask for a WebSocket
  char address[ADDRESS_SIZE];  // of the peer, without port
  const char *refusal;         // net's: why it is refused, static; NULL: it is not
} ConnInfo;

/// Callbacks to the layer above. `data` is that of net_new. Each of them may call any net
/// function; a connection that it closes gets no further call.
typedef struct NetEvents {
  /// A connection exists that may become a peer: it has sent nothing yet, or speaks HTTP.
  /// Returns NULL, or a reason to refuse it (static). After NULL, `leave` follows when the
  /// connection becomes a peer (before `open`) or ends.
  const char *(*enter)(void *data, const char *address);
  void (*leave)(void *data, const char *address);
  /// A connection becomes known. Returns the `conn_data` of its further calls.
  void *(*open)(void *data, ConnId conn, const ConnInfo *info);
  /// A whole packet has come; its payload is valid during the call.
  void (*packet)(void *data, void *conn_data, const Packet *packet);
  /// A whole line has come; the text is without its end, and valid during the call.
  void (*line)(void *data, void *conn_data, const char *text, size_t size);
  /// A packet has come in a datagram. It may come before packets that were sent earlier, even
  /// before the connection's first.
  void (*unreliable_packet)(void *data, void *conn_data, const Packet *packet);
  /// Returns why connections from `address` are refused now (static), or NULL. Asked for
  /// clients that come by UDP, before they have a connection.
  const char *(*refuse)(void *data, const char *address);
  /// The other side broke a rule (CODE_PAYLOAD_TOO_LARGE, CODE_PROTOCOL,
  /// CODE_SLOW_CONSUMER), left a packet unfinished (CODE_IDLE_TIMEOUT), or costs most while
  /// all have too many unfinished bytes (CODE_SERVER_FULL). It can still be written to; the
  /// callee has to call net_close.
  void (*fault)(void *data, void *conn_data, Code code, const char *text);
  /// Overflow dropped `dropped` messages of group `tag` (0: messages to the connection alone)
  /// since the last call; `queued` wait. At most once a connection and flush.
  void (*drops)(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                uint32_t queued);
  /// May be NULL. The other side has ended the connection, as in `close`, which does not
  /// follow: the id stays valid until net_end, and nothing more is handed up.
  void (*ending)(void *data, void *conn_data, Code code);
  /// The other side has ended the connection: CODE_CLOSED after an orderly end, else
  /// CODE_RESET. Its id is stale.
  void (*close)(void *data, void *conn_data, Code code);
  /// All input of this iteration of the loop has been handed up; output follows. Returns
  /// whether there is more to do, in which case the next iteration comes at once.
  bool (*iteration)(void *data, uint64_t now_ms);
  /// May be NULL. The output of the iteration has left.
  void (*flushed)(void *data);
  void *iteration_data;  // replaces `data` in `iteration`; NULL: `data` is passed
} NetEvents;

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data);

/// Asserts that every handle is closed; net_run must have returned.
void net_free(Net *net);

/// Listens at `host`:`*port`; stores a free port where that is 0. Returns 0 or an error.
int net_listen(Net *net, const char *host, uint16_t *port, Framing framing);

/// Stops listening everywhere; connections stay.
void net_unlisten(Net *net);

/// Runs until net_stop has been called and everything is closed.
void net_run(Net *net);

/// Runs one iteration: see loop_poll, loop_fd and loop_timeout_ms (os/loop.h).
bool net_poll(Net *net, int timeout_ms);
int net_fd(const Net *net);
int net_timeout_ms(const Net *net);

/// Stops listening and closes all connections; closing ones still have NET_LINGER_MS to read
/// the rest.
void net_stop(Net *net);

/// Takes new limits into use (max_payload for later connections).
void net_set_limits(Net *net, const NetLimits *limits);

/// Returns monotonic time, the same all through an iteration.
uint64_t net_now_ms(const Net *net);

/// Reads monotonic time from the clock.
uint64_t net_clock_us(const Net *net);

/// Returns Unix time in microseconds.
uint64_t net_unix_us(const Net *net);

/// Writes random bytes: the kernel's, or in a simulation those of its seed.
void net_random(Net *net, void *bytes, size_t size);

/// Returns whether sockets, time and randomness are simulated (see sim.h).
bool net_is_simulated(const Net *net);

/// Returns monotonic time of the machine, in a simulation too, to measure work that has to
/// be stopped when it takes too long.
uint64_t net_real_us(void);

/// Returns the timers that the loop drives.
Timers *net_timers(Net *net);

/// Returns the loop, for src/os; NULL in a simulation.
Loop *net_loop(Net *net);

/// Queues `out` for one connection.
void net_write(Net *net, ConnId conn, const Out *out);

/// Ends a connection: it reads no more, has NET_LINGER_MS to take what waits for it, then its
/// socket closes. The id is stale at once, and `close` does not follow.
void net_close(Net *net, ConnId conn);

/// Does the same, and tells the other side why where the transport can, as a WebSocket can.
/// `text` may be NULL.
void net_end(Net *net, ConnId conn, Code code, const char *text);

/// Replaces the `conn_data` of the connection's callbacks.
void net_set_data(Net *net, ConnId conn, void *conn_data);

/// Stops reading and handing up until net_unthrottle; keeps what has arrived.
void net_throttle(Net *net, ConnId conn);
void net_unthrottle(Net *net, ConnId conn);

/// Hands up the waiting input of unthrottled connections now, instead of at the end of the
/// iteration. Returns whether there were any.
bool net_resume(Net *net);

/// Makes larger payloads than `bytes` a fault from now on.
void net_set_max_payload(Net *net, ConnId conn, uint32_t bytes);

/// Messages sent, those to groups included. A message that had to wait counts even if it was
/// dropped then.
typedef struct NetSent {
  uint64_t packets;  // or lines
  uint64_t bytes;
} NetSent;

/// Returns what a connection was sent so far; zeros when it is gone. Connections that another
/// thread serves may be counted a moment later, here and below.
NetSent net_sent(const Net *net, ConnId conn);

/// A sum of what ended connections were sent, their last words included. The owner zeroes it.
typedef struct NetCounter {
  NetSent sent;
  struct Endpoint *endpoints;  // net's: connections that are added when they end
} NetCounter;

/// Adds the connection to `counter`, and to no other, when it ends. `counter` has to be valid
/// until net_close_counter.
void net_set_counter(Net *net, ConnId conn, NetCounter *counter);

/// Adds nothing more to it.
void net_close_counter(NetCounter *counter);

/// Returns what all connections were sent, ended ones included.
NetSent net_sent_in_all(const Net *net);

/// Returns the messages, and their bytes, that wait for a connection which does not read fast
/// enough; zeros when it keeps up.
NetSent net_queued(const Net *net, ConnId conn);

/// Returns the same numbers for all connections.
NetSent net_queued_in_all(const Net *net);

/// Makes a set of connections that get the same bytes. `drops` reports its `tag`.
GroupId net_group_open(Net *net, uint32_t tag);

/// Closes a group; delivers what was written to it before.
void net_group_close(Net *net, GroupId group);

/// Adds or removes a member. A connection may be in many groups, once in each, and leaves them
/// when it closes.
void net_group_join(Net *net, GroupId group, ConnId conn);
void net_group_leave(Net *net, GroupId group, ConnId conn);

/// Queues `out` for every member but the `except_count` connections in `except`. Stores it
/// once, whatever the number of members.
void net_group_write(Net *net, GroupId group, const Out *out, const ConnId *except,
                     uint32_t except_count);
