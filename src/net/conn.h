// A connection, between the two tables of its transport and its protocol, and what the files
// of net ask of it. Functions are grouped by the file that has them, the lowest first: a file
// calls those above it only through the tables.
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
  // Handed to a transport's `write` at a time; what is handed over cannot be dropped
  // any more.
  WRITE_CHUNK_BYTES = 64 << 10,
  REFUSED_MAX = 64,  // connections closed as they came that may linger at a time
};

typedef enum ConnState { CONN_OPEN, CONN_CLOSING, CONN_CLOSED } ConnState;

/// Why nothing is read and handed up. All but STOP_SHARE stop the deadline of a packet that
/// was begun, too.
typedef enum Stop {
  STOP_THROTTLED = 1,  // net_throttle
  STOP_BUSY = 2,       // a request is being answered
  STOP_SHARE = 4,      // it has had its share of this iteration
  STOP_OWNER = 8,      // and higher bits: reasons of the layer above
} Stop;

/// How a connection ended that the layer above has not closed. The greater of two counts,
/// except that END_SLOW stays until it is reported.
typedef enum End {
  END_NONE,
  END_ORDERLY,
  END_CUT,     // the other side stopped in the middle of something
  END_SLOW,    // it does not read what it is sent
  END_BROKEN,  // by an error
} End;

/// What has arrived and is not whole.
typedef struct Inbox {
  Buf bytes;
  uint64_t since_ms;     // when that began to arrive, monotonic
  uint32_t scanned;      // bytes known to hold no end of line
  uint32_t counted;      // unfinished bytes that are counted in net->totals
  uint32_t max_payload;  // bytes
  uint8_t framing;       // Framing
} Inbox;

/// What the connection is sent.
typedef struct Outbox {
  Source direct;  // sent to it alone
  GroupRef *groups;
  uint16_t group_count, group_capacity;
  bool is_urgent;     // its whole stream goes out in this iteration
  bool is_condemned;  // it did not read: it gets only the last words
  Backlog *backlog;   // owned; NULL while the connection keeps up
  NetSent sent;       // so far
} Outbox;

struct Conn {
  Endpoint self;
  Transport *transport;
  const Protocol *protocol;
  void *speech;  // the protocol's own; owned, freed by protocol->free
  Net *net;
  Counters *counters;  // where other threads see its counters; NULL: there are none
  ConnInfo *info;      // owned; NULL once the layer above knows the connection
  Inbox in;
  Outbox out;
  Datagrams *datagrams;  // alone or beside the stream; NULL: none
  Timer timer;       // the protocol's, or of a packet that was begun, then of lingering
  char *close_text;  // why it is closed, in words; owned; NULL: none
  int8_t close_code;  // Code; -1: none was given
  uint8_t state;      // ConnState
  uint8_t stops;      // Stop
  uint8_t end;        // End
  bool is_known;      // to the layer above
  bool is_entered;    // to be followed by events.leave
  bool is_refused;    // counted in net->totals
  bool is_eof;        // the other side writes no more
};

// --- conn.c ---

/// A connection that this Net serves, or NULL.
Conn *conn_find(const Net *net, ConnId id);
/// Whether what has arrived may be handed up.
bool conn_takes_input(const Conn *conn);
/// Adds a reason to read and hand up nothing.
void conn_stop(Conn *conn, unsigned reason);
/// Removes it; without any other the input goes on at the end of the iteration.
void conn_start(Conn *conn, unsigned reason);
/// Counts `bytes` of it as unfinished, in the totals of the Net, too.
void conn_count_unfinished(Conn *conn, uint32_t bytes);
/// Replaces the protocol and frees the speech of the one before.
void conn_speak(Conn *conn, const Protocol *protocol);
/// Whether the connection is open and speaks the protocol.
static inline bool conn_speaks(const Conn *conn, const Protocol *protocol) {
  return conn->protocol == protocol && conn->state == CONN_OPEN;
}
/// Reports what the other side did wrong.
void conn_fault(Conn *conn, Code code, const char *text);
/// The same for an error of packet_read.
void conn_fault_at(Conn *conn, int error);
/// The connection has ended; reported at the end of the iteration, unless it is closing.
void conn_end(Conn *conn, End how);
/// Notes why it is closed, for protocols that tell the other side; the first reason counts.
/// `text` may be NULL.
void conn_set_reason(Conn *conn, Code code, const char *text);
/// A closing conn has nothing left to write.
void conn_drained(Conn *conn);
/// Ends it now.
void conn_destroy(Conn *conn);
/// It was closed as it came: it has a while to read why, if there are not too many.
void conn_limit_refused(Conn *conn);
/// Returns what waits for it.
NetSent conn_queued(const Conn *conn);
/// Lets other threads see its counters.
void conn_publish(const Conn *conn);

// --- inbox.c ---

/// After input: memory that is not needed is given back, what was begun (`is_new`: only now)
/// has a deadline, and unfinished bytes are limited. May end connections, this one too.
void inbox_settle(Conn *conn, bool is_new);
/// Ends connections while all together have too many unfinished bytes.
void inbox_limit(Net *net);

// --- local.c ---

/// The operations of connections that a Net serves itself.
extern const EndpointOps LOCAL;

// --- life.c ---

/// The first step of whoever has a new connection. `conn` is zeroed.
void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing);
/// Gives it an id; false when there are too many.
bool conn_add(Conn *conn);
/// Has its protocol begin; `info->address` is of the other side.
void conn_open(Conn *conn, const ConnInfo *info);
/// Has the transport report to the conn.
void conn_use(Conn *conn, Transport *transport);
/// Makes it known to the layer above, which may close it at once.
void conn_introduce(Conn *conn, Framing framing);
/// Continues with input that waited.
void conn_resume(Conn *conn);
/// Ends it in order, as net_close does.
void conn_close(Conn *conn);
/// Reports that a conn of net->ended has ended, or does not read.
void conn_report_end(Conn *conn);
