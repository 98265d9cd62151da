// What the files of net share. Nothing above net includes it.
//
// A Source is whatever collects messages between two flushes: a connection (sent to it
// directly) or a group. It has a Frame per priority. At a flush each connection takes
// from its sources what it has not yet taken, in the order in which it was made, and
// writes it in one gathered write. What the socket does not accept is copied to the
// connection's Backlog, whose size is bounded, so that a slow reader never holds on to
// anybody else's memory.
#pragma once

#include <uv.h>

#include "base/buf.h"
#include "base/slots.h"
#include "base/timers.h"
#include "net/net.h"
#include "net/udp.h"

typedef struct Conn Conn;
typedef struct Group Group;
typedef struct Sim Sim;
typedef struct Web Web;
typedef struct Http Http;
typedef struct Admin Admin;
typedef struct AdminPort AdminPort;
typedef struct Socket Socket;
typedef struct Tls Tls;
typedef struct TlsServer TlsServer;
typedef struct UdpServer UdpServer;
typedef struct UdpPeer UdpPeer;
typedef struct Attachment Attachment;
typedef struct Servicer Servicer;
typedef struct Servicers Servicers;

enum {
  TLS_FIRST_BYTE = 0x16,         // of a record of its handshake
  READ_BUFFER_BYTES = 64 << 10,  // shared by all connections of a loop
  // Handed to a transport's `write` at a time; what is handed over cannot be dropped
  // any more.
  WRITE_CHUNK_BYTES = 64 << 10,
  FRAME_POOL_MAX = 256,  // empty frames kept for reuse
  SKIPS_KEPT = 64,       // a member's longer list of skips gives its memory back
  FRAME_KEEP_BYTES = 256 << 10,  // larger frames give their memory back
  LISTEN_BACKLOG = 4096,
  REFUSED_MAX = 64,  // connections closed as they came that may linger at a time
  BACKLOG_KEPT_SPARE = 256,  // control messages that may wait beyond the capacity
  PRIORITIES_ALL = (1 << PRIORITY_COUNT) - 1,
  LANE_LOOSE = PRIORITY_COUNT,  // the first of those for datagrams
  LANE_COUNT = 2 * PRIORITY_COUNT,
};

typedef struct Entry {
  uint32_t end;   // offset just past its last byte in the frame
  uint8_t flags;  // OutFlags
  bool is_dead;   // replaced by a newer one with the same key
  uint64_t stamp;
  uint64_t key;
} Entry;

/// The messages of one source and priority since its last flush.
typedef struct Frame {
  Buf bytes;
  Entry *entries;
  uint32_t count, capacity;
  uint32_t dead_count, keyed_count;
  struct Frame *next_free;
} Frame;

typedef struct Source {
  Frame *frames[PRIORITY_COUNT];  // NULL while nothing is pending
  uint8_t pending;                // mask of the priorities that have a frame
  bool is_dirty;                  // in the list of sources to flush
} Source;

/// Messages [from, to) of a group that a member does not get, by number since the
/// group's start.
typedef struct Skip {
  uint32_t from, to;
  uint8_t priority;
} Skip;

typedef struct Member {
  Conn *conn;
  uint32_t ref;                     // index of this membership in conn->groups
  uint32_t cursor[PRIORITY_COUNT];  // messages taken, by number since the group's start
  uint32_t skip_count, skip_capacity;
  Skip *skips;
} Member;

struct Group {
  Source source;
  bool is_urgent;  // its members' whole streams go out this turn
  uint32_t id;
  uint32_t tag;
  uint32_t base[PRIORITY_COUNT];  // number of the first message in each frame
  Member *members;
  uint32_t count, capacity;
  uint32_t *elsewhere;  // members that each servicer has; NULL: none has any
};

typedef struct GroupRef {
  Group *group;
  uint32_t index;  // in group->members
} GroupRef;

/// A message that waits in a backlog.
typedef struct Waiting {
  uint32_t size;
  uint32_t tag;
  uint64_t key;
  uint8_t flags;
  bool is_dead;
} Waiting;

typedef struct Lane {
  Buf bytes;
  size_t at;  // bytes before this are gone
  Waiting *items;
  uint32_t head, count, capacity;  // items[head .. head+count)
  uint32_t keyed_count;
  size_t dead_bytes;
} Lane;

typedef struct Drop {
  uint32_t tag;
  uint32_t count;
} Drop;

/// What waits for a connection that does not read fast enough. Each priority has a lane for
/// the stream and one for what goes by datagrams.
typedef struct Backlog {
  Net *net;
  uv_write_t request;  // for the transport
  bool is_writing;
  Buf writing;  // bytes handed to the transport
  Lane lanes[LANE_COUNT];
  uint32_t droppable, kept;  // messages waiting, by whether overflow may drop them
  size_t bytes;
  NetSent counted;  // in net->totals
  Drop *drops;      // not yet reported
  uint32_t drop_count, drop_capacity;
} Backlog;

/// What the bytes of a connection are.
typedef enum Protocol {
  PROTOCOL_NATIVE,  // packets, or lines
  PROTOCOL_SNIFF,   // not known yet
  PROTOCOL_HTTP,
  PROTOCOL_WEBSOCKET,
  PROTOCOL_ADMIN,
} Protocol;

typedef enum ConnState { CONN_OPEN, CONN_CLOSING, CONN_CLOSED } ConnState;

/// How the bytes of a connection travel. A transport has a struct of its own for each
/// connection, whose first member is the Conn. What arrives it tells by conn_read and
/// conn_read_end. Errors are libuv's.
typedef struct Transport {
  /// Starts and stops handing up what arrives. Nothing is handed up from within.
  void (*read_start)(Conn *conn);
  void (*read_stop)(Conn *conn);
  /// Writes what can be written at once and returns how many bytes that was, or
  /// UV_EAGAIN for none, or the error that ended the connection.
  int (*try_write)(Conn *conn, const uv_buf_t *bufs, unsigned count);
  /// Writes all of `bytes`, which stay where they are meanwhile, and then calls
  /// conn_written; not from within. Returns 0 or an error.
  int (*write)(Conn *conn, uint8_t *bytes, size_t size);
  /// Tells the other side that nothing more comes. False when it cannot be told.
  bool (*shutdown)(Conn *conn);
  /// Ends it now, and calls conn_free when nothing refers to the conn any more; not
  /// from within.
  void (*close)(Conn *conn);
} Transport;

/// Figures of a connection that another thread may read.
typedef struct Published {
  _Atomic uint64_t sent_packets, sent_bytes;
  _Atomic uint64_t queued_packets, queued_bytes;
  // Of datagrams, as UdpFigures has them.
  _Atomic bool has_udp, udp_passes;
  _Atomic uint32_t udp_rtt_us;
  _Atomic uint64_t udp_received, udp_received_bytes, udp_sent, udp_sent_bytes;
  _Atomic uint64_t udp_lost, udp_resent_bytes;
} Published;

struct Conn {
  const Transport *transport;
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
  uint32_t scanned;  // bytes of `in` known to hold no end of line
  Buf in;            // an incomplete packet or line
  uint64_t in_since_ms;
  Timer timer;       // the deadline of a begun packet, then of lingering
  Backlog *backlog;  // NULL while it keeps up
  NetSent sent;
  NetAccount *account;   // where that is added at the end; NULL: nowhere
  Conn *account_next;    // in that one's list
  Published *published;  // where others see it and what waits; NULL: there is nobody
  ConnInfo
      *visitor;    // while it may still become a peer, or is a web browser; else NULL
  Http *http;      // while it speaks HTTP
  Socket *socket;  // once it is a WebSocket
  Admin *admin;    // of the admin listener
  Tls *tls;        // between it and its transport; NULL: what it says is not encrypted
  UdpPeer *udp;    // its datagrams, alone or beside the stream
  uint64_t udp_nonce;       // of the key by which the client may attach; 0: it may not
  Attachment *attachments;  // by that key; NULL: none so far
};

/// A list that owns nothing.
typedef struct List {
  void **items;
  uint32_t count, capacity;
} List;

typedef struct Listener Listener;

/// What is limited for all connections together, whichever thread serves them.
typedef struct NetTotals {
  _Atomic uint64_t backlog_packets, backlog_bytes;  // that wait in all backlogs
  _Atomic uint64_t unfinished_bytes;                // of messages of WebSockets
  _Atomic uint64_t udp_bytes;                       // of streams by UDP that have gaps
  _Atomic uint32_t refused;  // connections closed as they came and not gone yet
} NetTotals;

struct Net {
  Sim *sim;        // NULL: time, randomness and sockets are real
  uv_loop_t loop;  // and what belongs to it: only when they are
  uv_prepare_t prepare;
  uv_check_t check;
  uv_idle_t idle;  // runs while there is more to do, so that the loop does not wait
  uv_timer_t clock;
  uint64_t clock_due_ms;  // what `clock` is set to
  uint64_t polled_ms;     // when the loop went to look at the sockets
  Timers timers;
  Timer frame_timer;
  uint64_t next_frame_us;
  NetLimits limits;
  NetEvents events;
  void *data;
  Slots conns, groups;
  uint64_t stamp;
  Frame *free_frames;
  uint32_t free_frame_count;
  List dirty_groups, dirty_conns;  // with something pending
  List ended;                      // to be told upwards
  List resumed;                    // released or paused: input may be waiting
  List dropping;                   // with drops to report
  NetSent sent;                    // to all connections so far
  Published published;             // the same, where connections publish theirs
  Listener *listeners;
  uint64_t accept_warned_ms;
  uint64_t descriptors;             // how many this process may have
  NetTotals own_totals, *totals;    // its own, or those of the Net that it serves for
  Servicers *servicers;             // NULL: it serves its connections itself
  Servicer *servicer;               // whose Net it is; NULL: nobody's
  Web *web;                         // NULL: nothing asked for it yet
  TlsServer *tls;                   // NULL: there has been no certificate
  AdminPort *admin;                 // NULL: there is no admin listener
  UdpServer *udp;                   // NULL: no UDP
  uint64_t hashes[NET_HASHES_MAX];  // as net_set_hashes has them
  uint32_t hash_count;
  List children;  // see child.h
  bool is_stopping;
  uint8_t read_buffer[READ_BUFFER_BYTES];
};

uv_loop_t *net_loop(Net *net);
/// A Net without a loop.
Net *net_make(const NetLimits *limits, const NetEvents *events, void *data);
/// Gives it one. Returns 0, or an error and then nothing has changed.
int net_open_loop(Net *net);
/// All input is in: the layers above act on it, then their output leaves. Returns
/// whether there is more to do.
bool net_end_turn(Net *net);
/// Logs, at most once a second, why connections are refused.
void net_warn_accept(Net *net, const char *error);

// sim.c
uint64_t sim_now_ms(const Sim *sim);
uint64_t sim_unix_us(const Sim *sim);
void sim_random(Sim *sim, void *bytes, size_t size);
/// Nobody is accepted any more.
void sim_stop(Net *net);
/// Closes what is open and frees it.
void sim_free(Net *net);

// list.c
void list_add(List *list, void *item);
void list_remove(List *list, const void *item);
void list_deinit(List *list);

// account.c
/// Adds to the conn's account, if it has one.
void account_add(Conn *conn, NetSent sent);
/// Nothing more of the conn is to be counted.
void account_leave(Conn *conn);

// frame.c
/// The frame of `source` at `priority`, taken from the pool when there is none.
Frame *frame_of(Net *net, Source *source, uint8_t priority);
void frame_append(Frame *frame, const Out *out, uint64_t stamp);
/// Empties the source's frame at `priority` and gives it back to the pool.
void frame_release(Net *net, Source *source, uint8_t priority);
void frame_pool_free(Net *net);
/// Where message `index` begins.
static inline uint32_t frame_start(const Frame *frame, uint32_t index) {
  return index == 0 ? 0 : frame->entries[index - 1].end;
}

// group.c
/// Takes the conn out of all its groups.
void group_leave_all(Conn *conn);
/// Forgets what members were not to get, once nothing is pending.
void group_forget_skips(Group *group);
/// Empties the group's frames of the priorities in `mask`; everyone has taken them.
void group_reset(Net *net, Group *group, unsigned mask);

// flush.c
/// Writes what the conn has not yet taken from its sources, in the priorities of
/// `mask`.
void flush_conn(Conn *conn, unsigned mask);
/// Flushes what this turn has to: everything when a frame is due, else critical and
/// urgent. With a frame, drops are reported; returns whether any were.
bool flush_turn(Net *net);
/// Flushes every member of a group, so that its frames can be emptied.
void flush_group(Net *net, Group *group, unsigned mask);

// backlog.c
/// Keeps messages [first, last) of `frame` for a conn that cannot take them now, in a lane:
/// their priority, and LANE_LOOSE more for datagrams. `tag` says whose they are. Overflow is
/// judged here.
void backlog_take(Conn *conn, uint8_t place, const Frame *frame, uint32_t first,
                  uint32_t last, uint32_t tag);
/// Takes out the next message that waits for a datagram, which is at the returned place until
/// the backlog is next used. NULL: there is none.
const uint8_t *backlog_pop_loose(Conn *conn, Waiting *item);
/// Whether anything waits for a datagram.
bool backlog_has_loose(Conn *conn);
/// What waits for datagrams waits for the stream from now on.
void backlog_join_stream(Conn *conn);
/// Puts the rest of a message that was written in part before everything else.
void backlog_take_rest(Conn *conn, const uint8_t *bytes, size_t size);
/// Hands the next chunk to the transport, if none is under way. Frees the backlog when all is
/// written.
void backlog_pump(Conn *conn);
/// Tells upwards of one source's drops; returns whether there are more to tell of.
bool backlog_report(Conn *conn);
void backlog_free(Conn *conn);

// conn.c
/// The first step of a transport that has a new connection. `conn` is zeroed.
void conn_init(Conn *conn, Net *net, const Transport *transport, Framing framing);
/// Gives it an id; false when there are too many.
bool conn_add(Conn *conn);
/// Tells upwards that it is there, and begins to read.
void conn_open(Conn *conn, const ConnInfo *info);
/// Bytes have arrived; with READ_BUFFER_BYTES of them the rest is left for later.
void conn_read(Conn *conn, const uint8_t *bytes, size_t size);
/// What has arrived, when nothing is wrapped around it any more.
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
/// Nothing more arrives: UV_EOF or an error.
void conn_read_end(Conn *conn, int status);
/// What was handed to the transport's `write` is written, or (an error) never will be.
void conn_written(Conn *conn, int status);
/// The same, when nothing is wrapped around it any more.
void conn_output_done(Conn *conn, int status);
/// Frees it.
void conn_free(Conn *conn);
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

// servicer_events.c
/// Lets others see what it was sent and what waits; there are some.
void conn_publish(const Conn *conn);

// udp_peer.c
/// Sends a packet by a datagram, at once or after those that were sent before it; false when
/// it has to wait.
bool udp_send(UdpPeer *peer, const void *packet, uint32_t size, uint64_t key,
              uint32_t tag);
/// Whether a message of this kind and size goes by a datagram now.
bool udp_carries(const UdpPeer *peer, uint8_t out_flags, uint32_t size);
/// Hands what was sent to the kernel at the end of the turn, as far as it may leave now.
void udp_flush(UdpPeer *peer);
/// What the CLOSE of a connection that is alone will say.
void udp_set_end(Conn *conn, Code code);
/// The connection ends: its datagrams do, too, unless they are all it has.
void udp_leave(Conn *conn);
/// Frees what the conn has of UDP.
void udp_conn_free(Conn *conn);
bool udp_is_alone(const Conn *conn);

// udp.c
/// All that was to be sent this turn leaves. Returns whether there is more to do.
bool udp_end_turn(Net *net);
/// Nobody comes any more; the ports are closed when those who are alone are gone.
void udp_stop(Net *net);
/// Ends all that is left.
void udp_shut(Net *net);
void udp_free(Net *net);

// tls.c
/// Puts TLS between the conn, which has read nothing yet, and its transport. False
/// without a certificate; then the conn has ended.
bool tls_accept(Conn *conn);
/// Whether the handshake is done.
bool tls_is_ready(const Conn *conn);
/// Ends it: the handshake takes too long.
void tls_give_up(Conn *conn);
/// Encrypted bytes have arrived.
void tls_read(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with what waited while the conn was held or paused.
void tls_resume(Conn *conn);
/// What the end of what arrives means: an end that was not announced is an error.
int tls_end_status(const Conn *conn, int status);
/// As conn_written, of encrypted bytes.
void tls_written(Conn *conn, int status);
/// Whether the transport below has not written all of it.
bool tls_is_writing(const Conn *conn);
/// Says that nothing more comes. False while that is not out; then conn_drained is called
/// again.
bool tls_finish(Conn *conn);
/// For the transport below.
uv_write_t *tls_request(Conn *conn);
void tls_free(Conn *conn);
void tls_server_free(Net *net);

// web.c
/// Somebody has come to a port that serves more than packets.
void web_enter(Conn *conn, const ConnInfo *info);
/// The first bytes.
void web_sniff(Conn *conn, const uint8_t *bytes, size_t size);
/// It is a visitor no more.
void web_leave(Conn *conn);
/// What net keeps for the web, made when it is first asked for.
Web *web_of(Net *net);
void web_free(Net *net);

// web_http.c
void http_begin(Conn *conn);
void http_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with requests that wait.
void http_resume(Conn *conn);
/// All that was written is out.
void http_drained(Conn *conn);
/// The other side has ended its stream. False when nothing is being answered, and the
/// connection may end.
bool http_outlives_end(Conn *conn);
void http_free(Conn *conn);

// web_socket.c
/// The opening handshake is over.
void socket_begin(Conn *conn);
void socket_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with input that waited.
void socket_resume(Conn *conn);
/// Whether something was begun and is not whole.
bool socket_is_unfinished(const Conn *conn);
/// Whether the other side has said that it is the end.
bool socket_is_over(const Conn *conn);
/// Writes messages, `bufs[1]` to `bufs[count]`, of `total` bytes as one; `bufs[0]` is free.
/// Returns `total`, or UV_EAGAIN when nothing could be written, or another error.
int socket_try_write(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total);
/// Makes one of the messages from `start` to the end of `bytes`.
void socket_wrap(Conn *conn, Buf *bytes, size_t start);
/// What the close frame will say.
void socket_set_end(Conn *conn, Code code, const char *text);
/// Writes the close frame; false when it is out.
bool socket_finish(Conn *conn);
void socket_free(Conn *conn);

// admin.c
/// Somebody has come to the admin listener.
void admin_enter(Conn *conn, const ConnInfo *info);
void admin_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with requests that wait.
void admin_resume(Conn *conn);
/// All that was written is out.
void admin_drained(Conn *conn);
/// As http_outlives_end.
bool admin_outlives_end(Conn *conn);
/// It closes: who was to answer is told.
void admin_leave(Conn *conn);
void admin_free(Conn *conn);
void admin_port_free(Net *net);
