// The internal header of a connection (Conn), which links a transport and a protocol.
// The functions are grouped by file, from the lowest layer to the highest. A file calls
// the functions of a higher layer only through tables.
#pragma once

#include "base/buf.h"
#include "base/timers.h"
#include "net/datagrams.h"
#include "net/internal.h"
#include "net/out/output.h"
#include "net/protocol.h"
#include "net/transport.h"

enum {
  // Bytes in one `write` of a transport. The last message may exceed this number.
  // Overflow cannot drop bytes that are being written.
  WRITE_CHUNK_BYTES = 64 << 10,
  REFUSED_MAX = 64,  // refused connections that may linger at a time
};

typedef enum ConnState { CONN_OPEN, CONN_CLOSING, CONN_CLOSED } ConnState;

/// Reasons to stop reading and passing input up. All but STOP_SHARE also stop the
/// deadline of a partly received packet.
typedef enum Stop {
  STOP_THROTTLED = 1,  // net_throttle
  STOP_BUSY = 2,       // the server answers a request
  STOP_SHARE = 4,      // the connection has used its share of this iteration
  STOP_OWNER = 8,      // first bit for further reasons of the owner
} Stop;

/// The way a connection ended, if the layer above has not closed it. A greater value
/// replaces a smaller one, but END_SLOW stays until it is reported.
typedef enum End {
  END_NONE,
  END_ORDERLY,
  END_CUT,     // the other side stopped in the middle of a packet
  END_SLOW,    // the other side does not read its output
  END_BROKEN,  // an error ended the connection
} End;

/// Unfinished input.
typedef struct Inbox {
  Buf bytes;
  uint64_t since_ms;  // time at which the unfinished input began to arrive, monotonic
  uint32_t scanned;   // bytes already searched for the end of a line
  uint32_t counted;   // unfinished bytes counted in net->totals
  uint32_t max_payload;  // limit of a packet's payload, in bytes
  uint8_t framing;       // Framing
} Inbox;

/// Output to the connection.
typedef struct Outbox {
  Source direct;  // messages to this connection alone
  GroupRef *groups;
  uint16_t group_count, group_capacity;
  uint16_t holds;     // number of net_hold without net_release
  bool is_urgent;     // this iteration flushes all priorities
  bool is_condemned;  // the connection did not read, so only OUT_KEEP messages follow
  Backlog *backlog;   // waiting output; owned; NULL while the connection keeps up
  NetSent sent;       // messages sent so far
  uint8_t transport;  // TransportName
} Outbox;

struct Conn {
  Endpoint self;
  Transport *transport;
  const Protocol *protocol;
  void *speech;  // state of the protocol; owned; freed by protocol->free
  Net *net;
  ConnInfo *info;  // description for events.open; owned; NULL after that event
  Inbox in;
  Outbox out;
  Datagrams *datagrams;  // datagrams, instead of a stream or beside it; NULL: none
  Timer timer;           // deadline of the protocol, of a partly received packet, or of
                         // lingering
  int8_t close_code;     // Code of the close; -1: none given
  uint8_t state;         // ConnState
  uint8_t stops;         // bits of Stop
  uint8_t end;           // End
  bool is_known;         // the layer above knows the connection
  bool is_entered;       // events.enter was called, and events.leave must follow
  bool is_refused;       // counted in net->totals->refused
  bool is_eof;           // the other side's stream has ended
};

// --- conn.c ---

/// Returns a connection that this Net serves, or NULL.
Conn *conn_find(const Net *net, ConnId id);
/// Returns whether input may be passed up.
bool conn_takes_input(const Conn *conn);
/// Adds a reason to stop reading and passing input up.
void conn_stop(Conn *conn, unsigned reason);
/// Removes a reason to stop. If no other reason is left, input continues at the end of
/// the iteration.
void conn_start(Conn *conn, unsigned reason);
/// Sets the connection's unfinished bytes, here and in the totals of the Net.
void conn_count_unfinished(Conn *conn, uint32_t bytes);
/// Replaces the protocol and frees the speech of the previous one.
void conn_speak(Conn *conn, const Protocol *protocol);
/// Returns whether the connection is open and speaks the protocol.
static inline bool conn_speaks(const Conn *conn, const Protocol *protocol) {
  return conn->protocol == protocol && conn->state == CONN_OPEN;
}
/// Reports that the other side broke a rule.
void conn_fault(Conn *conn, Code code, const char *text);
/// Reports an error code of packet_read as a fault.
void conn_fault_at(Conn *conn, int error);
/// Ends an open conn; the end of the iteration reports this. Destroys a closing conn if
/// `how` is END_BROKEN.
void conn_end(Conn *conn, End how);
/// Sets the reason of the close, for protocols that send it to the other side. Keeps an
/// earlier reason. `text` may be NULL.
void conn_set_reason(Conn *conn, Code code, const char *text);
/// Writes the last message of a closing conn whose output has left, then ends its stream.
void conn_drained(Conn *conn);
/// Ends the connection now; the loop frees it later. An open conn must be closed first
/// (conn_close).
void conn_destroy(Conn *conn);
/// Lets a refused conn linger, so that it can read the reason, unless too many linger.
void conn_limit_refused(Conn *conn);
/// Returns the messages that wait for the connection.
NetSent conn_queued(const Conn *conn);
/// Copies the connection's counters to its proxy, if it has one.
void conn_publish(const Conn *conn);

// --- inbox.c ---

/// Ends the handling of input. Frees spare memory, sets the deadline of unfinished
/// input (`is_new`: it has just begun), and limits unfinished bytes. May end
/// connections, this one included.
void inbox_settle(Conn *conn, bool is_new);
/// Ends connections until the unfinished bytes of all are below the limit.
void inbox_limit(Net *net);

// --- local.c ---

/// The operations of connections that a Net serves itself.
extern const EndpointOps LOCAL;

// --- life.c ---

/// Initializes a zeroed conn: the first step of a new connection.
void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing);
/// Assigns an id; returns false if too many connections exist.
bool conn_add(Conn *conn);
/// Starts the connection's protocol. `info->address` is the address of the other side.
void conn_open(Conn *conn, const ConnInfo *info);
/// Makes the conn the user of the transport.
void conn_use(Conn *conn, Transport *transport);
/// Reports the connection to the layer above, which may close it at once.
void conn_introduce(Conn *conn, Framing framing);
/// Continues with waiting input.
void conn_resume(Endpoint *endpoint);
/// Ends the connection in order, as net_close does.
void conn_close(Conn *conn);
/// Reports the end of a conn in net->ended to the layer above; reports END_SLOW as a
/// fault.
void conn_report_end(Endpoint *endpoint);
