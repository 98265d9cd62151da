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
// Only perigee_poll and name resolution (see perigee_connect) wait. Each request has a number,
// and ends in one event that carries that number; other events have request 0. The library
// has no callbacks: you may call every function between taking two events. It has no threads,
// no signals and no global state: a client belongs to one thread at a time, and any number of
// clients may exist. Memory is the C library's; when it is exhausted, the process aborts with a
// message. Texts and data that you pass in are copied. A pointer may be NULL where its function
// says so.
//
// docs/c-client.md is the guide, docs/protocol.md what goes over the wire.
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

/// The numbers of errors and reasons. Those from 0 on are the protocol's (docs/protocol.md,
/// section 3); those below 0 are the library's own and never cross the wire. Functions that
/// fail return one of the latter.
typedef enum PerigeeCode {
  PERIGEE_NOT_JOINED = -8,    // not in that room (any more)
  PERIGEE_BAD_ARGUMENT = -7,  // a call that can never succeed; docs say why
  PERIGEE_TOO_LARGE = -6,     // more payload than perigee_max_payload
  PERIGEE_OFFLINE = -5,  // there is no connection at the moment, and this cannot wait
  PERIGEE_OVER = -4,     // the client is closed, or the session asked about is over
  PERIGEE_QUEUE_FULL = -3,   // too much waits for the server
  PERIGEE_UNREACHABLE = -2,  // no connection comes about
  PERIGEE_TIMEOUT = -1,      // no answer in time
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
  PERIGEE_UNAVAILABLE = 24  // not now: the client tries again by itself
} PerigeeCode;

/// Where a client stands.
typedef enum PerigeeState {
  PERIGEE_STATE_CONNECTING,    // for the first time; also while that is tried again
  PERIGEE_STATE_OPEN,          // let in by the server
  PERIGEE_STATE_RECONNECTING,  // the connection is lost, and is tried again
  PERIGEE_STATE_CLOSING,       // perigee_close was called, and the server not heard yet
  PERIGEE_STATE_CLOSED         // for good; PERIGEE_CLOSED is its last event
} PerigeeState;

/// How something is sent: 0, or a sum of these. Without PERIGEE_UNRELIABLE it arrives once and
/// in order, also when the connection is lost for a while. At most one of the priorities.
typedef enum PerigeeSendFlags {
  PERIGEE_UNRELIABLE = 1,  // may be lost; dropped while there is no connection
  PERIGEE_CRITICAL = 2,
  PERIGEE_HIGH = 4,
  PERIGEE_LOW = 8
} PerigeeSendFlags;

/// How to reach the server.
typedef enum PerigeeTransport {
  PERIGEE_TCP,          // by TCP
  PERIGEE_TCP_AND_UDP,  // and what is PERIGEE_UNRELIABLE by UDP, where and while that passes
  PERIGEE_UDP           // by UDP alone, sealed
} PerigeeTransport;

// --- Connecting ----------------------------------------------------------------------------

typedef struct PerigeeClient PerigeeClient;

/// Fill in with perigee_options_init first. Texts are copied, NUL-terminated UTF-8. A name has no control
/// characters (Unicode Cc, Cf, Zl, Zp), no spaces at its ends, and no !, * or / at its beginning.
typedef struct PerigeeOptions {
  const char *name;        // 1 to 64 bytes, see above; NULL: "guest"
  const char *token;       // for the game's on_connect, up to 65535 bytes; NULL: none
  uint64_t protocol_hash;  // of the game's schema: messages in bytes; 0: in JSON
  PerigeeTransport transport;  // PERIGEE_TCP
  uint32_t timeout_ms;  // for connecting, and for each request that names none; 10000
  uint32_t reconnect_first_ms;  // pause before the first try to connect again; 250
  uint32_t reconnect_max_ms;    // pauses double up to this, each is the half to the
                                // whole; 8000
  uint32_t reconnect_for_ms;  // after which to give up; 0: never give up (the default)
  int reconnect;              // 0: a lost connection ends the client, and so does
                              // PERIGEE_UNAVAILABLE at the first one; 1 (the default)
  int rejoin;                 // 1 (the default): join rooms again in a new session; 0
} PerigeeOptions;

/// The defaults, as above.
PERIGEE_API void perigee_options_init(PerigeeOptions *options);

/// A client that begins to connect to `address`: "host", "host:port" or "[v6]:port"; the port is
/// 7777 if the address has none. `options` may be NULL and need not outlive the call. The outcome
/// is an event: PERIGEE_CONNECTED, or PERIGEE_CLOSED with the reason.
///
/// A host's name is resolved here by getaddrinfo, which may wait for the network's name servers, and in
/// perigee_poll after a try at which none of its addresses could be reached. A game that must never
/// stand still resolves it elsewhere and gives a numeric address, which never waits.
///
/// Returns NULL for an address, name or token that cannot be, with PERIGEE_BAD_ARGUMENT in `*code`
/// (which may be NULL). Given back with perigee_free.
PERIGEE_API PerigeeClient *perigee_connect(const char *address,
                                           const PerigeeOptions *options, int *code);

/// Says goodbye, after everything that was sent before. PERIGEE_CLOSED tells when that is done, at
/// the latest after a second; perigee_poll has to be called meanwhile. Requests that wait fail.
/// A second call does nothing.
PERIGEE_API void perigee_close(PerigeeClient *client);

/// Ends the client and gives its memory back; NULL is allowed. Without perigee_close before, the
/// server keeps the session waiting as if the line were lost.
PERIGEE_API void perigee_free(PerigeeClient *client);

// --- The loop ------------------------------------------------------------------------------

/// Does what there is to do: receives, sends, keeps the connection alive and connects again.
/// Waits for that up to `timeout_ms` milliseconds (0: not at all, negative: for ever), but
/// no longer than until there is an event, or a signal has been handled. Returns 1 when there are
/// events for perigee_next_event, else 0. A game calls it once a frame with 0; it has to be called at
/// least every few seconds, or the server takes the client for dead. While 4096 events or 8 MiB of
/// them wait to be taken, nothing more is read.
PERIGEE_API int perigee_poll(PerigeeClient *client, int timeout_ms);

/// A file descriptor, and the events to wait for.
typedef struct PerigeeFd {
  int fd;
  int wants_read;   // 0 or 1
  int wants_write;  // 0 or 1
} PerigeeFd;

/// For loops of your own: the descriptors to watch, at most two, into `fds`; returns how many. They
/// change with every call of the library, so ask again before each wait; then call perigee_poll
/// with 0 when one is ready, or after perigee_wait_ms.
PERIGEE_API int perigee_fds(PerigeeClient *client, PerigeeFd fds[2]);

/// The milliseconds until perigee_poll has to be called even if no descriptor is ready: 0 and
/// up, 0 while events wait to be taken; -1: there is nothing to wait for.
PERIGEE_API int perigee_wait_ms(PerigeeClient *client);

/// Drives many clients with one wait: does for each what perigee_poll does, and waits up to
/// `timeout_ms` milliseconds until at least one has events or one of the `fd_count` descriptors in
/// `fds` is ready; `fds` may be NULL with a count of 0. Sets wants_read and wants_write of each of
/// these to whether the descriptor is ready. Moves the clients that have events to the front of
/// `clients`, and returns their number. A signal, or the end of all clients, ends the wait.
PERIGEE_API size_t perigee_poll_all(PerigeeClient **clients, size_t client_count,
                                    PerigeeFd *fds, size_t fd_count, int timeout_ms);

// --- Without sockets -----------------------------------------------------------------------
// A client of perigee_new is a state machine without sockets and without a clock: the program
// carries its bytes and datagrams, and brings the time. perigee_connect gives the same client with
// a driver for sockets; the functions of this section are not for such a client, and perigee_poll,
// perigee_fds and perigee_wait_ms are not for one of perigee_new. All other functions are for both.
//
// `now_us` is the time in microseconds of any clock that never goes back. Calls without it, such as
// perigee_join, take effect at the time that the next call with `now_us` brings. After any call the
// program does the following, in this order:
//   - compares perigee_connection with the number before: closes the old connection and opens a new
//     one where the number differs;
//   - sends what perigee_output and perigee_next_datagram return;
//   - takes the events;
//   - calls perigee_advance no later than at perigee_due_us.

/// Bytes of the largest datagram.
#define PERIGEE_DATAGRAM_MAX 1200

/// Creates a client that wants a connection to a server. `options` may be NULL and need not outlive
/// the call. Returns NULL for a name or token that cannot be, with PERIGEE_BAD_ARGUMENT in `*code`
/// (which may be NULL). Freed with perigee_free.
PERIGEE_API PerigeeClient *perigee_new(const PerigeeOptions *options, uint64_t now_us,
                                       int *code);

/// Returns the number of the connection that the client wants or has: 1, then a higher one each
/// time; 0 while it wants none.
PERIGEE_API uint32_t perigee_connection(const PerigeeClient *client);

/// Reports that the connection is open. With PERIGEE_UDP there is nothing to open: the program
/// calls this as soon as it can send datagrams to the server, and again where it tries another of
/// the server's addresses because the first does not answer.
PERIGEE_API void perigee_connection_opened(PerigeeClient *client, uint64_t now_us);

/// Reports that the connection has ended, or cannot be opened: PERIGEE_CONNECTION_CLOSED,
/// PERIGEE_CONNECTION_RESET, PERIGEE_UNREACHABLE or another PerigeeCode, and a sentence for people.
PERIGEE_API void perigee_connection_ended(PerigeeClient *client, int code,
                                          const char *text, uint64_t now_us);

/// Returns 1 where the client wants bytes and datagrams; 0 while too many events wait to be taken
/// (see perigee_poll). Input that comes nevertheless is kept, which costs memory.
PERIGEE_API int perigee_wants_input(const PerigeeClient *client);

/// Takes bytes that came through the connection. Ignored where there is no connection.
PERIGEE_API void perigee_receive(PerigeeClient *client, const void *bytes, size_t size,
                                 uint64_t now_us);

/// Returns the bytes to send through the connection, and their number in `*size`. They stay valid
/// until the next call of another function of the library.
PERIGEE_API const uint8_t *perigee_output(PerigeeClient *client, size_t *size,
                                          uint64_t now_us);

/// Reports that the first `size` bytes of perigee_output have been sent.
PERIGEE_API void perigee_sent(PerigeeClient *client, size_t size);

/// Returns 1 while the client uses datagrams: with PERIGEE_UDP from perigee_connection_opened to the
/// end of the connection, with PERIGEE_TCP_AND_UDP for some or all of the time. All of one
/// connection have to leave from the same address and port.
PERIGEE_API int perigee_uses_datagrams(const PerigeeClient *client);

/// Takes a datagram that came from the server.
PERIGEE_API void perigee_receive_datagram(PerigeeClient *client, const void *bytes,
                                          size_t size, uint64_t now_us);

/// Writes the next datagram to `bytes`, which has PERIGEE_DATAGRAM_MAX bytes, and its port at the
/// server to `*port`; 0: the port of the server's address. Returns its size; 0: there is none. To be
/// called until it returns 0, also after each perigee_receive_datagram.
PERIGEE_API size_t perigee_next_datagram(PerigeeClient *client, void *bytes,
                                         uint16_t *port, uint64_t now_us);

/// Brings the time: runs timers, and takes input that was kept while too many events waited.
PERIGEE_API void perigee_advance(PerigeeClient *client, uint64_t now_us);

/// Returns when perigee_advance has to be called and perigee_next_datagram to be asked, though
/// nothing comes: in the past for at once, UINT64_MAX for never.
PERIGEE_API uint64_t perigee_due_us(const PerigeeClient *client);

// --- Events --------------------------------------------------------------------------------

/// In brackets: the fields of PerigeeEvent that are set beside `type`. `request` is that of the
/// call which the event answers, 0 where there was none.
typedef enum PerigeeEventType {
  PERIGEE_CONNECTED,     // the server has let this client in, for the first time
  PERIGEE_DISCONNECTED,  // the connection is lost (code, text); it is tried again
  PERIGEE_RECONNECTING,  // try number `count` comes in `time_us`
  PERIGEE_RESUMED,  // the session goes on after `time_us`; `count` packets were sent again
  PERIGEE_LOST,     // a new session; `count` packets are not known to have arrived
  PERIGEE_CLOSED,  // the end (code, text): no event comes after it
  PERIGEE_JOINED,  // in a room (room, name, request); perigee_member lists its members
  PERIGEE_LEFT,    // out of it for good (room, name, code, request)
  PERIGEE_PEER_JOINED,  // somebody came into a room (room, peer, name)
  PERIGEE_PEER_LEFT,    // somebody left it (room, peer, name)
  PERIGEE_RELAY,    // bytes of a member, peer 0: of the server (room, peer, name, data)
  PERIGEE_MESSAGE,  // of the game (room or 0, name, number, data): see `number`
  PERIGEE_QUESTION,  // the same, and the game waits for perigee_answer (question)
  PERIGEE_ANSWER,  // to perigee_ask and perigee_ask_packet (request, name, number, data)
  PERIGEE_PACKET,  // on a channel of the game (channel, number, data, is_question; peer
                   // on a channel that this client serves)
  PERIGEE_FAILED,  // a request had no success (request, code, text)
  PERIGEE_ERROR,   // what was sent without a question had none (code, text)
  PERIGEE_ROOMS,   // the rooms of the server (request, rooms, count)
  PERIGEE_PONG,    // the answer to perigee_ping (request, time_us)
  PERIGEE_SYNCED,  // the answer to perigee_sync (request)
  PERIGEE_CHANNEL_OPENED,  // this client serves a channel (request, channel, name)
  PERIGEE_CHANNEL_CLOSED,  // and serves it no more, unasked (channel, name, code)
  PERIGEE_REDIRECT,  // reserved, no server sends it yet: go to host `name`, port `number`
  PERIGEE_UDP_UP,  // PERIGEE_TCP_AND_UDP: datagrams pass, as long as this connection lasts,
  PERIGEE_UDP_DOWN,  // or do not any more; everything goes by TCP then
  // Of lockstep, all with their room:
  PERIGEE_MATCH,  // it begins: `number` is a PerigeeMatchStart, `count` the turn that the state is
                  // after, `data` the snapshot
  PERIGEE_TURN,  // turn number `count` is to be simulated (entries, entry_count)
  PERIGEE_PACE,  // perigee_lockstep_match has another speed, or input delay
  PERIGEE_SNAPSHOT_WANTED,  // answer with perigee_lockstep_snapshot (count: the request)
  PERIGEE_TREE_WANTED,      // answer with perigee_lockstep_tree (count: the turn)
  PERIGEE_DESYNC,  // hashes of turn `count` differ: data has the slots, is_odd whether this is one
  PERIGEE_WAITING,  // turn `count` waits for the inputs of the slots in `data`
  PERIGEE_MATCH_ENDED,  // the match is over; or this client was not let into it (code, text), or no
                        // START came in time
  PERIGEE_PEER_RENAMED  // a member of a room has another name (room, peer, name; text: the one
                        // before); room 0: this client itself
} PerigeeEventType;

/// The address of an answer. Copy it to answer later.
typedef struct PerigeeQuestion {
  uint32_t session;  // the library's count of sessions
  uint32_t room;     // as in the event
  uint32_t peer;     // who asked, on a channel that this client serves
  uint16_t channel;
  uint16_t number;
  uint16_t ref;
} PerigeeQuestion;

/// How a match begins.
typedef enum PerigeeMatchStart {
  PERIGEE_MATCH_FRESH,          // with the state that is made from the seed
  PERIGEE_MATCH_FROM_SNAPSHOT,  // with that of the snapshot
  PERIGEE_MATCH_GOES_ON         // with the present one
} PerigeeMatchStart;

/// The kind of an entry of a turn.
typedef enum PerigeeEntryKind {
  PERIGEE_INPUT,           // data is the slot's input
  PERIGEE_INPUT_MISSING,   // it did not come in time
  PERIGEE_INPUT_REPEATED,  // nor did this one; data is that of the turn before
  PERIGEE_PLAYER_JOINED,  // the slot has a player: 4 bytes of peer id (little-endian), and the name
  PERIGEE_PLAYER_LEFT  // it has none any more
} PerigeeEntryKind;

/// One of the things that are to be done in a turn, in their order.
typedef struct PerigeeEntry {
  PerigeeEntryKind kind;
  uint8_t slot;
  const uint8_t *data;
  size_t size;
} PerigeeEntry;

/// A room as perigee_list_rooms tells of it.
typedef struct PerigeeRoomInfo {
  const char *name;
  uint32_t members;
} PerigeeRoomInfo;

/// Fields that an event does not set are 0, or empty texts; no pointer is NULL except
/// `rooms` and `entries`.
typedef struct PerigeeEvent {
  PerigeeEventType type;
  int code;  // a PerigeeCode, or a number of the protocol that this version does not know
  uint32_t request;  // what perigee_join and its like returned
  uint32_t room;     // the number of the room, as perigee_send takes it; 0: none
  uint32_t peer;     // a peer id
  uint32_t count;
  uint64_t time_us;  // microseconds
  uint16_t channel;
  uint16_t
      number;  // of a message: 0, and `data` is JSON text; else its number in the game's
               // schema, and `data` its bytes. Of a packet: its type
  int is_question;  // 1: the sender waits for an answer
  PerigeeQuestion question;
  const char *name;     // of the message, the room, the peer; NUL-terminated UTF-8
  const char *text;     // for people; NUL-terminated UTF-8
  const uint8_t *data;  // `size` bytes; a NUL follows them
  size_t size;
  const PerigeeRoomInfo *rooms;  // `count` of them
  const PerigeeEntry *entries;   // `entry_count` of them
  uint32_t entry_count;
  int is_odd;  // 1: this client is one of those that differ
} PerigeeEvent;

/// The next event, or NULL when there is none. Stays valid until the next call of this function
/// or perigee_free.
PERIGEE_API const PerigeeEvent *perigee_next_event(PerigeeClient *client);

// --- Rooms ---------------------------------------------------------------------------------
// A room has a number, from 1 up, which is the library's own: it stays the same when a new session
// joins the room again, and is not used for another.

/// Joins the room `name` (1 to 64 bytes, no control characters, no spaces at the ends). Returns a request, which ends in
/// PERIGEE_JOINED or PERIGEE_FAILED; or a negative PerigeeCode. Here and below `timeout_ms` 0 stands for
/// the option's.
PERIGEE_API int perigee_join(PerigeeClient *client, const char *name,
                             uint32_t timeout_ms);

/// Leaves a room. Returns a request, which ends in PERIGEE_LEFT or PERIGEE_FAILED; or a negative
/// PerigeeCode.
PERIGEE_API int perigee_leave(PerigeeClient *client, uint32_t room);

/// Asks for the rooms of the server. Returns a request, which ends in PERIGEE_ROOMS or
/// PERIGEE_FAILED; or a negative PerigeeCode.
PERIGEE_API int perigee_list_rooms(PerigeeClient *client, uint32_t timeout_ms);

/// The number of the room of this name (may be NULL) that the client is in, or 0.
PERIGEE_API uint32_t perigee_find_room(const PerigeeClient *client, const char *name);

/// The room's name, or NULL where the client is not in it. Valid until the next perigee_poll or
/// perigee_close.
PERIGEE_API const char *perigee_room_name(const PerigeeClient *client, uint32_t room);

/// How many others are in the room; 0 where the client is not in it.
PERIGEE_API uint32_t perigee_member_count(const PerigeeClient *client, uint32_t room);

/// The peer id of member `index`, from 0 up to less than the count, in no particular order; 0
/// beyond that. Members move whenever perigee_poll is called.
PERIGEE_API uint32_t perigee_member(const PerigeeClient *client, uint32_t room,
                                    uint32_t index);

/// The name of a member by its peer id, or NULL. Valid until the next perigee_poll or
/// perigee_close.
PERIGEE_API const char *perigee_member_name(const PerigeeClient *client, uint32_t room,
                                            uint32_t peer);

// --- Messages ------------------------------------------------------------------------------
// All of these take effect with the next perigee_poll and return 0, or a request where they say
// so, or a negative PerigeeCode: PERIGEE_QUEUE_FULL when 1024 reliable packets or 8 MiB of them
// wait for the server, or 4096 requests for their answers, PERIGEE_TOO_LARGE, PERIGEE_NOT_JOINED,
// PERIGEE_OVER, PERIGEE_BAD_ARGUMENT.
// `flags` are PerigeeSendFlags. While the connection is lost what is reliable waits for the next.

/// Sends a message to the game's script: a name (not empty) and JSON text, NULL for `null`. The
/// text is not looked at; where it is no JSON the server says so with PERIGEE_ERROR. `room` 0: about no
/// room.
PERIGEE_API int perigee_send(PerigeeClient *client, uint32_t room, const char *name,
                             const char *json, uint32_t flags);

/// The same for a message of the game's schema, by its number (1 and up), in the schema's bytes
/// (docs/schema.md). Only with the option `protocol_hash`.
PERIGEE_API int perigee_send_bytes(PerigeeClient *client, uint32_t room,
                                   uint16_t number, const void *data, size_t size,
                                   uint32_t flags);

/// Asks the game's script. Returns a request, which ends in PERIGEE_ANSWER or PERIGEE_FAILED.
PERIGEE_API int perigee_ask(PerigeeClient *client, uint32_t room, const char *name,
                            const char *json, uint32_t timeout_ms);

/// The same with a message of the schema.
PERIGEE_API int perigee_ask_bytes(PerigeeClient *client, uint32_t room, uint16_t number,
                                  const void *data, size_t size, uint32_t timeout_ms);

/// Answers a PERIGEE_QUESTION whose event had number 0: `name` is the event's. PERIGEE_OVER when the
/// session in which it was asked is over.
PERIGEE_API int perigee_answer(PerigeeClient *client, const PerigeeQuestion *question,
                               const char *name, const char *json);

/// Answers any other PERIGEE_QUESTION, and a PERIGEE_PACKET that is a question.
PERIGEE_API int perigee_answer_bytes(PerigeeClient *client,
                                     const PerigeeQuestion *question, const void *data,
                                     size_t size);

/// Sends bytes to every other member of a room, past the game unless it has an on_broadcast.
PERIGEE_API int perigee_relay(PerigeeClient *client, uint32_t room, const void *data,
                              size_t size, uint32_t flags);

/// Sends a packet on a channel of the game (4 to 999, 3000 to 65535), or to the plugin that serves
/// a channel (1000 to 1999).
PERIGEE_API int perigee_send_packet(PerigeeClient *client, uint16_t channel,
                                    uint16_t number, const void *data, size_t size,
                                    uint32_t flags);

/// The same as a question. Returns a request, which ends in PERIGEE_ANSWER or PERIGEE_FAILED.
PERIGEE_API int perigee_ask_packet(PerigeeClient *client, uint16_t channel,
                                   uint16_t number, const void *data, size_t size,
                                   uint32_t timeout_ms);

/// Asks to serve the plugin channel `name`. Returns a request, which ends in PERIGEE_CHANNEL_OPENED
/// or PERIGEE_FAILED. A resumed session goes on serving it; with a new one (PERIGEE_LOST) comes
/// PERIGEE_CHANNEL_CLOSED.
PERIGEE_API int perigee_open_channel(PerigeeClient *client, const char *name,
                                     uint32_t timeout_ms);

/// Sends a packet to one peer (0: the game's script) on a channel that this client serves.
PERIGEE_API int perigee_send_to(PerigeeClient *client, uint16_t channel, uint32_t peer,
                                uint16_t number, const void *data, size_t size,
                                uint32_t flags);

/// Serves the channel no longer; there is no event.
PERIGEE_API int perigee_close_channel(PerigeeClient *client, uint16_t channel);

/// Measures the time to the server and back. Returns a request, which ends in PERIGEE_PONG or
/// PERIGEE_FAILED; PERIGEE_OFFLINE while there is no connection.
PERIGEE_API int perigee_ping(PerigeeClient *client, uint32_t timeout_ms);

/// Returns a request that ends in PERIGEE_SYNCED when the server has everything reliable that was
/// sent before, or in PERIGEE_FAILED.
PERIGEE_API int perigee_sync(PerigeeClient *client, uint32_t timeout_ms);

// --- Lockstep -------------------------------------------------------------------------------
// docs/lockstep.md: all clients of a room simulate the same game, from the same inputs turn by turn.
// The game simulates each PERIGEE_TURN when it takes the event, and says so with
// perigee_lockstep_done. All of these return 0 or a negative PerigeeCode: PERIGEE_NOT_JOINED where this client
// takes no part, and what messages return.

/// The slot of who only watches.
#define PERIGEE_SPECTATOR 255

/// Bytes of a seat.
#define PERIGEE_SEAT_SIZE 16

/// How to take part: 0, or a sum of these.
typedef enum PerigeeLockstepFlags {
  PERIGEE_WATCHES = 1,         // takes no slot
  PERIGEE_GIVES_SNAPSHOTS = 2  // answers PERIGEE_SNAPSHOT_WANTED
} PerigeeLockstepFlags;

/// The facts about a match.
typedef struct PerigeeMatch {
  uint32_t id;                      // 0: it has not begun
  uint32_t seed;                    // for the random numbers of all
  uint32_t turn;                    // the newest that an event has reported
  uint32_t turn_us;                 // microseconds from turn to turn at a speed of 100
  uint16_t speed_percent;           // 0: paused
  uint16_t max_input;               // bytes
  uint8_t slot;                     // PERIGEE_SPECTATOR: none
  uint8_t input_delay;              // turns
  uint8_t hash_interval;            // turns
  uint8_t seat[PERIGEE_SEAT_SIZE];  // a secret, by which a slot is had again
} PerigeeMatch;

/// Takes part in the match of a room; PERIGEE_MATCH follows, now and whenever the match begins again. `seat` is
/// that of a PerigeeMatch before, of another client or another run of the program too: the same slot again;
/// NULL: any. After a lost session the library asks again by itself when the room is joined again, as it does
/// where it asked too soon. PERIGEE_MATCH_ENDED with the server's reason reports a refusal.
PERIGEE_API int perigee_lockstep_enter(PerigeeClient *client, uint32_t room,
                                       uint32_t flags, const uint8_t *seat);

/// Takes part no longer.
PERIGEE_API int perigee_lockstep_exit(PerigeeClient *client, uint32_t room);

/// Copies the facts about the match to `match`.
PERIGEE_API int perigee_lockstep_match(const PerigeeClient *client, uint32_t room,
                                       PerigeeMatch *match);

/// Sets the input of this player for the next turn that has none yet, and for another if it comes
/// too late for that, unless the one before stood for it; several wait for as many turns. At most
/// `max_input` bytes, and 1 MiB that waits (PERIGEE_QUEUE_FULL).
PERIGEE_API int perigee_lockstep_input(PerigeeClient *client, uint32_t room,
                                       const void *data, size_t size);

/// The turn has been simulated, and the state after it has this hash: any 32 bits that are equal
/// where states are. It is looked at in turns that are multiples of `hash_interval`. PERIGEE_OVER for
/// another turn than the next, of a match that has ended meanwhile for instance.
PERIGEE_API int perigee_lockstep_done(PerigeeClient *client, uint32_t room,
                                      uint32_t turn, uint32_t hash);

/// The state after the turn that was done last, as bytes; size 0: there is none to give.
PERIGEE_API int perigee_lockstep_snapshot(PerigeeClient *client, uint32_t room,
                                          uint32_t request, const void *data,
                                          size_t size);

/// The hashes of the parts of the state after a turn, as a JSON object of names to numbers, or to
/// objects of the same kind; NULL: not known any more.
PERIGEE_API int perigee_lockstep_tree(PerigeeClient *client, uint32_t room,
                                      uint32_t turn, const char *json);

// --- Queries ------------------------------------------------------------------------------

/// Where the client stands; PERIGEE_STATE_CLOSED for NULL.
PERIGEE_API PerigeeState perigee_state(const PerigeeClient *client);

/// This client's peer id; 0 before PERIGEE_CONNECTED. A new session has another.
PERIGEE_API uint32_t perigee_peer_id(const PerigeeClient *client);

/// This client's name: that of the options, until the server gives it another (PERIGEE_PEER_RENAMED
/// with room 0). Empty before PERIGEE_CONNECTED. Valid until the next perigee_poll.
PERIGEE_API const char *perigee_name(const PerigeeClient *client);

/// The UUID of the session, 36 characters; empty before PERIGEE_CONNECTED. Valid until
/// perigee_free.
PERIGEE_API const char *perigee_session(const PerigeeClient *client);

/// Microseconds to the server and back as of the last ping, which is sent every few seconds; -1
/// while none has come back.
PERIGEE_API int64_t perigee_latency_us(const PerigeeClient *client);

/// The largest packet that the server takes, in bytes; 0 before PERIGEE_CONNECTED.
PERIGEE_API uint32_t perigee_max_payload(const PerigeeClient *client);

/// The server's ticks a second.
PERIGEE_API uint32_t perigee_tick_rate(const PerigeeClient *client);

/// The server's Unix time in microseconds, as of the last WELCOME.
PERIGEE_API uint64_t perigee_server_time_us(const PerigeeClient *client);

/// Reliable packets that the server has not confirmed.
PERIGEE_API uint32_t perigee_unconfirmed(const PerigeeClient *client);

/// Microseconds of the clock that the library goes by: it never goes back.
PERIGEE_API uint64_t perigee_clock_us(void);

/// The version of the library, as the numbers above have that of the header: 0x000100 is 0.1.0. For
/// programs that load it when they run: until 1.0 they need one of their own major and minor version.
PERIGEE_API uint32_t perigee_version(void);

/// The name of a code as docs/protocol.md spells it ("NoSuchRoom"), or of one of the library's
/// own ("Timeout"); "Unknown" for other numbers. Static.
PERIGEE_API const char *perigee_code_name(int code);

#ifdef __cplusplus
}
#endif

#endif
