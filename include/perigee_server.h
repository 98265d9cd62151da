// A Perigee server inside another program: libperigee-server.
//
//   perigee_server_config *config = perigee_server_config_new();
//   perigee_server_config_set(config, "port", "7777");
//   perigee_server_handlers handlers = {.size = sizeof handlers, .on_join = on_join};
//   char error[256];
//   perigee_server *server =
//       perigee_server_start(config, &handlers, my_data, error, sizeof error);
//   perigee_server_config_free(config);
//   perigee_server_run(server);  // until perigee_server_stop
//   perigee_server_free(server);
//
// A server belongs to the thread that runs or polls it, and calls handlers in that
// thread. Any thread may call the functions in the sections marked "from any thread".
// Texts are UTF-8. The library copies the texts that the host passes in. The texts that
// a handler gets are valid until the handler returns. Peers and rooms have numbers; 0
// means none. The server does not soon reuse the number of a peer or room that has
// ended. The library prints nothing and never ends the process, except when memory is
// exhausted. A process may have any number of servers.
//
// docs/embedding.md is the guide.
#ifndef PERIGEE_SERVER_H
#define PERIGEE_SERVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PERIGEE_SERVER_API __attribute__((visibility("default")))
#else
#define PERIGEE_SERVER_API
#endif

typedef struct perigee_server perigee_server;
typedef struct perigee_server_config perigee_server_config;
typedef struct perigee_server_batch perigee_server_batch;
typedef struct perigee_server_snapshot perigee_server_snapshot;

/// A text in UTF-8; `data` may contain any bytes. A NUL follows the text, except after
/// an event's `data` in a handler. `bytes` may be NULL if `size` is 0.
typedef struct perigee_server_text {
  const char *bytes;
  size_t size;
} perigee_server_text;

/// Errors of functions and of requests. perigee_server_error returns a sentence for
/// each error.
typedef enum perigee_server_code {
  PERIGEE_SERVER_OK = 0,
  PERIGEE_SERVER_INVALID = -1,    // the call can never succeed
  PERIGEE_SERVER_NOT_FOUND = -2,  // the peer, room, member or token does not exist (any
                                  // more)
  PERIGEE_SERVER_EXISTS = -3,     // the room exists already, or the peer is a member
                                  // already
  PERIGEE_SERVER_LIMIT = -4,      // a limit is reached
  PERIGEE_SERVER_TOO_LARGE = -5,  // the bytes are more than max_payload
  PERIGEE_SERVER_OVER = -6,       // the server is stopping
  PERIGEE_SERVER_REFUSED = -7,    // a handler of the game refused the request, or
                                  // failed
  PERIGEE_SERVER_HAS_THREAD = -8  // the server has a thread of its own, which runs it
} perigee_server_code;

/// Returns the sentence for a perigee_server_code. Static.
PERIGEE_SERVER_API const char *perigee_server_error(int code);

// --- Settings ------------------------------------------------------------------------------

/// Returns a config with all defaults. The caller frees it.
PERIGEE_SERVER_API perigee_server_config *perigee_server_config_new(void);
PERIGEE_SERVER_API void perigee_server_config_free(perigee_server_config *config);

/// Sets a key of docs/settings.md, as a flag of `perigee run` does; it overrides the `config` of
/// a game. Further keys: "game" (a folder or a .lua file, whose handlers run as with
/// `perigee run`), "thread" ("true": the server has a thread of its own), "jit" ("false": scripts
/// are interpreted) and "lua_path". Returns 0 or PERIGEE_SERVER_INVALID; then
/// perigee_server_config_error returns a sentence.
PERIGEE_SERVER_API int perigee_server_config_set(perigee_server_config *config,
                                                 const char *key, const char *value);

/// Returns the sentence about the last call that failed, valid until the next one.
PERIGEE_SERVER_API const char *perigee_server_config_error(
    const perigee_server_config *config);

// --- Events --------------------------------------------------------------------------------

/// Types of events. The brackets list the fields that the event sets besides `type`. An
/// event with `peer` also sets `peer_name`. An event with `room` also sets `room_name`.
typedef enum perigee_server_event_type {
  PERIGEE_SERVER_CONNECT =
      1,  // a client wants to connect (peer, address, transport, auth, token)
  PERIGEE_SERVER_DISCONNECT,  // a session has ended (peer, code)
  PERIGEE_SERVER_SUSPEND,     // a connection is lost; its session waits (peer, code)
  PERIGEE_SERVER_RESUME,  // a peer is back in a room (peer, room, time_ms, lost, resent)
  PERIGEE_SERVER_JOIN,    // a peer wants to join (peer, room, data, token)
  PERIGEE_SERVER_LEAVE,   // a peer has left (peer, room, code)
  PERIGEE_SERVER_BROADCAST,  // bytes for the room (peer, room, data, token)
  PERIGEE_SERVER_BACKPRESSURE,  // a peer reads too slowly (peer, room or 0, dropped, queued)
  PERIGEE_SERVER_MESSAGE,  // a message (peer, room or 0, number, name, data, token)
  PERIGEE_SERVER_PACKET,   // a packet on a channel (peer, channel, number, data, token)
  PERIGEE_SERVER_ROOM_CREATE,  // a room has appeared (room)
  PERIGEE_SERVER_ROOM_DELETE,  // a room is gone (room)
  PERIGEE_SERVER_LOG,          // a line of the log (level, text)
  PERIGEE_SERVER_RESULT,       // a request has ended (request, code, room or text)
  PERIGEE_SERVER_STOPPED,      // the server has stopped; the last event (text: reason)
  PERIGEE_SERVER_ACCEPT        // a connection begins (address, port)
} perigee_server_event_type;

/// An event. Fields that it does not set are 0 or empty texts.
typedef struct perigee_server_event {
  int type;   // perigee_server_event_type
  int code;   // a perigee_server_code for RESULT, otherwise a code of docs/protocol.md
  int level;  // level of LOG: 0 debug, 1 info, 2 warn, 3 error
  uint32_t peer, room;  // numbers
  uint32_t request;     // number that the function of the request has returned
  uint32_t channel;     // channel of a packet
  uint32_t number;  // message: its number in the schema, or 0 if `data` is JSON text;
                    // packet: its type
  uint32_t dropped, queued;  // numbers of messages: dropped since the last such event,
                             // and waiting now
  uint32_t lost, resent;  // number of messages that the peer missed; number of packets
                          // that it gets again
  uint64_t time_ms;       // duration of the suspension, milliseconds
  uint64_t
      token;  // argument of perigee_server_verdict, or of perigee_server_answer if the
              // sender of a message or packet waits for an answer; otherwise 0
  perigee_server_text peer_name, room_name;
  perigee_server_text address;    // address of the client, without port
  perigee_server_text transport;  // "tcp", "ws", "udp" or "text"
  perigee_server_text auth;       // token of the client
  perigee_server_text name;       // name of a message
  perigee_server_text text;       // sentence or line for people
  perigee_server_text
      data;  // bytes of a broadcast, message or packet; for JOIN the client's options
             // as JSON, which include a password if given, or empty
  uint32_t port;  // remote port of ACCEPT
} perigee_server_event;

/// Verdicts: results of on_accept, on_connect, on_join and on_broadcast.
typedef enum perigee_server_verdict_value {
  PERIGEE_ACCEPT = 0,
  PERIGEE_REJECT = 1,
  PERIGEE_LATER = 2  // perigee_server_verdict follows; not for on_accept
} perigee_server_verdict_value;

typedef int perigee_server_verdict_handler(perigee_server *server,
                                           const perigee_server_event *event,
                                           void *user_data);
typedef void perigee_server_event_handler(perigee_server *server,
                                          const perigee_server_event *event,
                                          void *user_data);

/// Handlers; each may be NULL. A Lua game gets an event after the handler here, and
/// only if that handler accepts the event. The thread that runs the server calls them,
/// so they should return soon. They may call every function of this header except those
/// that run or free the server. The bots of a Lua game join and leave rooms, but have no
/// on_connect and on_disconnect.
typedef struct perigee_server_handlers {
  size_t size;  // sizeof (perigee_server_handlers)
  perigee_server_verdict_handler *on_connect;
  perigee_server_event_handler *on_disconnect;
  perigee_server_event_handler *on_suspend;
  perigee_server_event_handler *on_resume;
  perigee_server_verdict_handler *on_join;
  perigee_server_event_handler *on_leave;
  perigee_server_verdict_handler *on_broadcast;
  perigee_server_event_handler *on_backpressure;
  perigee_server_event_handler *on_message;
  perigee_server_event_handler *on_packet;
  perigee_server_event_handler *on_room_create;
  perigee_server_event_handler *on_room_delete;
  perigee_server_event_handler *on_log;  // may be called by any thread of the library
  perigee_server_event_handler *on_stopped;  // the last call
  perigee_server_event_handler *on_result;
  perigee_server_verdict_handler *on_accept;  // called before any input, for ban lists
} perigee_server_handlers;

// --- Running -------------------------------------------------------------------------------

/// Starts a server, which listens when this function returns. Copies `config` and
/// `handlers` (which may be NULL). The server may call handlers before this function
/// returns. On an error, returns NULL and writes a sentence, or several lines, to
/// `error`. With "thread", `handlers` must be NULL.
PERIGEE_SERVER_API perigee_server *perigee_server_start(
    const perigee_server_config *config, const perigee_server_handlers *handlers,
    void *user_data, char *error, size_t error_size);

/// Returns the TCP port.
PERIGEE_SERVER_API uint16_t perigee_server_port(const perigee_server *server);

/// Serves until the server has stopped, then returns 0. Returns
/// PERIGEE_SERVER_HAS_THREAD at once if the server has a thread of its own, and
/// PERIGEE_SERVER_INVALID in a handler.
PERIGEE_SERVER_API int perigee_server_run(perigee_server *server);

/// Runs one iteration, which waits for work for at most `timeout_ms` (negative: without
/// end). Returns 1 while the server runs and 0 when it has stopped. Returns the same
/// errors as perigee_server_run.
PERIGEE_SERVER_API int perigee_server_poll(perigee_server *server, int timeout_ms);

/// Connect the server to a loop of the host. perigee_server_fd returns a descriptor
/// that becomes readable when the server has work. perigee_server_timeout_ms returns
/// the milliseconds after which the host must call perigee_server_poll in any case (-1:
/// no limit).
PERIGEE_SERVER_API int perigee_server_fd(const perigee_server *server);
PERIGEE_SERVER_API int perigee_server_timeout_ms(const perigee_server *server);

/// Take the next event of a server with "thread". The host frees it with
/// perigee_server_event_free. perigee_server_wait waits at most `timeout_ms` (negative:
/// without end); perigee_server_next does not wait. Only one thread at a time may call
/// them. They return 1 and set `*event`, or 0 if no event has arrived. After the last
/// event they return PERIGEE_SERVER_OVER. Without "thread" they return
/// PERIGEE_SERVER_INVALID. Events that need a verdict wait for perigee_server_verdict.
/// While the queue is full, the server does not read from clients.
PERIGEE_SERVER_API int perigee_server_next(perigee_server *server,
                                           perigee_server_event **event);
PERIGEE_SERVER_API int perigee_server_wait(perigee_server *server,
                                           perigee_server_event **event,
                                           int timeout_ms);
PERIGEE_SERVER_API void perigee_server_event_free(perigee_server_event *event);

/// Makes the server stop, as SIGTERM stops `perigee run`. Callable from any thread and
/// from signal handlers.
PERIGEE_SERVER_API void perigee_server_stop(perigee_server *server, const char *reason);

/// Ends the server, even without a call of perigee_server_stop, and frees it. No thread
/// may use the server during or after this call. NULL is allowed.
PERIGEE_SERVER_API void perigee_server_free(perigee_server *server);

// --- Answers: from any thread --------------------------------------------------------------

/// Answers an event that needs a verdict. A peer that is not accepted gets `reason`
/// (may be NULL). If no verdict comes within verdict_timeout, the server refuses with
/// Internal. If the sender of a message or packet waits for an answer, you may also
/// give a verdict: PERIGEE_ACCEPT passes the message or packet on to the Lua game.
/// PERIGEE_REJECT answers with Rejected.
PERIGEE_SERVER_API int perigee_server_verdict(perigee_server *server, uint64_t token,
                                              int verdict, const char *reason);

/// Answers a message with JSON text, or a packet with bytes. Its sender must wait for
/// an answer.
PERIGEE_SERVER_API int perigee_server_answer(perigee_server *server, uint64_t token,
                                             const void *bytes, size_t size);

/// Ends an event that needs a verdict, or a request, with a fault, as perigee.fault does
/// in Lua: the peer gets `code` and the value `json` (NULL: null). A peer that wants to
/// connect gets the code as the reason. Code and value have at most 16 KiB.
PERIGEE_SERVER_API int perigee_server_fault(perigee_server *server, uint64_t token,
                                            const char *code, const char *json);

// --- Commands: from any thread -------------------------------------------------------------
// The server carries commands out in order, after the running handler. A command in a
// batch waits for perigee_server_commit. Functions return 0 or a negative
// perigee_server_code. A command may become impossible after the call, for example
// because a peer has gone. It then does nothing; in a batch, the whole batch fails.

/// Receivers of a message. Without a batch, the server skips peers that have gone.
typedef enum perigee_server_target_kind {
  PERIGEE_SERVER_TO_PEER,   // peer `id`
  PERIGEE_SERVER_TO_PEERS,  // all peers in `peers`
  PERIGEE_SERVER_TO_ROOM,   // all members of room `id` except the peers in `peers`
  PERIGEE_SERVER_TO_ALL     // all peers except the peers in `peers`
} perigee_server_target_kind;

typedef struct perigee_server_target {
  int kind;  // perigee_server_target_kind
  uint32_t id;
  const uint32_t *peers;  // may be NULL
  size_t count;           // number of `peers`
} perigee_server_target;

/// Ways to send: 0, or a sum of these values. Without a priority, the message has
/// normal priority.
typedef enum perigee_server_flags {
  PERIGEE_SERVER_RELIABLE =
      1,  // the message arrives even if the connection is lost and resumed
  PERIGEE_SERVER_CRITICAL = 2,
  PERIGEE_SERVER_HIGH = 4,
  PERIGEE_SERVER_LOW = 8
} perigee_server_flags;

/// perigee_server_begin begins a batch, which only one thread may use.
/// perigee_server_commit ends it and carries out all of its commands, or none. It
/// returns a request; a PERIGEE_SERVER_RESULT reports the outcome.
/// perigee_server_cancel ends the batch and discards its commands. The rooms of a batch
/// stay hidden until the game's on_create has accepted all of them. If on_create
/// refuses one room, the server deletes the other rooms and carries out nothing else. A
/// batch does not fail if on_join refuses a peer later.
PERIGEE_SERVER_API perigee_server_batch *perigee_server_begin(perigee_server *server);
PERIGEE_SERVER_API int perigee_server_commit(perigee_server_batch *batch);
PERIGEE_SERVER_API void perigee_server_cancel(perigee_server_batch *batch);

/// Sends a message of the game; `json` is its value (NULL: null).
PERIGEE_SERVER_API int perigee_server_send(perigee_server *server,
                                           perigee_server_batch *batch,
                                           const perigee_server_target *target,
                                           const char *name, const char *json,
                                           unsigned flags);

/// Sends a packet on a channel of the game.
PERIGEE_SERVER_API int perigee_server_send_packet(perigee_server *server,
                                                  perigee_server_batch *batch,
                                                  const perigee_server_target *target,
                                                  uint16_t channel, uint16_t type,
                                                  const void *bytes, size_t size,
                                                  unsigned flags);

/// Sends bytes as if a member had broadcast them; the sender is peer 0. Text peers get
/// the bytes as one line. Other peers get them in packets of at most max_payload.
PERIGEE_SERVER_API int perigee_server_relay(perigee_server *server,
                                            perigee_server_batch *batch,
                                            const perigee_server_target *target,
                                            const void *bytes, size_t size,
                                            unsigned flags);

/// Creates a room. Returns a request (above 0); a PERIGEE_SERVER_RESULT reports its
/// outcome and the room. In a batch, returns 0.
PERIGEE_SERVER_API int perigee_server_room_create(perigee_server *server,
                                                  perigee_server_batch *batch,
                                                  const char *name, size_t size);

/// Settings of a room, with their meanings in Lua. A field that is 0 or NULL leaves the
/// setting unchanged; a new room begins with the settings of its kind. 1 switches a
/// switch on, and -1 off.
typedef struct perigee_server_room_settings {
  size_t size;        // sizeof (perigee_server_room_settings)
  uint32_t capacity;  // members, at most 1000000
  int hidden, locked, permanent;
  const char *password;     // 1 to 64 bytes; "": none
  uint64_t auto_delete_ms;  // delay until the empty room is deleted
} perigee_server_room_settings;

/// perigee_server_room_create_with creates a room with settings, as
/// perigee_server_room_create does. perigee_server_room_set changes those of a room.
PERIGEE_SERVER_API int perigee_server_room_create_with(
    perigee_server *server, perigee_server_batch *batch, const char *name, size_t size,
    const perigee_server_room_settings *settings);
PERIGEE_SERVER_API int perigee_server_room_set(
    perigee_server *server, perigee_server_batch *batch, uint32_t room,
    const perigee_server_room_settings *settings);

/// Soft-deletes a room: peers cannot join it any more, and it ends when its last member leaves.
PERIGEE_SERVER_API int perigee_server_room_delete(perigee_server *server,
                                                  perigee_server_batch *batch,
                                                  uint32_t room);

/// Stores a text under a key of a room's meta, as room:set_meta does in Lua; NULL removes the
/// key. A key has at most 64 bytes. All keys and values of a room together, as JSON,
/// have at most 64 KiB. Clients do not see these keys.
PERIGEE_SERVER_API int perigee_server_room_meta(perigee_server *server,
                                                perigee_server_batch *batch,
                                                uint32_t room, const char *key,
                                                const char *value);

PERIGEE_SERVER_API int perigee_server_join(perigee_server *server,
                                           perigee_server_batch *batch, uint32_t peer,
                                           uint32_t room);
PERIGEE_SERVER_API int perigee_server_leave(perigee_server *server,
                                            perigee_server_batch *batch, uint32_t peer,
                                            uint32_t room);

/// Ends a peer's session with Kicked.
PERIGEE_SERVER_API int perigee_server_kick(perigee_server *server,
                                           perigee_server_batch *batch, uint32_t peer,
                                           const char *reason);

/// Reloads the game. Returns a request. Its PERIGEE_SERVER_RESULT has a report in
/// `text`; the `code` is PERIGEE_SERVER_REFUSED if the game continues unchanged.
PERIGEE_SERVER_API int perigee_server_reload(perigee_server *server);

// --- Snapshots: from any thread ------------------------------------------------------------

typedef struct perigee_server_room_info {
  uint32_t room;
  perigee_server_text name;
  const uint32_t *members;  // numbers of the members, `member_count` peers
  size_t member_count;
  const perigee_server_text
      *meta;  // keys and values, alternating: 2 * `meta_count` texts; a value that is
              // not a text is JSON
  size_t meta_count;
} perigee_server_room_info;

typedef struct perigee_server_peer_info {
  uint32_t peer;
  perigee_server_text name, address, transport;
  int is_suspended;  // 1: the connection is lost, and the session can be resumed;
                     // otherwise 0
} perigee_server_peer_info;

/// A copy of the server's state at one moment.
struct perigee_server_snapshot {
  const perigee_server_room_info *rooms;
  size_t room_count;
  const perigee_server_peer_info *peers;
  size_t peer_count;
  uint64_t messages_in;  // number since the start, as in the next two fields
  uint64_t deliveries;
  uint64_t dropped;
};

/// Takes a snapshot. If another thread runs the loop, waits until the loop has taken
/// the snapshot. The caller frees the snapshot.
PERIGEE_SERVER_API perigee_server_snapshot *perigee_server_take_snapshot(
    perigee_server *server);
PERIGEE_SERVER_API void perigee_server_snapshot_free(perigee_server_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
