// A connection: what it is, and what the files that handle one part of it (its transport,
// what it speaks, what waits for it) ask of it.
#pragma once

#include "base/buf.h"
#include "base/timers.h"
#include "net/internal.h"
#include "net/out/output.h"
#include "net/transport.h"

typedef struct Http Http;              // web_http.c
typedef struct Socket Socket;          // web_socket.c
typedef struct Admin Admin;            // admin.c
typedef struct Attachment Attachment;  // udp_internal.h

enum {
  // Handed to a transport's `write` at a time; what is handed over cannot be dropped
  // any more.
  WRITE_CHUNK_BYTES = 64 << 10,
  REFUSED_MAX = 64,  // connections closed as they came that may linger at a time
};

/// What the bytes of a connection are.
typedef enum Protocol {
  PROTOCOL_NATIVE,  // packets, or lines
  PROTOCOL_SNIFF,   // not known yet
  PROTOCOL_HTTP,
  PROTOCOL_WEBSOCKET,
  PROTOCOL_ADMIN,
} Protocol;

typedef enum ConnState { CONN_OPEN, CONN_CLOSING, CONN_CLOSED } ConnState;

struct Conn {
  Transport *transport;
  Net *net;
  Servicer *servicer;  // has the real one, and this stands in for it; NULL: this is it
  void *data;          // the layer above's
  Source direct;
  GroupRef *groups;
  uint16_t group_count, group_capacity;
  uint8_t state;     // ConnState
  uint8_t framing;   // Framing
  uint8_t protocol;  // Protocol
  bool is_known;     // to the layer above
  bool is_held;
  bool is_ended;      // in net->ended
  bool is_paused;     // it has had its share of this turn
  bool is_resumed;    // in net->resumed
  bool is_reported;   // in net->dropping
  bool is_urgent;     // its whole stream goes out this turn
  bool is_slow;       // condemned as a SlowConsumer
  bool is_condemned;  // and told so: it gets the last words only
  bool is_eof;        // the other side writes no more
  bool is_refused;    // counted in net->totals
  bool is_broken;     // ended by an error, not in order
  bool is_cut;        // the other side stopped in the middle of something
  ConnId id;
  uint32_t max_payload;
  uint32_t scanned;           // bytes of `in` known to hold no end of line
  Buf in;                     // an incomplete packet or line
  uint64_t in_since_ms;       // when that began to arrive, monotonic
  uint32_t unfinished_bytes;  // of it, counted in net->totals
  Timer timer;                // the deadline of a begun packet, then of lingering
  Backlog *backlog;           // NULL while it keeps up
  NetSent sent;
  NetAccount *account;   // where that is added at the end; NULL: nowhere
  Conn *account_next;    // in that one's list
  Published *published;  // where others see it and what waits; NULL: there is nobody
  ConnInfo *visitor;     // while it may become a peer, or is a web browser; else NULL
  Http *http;            // while it speaks HTTP
  Socket *socket;        // once it is a WebSocket
  Admin *admin;          // of the admin listener
  UdpPeer *udp;          // its datagrams, alone or beside the stream
  uint64_t udp_nonce;    // of the key by which the client may attach; 0: it may not
  Attachment *attachments;  // by that key; NULL: none so far
};

// conn.c
/// The first step of a transport that has a new connection. `conn` is zeroed.
void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing);
/// Gives it an id; false when there are too many.
bool conn_add(Conn *conn);
/// Tells upwards that it is there, and begins to read.
void conn_open(Conn *conn, const ConnInfo *info);
/// Has the transport report to the conn.
void conn_use(Conn *conn, Transport *transport);
/// What has arrived.
void conn_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Whether what has arrived may be handed up.
bool conn_takes_input(const Conn *conn);
/// Writes what is no message and cannot be dropped: at once, or when the rest is out.
void conn_write_now(Conn *conn, const uint8_t *bytes, size_t size);
/// Makes a visitor known to the layer above, which may close it at once.
void conn_introduce(Conn *conn, Framing framing);
/// Stops and continues reading and handing up.
void conn_hold(Conn *conn);
void conn_release(Conn *conn);
/// After input: memory that is not needed is given back, and a packet that was begun
/// (`is_new`: only now) has a deadline.
void conn_settle(Conn *conn, bool is_new);
/// Ends it in order, as net_close does.
void conn_close(Conn *conn);
/// Tells the layer above what the other side did wrong.
void conn_fault(Conn *conn, Code code, const char *text);
/// The same for what packet_read found.
void conn_fault_at(Conn *conn, int error);
/// What waits for it.
NetSent conn_queued(const Conn *conn);
/// Has it go on with its input at the end of the turn.
void conn_resume_later(Conn *conn);
/// It was closed as it came.
void conn_limit_refused(Conn *conn);
Conn *conn_find(const Net *net, ConnId id);
/// Has the end of a connection told upwards at the end of the turn; `error` as libuv
/// gives it, 0 for an orderly end.
void conn_end(Conn *conn, int error);
/// Tells upwards that the conn in net->ended is gone, or condemned.
void conn_tell_end(Conn *conn);
/// Leaves the rest of the conn's input for the next turn, so that one that floods does
/// not make the others wait.
void conn_pause(Conn *conn);
/// Continues with input that waited while the conn was held or paused.
void conn_resume(Conn *conn);
/// A closing conn has nothing left to write.
void conn_drained(Conn *conn);
/// Ends the connection now.
void conn_destroy(Conn *conn);

// unfinished.c
/// Counts the conn's unfinished bytes after input, and limits those of all. May end
/// connections, this one too.
void unfinished_count(Conn *conn);
/// Ends connections while all together have too many unfinished bytes.
void unfinished_limit(Net *net);
/// The conn is closing.
void unfinished_forget(Conn *conn);

// account.c
/// Adds to the conn's account, if it has one.
void account_add(Conn *conn, NetSent sent);
/// Nothing more of the conn is to be counted.
void account_leave(Conn *conn);
