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
// A server belongs to the thread that runs or polls it, and calls handlers there. Functions
// below "from any thread" may be called by any thread. Texts are UTF-8. The library copies
// the texts that the host passes in; the texts that a handler gets are valid during its call.
// Peers and rooms have numbers; 0 means none, and no other peer or room gets a number again
// soon. The library prints nothing and never ends the process, except when memory is
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

/// Bytes of UTF-8, or of anything in `data`. A NUL follows them, except those of an event's
/// `data` in a handler. `bytes` may be NULL where `size` is 0.
typedef struct perigee_server_text {
  const char *bytes;
  size_t size;
} perigee_server_text;

/// Errors of functions and of requests; perigee_server_error returns a sentence for each.
typedef enum perigee_server_code {
  PERIGEE_SERVER_OK = 0,
  PERIGEE_SERVER_INVALID = -1,  // a call that can never succeed
  PERIGEE_SERVER_NOT_FOUND =
      -2,                      // no such peer, room, member or token exists (any more)
  PERIGEE_SERVER_EXISTS = -3,  // a room of that name, or a member, exists
  PERIGEE_SERVER_LIMIT = -4,   // a limit is reached
  PERIGEE_SERVER_TOO_LARGE = -5,  // more than max_payload
  PERIGEE_SERVER_OVER = -6,       // the server is stopping
  PERIGEE_SERVER_REFUSED = -7,    // a handler of the game refused it, or failed
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

/// In brackets: the fields besides `type` that the event sets. `peer` comes with `peer_name`, and
/// `room` with `room_name`.
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
  PERIGEE_SERVER_STOPPED       // the server has stopped; the last event (text: reason)
} perigee_server_event_type;

/// Fields that an event does not set are 0 or empty texts.
typedef struct perigee_server_event {
  int type;   // perigee_server_event_type
  int code;   // of RESULT: a perigee_server_code; else one of docs/protocol.md
  int level;  // of LOG: 0 debug, 1 info, 2 warn, 3 error
  uint32_t peer, room;  // numbers
  uint32_t request;     // number that the function of the request has returned
  uint32_t channel;     // of a packet
  uint32_t number;  // of a message: 0, and `data` is JSON text; else its number in the
                    // schema. Of a packet: its type
  uint32_t dropped, queued;  // messages dropped since the last such event, and waiting
  uint32_t lost, resent;  // messages that the peer missed, packets that it gets again
  uint64_t time_ms;       // duration of the suspension
  uint64_t
      token;  // for perigee_server_verdict; of a message or packet whose sender waits
              // for an answer: for perigee_server_answer; else 0
  perigee_server_text peer_name, room_name;
  perigee_server_text address;    // of the client, without port
  perigee_server_text transport;  // "tcp", "ws", "udp" or "text"
  perigee_server_text auth;       // token of the client
  perigee_server_text name;       // of a message
  perigee_server_text text;       // sentence or line for people
  perigee_server_text
      data;  // bytes of a broadcast, message or packet; of JOIN: the options of
             // the client as JSON, with any password, or empty
} perigee_server_event;

/// Verdicts: results of on_connect, on_join and on_broadcast.
typedef enum perigee_server_verdict_value {
  PERIGEE_ACCEPT = 0,
  PERIGEE_REJECT = 1,
  PERIGEE_LATER = 2  // perigee_server_verdict follows
} perigee_server_verdict_value;

typedef int perigee_server_verdict_handler(perigee_server *server,
                                           const perigee_server_event *event,
                                           void *user_data);
typedef void perigee_server_event_handler(perigee_server *server,
                                          const perigee_server_event *event,
                                          void *user_data);

/// Handlers; each may be NULL. A Lua game gets events after these, and only those that they
/// accept. The thread that runs the server calls them, so they should return soon. They may call
/// every function of this header except those that run or free the server.
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
} perigee_server_handlers;

// --- Running -------------------------------------------------------------------------------

/// Starts a server, which listens when this function returns. `config` and `handlers` (which may
/// be NULL) are copied. Handlers may be called before it returns. Returns NULL with a sentence, or
/// several lines, in `error`. With "thread", `handlers` must be NULL.
PERIGEE_SERVER_API perigee_server *perigee_server_start(
    const perigee_server_config *config, const perigee_server_handlers *handlers,
    void *user_data, char *error, size_t error_size);

/// Returns the TCP port.
PERIGEE_SERVER_API uint16_t perigee_server_port(const perigee_server *server);

/// Serves until the server has stopped. Returns 0, or at once PERIGEE_SERVER_HAS_THREAD or, in a
/// handler, PERIGEE_SERVER_INVALID.
PERIGEE_SERVER_API int perigee_server_run(perigee_server *server);

/// Runs one iteration, which waits for work for at most `timeout_ms` (negative: without end).
/// Returns 1, 0 when the server has stopped, or an error of perigee_server_run.
PERIGEE_SERVER_API int perigee_server_poll(perigee_server *server, int timeout_ms);

/// For a loop of the host: return a descriptor that becomes readable when the server has work,
/// and the milliseconds after which perigee_server_poll must be called in any case (-1: never).
PERIGEE_SERVER_API int perigee_server_fd(const perigee_server *server);
PERIGEE_SERVER_API int perigee_server_timeout_ms(const perigee_server *server);

/// With "thread": take the next event, which the host frees with perigee_server_event_free.
/// `wait` waits for it at most `timeout_ms` (negative: without end), `next` does not wait. Only
/// one thread at a time may call them. They return 1 with `*event`, 0 without an event,
/// PERIGEE_SERVER_OVER after the last one, and PERIGEE_SERVER_INVALID without "thread". Events
/// that want a verdict wait for perigee_server_verdict. While the queue is full, the server does
/// not read from clients.
PERIGEE_SERVER_API int perigee_server_next(perigee_server *server,
                                           perigee_server_event **event);
PERIGEE_SERVER_API int perigee_server_wait(perigee_server *server,
                                           perigee_server_event **event,
                                           int timeout_ms);
PERIGEE_SERVER_API void perigee_server_event_free(perigee_server_event *event);

/// From any thread, or a signal handler: makes the server stop, as SIGTERM stops `perigee run`.
PERIGEE_SERVER_API void perigee_server_stop(perigee_server *server, const char *reason);

/// Ends the server, also without perigee_server_stop, and frees it. No thread may use the server
/// during or after this call. NULL is allowed.
PERIGEE_SERVER_API void perigee_server_free(perigee_server *server);

// --- Answers: from any thread --------------------------------------------------------------

/// Answers an event that wants a verdict. A peer that is not accepted gets `reason` (may be
/// NULL). After verdict_timeout the server refuses it by itself, with Internal. If the sender
/// of a message or packet waits for an answer, you may also give a verdict: PERIGEE_ACCEPT
/// passes the message on to the Lua game, PERIGEE_REJECT answers it with Rejected.
PERIGEE_SERVER_API int perigee_server_verdict(perigee_server *server, uint64_t token,
                                              int verdict, const char *reason);

/// Answers a message (with JSON text) or a packet (with bytes) whose sender waits for that.
PERIGEE_SERVER_API int perigee_server_answer(perigee_server *server, uint64_t token,
                                             const void *bytes, size_t size);

// --- Commands: from any thread -------------------------------------------------------------
// The server carries commands out in order, after the handler that runs. With a batch, a
// command waits for perigee_server_commit. Functions return 0 or a negative
// perigee_server_code. If a command turns out to be impossible only later, because a peer has
// gone, it does nothing; in a batch it makes the whole batch fail.

/// Receivers of a message. Without a batch, peers that have gone are left out.
typedef enum perigee_server_target_kind {
  PERIGEE_SERVER_TO_PEER,   // peer `id`
  PERIGEE_SERVER_TO_PEERS,  // all in `peers`
  PERIGEE_SERVER_TO_ROOM,   // all members of room `id` except those in `peers`
  PERIGEE_SERVER_TO_ALL     // all peers except those in `peers`
} perigee_server_target_kind;

typedef struct perigee_server_target {
  int kind;  // perigee_server_target_kind
  uint32_t id;
  const uint32_t *peers;  // may be NULL
  size_t count;           // of `peers`
} perigee_server_target;

/// Ways to send: 0, or a sum of these.
typedef enum perigee_server_flags {
  PERIGEE_SERVER_RELIABLE =
      1,  // arrives also after the connection was lost for a while
  PERIGEE_SERVER_CRITICAL = 2,
  PERIGEE_SERVER_HIGH = 4,
  PERIGEE_SERVER_LOW = 8
} perigee_server_flags;

/// Begins a batch, which belongs to one thread; one of the two other functions ends it.
/// commit carries out all of its commands, or none, and returns a request, whose outcome is a
/// PERIGEE_SERVER_RESULT. The rooms of a batch stay hidden until the game's on_create has
/// accepted all of them. If it refuses one, the server deletes the others and carries out
/// nothing else. A batch does not fail if on_join refuses a peer later.
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
/// them as one line, others in packets of at most max_payload.
PERIGEE_SERVER_API int perigee_server_relay(perigee_server *server,
                                            perigee_server_batch *batch,
                                            const perigee_server_target *target,
                                            const void *bytes, size_t size,
                                            unsigned flags);

/// Creates a room. Returns a request (above 0), whose outcome is a PERIGEE_SERVER_RESULT with the
/// room; in a batch, returns 0.
PERIGEE_SERVER_API int perigee_server_room_create(perigee_server *server,
                                                  perigee_server_batch *batch,
                                                  const char *name, size_t size);

/// Soft-deletes a room: peers cannot join it any more, and it ends when its last member leaves.
PERIGEE_SERVER_API int perigee_server_room_delete(perigee_server *server,
                                                  perigee_server_batch *batch,
                                                  uint32_t room);

/// Stores a text under a key of a room's meta, as room:set_meta does in Lua; NULL removes the
/// key. Keys have at most 64 bytes, all keys and values of a room 64 KiB together, as JSON.
/// Clients do not see them.
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

/// Reloads the game. Returns a request, whose PERIGEE_SERVER_RESULT has a report in `text`. Its
/// code is PERIGEE_SERVER_REFUSED when the game continues unchanged.
PERIGEE_SERVER_API int perigee_server_reload(perigee_server *server);

// --- Snapshots: from any thread ------------------------------------------------------------

typedef struct perigee_server_room_info {
  uint32_t room;
  perigee_server_text name;
  const uint32_t *members;  // `member_count` peers
  size_t member_count;
  const perigee_server_text
      *meta;  // keys and values in turns, 2 * `meta_count` texts; of a
              // value that is no text, its JSON
  size_t meta_count;
} perigee_server_room_info;

typedef struct perigee_server_peer_info {
  uint32_t peer;
  perigee_server_text name, address, transport;
  int is_suspended;  // its connection is lost, and its session waits
} perigee_server_peer_info;

/// A copy of the server's state at one moment.
struct perigee_server_snapshot {
  const perigee_server_room_info *rooms;
  size_t room_count;
  const perigee_server_peer_info *peers;
  size_t peer_count;
  uint64_t messages_in;  // so far, as the figures below
  uint64_t deliveries;
  uint64_t dropped;
};

/// Takes a snapshot, after the iteration that runs. The caller frees it.
PERIGEE_SERVER_API perigee_server_snapshot *perigee_server_take_snapshot(
    perigee_server *server);
PERIGEE_SERVER_API void perigee_server_snapshot_free(perigee_server_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
