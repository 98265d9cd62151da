// A client of a Perigee server, in C: libperigee.
//
//   PerigeeClient *client = perigee_connect("localhost:7777", NULL, NULL);
//   while (perigee_state(client) != PERIGEE_STATE_CLOSED) {
//     perigee_poll(client, 100);
//     const PerigeeEvent *event;
//     while ((event = perigee_next_event(client)) != NULL) {
//       if (event->type == PERIGEE_CONNECTED) perigee_join(client, "lobby", 0);
//       if (event->type == PERIGEE_JOINED)
//         perigee_send(client, event->room, "hello", "{\"x\":1}", 0);
//     }
//   }
//   perigee_free(client);
//
// Only perigee_poll, perigee_poll_all and name resolution (see perigee_connect) wait. Each request
// has a number and ends in one event that carries the number; other events have request 0. The
// library has no callbacks: you may call every function between taking two events. It has no
// threads, no signals and no global state: a client belongs to one thread at a time, and any number
// of clients may exist. Memory comes from the C library; when that has none left, the process
// aborts with a message. The library copies texts and data that you pass in. A pointer may be NULL
// where its function says so.
//
// docs/c-client.md is the guide; docs/protocol.md describes the bytes on the wire.
#ifndef PERIGEE_H
#define PERIGEE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(PERIGEE_DLL)
#define PERIGEE_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define PERIGEE_API __attribute__((visibility("default")))
#else
#define PERIGEE_API
#endif

#define PERIGEE_VERSION_MAJOR 0
#define PERIGEE_VERSION_MINOR 1
#define PERIGEE_VERSION_PATCH 0

// --- Numbers -------------------------------------------------------------------------------

/// Numbers of errors and reasons. Numbers from 0 on belong to the protocol (docs/protocol.md,
/// section 3). Numbers below 0 belong to the library and never cross the wire; functions that fail
/// return one of the library's numbers.
typedef enum PerigeeCode {
  PERIGEE_FAULT =
      -9,  // an error of the game; event: `name` is the error's code, `data` its value
  PERIGEE_NOT_JOINED = -8,    // the client is not, or no longer, in that room
  PERIGEE_BAD_ARGUMENT = -7,  // the call can never succeed; its comment says why
  PERIGEE_TOO_LARGE = -6,     // the payload exceeds perigee_max_payload
  PERIGEE_OFFLINE = -5,       // no connection exists, and the call cannot wait for one
  PERIGEE_OVER = -4,        // the client is closed, or the question's session has ended
  PERIGEE_QUEUE_FULL = -3,  // too many packets or requests wait for the server
  PERIGEE_UNREACHABLE = -2,  // the server cannot be reached
  PERIGEE_TIMEOUT = -1,      // no answer came in time
  PERIGEE_CONNECTION_CLOSED = 0,
  PERIGEE_CONNECTION_RESET = 1,
  PERIGEE_IDLE_TIMEOUT = 2,
  PERIGEE_PING_TIMEOUT = 3,
  PERIGEE_PAYLOAD_TOO_LARGE = 4,
  PERIGEE_PROTOCOL = 5,
  PERIGEE_KICKED = 6,
  PERIGEE_REJECTED = 7,
  PERIGEE_SERVER_FULL = 8,
  PERIGEE_VERSION_MISMATCH = 9,
  PERIGEE_PROTOCOL_HASH_MISMATCH = 10,
  PERIGEE_NO_SUCH_ROOM = 11,
  PERIGEE_NOT_IN_ROOM = 12,
  PERIGEE_ALREADY_IN_ROOM = 13,
  PERIGEE_CHANNEL_NOT_FOUND = 14,
  PERIGEE_CHANNEL_TAKEN = 15,
  PERIGEE_RATE_LIMITED = 16,
  PERIGEE_HANDSHAKE_TIMEOUT = 17,
  PERIGEE_UNSUPPORTED = 18,
  PERIGEE_INTERNAL = 19,
  PERIGEE_UNAUTHORIZED = 20,
  PERIGEE_SLOW_CONSUMER = 21,
  PERIGEE_REPLACED = 22,
  PERIGEE_ROOM_FULL = 23,
  PERIGEE_UNAVAILABLE = 24  // the server refuses for now; the client tries again
} PerigeeCode;

/// The state of a client.
typedef enum PerigeeState {
  PERIGEE_STATE_CONNECTING,    // the client tries to connect for the first time
  PERIGEE_STATE_OPEN,          // the server has let the client in
  PERIGEE_STATE_RECONNECTING,  // the connection is lost, and the client tries again
  PERIGEE_STATE_CLOSING,  // perigee_close was called; the server has not answered yet
  PERIGEE_STATE_CLOSED    // final; PERIGEE_CLOSED is the last event
} PerigeeState;

/// Ways to send: 0, or a sum of these flags with at most one priority. Without PERIGEE_UNRELIABLE a
/// packet arrives once and in order, even when the connection is lost for a while.
typedef enum PerigeeSendFlags {
  PERIGEE_UNRELIABLE = 1,  // may be lost; is dropped while no connection exists
  PERIGEE_CRITICAL = 2,
  PERIGEE_HIGH = 4,
  PERIGEE_LOW = 8
} PerigeeSendFlags;

/// Ways to reach the server.
typedef enum PerigeeTransport {
  PERIGEE_TCP,          // TCP
  PERIGEE_TCP_AND_UDP,  // TCP, with UDP for PERIGEE_UNRELIABLE packets while UDP works
  PERIGEE_UDP           // UDP alone, encrypted
} PerigeeTransport;

// --- Connecting ----------------------------------------------------------------------------

typedef struct PerigeeClient PerigeeClient;

/// Options of a client; call perigee_options_init before you set any. Texts are NUL-terminated
/// UTF-8. A name has no control characters (Unicode Cc, Cf, Zl, Zp), no spaces at its ends, and
/// does not begin with !, * or /.
typedef struct PerigeeOptions {
  const char *name;   // 1 to 64 bytes, see above; NULL: "guest"
  const char *token;  // text for the game's on_connect, up to 65535 bytes; NULL: none
  uint64_t protocol_hash;      // hash of the game's schema; 0: no messages in bytes
  PerigeeTransport transport;  // default: PERIGEE_TCP
  // Limit for connecting, and for each request without a timeout of its own; default: 10000.
  uint32_t timeout_ms;
  uint32_t reconnect_first_ms;  // pause before the first new try; default: 250
  // Longest pause; default: 8000. Each pause is twice the previous one, up to this limit. The
  // client then shortens it at random by up to a half.
  uint32_t reconnect_max_ms;
  uint32_t reconnect_for_ms;  // time after which the client gives up; default: 0, never
  int reconnect;  // default: 1, connect again; 0: the client ends with its connection, or
                  // when the server refuses it with PERIGEE_UNAVAILABLE
  int rejoin;     // default: 1, join the rooms again in a new session; 0: leave them
  // JSON of a SIGN_IN (docs/protocol.md, section 20) that the client sends before
  // HELLO. HELLO then contains the token of the answer. NULL: none. Example:
  // {"do":"sign_in","device":"..."}.
  const char *sign_in;
} PerigeeOptions;

/// Sets the defaults above.
PERIGEE_API void perigee_options_init(PerigeeOptions *options);

/// Creates a client and begins to connect it to `address`: "host", "host:port" or "[v6]:port"; the
/// default port is 7777. `options` may be NULL and need not outlive the call. An event reports the
/// outcome: PERIGEE_CONNECTED, or PERIGEE_CLOSED with the reason.
///
/// This call resolves the host's name with getaddrinfo, which may wait for the network's name
/// servers. perigee_poll resolves the name again after a failed attempt to connect. A game that
/// must never wait resolves the name in another thread and passes a numeric address.
///
/// Returns NULL for an invalid address, name or token, with PERIGEE_BAD_ARGUMENT in `*code` (`code`
/// may be NULL). Free the client with perigee_free.
PERIGEE_API PerigeeClient *perigee_connect(const char *address,
                                           const PerigeeOptions *options, int *code);

/// Sends the packets that wait, and then closes the connection. PERIGEE_CLOSED reports the end, at
/// most a second later; call perigee_poll until then. Waiting requests fail. A second call does
/// nothing.
PERIGEE_API void perigee_close(PerigeeClient *client);

/// Frees the client; NULL is allowed. If you have not called perigee_close before, the server keeps
/// the session for a while, as after a lost connection.
PERIGEE_API void perigee_free(PerigeeClient *client);

// --- The loop ------------------------------------------------------------------------------

/// Receives, sends, keeps the connection alive and connects again. Waits up to `timeout_ms`
/// milliseconds (0: not at all, negative: forever) until an event has come or a signal has been
/// handled. Returns 1 where perigee_next_event has events, else 0. A game calls this once a frame
/// with 0. Call it at least every few seconds, or the server ends the connection as dead. While
/// 4096 events or 8 MiB of events wait to be taken, the client reads no more.
PERIGEE_API int perigee_poll(PerigeeClient *client, int timeout_ms);

/// A file descriptor, and the conditions to wait for.
typedef struct PerigeeFd {
  int fd;           // on Windows: a socket
  int wants_read;   // 0 or 1
  int wants_write;  // 0 or 1
} PerigeeFd;

/// Writes the descriptors to wait for, at most two, to `fds`; returns their number. Use this in
/// your own event loop: call it before each wait, because every call of the library may change the
/// descriptors. Call perigee_poll with 0 when a descriptor is ready, and at the latest when the
/// milliseconds of perigee_wait_ms have passed.
PERIGEE_API int perigee_fds(PerigeeClient *client, PerigeeFd fds[2]);

/// Returns the milliseconds until perigee_poll has to be called even if no descriptor is ready: 0
/// while events wait to be taken, -1 for never.
PERIGEE_API int perigee_wait_ms(PerigeeClient *client);

/// Runs perigee_poll for many clients, with a single wait. The wait ends as in perigee_poll, and
/// also when one of the `fd_count` descriptors in `fds` is ready; `fds` may be NULL with a count of
/// 0. Sets wants_read and wants_write of these descriptors to 1 where they are ready, else to 0:
/// set them again before the next call. Moves the clients that have events to the front of
/// `clients`, and returns their number. For each 2,000 clients, a wait begins with 1 ms in which
/// input collects, within `timeout_ms`, because waiting costs time for every client.
PERIGEE_API size_t perigee_poll_all(PerigeeClient **clients, size_t client_count,
                                    PerigeeFd *fds, size_t fd_count, int timeout_ms);

// --- Without sockets -----------------------------------------------------------------------
// A client of perigee_new is a state machine without sockets and without a clock: your
// program carries its bytes and datagrams, and passes the time in. perigee_connect returns
// the same state machine with a driver for sockets. The functions of this section work only
// for clients without a driver. perigee_poll, perigee_fds and perigee_wait_ms work only for
// clients with one: without a driver they return PERIGEE_BAD_ARGUMENT, and perigee_poll_all
// skips the client.
//
// `now_us` is the time in microseconds, of any clock that never goes back. A call without `now_us`,
// such as perigee_join, begins at the time of the next call with `now_us`. After any call your
// program does the following, in this order:
//   - compares perigee_connection with the number before; where the number differs, it closes the
//     old connection and opens a new one;
//   - sends the bytes of perigee_output and the datagrams of perigee_next_datagram;
//   - takes the events;
//   - calls perigee_advance no later than at perigee_due_us.

/// Size of the largest datagram in bytes.
#define PERIGEE_DATAGRAM_MAX 1200

/// Creates a client that wants a connection to a server. `options` may be NULL and need not outlive
/// the call. Returns NULL for an invalid name or token, with PERIGEE_BAD_ARGUMENT in `*code`
/// (`code` may be NULL). Free the client with perigee_free.
PERIGEE_API PerigeeClient *perigee_new(const PerigeeOptions *options, uint64_t now_us,
                                       int *code);

/// Returns the number of the connection that the client wants or has. The first connection has the
/// number 1, and each later one a higher number. Returns 0 while the client wants no connection.
PERIGEE_API uint32_t perigee_connection(const PerigeeClient *client);

/// Reports that the connection is open. You may call this before the client wants the connection,
/// while it pauses between two tries. With PERIGEE_UDP call this as soon as you can send datagrams
/// to the server. If the server's address does not answer and you try another one, call it again.
PERIGEE_API void perigee_connection_opened(PerigeeClient *client, uint64_t now_us);

/// Reports that the connection has ended, or cannot be opened. `code` is the reason:
/// PERIGEE_CONNECTION_CLOSED, PERIGEE_CONNECTION_RESET, PERIGEE_UNREACHABLE or another PerigeeCode.
/// `text` describes the reason for people.
PERIGEE_API void perigee_connection_ended(PerigeeClient *client, int code,
                                          const char *text, uint64_t now_us);

/// Returns 1 while the client takes bytes and datagrams; 0 while too many events wait to be taken
/// (see perigee_poll). If you pass in bytes nevertheless, the client keeps them, which costs
/// memory.
PERIGEE_API int perigee_wants_input(const PerigeeClient *client);

/// Takes bytes that came through the connection; ignores them where the connection is not open.
PERIGEE_API void perigee_receive(PerigeeClient *client, const void *bytes, size_t size,
                                 uint64_t now_us);

/// Returns the bytes to send through the connection, and their number in `*size`. The bytes stay
/// valid until the next call about this client.
PERIGEE_API const uint8_t *perigee_output(PerigeeClient *client, size_t *size,
                                          uint64_t now_us);

/// Reports that the first `size` bytes of perigee_output have been sent.
PERIGEE_API void perigee_sent(PerigeeClient *client, size_t size);

/// Returns 1 while the client uses datagrams: with PERIGEE_UDP from perigee_connection_opened to
/// the end of the connection, with PERIGEE_TCP_AND_UDP for some or all of that time. Send all
/// datagrams of one connection from the same address and port.
PERIGEE_API int perigee_uses_datagrams(const PerigeeClient *client);

/// Takes a datagram that came from the server.
PERIGEE_API void perigee_receive_datagram(PerigeeClient *client, const void *bytes,
                                          size_t size, uint64_t now_us);

/// Writes the next datagram to `bytes`, which has room for PERIGEE_DATAGRAM_MAX bytes. Sets `*port`
/// to the server's port that must receive it; 0: the port of the server's address. Returns the
/// datagram's size; 0: no datagram is due. Call this until it returns 0, also after each
/// perigee_receive_datagram.
PERIGEE_API size_t perigee_next_datagram(PerigeeClient *client, void *bytes,
                                         uint16_t *port, uint64_t now_us);

/// Runs timers, and takes the input that the client kept while too many events waited.
PERIGEE_API void perigee_advance(PerigeeClient *client, uint64_t now_us);

/// Returns the time for the next call of perigee_advance and perigee_next_datagram if no bytes and
/// no datagrams arrive before. A time in the past means at once, UINT64_MAX means never.
PERIGEE_API uint64_t perigee_due_us(const PerigeeClient *client);

// --- Events --------------------------------------------------------------------------------

/// Types of events. The brackets name the fields of PerigeeEvent that are set beside `type`.
/// `request` is the number of the call that the event answers; 0: the event answers none.
typedef enum PerigeeEventType {
  PERIGEE_CONNECTED,     // the server has let this client in for the first time
  PERIGEE_DISCONNECTED,  // the connection is lost (code, text); the client tries again
  // Attempt `count` begins in `time_us`. (code, text): why no connection exists; `number`: seconds
  // of pause that the server has requested.
  PERIGEE_RECONNECTING,
  PERIGEE_RESUMED,  // the session continues after `time_us`; `count` packets were sent again
  PERIGEE_LOST,    // a new session has begun; `count` packets may not have arrived
  PERIGEE_CLOSED,  // the client has ended (code, text); no event follows
  PERIGEE_JOINED,  // the client is in a room (room, name, request); see perigee_member
  PERIGEE_LEFT,    // the client has left a room (room, name, code, request)
  PERIGEE_PEER_JOINED,  // a peer has joined a room (room, peer, name)
  PERIGEE_PEER_LEFT,    // a peer has left a room (room, peer, name)
  PERIGEE_RELAY,  // bytes of a member, or of the server: peer 0 (room or 0, peer, name, data)
  PERIGEE_MESSAGE,  // a message from the game (room or 0, name, number, data)
  // A message that the game wants answered (room or 0, name, number, data, question).
  PERIGEE_QUESTION,
  PERIGEE_ANSWER,  // an answer to perigee_ask or perigee_ask_packet (request, name, number, data)
  PERIGEE_PACKET,  // a packet on a channel of the game (channel, number, data, is_question,
                   // is_reliable, question; peer on a channel that this client serves)
  PERIGEE_FAILED,  // a request has failed (request, code, text; with PERIGEE_FAULT name, data)
  // A packet without a request has failed (code, text; with PERIGEE_FAULT name, data).
  PERIGEE_ERROR,
  PERIGEE_ROOMS,   // the rooms of the server (request, rooms, count)
  PERIGEE_PONG,    // the answer to perigee_ping (request, time_us)
  PERIGEE_SYNCED,  // the answer to perigee_sync (request)
  // This client serves a channel now (request, channel, name). Request 0: a new session serves it
  // again, and `channel` is its new number.
  PERIGEE_CHANNEL_OPENED,
  // This client no longer serves a channel, because a new session did not get it or because the
  // client has ended (channel, name, code, text).
  PERIGEE_CHANNEL_CLOSED,
  PERIGEE_REDIRECT,  // reserved, no server sends it yet: connect to host `name`, port `number`
  PERIGEE_UDP_UP,  // with PERIGEE_TCP_AND_UDP: UDP works
  PERIGEE_UDP_DOWN,  // UDP does not work any more, or never did; TCP replaces it (code, text)
  // Events of lockstep, which also set `room`:
  PERIGEE_MATCH,  // a match begins: `number` is a PerigeeMatchStart, `count` the turn after which
                  // the state was taken, `data` the snapshot
  PERIGEE_TURN,             // simulate turn number `count` (entries, entry_count)
  PERIGEE_PACE,             // the speed or the input delay of the match has changed
  PERIGEE_SNAPSHOT_WANTED,  // answer with perigee_lockstep_snapshot (count: the request)
  PERIGEE_TREE_WANTED,      // answer with perigee_lockstep_tree (count: the turn)
  // Hashes of turn `count` differ from the majority's. `data`: slots of the clients with these
  // hashes; `is_odd`: 1 if this client is one of them.
  PERIGEE_DESYNC,
  PERIGEE_WAITING,  // turn `count` waits for the inputs of the slots in `data`
  PERIGEE_MATCH_ENDED,  // the server has ended the match (no text) or has refused this client, or
                        // this client is out of the room (code, text)
  PERIGEE_PEER_RENAMED,  // a member of a room has another name (room, peer, name; text: the
                         // previous name); room 0: this client itself
  // Events of lockstep with PERIGEE_GIVES_INPUTS, which also set `room`:
  // Call perigee_lockstep_input once for each turn from next_input to last_input of
  // perigee_lockstep_match. By now, no such turn may be left.
  PERIGEE_INPUT_WANTED,
  PERIGEE_INPUT_MISSED,  // the input for turn `count` (data) came too late
  PERIGEE_TOOL_CHANGED,  // the server has added or removed a tool (request)
  PERIGEE_ROOMS_FOUND,   // the answer to perigee_query_rooms (request, data: JSON)
  // The server has restarted and continues the session, in its durable rooms, after `time_us`;
  // `count` packets may not have arrived.
  PERIGEE_RESTORED,
  // The client has signed in, by `sign_in` of the options or by perigee_sign_in
  // (request), or the server has renewed its token. `data`: JSON with token, account
  // and expires; {} after sign_out.
  PERIGEE_SIGNED_IN,
  // Reports about queues and parties (docs/matchmaking.md). `name` is the name of the server's
  // message, such as "matchmaker.queued". `data` is its value as JSON (docs/protocol.md,
  // section 21).
  //
  // This client waits in a queue, or its position has changed (count: position from 1; time_us:
  // estimate of the wait, 0: not known; text: name of the queue).
  PERIGEE_MATCHMAKER_QUEUED,
  // A match is made, and PERIGEE_JOINED follows (text: name of the room; count: number of this
  // client's team; time_us: time for which the server keeps the seat).
  PERIGEE_MATCHMAKER_MATCHED,
  PERIGEE_MATCHMAKER_CANCELLED,  // this client waits no longer (text: reason)
  PERIGEE_MATCHMAKER_TIMEOUT,  // no match was made in the queue's timeout (text: name of the queue)
  PERIGEE_MATCHMAKER_ENDED,  // this client has left its match, which had begun (text: the room)
  PERIGEE_PARTY_CHANGED,  // other members, or another leader (text: the code; peer: the leader)
  PERIGEE_PARTY_INVITED,  // a member of a party invites this client (text: code of the party)
  PERIGEE_PARTY_LEFT  // this client is no longer in its party (text: reason: left, kicked)
} PerigeeEventType;

/// The return address of a question. Copy it to answer later.
typedef struct PerigeeQuestion {
  uint32_t session;  // number of the session, counted by the library
  uint32_t room;     // number of the room; 0: none
  uint32_t peer;     // the sender, on a channel that this client serves
  uint16_t channel;
  uint16_t number;
  uint16_t ref;
} PerigeeQuestion;

/// The state with which a match begins.
typedef enum PerigeeMatchStart {
  PERIGEE_MATCH_FRESH,          // made from the seed
  PERIGEE_MATCH_FROM_SNAPSHOT,  // read from the snapshot
  PERIGEE_MATCH_GOES_ON         // the present state
} PerigeeMatchStart;

/// The kind of an entry of a turn.
typedef enum PerigeeEntryKind {
  PERIGEE_INPUT,           // the slot's input (data)
  PERIGEE_INPUT_MISSING,   // the slot's input did not come in time
  PERIGEE_INPUT_REPEATED,  // the slot's input is late; data: its previous input
  PERIGEE_PLAYER_JOINED,  // the slot has a player: 4 bytes of peer id, little-endian, and a name
  PERIGEE_PLAYER_LEFT  // the slot has no player
} PerigeeEntryKind;

/// A step of a turn; simulate the entries in their order.
typedef struct PerigeeEntry {
  PerigeeEntryKind kind;
  uint8_t slot;
  const uint8_t *data;
  size_t size;
} PerigeeEntry;

/// A room in the list of perigee_list_rooms.
typedef struct PerigeeRoomInfo {
  const char *name;
  uint32_t members;
} PerigeeRoomInfo;

/// An event. Fields that its type does not set are 0 or empty texts; no pointer is NULL except
/// `rooms` and `entries`.
typedef struct PerigeeEvent {
  PerigeeEventType type;
  int code;          // a PerigeeCode, or a code of a later version of the protocol
  uint32_t request;  // number that a call such as perigee_join returned; 0: none
  uint32_t room;     // number of the room, as perigee_send takes it; 0: none
  uint32_t peer;     // a peer id
  uint32_t count;
  uint64_t time_us;  // microseconds
  uint16_t channel;
  // Message: 0 if `data` is valid JSON text, otherwise the message's number in the
  // game's schema, which defines the bytes in `data`. Packet: its type.
  uint16_t number;
  int is_question;  // 1: the sender wants an answer
  int is_reliable;  // 1: a packet that was sent reliably
  int by_udp;       // 1: arrived in a datagram of its own
  PerigeeQuestion question;
  const char *name;  // name of the message, the room or the peer; NUL-terminated UTF-8
  const char
      *text;  // a sentence for people, or what the type says; NUL-terminated UTF-8
  const uint8_t *data;  // `size` bytes, followed by a NUL
  size_t size;
  const PerigeeRoomInfo *rooms;  // list of `count` rooms
  const PerigeeEntry *entries;   // list of `entry_count` entries
  uint32_t entry_count;
  int is_odd;  // 1: this client's hash differs from the majority's
} PerigeeEvent;

/// Returns the next event, or NULL. The event stays valid until the next call of this function or
/// of perigee_free.
PERIGEE_API const PerigeeEvent *perigee_next_event(PerigeeClient *client);

// --- Rooms ---------------------------------------------------------------------------------
// The library numbers rooms from 1 up. A room keeps its number when a new session joins it again,
// and no other room gets the number.

/// Joins the room `name` (1 to 64 bytes, no control characters, no spaces at the ends). Returns a
/// request, which ends in PERIGEE_JOINED or PERIGEE_FAILED; or a negative PerigeeCode. Here and
/// below a `timeout_ms` of 0 means the timeout of the options.
PERIGEE_API int perigee_join(PerigeeClient *client, const char *name,
                             uint32_t timeout_ms);

/// Joins a room with options for the game: the JSON text of an object; NULL: none. A room with a
/// password needs the option "password", a text. A new session that joins the room again sends the
/// same options.
PERIGEE_API int perigee_join_with(PerigeeClient *client, const char *name,
                                  const char *options, uint32_t timeout_ms);

/// Leaves a room. Returns a request, which ends in PERIGEE_LEFT or PERIGEE_FAILED; or a negative
/// PerigeeCode.
PERIGEE_API int perigee_leave(PerigeeClient *client, uint32_t room);

/// Requests the list of the server's rooms. Returns a request, which ends in PERIGEE_ROOMS or
/// PERIGEE_FAILED; or a negative PerigeeCode.
PERIGEE_API int perigee_list_rooms(PerigeeClient *client, uint32_t timeout_ms);

/// Sends SIGN_IN as a connected client, as JSON: {"do":"link",...} or {"do":"sign_out"}. The answer
/// is PERIGEE_SIGNED_IN. Returns the number of the request, or a negative PerigeeCode.
PERIGEE_API int perigee_sign_in(PerigeeClient *client, const char *json,
                                uint32_t timeout_ms);

/// Requests the rooms that match a query, the JSON of an object: {"kind": "duel", "open": true,
/// "meta": {"map": "ice"}, "limit": 20, "after": "duel:7"}. Every field is optional. Returns a
/// request, which ends in PERIGEE_ROOMS_FOUND or PERIGEE_FAILED; or a negative PerigeeCode. The
/// `data` of the event is {"rooms": [{"name", "kind", "count", "present", "capacity", "locked",
/// "password", "meta"}, ...], "next"}. If `next` is not null, more rooms follow: query again with
/// its value as `after`.
PERIGEE_API int perigee_query_rooms(PerigeeClient *client, const char *query,
                                    uint32_t timeout_ms);

/// Returns the number of the joined room of this name; 0 where the client is in no such room, or
/// the name is NULL.
PERIGEE_API uint32_t perigee_find_room(const PerigeeClient *client, const char *name);

/// Returns the room's name, or NULL if the client is not in the room. The text is valid until the
/// next perigee_poll or perigee_close.
PERIGEE_API const char *perigee_room_name(const PerigeeClient *client, uint32_t room);

/// Returns the number of other members of the room; 0 if the client is not in the room.
PERIGEE_API uint32_t perigee_member_count(const PerigeeClient *client, uint32_t room);

/// Returns the peer id of the member at `index`, which is less than perigee_member_count; 0 for any
/// other index. The members have no particular order, and each perigee_poll may change it.
PERIGEE_API uint32_t perigee_member(const PerigeeClient *client, uint32_t room,
                                    uint32_t index);

/// Returns the name of the member with this peer id, or NULL. The text is valid until the next
/// perigee_poll or perigee_close.
PERIGEE_API const char *perigee_member_name(const PerigeeClient *client, uint32_t room,
                                            uint32_t peer);

// --- Messages ------------------------------------------------------------------------------
// All calls of this section take effect with the next perigee_poll. They return 0, or a request if
// their comment says so, or a negative PerigeeCode: PERIGEE_TOO_LARGE, PERIGEE_NOT_JOINED,
// PERIGEE_OVER, PERIGEE_BAD_ARGUMENT or PERIGEE_QUEUE_FULL. The queue is full while 1024 reliable
// packets, or 8 MiB of them, wait for the server, or while 4096 requests wait for their answers.
// `flags` are PerigeeSendFlags. Without a connection, reliable packets wait for the next one.

/// Sends a message to the game's script: a name (not empty) and a value as JSON text; NULL means
/// `null`. The library does not check the text; the server answers invalid JSON with PERIGEE_ERROR.
/// `room` 0: the message belongs to no room.
PERIGEE_API int perigee_send(PerigeeClient *client, uint32_t room, const char *name,
                             const char *json, uint32_t flags);

/// Sends a message of the game's schema: its number (1 and up), and the bytes that the schema
/// defines (docs/schema.md). Needs the option `protocol_hash`.
PERIGEE_API int perigee_send_bytes(PerigeeClient *client, uint32_t room,
                                   uint16_t number, const void *data, size_t size,
                                   uint32_t flags);

/// Sends a question to the game's script. Returns a request, which ends in PERIGEE_ANSWER or
/// PERIGEE_FAILED.
PERIGEE_API int perigee_ask(PerigeeClient *client, uint32_t room, const char *name,
                            const char *json, uint32_t timeout_ms);

/// Sends a question that is a message of the schema. Returns a request, which ends in
/// PERIGEE_ANSWER or PERIGEE_FAILED.
PERIGEE_API int perigee_ask_bytes(PerigeeClient *client, uint32_t room, uint16_t number,
                                  const void *data, size_t size, uint32_t timeout_ms);

/// Answers a PERIGEE_QUESTION whose event has the number 0; `name` is the event's name. Returns
/// PERIGEE_OVER where the question's session has ended.
PERIGEE_API int perigee_answer(PerigeeClient *client, const PerigeeQuestion *question,
                               const char *name, const char *json);

/// Answers any other PERIGEE_QUESTION, or a PERIGEE_PACKET that is a question.
PERIGEE_API int perigee_answer_bytes(PerigeeClient *client,
                                     const PerigeeQuestion *question, const void *data,
                                     size_t size);

/// Sends bytes to every other member of a room. The game sees them only if it has an on_broadcast.
/// `room` 0: sends them to all other clients, if the server has the setting `client_broadcast`.
PERIGEE_API int perigee_relay(PerigeeClient *client, uint32_t room, const void *data,
                              size_t size, uint32_t flags);

/// Sends a packet on a channel of the game (4 to 999, 3000 to 65535), or to the plugin that serves
/// the channel (1000 to 1999).
PERIGEE_API int perigee_send_packet(PerigeeClient *client, uint16_t channel,
                                    uint16_t number, const void *data, size_t size,
                                    uint32_t flags);

/// Sends a packet as a question, on a channel as in perigee_send_packet. Returns a request, which
/// ends in PERIGEE_ANSWER or PERIGEE_FAILED.
PERIGEE_API int perigee_ask_packet(PerigeeClient *client, uint16_t channel,
                                   uint16_t number, const void *data, size_t size,
                                   uint32_t timeout_ms);

/// Requests to serve the plugin channel `name`. Returns a request, which ends in
/// PERIGEE_CHANNEL_OPENED or PERIGEE_FAILED. A resumed session continues to serve the channel. In a
/// new session (PERIGEE_LOST) the library requests it again: PERIGEE_CHANNEL_OPENED with request 0,
/// or PERIGEE_CHANNEL_CLOSED, reports the outcome.
PERIGEE_API int perigee_open_channel(PerigeeClient *client, const char *name,
                                     uint32_t timeout_ms);

/// Offers a tool to LLMs on a channel that this client serves, or removes it. `json` is the text of
/// an object with the fields of docs/protocol.md, section 8: name, description, input, channel.
/// Calls come as PERIGEE_PACKET of type 1 from peer 0. Both return a request, which ends in
/// PERIGEE_TOOL_CHANGED or PERIGEE_FAILED. A tool ends with its channel. When a new session serves
/// the channel again (PERIGEE_CHANNEL_OPENED), the library offers the tool again, and PERIGEE_ERROR
/// reports a refusal.
PERIGEE_API int perigee_add_tool(PerigeeClient *client, const char *json,
                                 uint32_t timeout_ms);
PERIGEE_API int perigee_remove_tool(PerigeeClient *client, const char *json,
                                    uint32_t timeout_ms);

/// Sends a packet to one peer (0: the game's script) on a channel that this client serves.
PERIGEE_API int perigee_send_to(PerigeeClient *client, uint16_t channel, uint32_t peer,
                                uint16_t number, const void *data, size_t size,
                                uint32_t flags);

/// Asks one peer (0: the game's script) on a channel that this client serves. Returns a request,
/// which ends in PERIGEE_ANSWER or PERIGEE_FAILED.
PERIGEE_API int perigee_ask_peer(PerigeeClient *client, uint16_t channel, uint32_t peer,
                                 uint16_t number, const void *data, size_t size,
                                 uint32_t timeout_ms);

/// Stops serving the channel. Requests of perigee_ask_peer fail; no other event follows.
PERIGEE_API int perigee_close_channel(PerigeeClient *client, uint16_t channel);

/// Measures the round trip to the server. Returns a request, which ends in PERIGEE_PONG or
/// PERIGEE_FAILED; PERIGEE_OFFLINE while no connection exists.
PERIGEE_API int perigee_ping(PerigeeClient *client, uint32_t timeout_ms);

/// Waits until the server has all reliable packets that were sent before. Returns a request, which
/// ends in PERIGEE_SYNCED or PERIGEE_FAILED.
PERIGEE_API int perigee_sync(PerigeeClient *client, uint32_t timeout_ms);

// --- Queues and parties ---------------------------------------------------------------------
// Requests to a game that has queues (docs/matchmaking.md). Each call returns a request, which ends
// in PERIGEE_ANSWER or PERIGEE_FAILED, or a negative PerigeeCode as for messages. If the game
// refuses a request, it fails with PERIGEE_FAULT: `name` is the code, such as "Queued", and `data`
// is {"message": TEXT}. docs/protocol.md, section 21, has the codes. Events of the types
// PERIGEE_MATCHMAKER_... and PERIGEE_PARTY_... report what happens later.

/// Enters a queue, with the party that this client leads. `properties` is the JSON text of an
/// object; NULL: none. The answer is {"ticket": ID}. PERIGEE_MATCHMAKER_QUEUED has the position.
PERIGEE_API int perigee_matchmaker_enter(PerigeeClient *client, const char *queue,
                                         const char *properties, uint32_t timeout_ms);

/// Leaves the queue. The answer is false if this client was in none, or has been matched.
PERIGEE_API int perigee_matchmaker_cancel(PerigeeClient *client, uint32_t timeout_ms);

/// Makes a party. The answer is the party: {"id", "code", "leader", "members", "size", "room"}.
PERIGEE_API int perigee_party_make(PerigeeClient *client, uint32_t timeout_ms);

/// Invites the client of this name, which gets PERIGEE_PARTY_INVITED. The answer is true.
PERIGEE_API int perigee_party_invite(PerigeeClient *client, const char *name,
                                     uint32_t timeout_ms);

/// Joins the party with this code. The answer is the party.
PERIGEE_API int perigee_party_join(PerigeeClient *client, const char *code,
                                   uint32_t timeout_ms);

/// Leaves the party. The answer is true.
PERIGEE_API int perigee_party_leave(PerigeeClient *client, uint32_t timeout_ms);

/// Makes another member the leader, or removes a member. Only the leader may do this. The answer is
/// true.
PERIGEE_API int perigee_party_promote(PerigeeClient *client, uint32_t peer,
                                      uint32_t timeout_ms);
PERIGEE_API int perigee_party_kick(PerigeeClient *client, uint32_t peer,
                                   uint32_t timeout_ms);

// --- Lockstep -------------------------------------------------------------------------------
// All clients of a room simulate the same game from the same inputs, turn by turn
// (docs/lockstep.md). The game simulates each PERIGEE_TURN when it takes the event, and then calls
// perigee_lockstep_done. All calls of this section return 0 or a negative PerigeeCode:
// PERIGEE_NOT_JOINED if this client does not take part in the room's match, or a code as for
// messages.

/// The slot of a client that only watches.
#define PERIGEE_SPECTATOR 255

/// Size of a seat in bytes.
#define PERIGEE_SEAT_SIZE 16

/// Ways to take part: 0, or a sum of these flags.
typedef enum PerigeeLockstepFlags {
  PERIGEE_WATCHES = 1,          // the client takes no slot
  PERIGEE_GIVES_SNAPSHOTS = 2,  // the client answers PERIGEE_SNAPSHOT_WANTED
  PERIGEE_GIVES_INPUTS =
      4  // the client answers PERIGEE_INPUT_WANTED, and gives no other inputs
} PerigeeLockstepFlags;

/// The properties of a match.
typedef struct PerigeeMatch {
  uint32_t id;                      // 0: the match has not begun
  uint32_t seed;                    // seed of the random numbers of all clients
  uint32_t turn;                    // newest turn that an event has reported
  uint32_t turn_us;                 // microseconds from turn to turn at a speed of 100
  uint16_t speed_percent;           // 0: paused
  uint16_t max_input;               // limit of one input in bytes
  uint8_t slot;                     // PERIGEE_SPECTATOR: none
  uint8_t input_delay;              // turns from an input to its turn
  uint8_t hash_interval;            // turns from one compared hash to the next
  uint8_t seat[PERIGEE_SEAT_SIZE];  // a secret that gives the same slot again
  uint32_t next_input;              // with PERIGEE_GIVES_INPUTS: turn of the next input
  uint32_t last_input;  // with PERIGEE_GIVES_INPUTS: last turn whose input is wanted
} PerigeeMatch;

/// Takes part in the match of a room. PERIGEE_MATCH follows, now and whenever the match begins
/// again. `seat` comes from an earlier PerigeeMatch, perhaps of another client or another run of
/// the program, and gives the same slot; NULL: any slot. After a lost session the client takes part
/// again once it has joined the room again. PERIGEE_MATCH_ENDED reports a refusal, with the
/// server's reason.
PERIGEE_API int perigee_lockstep_enter(PerigeeClient *client, uint32_t room,
                                       uint32_t flags, const uint8_t *seat);

/// Stops taking part.
PERIGEE_API int perigee_lockstep_exit(PerigeeClient *client, uint32_t room);

/// Copies the properties of the match to `match`.
PERIGEE_API int perigee_lockstep_match(const PerigeeClient *client, uint32_t room,
                                       PerigeeMatch *match);

/// Sets this player's input, of at most `max_input` bytes, for the next turn without one. An input
/// that reaches the server too late moves to a later turn, unless the server has repeated the
/// previous input in its place. If you set several inputs, each waits for a turn of its own.
/// Returns PERIGEE_QUEUE_FULL when 1 MiB waits.
PERIGEE_API int perigee_lockstep_input(PerigeeClient *client, uint32_t room,
                                       const void *data, size_t size);

/// Reports that the turn has been simulated, and the hash of the state after the turn. Equal states
/// must have equal hashes; any hash of 32 bits will do. The server compares hashes of turns
/// that are multiples of `hash_interval`. Report a state of PERIGEE_MATCH_FROM_SNAPSHOT in the same
/// way, with the turn of its event. Returns PERIGEE_OVER for any turn but the next one, for example
/// a turn of a match that has ended.
PERIGEE_API int perigee_lockstep_done(PerigeeClient *client, uint32_t room,
                                      uint32_t turn, uint32_t hash);

/// Answers PERIGEE_SNAPSHOT_WANTED with the bytes of the state after the turn of the last
/// perigee_lockstep_done. `request` is the event's `count`. A size of 0 refuses the request.
PERIGEE_API int perigee_lockstep_snapshot(PerigeeClient *client, uint32_t room,
                                          uint32_t request, const void *data,
                                          size_t size);

/// Answers PERIGEE_TREE_WANTED with the hashes of the parts of the state after `turn`: a JSON
/// object that maps the name of each part to a number, or to such an object for the part's own
/// parts. NULL: the hashes are no longer known.
PERIGEE_API int perigee_lockstep_tree(PerigeeClient *client, uint32_t room,
                                      uint32_t turn, const char *json);

// --- Queries ------------------------------------------------------------------------------

/// Returns the client's state; PERIGEE_STATE_CLOSED for NULL.
PERIGEE_API PerigeeState perigee_state(const PerigeeClient *client);

/// Returns this client's peer id; 0 before PERIGEE_CONNECTED. A new session has another id.
PERIGEE_API uint32_t perigee_peer_id(const PerigeeClient *client);

/// Returns this client's name: the name in the options, until the server gives the client another
/// one (PERIGEE_PEER_RENAMED with room 0). Empty before PERIGEE_CONNECTED. The text is valid until
/// the next perigee_poll.
PERIGEE_API const char *perigee_name(const PerigeeClient *client);

/// Returns the UUID of the session, 36 characters; empty before PERIGEE_CONNECTED. The text is
/// valid until perigee_free.
PERIGEE_API const char *perigee_session(const PerigeeClient *client);

/// Returns the round trip to the server in microseconds. The client measures it every few seconds;
/// -1 before the first measurement.
PERIGEE_API int64_t perigee_latency_us(const PerigeeClient *client);

/// Figures of a client, for people. `rtt_...` and `datagrams_...` count for the present connection
/// alone, and are 0 without datagrams.
typedef struct PerigeeStats {
  uint32_t ping_interval_ms;  // interval at which the server pings
  int has_datagrams;          // 1: datagrams are in use or are being tried
  uint64_t rtt_us;            // smoothed round trip of datagrams; 0: not known yet
  uint64_t
      rtt_newest_us;  // newest sample of the round trip, including the delay of the acknowledgement
  uint64_t datagrams_sent;
  uint64_t datagrams_received;
  uint64_t datagrams_acknowledged;
  uint64_t datagrams_lost;
  uint64_t
      packets_sent;  // packets sent in datagrams of their own, in the client's life
  uint64_t packets_received;  // packets received in datagrams of their own
} PerigeeStats;

/// Writes the figures to `stats`.
PERIGEE_API void perigee_stats(const PerigeeClient *client, PerigeeStats *stats);

/// Returns the size in bytes of the largest payload that the server takes; 0 before
/// PERIGEE_CONNECTED.
PERIGEE_API uint32_t perigee_max_payload(const PerigeeClient *client);

/// Returns the server's ticks per second.
PERIGEE_API uint32_t perigee_tick_rate(const PerigeeClient *client);

/// Returns the server's Unix time in microseconds, at the moment when the server last let this
/// client in.
PERIGEE_API uint64_t perigee_server_time_us(const PerigeeClient *client);

/// Returns the number of reliable packets that the server has not confirmed.
PERIGEE_API uint32_t perigee_unconfirmed(const PerigeeClient *client);

/// Returns the microseconds of the driver's clock, which never goes back.
PERIGEE_API uint64_t perigee_clock_us(void);

/// Returns the version of the library; 0x000100 is 0.1.0. A program that loads the library at run
/// time checks the version: until 1.0, the major and minor version must be those of the header that
/// the program was compiled with.
PERIGEE_API uint32_t perigee_version(void);

/// Returns the name of a code of the protocol, as docs/protocol.md spells it ("NoSuchRoom"), or the
/// name of a code of the library ("Timeout"). Returns "Unknown" for other numbers. The text is
/// static.
PERIGEE_API const char *perigee_code_name(int code);

#ifdef __cplusplus
}
#endif

#endif
