// The parts of a PerigeeClient, which the files of this folder share. A client has one session
// after the other, over one connection (a link) after the other. Each file owns the structs in its
// section, and no other file changes them.
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
  KEPT_MAX_BYTES = 8 << 20,  // of reliable packets that wait for the server
  UNRELIABLE_MAX_BYTES =
      1 << 20,                  // unsent; beyond this, unreliable packets are dropped
  EVENTS_MAX = 4096,            // not taken; from this number on,
  EVENTS_MAX_BYTES = 8 << 20,   // or this many bytes, the client reads no more
  UNSENT_MAX_BYTES = 16 << 20,  // beyond this the client sends no more
  REQUESTS_MAX = 4096,          // waiting for an answer
  ROOMS_MAX = 1024,             // four times what a server allows
  MEMBERS_MAX = 1 << 18,        // in all rooms together
};

// --- events.c ---

typedef struct EventNode {
  struct EventNode *next;
  PerigeeEvent event;
  size_t size;  // of the node with its texts, in bytes
  // The node's rooms or entries, name, text and data follow, as far as the event has them.
} EventNode;

typedef struct Events {
  EventNode *first;
  EventNode *last;
  EventNode *taken;  // the event that the program looks at
  size_t count;
  size_t bytes;
  bool by_udp;  // the present packet came in a datagram of its own
} Events;

/// Text or bytes for an event.
typedef struct EventText {
  const void *bytes;
  size_t size;
} EventText;

typedef struct EventParts {
  EventText name;
  EventText text;
  EventText data;
} EventParts;

/// Appends an event with copies of these texts; `parts` may be NULL.
void events_add(Events *events, const PerigeeEvent *event, const EventParts *parts);

/// Appends an event with a copy of these `count` rooms.
void events_add_rooms(Events *events, const PerigeeEvent *event,
                      const PerigeeRoomInfo *rooms, uint32_t count);

/// Appends an event with the entries of a turn, as TURNS has them.
void events_add_turn(Events *events, const PerigeeEvent *event, const uint8_t *bytes,
                     size_t size);

/// Drops the turns of a room that the program has not taken, because another match begins.
void events_drop_turns(Events *events, uint32_t room);

/// Returns the next event, which stays valid until the next call; NULL: none.
const PerigeeEvent *events_take(Events *events);

/// Returns whether so many events wait that the client may make no more.
bool events_are_full(const Events *events);

void events_free(Events *events);

/// Returns a C string as a text for an event.
EventText text_of(const char *text);

// --- rooms.c ---

typedef struct Member {
  uint32_t peer;
  bool is_listed;  // in the list of the present JOINED
  char *name;
} Member;

/// A room that the client is in, or joins again in a new session.
typedef struct Room {
  uint32_t number;  // the library's, for good
  uint32_t id;      // the server's, in this session
  char *name;
  Member *members;
  Names places;  // peer id -> 1 + index in `members`
  uint32_t member_count;
  uint32_t member_capacity;
  bool is_joined;
  bool is_requested;    // by perigee_join; a new session joins it again
  bool is_unconfirmed;  // the server has not named it since the resume
  Match *match;         // NULL: the client takes part in none
} Room;

typedef struct Rooms {
  Room **list;
  uint32_t count;
  uint32_t capacity;
  uint32_t last_number;
  uint32_t member_count;  // of all rooms
} Rooms;

/// Return a room by the library's number, by the server's id (only a joined one) or by its name;
/// NULL: none.
Room *rooms_find(const Rooms *rooms, uint32_t number);
Room *rooms_find_id(const Rooms *rooms, uint32_t id);
Room *rooms_find_name(const Rooms *rooms, const char *name, size_t size);

/// Returns whether no more rooms may be added.
bool rooms_are_full(const Rooms *rooms);

/// Adds a room with the next number.
Room *rooms_add(Rooms *rooms, const char *name, size_t size);

void rooms_remove(Rooms *rooms, Room *room);
void rooms_deinit(Rooms *rooms);

/// Returns the member, or NULL.
Member *room_find_member(const Room *room, uint32_t peer);

/// Returns whether all rooms together may have `count` members more.
bool rooms_take_members(const Rooms *rooms, uint32_t count);

/// Adds a member or changes its name; false where the room has it already, with this name.
bool room_add_member(Rooms *rooms, Room *room, uint32_t peer, Text name);
void room_remove_member(Rooms *rooms, Room *room, const Member *member);

// --- requests.c ---

/// Kinds of requests, which have different answers.
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
  uint32_t number;   // the caller's; 0: the library made the request
  uint16_t ref;      // 0: PING or SYNC
  uint16_t channel;  // of the answer
  uint32_t room;     // number of the room; JOIN: 0, unless a new session joins it again
  char *name;        // of JOIN and CHANNEL; owned
  uint64_t value;    // of PING; SYNC: packets to be acknowledged; ASK_PEER: the peer
  uint64_t start_us;  // when the timeout began
  uint32_t timeout_ms;
  bool is_sync;  // PING in place of a SYNC
} Request;

typedef struct Requests {
  Request *first;
  uint32_t count;
  uint32_t last_number;
  uint16_t last_ref;
} Requests;

/// Begins the timeouts of new requests.
void requests_begin(PerigeeClient *client);

/// Returns whether so many requests wait that no more may be made.
bool requests_are_full(const PerigeeClient *client);

/// Creates a request that fails after `timeout_ms`; 0: the client's timeout.
Request *request_new(PerigeeClient *client, RequestKind kind, uint32_t timeout_ms);

/// Returns the request with this ref, or NULL.
Request *request_find(const PerigeeClient *client, uint16_t ref);

/// Returns the request that this control packet answers, or NULL. Fails a request that waits for an
/// answer of another kind.
Request *request_answered(PerigeeClient *client, const Packet *packet,
                          RequestKind kind);

/// Return the oldest request of a kind about a room, or NULL.
Request *request_find_join(const PerigeeClient *client, const char *name, size_t size);
Request *request_find_leave(const PerigeeClient *client, uint32_t room);
Request *request_find_enter(const PerigeeClient *client, uint32_t room);
Request *request_find_ping(const PerigeeClient *client, uint64_t value);

/// Removes the request without an event.
void request_free(Request *request);

/// Removes the request, with PERIGEE_FAILED unless the library made it.
void request_fail(Request *request, int code, const char *text, size_t size);

/// Does the same with PERIGEE_FAULT, of which `fault` has name, text and data.
void request_fault(Request *request, const EventParts *fault);

/// Fail all requests, or only pings.
void requests_fail_all(PerigeeClient *client, int code, const char *text);
void requests_fail_pings(PerigeeClient *client, int code, const char *text);

/// Fails the requests to peers on a channel that is closed.
void requests_fail_channel(PerigeeClient *client, uint16_t channel);

/// Answers requests that waited until `news` more packets were acknowledged.
void requests_synced(PerigeeClient *client, uint32_t news);

// --- link.c ---

/// One connection, from the first byte to the last.
typedef struct Link {
  bool is_open;       // the client wants or has it
  bool is_connected;  // the program or the driver has opened it
  bool is_welcome;    // WELCOME has come
  bool has_more;      // packets in `in` wait until events have been taken
  bool is_dead;       // it has ended; link_settle does the rest
  Buf in;             // bytes received and not taken: a part of a packet, or `has_more`
  Buf out;
  size_t out_at;
  uint64_t heard_ms;  // when bytes or a datagram came last
  int code;           // the reason of the end, which may come after the packets in `in`
  char *text;         // the reason for people; owned
  uint16_t retry_s;   // with PERIGEE_UNAVAILABLE: the pause that the server wishes
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
  uint32_t count;  // number of the session
  uint32_t peer;
  char text[37];  // UUID
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
  struct Driver *driver;  // the sockets; NULL: the program carries bytes and datagrams
  uint64_t now_us;        // newest time of an entry
  bool has_calls;         // calls since then wait for the next time
  uint32_t connection_count;
  PerigeeState state;
  Session session;
  Link link;
  Datagrams *datagrams;  // NULL: none
  bool has_udp;          // the last event about UDP was PERIGEE_UDP_UP
  uint64_t datagram_packets_sent;
  uint64_t datagram_packets_received;
  Events events;
  Rooms rooms;
  Requests requests;
  struct Channel *channels;  // served by this client
  Timers timers;
  Timer open_timer;   // the server has to let the client in before
  Timer pause_timer;  // the next try
  Timer ack_timer;
  Timer beat_timer;  // the next ping
  Timer end_timer;   // the server has to answer BYE before
  uint32_t attempt;  // number of tries to connect again
  uint64_t lost_ms;  // when the connection was lost, while reconnecting
  int lost_code;
  char *lost_text;
  uint64_t last_ping;     // value of the newest PING
  uint64_t beat_ping;     // value of the newest heartbeat; 0: answered
  uint64_t beat_ping_us;  // when it was sent
  int64_t latency_us;
  size_t blob_bytes;  // of kept packets
  Buf scratch;        // the packet in composition
};

/// Returns the newest time of an entry in milliseconds.
static inline uint64_t client_now_ms(const PerigeeClient *client) {
  return client->now_us / 1000;
}

/// Sets the client's own name.
void session_set_name(Session *session, const char *name, size_t size);

/// Returns whether the session outlives its connection.
bool session_is_resumable(const Session *session);

/// Append an event without texts, or with one.
void client_push(PerigeeClient *client, const PerigeeEvent *event);
void client_push_text(PerigeeClient *client, const PerigeeEvent *event,
                      const char *text, size_t size);

/// End the client, or its session, with all events about that.
void client_finish(PerigeeClient *client, int code, const char *text);
void client_lose_session(PerigeeClient *client);

/// Frees a client without a driver.
void client_free(PerigeeClient *client);

// --- link.c ---

/// Begins to want a connection.
void link_open(PerigeeClient *client);

/// Begins the protocol on an open connection; with PERIGEE_UDP again for each address.
void link_opened(PerigeeClient *client);

/// Ends the connection for a reason outside of the protocol.
void link_end(PerigeeClient *client, int code, const char *text);

/// Forgets the connection.
void link_deinit(PerigeeClient *client);

/// Take bytes of a TCP connection, or of a stream of either kind.
void link_receive(PerigeeClient *client, const uint8_t *bytes, size_t size);
void link_take(PerigeeClient *client, const uint8_t *bytes, size_t size);

/// Takes the packets that were kept while too many events waited.
void link_advance(PerigeeClient *client);

/// Cleans up after a connection that has ended, and plans the next one.
void link_settle(PerigeeClient *client);

/// Appends to the output.
void link_write(PerigeeClient *client, const void *bytes, size_t size);

/// Frees the memory of an empty buffer, unless it is small.
void link_give_back(Buf *buf);

/// The output: its bytes, their number, and a report that the first of them have been sent.
const uint8_t *link_output(const Link *link);
size_t link_unsent(const Link *link);
void link_sent(Link *link, size_t size);

/// Returns whether the output is so long that the server probably does not read.
bool link_is_clogged(const Link *link);

/// Ends the connection for this reason; the first call counts.
void link_fail(PerigeeClient *client, int code, const char *text, size_t size);

/// Begins the heartbeat after WELCOME.
void link_welcomed(PerigeeClient *client);

/// Acknowledges a RELIABLE packet of so many bytes, now or a little later.
void link_acknowledge(PerigeeClient *client, uint32_t bytes);

// --- link_udp.c ---

/// Returns whether the client uses UDP without TCP.
bool link_is_alone(const PerigeeClient *client);

/// Returns whether the server has accepted the request for datagrams.
bool link_udp_is_on(const PerigeeClient *client);

/// Begins to request a connection by UDP without TCP; false where encryption does not work.
bool link_udp_open(PerigeeClient *client);

/// Begins to attach datagrams to the session, where the options and the server allow that.
void link_udp_attach(PerigeeClient *client, uint16_t port, const uint8_t *key);
void link_udp_deinit(PerigeeClient *client);
void link_udp_receive(PerigeeClient *client, const uint8_t *datagram, size_t size);

/// Handles the system's report that no program listens where datagrams beside TCP go.
void link_udp_refused(PerigeeClient *client);

/// Ends useless datagrams beside TCP, and reports when they begin or cease to pass.
void link_udp_settle(PerigeeClient *client);

/// Returns whether the stream of datagrams takes bytes of the output now.
bool link_udp_has_stream(const PerigeeClient *client);

/// Sends the packet in `scratch` in a datagram; false where it has to go by the stream.
bool link_udp_take(PerigeeClient *client, const Packet *header);

/// Writes the next datagram and its port; returns its size, 0: none.
size_t link_udp_produce(PerigeeClient *client, uint8_t *out, uint16_t *port);

// --- send.c ---

/// Begins a packet; returns the buffer for its payload. packet_send sends it.
Buf *packet_begin(PerigeeClient *client);

/// Sends the packet. `flags` are PerigeeSendFlags. Returns 0 or a negative PerigeeCode.
int packet_send(PerigeeClient *client, Packet header, uint32_t flags);

/// Sends the packet as a request. Returns the request's number; or frees it, and returns a negative
/// PerigeeCode.
int packet_request(PerigeeClient *client, Packet header, Request *request);

/// Sends the packet as a control packet outside of the RELIABLE stream.
void control_send(PerigeeClient *client, ControlType type);

void hello_send(PerigeeClient *client);

/// Sends a PING; returns its value.
uint64_t ping_send(PerigeeClient *client);
void ack_send(PerigeeClient *client);

/// Sends all kept packets, for the first time or again; returns their number.
uint32_t kept_send(PerigeeClient *client);

/// Joins a room of the session before again; false where the queue is full.
bool room_join_again(PerigeeClient *client, const Room *room);

// --- take.c, take_rooms.c ---

/// Take a packet; false where it breaks a rule, which has ended the connection.
bool packet_take(PerigeeClient *client, const Packet *packet);

bool take_malformed(PerigeeClient *client, const char *what);
bool take_joined(PerigeeClient *client, const Packet *packet);
bool take_left(PerigeeClient *client, const Packet *packet);
bool take_peer_joined(PerigeeClient *client, const Packet *packet);
bool take_peer_renamed(PerigeeClient *client, const Packet *packet);
bool take_peer_left(PerigeeClient *client, const Packet *packet);
bool take_relayed(PerigeeClient *client, const Packet *packet);
bool take_rooms(PerigeeClient *client, const Packet *packet);

/// Reports that the client has left a room, and frees it. `request` 0: the program did not leave
/// it.
void room_leave(PerigeeClient *client, Room *room, int code, uint32_t request);

/// Leaves the rooms that the server has not named after a resume.
void rooms_confirmed(PerigeeClient *client);

// --- messages.c ---

bool take_message(PerigeeClient *client, const Packet *packet);

// --- channels.c ---

typedef struct Channel {
  struct Channel *next;
  uint16_t id;
  bool is_open;  // false: a new session requests it again
  char name[];
} Channel;

bool channel_is_served(const PerigeeClient *client, uint16_t id);
bool take_channel_opened(PerigeeClient *client, const Packet *packet);
bool take_packet(PerigeeClient *client, const Packet *packet);

/// Ends all channels, with PERIGEE_CHANNEL_CLOSED.
void channels_end(PerigeeClient *client, int code);

/// Requests the channels of the session before in the new one.
void channels_open_again(PerigeeClient *client);

/// Ends a channel that the new session was refused.
void channel_refused(PerigeeClient *client, const char *name, int code, EventText text);
