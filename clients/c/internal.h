// The parts of a PerigeeClient, which the files of this folder share. A client is one session
// after the other, over one connection (a link) after the other; each file has its own struct
// here and is the only one that changes it, but for what its functions offer.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/timers.h"
#include "datagrams.h"
#include "lockstep.h"
#include "perigee.h"
#include "wire/control.h"
#include "wire/packet.h"
#include "wire/reliable.h"

enum {
  KEPT_MAX_BYTES = 8 << 20,        // reliable packets that wait for the server
  UNRELIABLE_MAX_BYTES = 1 << 20,  // unsent; past it unreliable packets are dropped
  EVENTS_MAX = 4096,               // not taken yet; past it nothing is read,
  EVENTS_MAX_BYTES = 8 << 20,      // or past so many bytes of them
  UNSENT_MAX_BYTES = 16 << 20,     // past it nothing more is taken to be sent
  REQUESTS_MAX = 4096,             // that wait for their answers
  ROOMS_MAX = 1024,                // four times what a server puts a client into,
  MEMBERS_MAX = 1 << 18,           // and who is in them, in all
};

// --- events.c ---

typedef struct EventNode {
  struct EventNode *next;
  PerigeeEvent event;
  size_t size;  // of the whole node
  // Behind it: rooms, name, text, data, each as far as the event has it.
} EventNode;

typedef struct Events {
  EventNode *first;
  EventNode *last;
  EventNode *taken;  // the one that the game looks at
  size_t count;
  size_t bytes;
  bool by_udp;  // a datagram is being taken
} Events;

/// Text or bytes for an event; copied.
typedef struct EventText {
  const void *bytes;
  size_t size;
} EventText;

typedef struct EventParts {
  EventText name;
  EventText text;
  EventText data;
} EventParts;

/// Adds an event with copies of these texts.
void events_push(Events *events, const PerigeeEvent *event, const EventParts *parts);

/// The same with a list of `count` rooms, whose names are copied.
void events_push_rooms(Events *events, const PerigeeEvent *event,
                       const PerigeeRoomInfo *rooms, uint32_t count);

/// The same with the entries of a turn, as TURNS has them.
void events_push_turn(Events *events, const PerigeeEvent *event, const uint8_t *bytes,
                      size_t size);

/// Forgets turns of a room's match that nobody has taken: they are not of the one that begins.
void events_drop_turns(Events *events, uint32_t room);

/// The next event, which stays until the next call; NULL: none.
const PerigeeEvent *events_take(Events *events);

/// Whether so many wait that no more may be made.
bool events_are_full(const Events *events);

void events_deinit(Events *events);

/// A C string for an event.
EventText text_of(const char *text);

// --- rooms.c ---

typedef struct Member {
  uint32_t peer;
  bool is_listed;  // in the list that is being taken
  char *name;
} Member;

/// A room that the client is in, or joins again in a new session.
typedef struct Room {
  uint32_t number;  // the library's own, for good
  uint32_t id;      // the server's, in this session
  char *name;
  Member *members;
  Names places;  // peer id -> 1 + where among the members
  uint32_t member_count;
  uint32_t member_capacity;
  bool is_joined;
  bool is_asked;        // joined by perigee_join: joined again in a new session
  bool is_unconfirmed;  // after a resume: the server has not named it yet
  Match *match;         // that the client takes part in, or NULL
} Room;

typedef struct Rooms {
  Room **list;
  uint32_t count;
  uint32_t capacity;
  uint32_t last_number;
  uint32_t member_count;  // of all
} Rooms;

/// The room by the library's number, by the server's id (joined ones alone), by its name; or NULL.
Room *rooms_find(const Rooms *rooms, uint32_t number);
Room *rooms_find_id(const Rooms *rooms, uint32_t id);
Room *rooms_find_name(const Rooms *rooms, const char *name, size_t size);

/// Whether there are so many that no more may be added.
bool rooms_are_full(const Rooms *rooms);

/// A new room with the next number.
Room *rooms_add(Rooms *rooms, const char *name, size_t size);

void rooms_remove(Rooms *rooms, Room *room);
void rooms_deinit(Rooms *rooms);

/// The member, or NULL.
Member *room_find_member(const Room *room, uint32_t peer);

/// Whether so many more may be added, of all rooms.
bool rooms_take_members(const Rooms *rooms, uint32_t count);

/// Adds a member, or changes its name; false where it is there already, under this name.
bool room_add_member(Rooms *rooms, Room *room, uint32_t peer, Text name);
void room_remove_member(Rooms *rooms, Room *room, const Member *member);

// --- requests.c ---

/// What a request asked for, and so how it is answered.
typedef enum RequestKind {
  REQUEST_JOIN,
  REQUEST_LEAVE,
  REQUEST_LIST,
  REQUEST_ASK,
  REQUEST_ASK_PACKET,
  REQUEST_ASK_PEER,
  REQUEST_CHANNEL,
  REQUEST_ENTER,
  REQUEST_PING,
  REQUEST_SYNC,
} RequestKind;

typedef struct Request {
  struct Request *next;
  PerigeeClient *client;
  Timer timer;
  RequestKind kind;
  uint32_t number;   // what the caller was told; 0: the library's own
  uint16_t ref;      // 0: PING and SYNC
  uint16_t channel;  // on which the answer has to come
  uint32_t room;     // JOIN of a room that is there, LEAVE, ENTER: its number
  char *name;        // JOIN, CHANNEL
  uint64_t
      value;  // PING: its value; SYNC: packets to be acknowledged before; ASK_PEER: the peer
  uint64_t start_us;  // when its time began
  uint32_t timeout_ms;
  bool is_sync;  // PING in place of a SYNC
} Request;

typedef struct Requests {
  Request *first;
  uint32_t count;
  uint32_t last_number;
  uint16_t last_ref;
} Requests;

/// Begins the time of new requests.
void requests_begin(PerigeeClient *client);

/// Whether so many wait that no more may be made.
bool requests_are_full(const PerigeeClient *client);

/// A new request that fails by itself after `timeout_ms` (0: the client's).
Request *request_new(PerigeeClient *client, RequestKind kind, uint32_t timeout_ms);

/// The one that waits for the answer with this ref, or NULL.
Request *request_find(const PerigeeClient *client, uint16_t ref);

/// The oldest of a kind about this room (its number, or its name); or NULL.
Request *request_find_join(const PerigeeClient *client, const char *name, size_t size);
Request *request_find_leave(const PerigeeClient *client, uint32_t room);
Request *request_find_enter(const PerigeeClient *client, uint32_t room);
Request *request_find_ping(const PerigeeClient *client, uint64_t value);

/// It waits no longer.
void request_free(Request *request);

/// The same, and PERIGEE_FAILED where somebody asked.
void request_fail(Request *request, int code, const char *text, size_t size);

/// All fail; or the pings alone.
void requests_fail_all(PerigeeClient *client, int code, const char *text);
void requests_fail_pings(PerigeeClient *client, int code, const char *text);

/// Fails those that wait for a peer on a channel that is closed.
void requests_fail_channel(PerigeeClient *client, uint16_t channel);

/// Packets were acknowledged: those that waited for that are answered.
void requests_synced(PerigeeClient *client, uint32_t news);

// --- link.c ---

/// One connection, from the first byte to the last.
typedef struct Link {
  bool is_open;       // wanted, or there
  bool is_connected;  // there
  bool is_welcome;    // WELCOME has come
  bool has_more;      // packets in `in` wait until events have been taken
  bool is_dead;       // it is over: link_settle does the rest
  Buf in;             // received, and not taken: a part of a packet, or `has_more`
  Buf out;
  size_t out_at;
  uint64_t heard_ms;  // when something came last
  int code;           // why it is over, or will be after the packets in `in`
  char *text;         // the same for people; owned
  uint16_t retry_s;   // with PERIGEE_UNAVAILABLE: until the next try, at least
} Link;

// --- client.c ---

typedef struct Options {
  char *name;
  char *token;
  uint64_t protocol_hash;
  uint32_t timeout_ms;
  uint32_t first_ms, max_ms, for_ms;
  bool reconnects;
  bool rejoins;
  PerigeeTransport transport;
} Options;

typedef struct Session {
  uint32_t count;  // how many so far
  uint32_t peer;
  char text[37];  // its UUID
  char *name;     // owned; NULL before WELCOME
  uint8_t token[UUID_SIZE];
  uint64_t server_time_us;
  uint32_t max_payload;
  uint32_t ping_interval_ms;
  uint32_t tick_rate;
  Reliable stream;
} Session;

struct PerigeeClient {
  Options options;
  struct Driver *driver;  // its sockets; NULL: the program carries bytes and datagrams
  uint64_t now_us;        // the newest time that a call has brought
  bool has_calls;         // requests or perigee_close wait for the time
  uint32_t connection_count;
  PerigeeState state;
  Session session;
  Link link;
  Datagrams *datagrams;  // NULL: none
  bool has_udp;          // attached, and PERIGEE_UDP_UP was the last event about it
  uint64_t datagram_packets_sent;
  uint64_t datagram_packets_received;
  Events events;
  Rooms rooms;
  Requests requests;
  struct Channel *channels;  // that this client serves
  Timers timers;
  Timer open_timer;   // connecting takes too long
  Timer pause_timer;  // until the next try
  Timer ack_timer;
  Timer beat_timer;  // the next ping
  Timer end_timer;   // the server does not answer BYE
  uint32_t attempt;  // to connect again
  uint64_t lost_ms;  // when the connection was lost, while the client tries again,
  int lost_code;     // and why
  char *lost_text;
  uint64_t last_ping;     // the value of the newest PING
  uint64_t beat_ping;     // of the one that keeps the connection; 0: answered
  uint64_t beat_ping_us;  // when it was sent
  int64_t latency_us;
  size_t blob_bytes;  // of the packets that are kept
  Buf scratch;        // a packet that is being put together
};

/// Milliseconds of the time that calls bring.
static inline uint64_t client_now_ms(const PerigeeClient *client) {
  return client->now_us / 1000;
}

/// Sets the client's own name.
void session_set_name(Session *session, const char *name, size_t size);

/// Whether the session outlives its connection.
bool session_is_resumable(const Session *session);

/// Adds an event without texts, or with one.
void client_push(PerigeeClient *client, const PerigeeEvent *event);
void client_push_text(PerigeeClient *client, const PerigeeEvent *event,
                      const char *text, size_t size);

/// The end of the client, or of its session, with all events about it.
void client_finish(PerigeeClient *client, int code, const char *text);
void client_lose_session(PerigeeClient *client);

/// Frees a client that has no driver.
void client_free(PerigeeClient *client);

// --- link.c ---

/// Wants a connection.
void link_open(PerigeeClient *client);

/// It is open; or, with PERIGEE_UDP, another address is tried.
void link_opened(PerigeeClient *client);

/// It has ended, for a reason outside of the protocol.
void link_end(PerigeeClient *client, int code, const char *text);

/// Forgets the connection.
void link_deinit(PerigeeClient *client);

/// Takes bytes of a TCP connection; or of the stream of either kind.
void link_receive(PerigeeClient *client, const uint8_t *bytes, size_t size);
void link_take(PerigeeClient *client, const uint8_t *bytes, size_t size);

/// Takes packets that were kept while too many events waited.
void link_advance(PerigeeClient *client);

/// Ends a connection that is over, and sees to the next one.
void link_settle(PerigeeClient *client);

/// Appends to what is to be sent.
void link_write(PerigeeClient *client, const void *bytes, size_t size);

/// Frees the memory of an empty buffer, unless it is small.
void link_give_back(Buf *buf);

/// Bytes that are to be sent, their number, and how many of them have been.
const uint8_t *link_output(const Link *link);
size_t link_unsent(const Link *link);
void link_sent(Link *link, size_t size);

/// Whether they are so many that nothing more should be sent: the server does not read.
bool link_is_clogged(const Link *link);

/// The connection is over, for this reason; the first one counts.
void link_fail(PerigeeClient *client, int code, const char *text, size_t size);

/// WELCOME has come: the connection is watched by pings.
void link_welcomed(PerigeeClient *client);

/// Something RELIABLE has come, of so many bytes: it is acknowledged, now or a little later.
void link_acknowledge(PerigeeClient *client, uint32_t bytes);

// --- link_udp.c ---

/// Whether datagrams are all there is.
bool link_is_alone(const PerigeeClient *client);

/// Whether the server has accepted the request for datagrams.
bool link_udp_is_on(const PerigeeClient *client);

/// Begins to ask for a connection by datagrams alone; false where that is impossible.
bool link_udp_open(PerigeeClient *client);

/// Begins to attach to the session, where the options want that and the server has it.
void link_udp_attach(PerigeeClient *client, uint16_t port, const uint8_t *key);
void link_udp_deinit(PerigeeClient *client);
void link_udp_receive(PerigeeClient *client, const uint8_t *datagram, size_t size);

/// The system reports that nobody listens where datagrams beside TCP go.
void link_udp_refused(PerigeeClient *client);

/// Gives datagrams beside TCP up where they are useless, and reports whether they pass.
void link_udp_settle(PerigeeClient *client);

/// Whether the stream of datagrams takes bytes that wait to be sent.
bool link_udp_has_stream(const PerigeeClient *client);

/// Sends the packet in `scratch` by a datagram; false where it has to go by the stream.
bool link_udp_take(PerigeeClient *client, const Packet *header);

/// Writes the next datagram and its port; returns its size, 0: none.
size_t link_udp_produce(PerigeeClient *client, uint8_t *out, uint16_t *port);

// --- send.c ---

/// Begins a packet; its payload is appended to what is returned, and packet_send sends it.
Buf *packet_begin(PerigeeClient *client);

/// Sends it. `flags` are PerigeeSendFlags. 0 or a negative PerigeeCode.
int packet_send(PerigeeClient *client, Packet header, uint32_t flags);

/// Sends it as a request. Its number, or a negative PerigeeCode, and the request is gone.
int packet_ask(PerigeeClient *client, Packet header, Request *request);

/// Sends the packet that was begun as a control packet that is no part of the stream.
void control_send(PerigeeClient *client, ControlType type);

void hello_send(PerigeeClient *client);

/// Sends a PING; returns its value.
uint64_t ping_send(PerigeeClient *client);
void ack_send(PerigeeClient *client);

/// Sends again what the server has not acknowledged, or has never been sent.
uint32_t kept_send(PerigeeClient *client);

/// Joins a room of the session before, unasked. False when that cannot be.
bool room_join_again(PerigeeClient *client, const Room *room);

// --- take.c, take_rooms.c ---

/// Takes a packet; false when it broke a rule, and link_fail has been called.
bool packet_take(PerigeeClient *client, const Packet *packet);

bool take_malformed(PerigeeClient *client, const char *what);
bool take_joined(PerigeeClient *client, const Packet *packet);
bool take_left(PerigeeClient *client, const Packet *packet);
bool take_peer_joined(PerigeeClient *client, const Packet *packet);
bool take_peer_renamed(PerigeeClient *client, const Packet *packet);
bool take_peer_left(PerigeeClient *client, const Packet *packet);
bool take_relayed(PerigeeClient *client, const Packet *packet);
bool take_rooms(PerigeeClient *client, const Packet *packet);

/// The client is out of a room, which is freed. `request` 0: unasked.
void room_leave(PerigeeClient *client, Room *room, int code, uint32_t request);

/// The server has named all rooms that a resumed session is in.
void rooms_confirmed(PerigeeClient *client);

// --- messages.c ---

bool take_message(PerigeeClient *client, const Packet *packet);

// --- channels.c ---

typedef struct Channel {
  struct Channel *next;
  uint16_t id;
  char name[];
} Channel;

bool channel_is_served(const PerigeeClient *client, uint16_t id);
bool take_channel_opened(PerigeeClient *client, const Packet *packet);
bool take_packet(PerigeeClient *client, const Packet *packet);

/// All are over; with PERIGEE_CHANNEL_CLOSED.
void channels_end(PerigeeClient *client, int code);
