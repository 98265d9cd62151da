// A connection, between the tables of its transport and its protocol, for the files of net.
// Functions are grouped by the file that has them, the lowest first: a file calls the files that
// follow only through the tables.
#pragma once

#include "base/buf.h"
#include "base/timers.h"
#include "net/counters.h"
#include "net/datagrams.h"
#include "net/internal.h"
#include "net/out/output.h"
#include "net/protocol.h"
#include "net/transport.h"

enum {
  // Bytes for a transport's `write` at a time; overflow cannot drop them any more.
  WRITE_CHUNK_BYTES = 64 << 10,
  REFUSED_MAX = 64,  // connections closed as they came that may linger at a time
};

typedef enum ConnState { CONN_OPEN, CONN_CLOSING, CONN_CLOSED } ConnState;

/// Reasons to read and hand up nothing. All but STOP_SHARE also stop the deadline of a begun
/// packet.
typedef enum Stop {
  STOP_THROTTLED = 1,  // net_throttle
  STOP_BUSY = 2,       // the server answers a request
  STOP_SHARE = 4,      // it has had its share of this iteration
  STOP_OWNER = 8,      // and higher bits: reasons of the layer above
} Stop;

/// How a connection ended that the layer above has not closed. The greatest value wins, but
/// END_SLOW stays until it is reported.
typedef enum End {
  END_NONE,
  END_ORDERLY,
  END_CUT,     // the other side stopped in the middle of something
  END_SLOW,    // it does not read its output
  END_BROKEN,  // by an error
} End;

/// Input that is not whole.
typedef struct Inbox {
  Buf bytes;
  uint64_t since_ms;     // when it began to arrive, monotonic
  uint32_t scanned;      // bytes without an end of line
  uint32_t counted;      // unfinished bytes in net->totals
  uint32_t max_payload;  // in bytes
  uint8_t framing;       // Framing
} Inbox;

/// Output to the connection.
typedef struct Outbox {
  Source direct;  // of messages to it alone
  GroupRef *groups;
  uint16_t group_count, group_capacity;
  bool is_urgent;     // this iteration flushes its whole stream
  bool is_condemned;  // did not read, so it gets only CLOSING or the like
  Backlog *backlog;   // owned; NULL while the connection keeps up
  NetSent sent;       // messages so far
} Outbox;

struct Conn {
  Endpoint self;
  Transport *transport;
  const Protocol *protocol;
  void *speech;  // the protocol's own; owned, freed by protocol->free
  Net *net;
  Counters *counters;  // its proxy's; NULL: it has none
  ConnInfo *info;      // owned; NULL once the layer above knows the connection
  Inbox in;
  Outbox out;
  Datagrams *datagrams;  // alone or beside the stream; NULL: none
  Timer timer;       // the protocol's or a begun packet's; of a closing conn, lingering
  char *close_text;  // reason of the close, in words; owned; NULL: none
  int8_t close_code;  // Code; -1: none was given
  uint8_t state;      // ConnState
  uint8_t stops;      // Stop
  uint8_t end;        // End
  bool is_known;      // to the layer above
  bool is_entered;    // events.leave is due
  bool is_refused;    // counted in net->totals
  bool is_eof;        // the other side writes no more
};

// --- conn.c ---

/// Returns a connection that this Net serves, or NULL.
Conn *conn_find(const Net *net, ConnId id);
/// Returns whether input may be handed up.
bool conn_takes_input(const Conn *conn);
/// Adds a reason to read and hand up nothing.
void conn_stop(Conn *conn, unsigned reason);
/// Removes it; without another one, input goes on at the end of the iteration.
void conn_start(Conn *conn, unsigned reason);
/// Sets its unfinished bytes, here and in the totals of the Net.
void conn_count_unfinished(Conn *conn, uint32_t bytes);
/// Replaces the protocol and frees the speech of the one before.
void conn_speak(Conn *conn, const Protocol *protocol);
/// Returns whether the connection is open and speaks the protocol.
static inline bool conn_speaks(const Conn *conn, const Protocol *protocol) {
  return conn->protocol == protocol && conn->state == CONN_OPEN;
}
/// Reports a fault of the other side.
void conn_fault(Conn *conn, Code code, const char *text);
/// Reports an error of packet_read as a fault.
void conn_fault_at(Conn *conn, int error);
/// Ends an open conn, which is reported at the end of the iteration; destroys a closing one that
/// is END_BROKEN.
void conn_end(Conn *conn, End how);
/// Sets the reason of its close, for protocols that tell the other side, unless it has one.
/// `text` may be NULL.
void conn_set_reason(Conn *conn, Code code, const char *text);
/// Writes the last words of a closing conn whose output is out, then ends its stream.
void conn_drained(Conn *conn);
/// Ends it now; it is freed later, by the loop. Open conns are closed first (conn_close).
void conn_destroy(Conn *conn);
/// Lets a conn that was closed as it came linger to read why, unless too many do.
void conn_limit_refused(Conn *conn);
/// Returns the messages that wait for it.
NetSent conn_queued(const Conn *conn);
/// Copies its counters to its proxy, if it has one.
void conn_publish(const Conn *conn);

// --- inbox.c ---

/// After input: gives spare memory back, sets the deadline of begun input (`is_new`: begun just
/// now), and limits unfinished bytes. May end connections, this one included.
void inbox_settle(Conn *conn, bool is_new);
/// Ends connections while all have too many unfinished bytes together.
void inbox_limit(Net *net);

// --- local.c ---

/// The operations of connections that a Net serves itself.
extern const EndpointOps LOCAL;

// --- life.c ---

/// Initializes a zeroed conn: the first step of a new connection.
void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing);
/// Gives it an id; returns false when there are too many.
bool conn_add(Conn *conn);
/// Begins its protocol; `info->address` is that of the other side.
void conn_open(Conn *conn, const ConnInfo *info);
/// Makes the conn the user of the transport.
void conn_use(Conn *conn, Transport *transport);
/// Reports it to the layer above, which may close it at once.
void conn_introduce(Conn *conn, Framing framing);
/// Goes on with waiting input.
void conn_resume(Endpoint *endpoint);
/// Ends it in order, as net_close does.
void conn_close(Conn *conn);
/// Reports the end of a conn in net->ended, or that it does not read.
void conn_report_end(Endpoint *endpoint);
