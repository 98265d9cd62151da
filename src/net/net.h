// A Net serves connections: sockets, the framing of byte streams into packets or lines,
// and fan-out to groups. No layer above net uses libuv's sockets. Only ids and bytes
// cross this interface, so it does not depend on the thread that serves a socket
// (io_threads.h).
//
// A flush writes the collected output. Output of PRIORITY_CRITICAL leaves at the end of
// each iteration, other output at most `batch_hz` times a second. Within a priority,
// each connection gets one ordered stream, even if it is in many groups.
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
typedef uint32_t ConnId;   // id of a connection; 0: none; functions ignore a stale id
typedef uint32_t GroupId;  // id of a group; 0: none

typedef enum Framing {
  FRAMING_PACKETS,
  FRAMING_LINES,
  FRAMING_SNIFF,  // only for net_listen: the first bytes distinguish packets and HTTP
  FRAMING_ADMIN,  // only for net/admin.h
} Framing;

// X(constant, name): what carries a peer's packets. Bots have no connection.
#define TRANSPORT_MAP(X)    \
  X(TRANSPORT_TCP, "tcp")   \
  X(TRANSPORT_WS, "ws")     \
  X(TRANSPORT_UDP, "udp")   \
  X(TRANSPORT_TEXT, "text") \
  X(TRANSPORT_BOT, "bot")

typedef enum TransportName {
#define X(constant, name) constant,
  TRANSPORT_MAP(X)
#undef X
      TRANSPORT_COUNT
} TransportName;

/// Returns the name of a transport; static.
static inline const char *net_transport_name(TransportName transport) {
  static const char *const NAMES[] = {
#define X(constant, name) [constant] = name,
      TRANSPORT_MAP(X)
#undef X
  };
  return NAMES[transport];
}

typedef enum Overflow { DROP_NEWEST, DROP_OLDEST, OVERFLOW_DISCONNECT } Overflow;

enum {
  ADDRESS_SIZE = 46,              // text of an IPv6 address and its NUL
  NET_BACKLOG_BYTES = 8 << 20,    // bytes that may wait for one slow connection
  NET_BACKLOG_TOTAL = 256 << 20,  // bytes that may wait for all connections together
  NET_BACKLOG_SHARE = 128 << 10,  // bytes for each connection once the total is full
  NET_BACKLOG_KEPT = 256 << 10,   // bytes that OUT_KEEP messages may add to a limit
  NET_OUTBUF_BYTES = 512 << 10,   // pending bytes of a source that cause an early flush
  NET_LINGER_MS = 2000,  // time in which a closing connection may read the rest
  NET_PACKET_DEADLINE_MS = 10000,  // time from the first byte of a packet to its last
  NET_TYPED_BYTES = 1 << 10,       // bytes that a line may have without a deadline
};

typedef struct NetLimits {
  uint32_t max_payload;       // bytes of one packet's payload or of one line
  uint32_t channel_capacity;  // messages that may wait for one connection
  Overflow overflow;          // rule for messages beyond the capacity
  uint32_t batch_hz;          // flushes a second; 0: one in each iteration of the loop
  uint32_t handshake_timeout_ms;  // time for the first bytes, the TLS handshake or an
                                  // HTTP head; 0: no limit
  bool allows_plain_udp;          // whether the Net accepts unencrypted datagrams
} NetLimits;

typedef struct ConnInfo {
  Framing framing;
  TransportName transport;
  bool is_tls;
  uint64_t since_ms;           // time of acceptance, or of the request for a WebSocket
  char address[ADDRESS_SIZE];  // address of the other side, without port
  uint16_t port;               // port of the other side
  const char *refusal;  // reason why net refuses the connection; static; NULL: not
                        // refused
} ConnInfo;

/// Callbacks to the layer above. `data` is the argument of net_new. A callback may call
/// any net function; if it closes a connection, that connection gets no further
/// callback.
typedef struct NetEvents {
  /// Returns whether a new connection to a listener of the game, or a request by UDP
  /// alone, may stay. Called before anything is read from the connection. After false,
  /// the other side gets no answer. May be NULL.
  bool (*accept)(void *data, const char *address, uint16_t port);
  /// Reports a connection that may become a peer: it has sent nothing yet, or speaks
  /// HTTP. Returns NULL, or a static reason to refuse the connection. After NULL,
  /// `leave` follows when the connection ends or becomes a peer (before `open`).
  const char *(*enter)(void *data, const char *address);
  void (*leave)(void *data, const char *address);
  /// Reports a new peer. Returns the `conn_data` for its later callbacks.
  void *(*open)(void *data, ConnId conn, const ConnInfo *info);
  /// Reports a whole packet; its payload is valid during the call.
  void (*packet)(void *data, void *conn_data, const Packet *packet);
  /// Reports a whole line without its end; the text is valid during the call.
  void (*line)(void *data, void *conn_data, const char *text, size_t size);
  /// Reports a packet from a datagram. It may overtake packets that were sent earlier,
  /// even the connection's first.
  void (*unreliable_packet)(void *data, void *conn_data, const Packet *packet);
  /// Returns a static reason why connections from `address` are refused now, or NULL.
  /// Called for clients that use UDP alone, before they have a connection.
  const char *(*refuse)(void *data, const char *address);
  /// Reports that the other side broke a rule (CODE_PAYLOAD_TOO_LARGE, CODE_PROTOCOL,
  /// CODE_SLOW_CONSUMER), left a packet unfinished (CODE_IDLE_TIMEOUT), or has the
  /// highest cost while all connections have too many unfinished bytes
  /// (CODE_SERVER_FULL). The connection can still be written to. The callee must call
  /// net_close.
  void (*fault)(void *data, void *conn_data, Code code, const char *text);
  /// Reports that overflow dropped `dropped` messages of group `tag` (0: messages to
  /// the connection alone) since the last call; `queued` messages wait. Called at most
  /// once for each connection and flush.
  void (*drops)(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                uint32_t queued);
  /// Reports that the other side has ended the connection, instead of `close`. The id
  /// stays valid until net_end, and no more input is passed up. May be NULL.
  void (*ending)(void *data, void *conn_data, Code code);
  /// Reports that the other side has ended the connection: CODE_CLOSED after an orderly
  /// end, otherwise CODE_RESET. The connection's id is stale.
  void (*close)(void *data, void *conn_data, Code code);
  /// Called when all input of this iteration has been passed up, before its output.
  /// `now_us` is net_clock_us.
  /// Returns whether work is left; the next iteration then follows at once.
  bool (*iteration)(void *data, uint64_t now_us);
  /// Called when the output of the iteration has left. May be NULL.
  void (*flushed)(void *data);
  void *iteration_data;  // argument for `iteration` instead of `data`; NULL: `data`
} NetEvents;

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data);

/// Frees a Net. Asserts that every handle is closed, so net_run must have returned.
void net_free(Net *net);

/// Listens at `host`:`*port`. If the port is 0, stores the free port that was chosen.
/// Returns 0 or an error.
int net_listen(Net *net, const char *host, uint16_t *port, Framing framing);

/// Stops listening everywhere; connections stay.
void net_unlisten(Net *net);

/// Runs until net_stop has been called and all handles are closed.
void net_run(Net *net);

/// Call loop_poll, loop_fd and loop_timeout_ms of the Net's loop (os/loop.h).
bool net_poll(Net *net, int timeout_ms);
int net_fd(const Net *net);
int net_timeout_ms(const Net *net);

/// Stops listening and closes all connections. Each one has NET_LINGER_MS to read the
/// rest.
void net_stop(Net *net);

/// Applies new limits; max_payload affects later connections only.
void net_set_limits(Net *net, const NetLimits *limits);

/// Returns monotonic time, which stays the same during an iteration.
uint64_t net_now_ms(const Net *net);

/// Reads monotonic time from the clock.
uint64_t net_clock_us(const Net *net);

/// Returns Unix time in microseconds.
uint64_t net_unix_us(const Net *net);

/// Writes random bytes from the kernel, or in a simulation from the seed.
void net_random(Net *net, void *bytes, size_t size);

/// Returns whether sockets, time and randomness are simulated (see sim.h).
bool net_is_simulated(const Net *net);

/// Returns the machine's monotonic time, even in a simulation, for work that must stop
/// after a time.
uint64_t net_real_us(void);

/// Returns the timers that the loop drives.
Timers *net_timers(Net *net);

/// Returns the loop, for src/os; NULL in a simulation.
Loop *net_loop(Net *net);

/// Queues `out` for one connection.
void net_write(Net *net, ConnId conn, const Out *out);

/// Ends a connection. The Net ignores its further input, gives it NET_LINGER_MS to read
/// waiting output, then closes its socket. The id is stale at once, and `close` does
/// not follow.
void net_close(Net *net, ConnId conn);

/// Ends a connection like net_close. If the protocol can send a reason (WebSocket can),
/// also sends `code` and `text`. `text` may be NULL.
void net_end(Net *net, ConnId conn, Code code, const char *text);

/// Replaces the `conn_data` of the connection's callbacks.
void net_set_data(Net *net, ConnId conn, void *conn_data);

/// net_throttle stops reading and passing input up, until net_unthrottle is called.
/// Input that has arrived is kept.
void net_throttle(Net *net, ConnId conn);
void net_unthrottle(Net *net, ConnId conn);

/// Sends nothing more to a connection until net_release; holds nest. Later writes
/// wait in order and count towards channel_capacity. The end of the connection ends its
/// holds.
void net_hold(Net *net, ConnId conn);
void net_release(Net *net, ConnId conn);

/// Passes the waiting input of unthrottled connections up now, not at the end of the
/// iteration. Returns whether any connection had waiting input.
bool net_resume(Net *net);

/// Sets the limit of a connection's payloads; larger ones are faults from now on.
void net_set_max_payload(Net *net, ConnId conn, uint32_t bytes);

/// Sent messages, including those to groups. A message that had to wait counts even if
/// it was dropped later.
typedef struct NetSent {
  uint64_t packets;  // number of packets or lines
  uint64_t bytes;
} NetSent;

/// Returns the messages sent to a connection so far; zeros if the connection has ended.
/// For connections on other threads, this function and the functions below may return
/// counters that are slightly old.
NetSent net_sent(const Net *net, ConnId conn);

/// Sum of the messages sent to ended connections, including their last message. The
/// owner zeroes it.
typedef struct NetCounter {
  NetSent sent;
  struct Endpoint *endpoints;  // open connections, which are added when they end
} NetCounter;

/// Makes net add the connection's messages to `counter` when it ends. A connection has
/// one counter, which must stay valid until net_close_counter.
void net_set_counter(Net *net, ConnId conn, NetCounter *counter);

/// Stops adding to a counter.
void net_close_counter(NetCounter *counter);

/// Returns the messages sent to all connections, including ended connections.
NetSent net_sent_in_all(const Net *net);

/// Returns the part of them that left by one transport. Datagrams of a peer that also
/// has a stream count as UDP.
NetSent net_sent_by(const Net *net, TransportName transport);

/// Returns the number of messages that a newer one with the same key replaced before
/// they were sent, counted once per receiver.
uint64_t net_replaced(const Net *net);

/// Returns the messages and bytes that wait for a connection which does not read fast
/// enough; zeros if none wait.
NetSent net_queued(const Net *net, ConnId conn);

/// Returns the sum of net_queued over all connections.
NetSent net_queued_in_all(const Net *net);

/// Makes a set of connections that get the same bytes. The event `drops` reports its
/// `tag`.
GroupId net_group_open(Net *net, uint32_t tag);

/// Flushes the messages that were written to a group, then closes the group.
void net_group_close(Net *net, GroupId group);

/// Adds or removes a member. A connection may be in many groups, once in each. It
/// leaves them when it closes.
void net_group_join(Net *net, GroupId group, ConnId conn);
void net_group_leave(Net *net, GroupId group, ConnId conn);

/// Queues `out` for every member except the `except_count` connections in `except`.
/// Stores the bytes once, for any number of members.
void net_group_write(Net *net, GroupId group, const Out *out, const ConnId *except,
                     uint32_t except_count);

/// Returns whether only this machine can reach the address `host`.
bool net_is_loopback(const char *host);
