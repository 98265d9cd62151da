// The parts of a PerigeeClient, which the files of this folder share. A client has one
// session after the other, over one connection (a link) after the other. Each file owns
// the structs in its section; no other file changes them.
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
  KEPT_MAX_BYTES = 8 << 20,  // bytes of reliable packets that wait for the server's
                             // acknowledgement
  UNRELIABLE_MAX_BYTES =
      1 << 20,        // unsent bytes beyond which unreliable packets are dropped
  EVENTS_MAX = 4096,  // waiting events at which the client stops reading
  EVENTS_MAX_BYTES = 8 << 20,   // bytes of waiting events at which the client stops
                                // reading
  UNSENT_MAX_BYTES = 16 << 20,  // unsent bytes at which the client stops sending
  REQUESTS_MAX = 4096,          // requests that may wait for an answer
  ROOMS_MAX = 1024,             // rooms of a client, four times a server's limit
  MEMBERS_MAX = 1 << 18,        // members of all rooms together
};

// --- events.c ---

typedef struct EventNode {
  struct EventNode *next;
  PerigeeEvent event;
  size_t size;  // bytes of the node with its texts
  // The node's rooms or entries, name, text and data follow the struct, if the event
  // has them.
} EventNode;

typedef struct Events {
  EventNode *first;
  EventNode *last;
  EventNode *taken;  // event that the program is using
  size_t count;
  size_t bytes;
  bool by_udp;  // the current packet arrived in a datagram of its own
} Events;

/// A text or bytes for an event.
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

/// Appends an event with the entries of a turn, which `bytes` has as TURNS encodes
/// them.
void events_add_turn(Events *events, const PerigeeEvent *event, const uint8_t *bytes,
                     size_t size);

/// Drops the turns of a room that the program has not taken, because another match begins.
void events_drop_turns(Events *events, uint32_t room);

/// Returns the next event, which stays valid until the next call; NULL: none.
const PerigeeEvent *events_take(Events *events);

/// Returns whether the list has reached a limit, so that the client must not add
/// events.
bool events_are_full(const Events *events);

void events_free(Events *events);

/// Returns a C string as a text for an event.
EventText text_of(const char *text);

// --- rooms.c ---

typedef struct Member {
  uint32_t peer;
  bool is_listed;  // whether the JOINED that is being handled lists the member
  char *name;
} Member;

/// A room in which the client is, or which it joins again in a new session.
typedef struct Room {
  uint32_t number;  // number that libperigee has assigned; never changes
  uint32_t id;      // id that the server has assigned, for this session
  char *name;
  char *options;  // JSON of the options of its join, or NULL; owned
  Member *members;
  Names places;  // peer id -> 1 + index in `members`
  uint32_t member_count;
  uint32_t member_capacity;
  bool is_joined;
  bool is_requested;    // perigee_join requested it; a new session joins it again
  bool is_unconfirmed;  // the server has not listed it since the resume
  Match *match;         // lockstep match; NULL: the client takes part in none
} Room;

typedef struct Rooms {
  Room **list;
  uint32_t count;
  uint32_t capacity;
  uint32_t last_number;
  uint32_t member_count;  // members of all rooms
} Rooms;

/// Return a room by libperigee's number, by the server's id, or by its name; NULL:
/// none. rooms_find_id finds only joined rooms.
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

/// Returns whether `count` members may be added to all rooms together.
bool rooms_take_members(const Rooms *rooms, uint32_t count);

/// Adds a member or changes its name. Returns false if the room already has the member
/// with this name.
bool room_add_member(Rooms *rooms, Room *room, uint32_t peer, Text name);
void room_remove_member(Rooms *rooms, Room *room, const Member *member);

// --- requests.c ---

/// Kinds of requests, which have different answers.
typedef enum RequestKind {
  REQUEST_JOIN,
  REQUEST_LEAVE,
  REQUEST_LIST,
  REQUEST_QUERY,
  REQUEST_SIGN_IN,
  REQUEST_ASK,
  REQUEST_ASK_PACKET,
  REQUEST_ASK_PEER,
  REQUEST_CHANNEL,
  REQUEST_TOOL,
  REQUEST_ENTER,
  REQUEST_PING,
  REQUEST_SYNC,
} RequestKind;

typedef struct Request {
  struct Request *next;
  PerigeeClient *client;
  Timer timer;
  RequestKind kind;
  uint32_t number;   // the caller's number; 0: made by libperigee itself
  uint16_t ref;      // ref of the packet; 0: PING or SYNC
  uint16_t channel;  // channel of the answer
  uint32_t room;     // number of the room; JOIN: 0, unless a new session joins the room
                     // again
  char *name;        // JOIN and CHANNEL: name; TOOL: JSON of the tool to add; owned
  char *options;     // JOIN: JSON of the options, or NULL; owned
  uint64_t value;  // PING: value in the packet; SYNC: number of packets that the server
                   // has yet to acknowledge; ASK_PEER: peer id
  uint64_t start_us;  // time at which the timeout began
  uint32_t timeout_ms;
  bool is_sync;  // this PING replaces a SYNC
} Request;

typedef struct Requests {
  Request *first;
  uint32_t count;
  uint32_t last_number;
  uint16_t last_ref;
} Requests;

/// Starts the timeouts of new requests.
void requests_begin(PerigeeClient *client);

/// Returns whether REQUESTS_MAX requests wait, so that no other one can be made.
bool requests_are_full(const PerigeeClient *client);

/// Creates a request that fails after `timeout_ms`; 0: the client's timeout.
Request *request_new(PerigeeClient *client, RequestKind kind, uint32_t timeout_ms);

/// Returns the request with this ref, or NULL.
Request *request_find(const PerigeeClient *client, uint16_t ref);

/// Returns the request that this control packet answers, or NULL. If the request
/// expects an answer of another kind, the request fails.
Request *request_answered(PerigeeClient *client, const Packet *packet,
                          RequestKind kind);

/// Return the oldest request of a kind for a room, or NULL.
Request *request_find_join(const PerigeeClient *client, const char *name, size_t size);
Request *request_find_leave(const PerigeeClient *client, uint32_t room);
Request *request_find_enter(const PerigeeClient *client, uint32_t room);
Request *request_find_ping(const PerigeeClient *client, uint64_t value);

/// Frees the request without an event.
void request_free(Request *request);

/// Frees the request with PERIGEE_FAILED, unless libperigee made it itself.
void request_fail(Request *request, int code, const char *text, size_t size);

/// Frees the request with PERIGEE_FAILED and the code PERIGEE_FAULT. `fault` has name,
/// text and data.
void request_fault(Request *request, const EventParts *fault);

/// Fail all requests, or only the pings.
void requests_fail_all(PerigeeClient *client, int code, const char *text);
void requests_fail_pings(PerigeeClient *client, int code, const char *text);

/// Fails the requests to peers on a channel that is closed.
void requests_fail_channel(PerigeeClient *client, uint16_t channel);

/// Counts `news` newly acknowledged packets, and completes the SYNC requests that
/// waited only for these.
void requests_synced(PerigeeClient *client, uint32_t news);

// --- link.c ---

/// One connection, from the first byte to the last.
typedef struct Link {
  bool is_open;       // the client wants or has the connection
  bool is_connected;  // the program or the driver has opened it
  bool is_welcome;    // WELCOME has arrived
  bool has_more;      // `in` has whole packets, which wait until events are taken
  bool is_dead;       // the connection has ended; link_settle cleans up
  Buf in;  // received bytes: a part of a packet; if `has_more`, whole packets
  Buf out;
  size_t out_at;
  uint64_t heard_ms;  // time of the last bytes or datagram
  int code;    // reason of the end; the packets in `in` are handled before the end
  char *text;  // reason for people; owned
  uint16_t retry_s;  // with PERIGEE_UNAVAILABLE: pause that the server requests, in
                     // seconds
} Link;

// --- client.c ---

typedef struct Options {
  char *name;
  char *token;    // NULL: none
  char *sign_in;  // SIGN_IN that precedes HELLO; NULL: none, or done
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
  char text[37];  // UUID as text
  char *name;     // name of this client; owned; NULL before WELCOME
  uint8_t token[UUID_SIZE];
  uint64_t server_time_us;
  uint32_t max_payload;
  uint32_t ping_interval_ms;
  uint32_t tick_rate;
  Reliable stream;
} Session;

struct PerigeeClient {
  Options options;
  struct Driver *driver;  // sockets; NULL: the program carries bytes and datagrams
  uint64_t now_us;        // newest time that the program or the driver has passed
  bool has_calls;         // calls without a time wait for the next call that has one
  uint32_t connection_count;
  PerigeeState state;
  Session session;
  Link link;
  Datagrams *datagrams;  // datagrams; NULL: none
  bool has_udp;          // the last event about UDP was PERIGEE_UDP_UP
  uint64_t datagram_packets_sent;
  uint64_t datagram_packets_received;
  Events events;
  Rooms rooms;
  Requests requests;
  struct Channel *channels;  // channels that this client serves
  Timers timers;
  Timer open_timer;   // deadline for the server to accept the client
  Timer pause_timer;  // time of the next attempt to connect
  Timer ack_timer;
  Timer beat_timer;  // time of the next ping
  Timer end_timer;   // deadline for the server to answer BYE
  uint32_t attempt;  // attempts to connect again so far
  uint64_t lost_ms;  // time of the loss of the connection, while reconnecting
  int lost_code;
  char *lost_text;
  uint64_t last_ping;     // value of the newest PING
  uint64_t beat_ping;     // value of the heartbeat without an answer; 0: none
  uint64_t beat_ping_us;  // time at which the heartbeat was sent
  int64_t latency_us;
  size_t blob_bytes;  // bytes of packets without an acknowledgement
  Buf scratch;        // packet that is being composed
};

/// Returns `now_us` in milliseconds.
static inline uint64_t client_now_ms(const PerigeeClient *client) {
  return client->now_us / 1000;
}

/// Sets the client's own name.
void session_set_name(Session *session, const char *name, size_t size);

/// Returns whether the session may survive its connection.
bool session_is_resumable(const Session *session);

/// Append an event without texts, or with one text.
void client_push(PerigeeClient *client, const PerigeeEvent *event);
void client_push_text(PerigeeClient *client, const PerigeeEvent *event,
                      const char *text, size_t size);

/// End the client, or its session, and append all events about that.
void client_finish(PerigeeClient *client, int code, const char *text);
void client_lose_session(PerigeeClient *client);

/// Fails all requests, and begins the streams of reliable packets again. Returns the
/// number of packets that may not have arrived.
uint32_t client_drop_stream(PerigeeClient *client, const char *why);

/// Frees a client without a driver.
void client_free(PerigeeClient *client);

// --- link.c ---

/// Makes the client want a connection.
void link_open(PerigeeClient *client);

/// Begins the protocol on an open connection. With PERIGEE_UDP, each address that the
/// driver tries needs another call.
void link_opened(PerigeeClient *client);

/// Ends the connection for a reason outside of the protocol.
void link_end(PerigeeClient *client, int code, const char *text);

/// Frees the state of the connection.
void link_deinit(PerigeeClient *client);

/// Handle received bytes. link_receive gets the bytes of a TCP connection; link_take
/// also gets the bytes of the stream in datagrams.
void link_receive(PerigeeClient *client, const uint8_t *bytes, size_t size);
void link_take(PerigeeClient *client, const uint8_t *bytes, size_t size);

/// Handles the packets that were kept because too many events waited.
void link_advance(PerigeeClient *client);

/// Cleans up after a connection that has ended, and schedules the next one.
void link_settle(PerigeeClient *client);

/// Appends to the output.
void link_write(PerigeeClient *client, const void *bytes, size_t size);

/// Frees the memory of an empty buffer, because a program may have many idle clients.
void link_give_back(Buf *buf);

/// Return the unsent bytes of the output, and their number. link_sent reports that the
/// first `size` of these bytes have been sent.
const uint8_t *link_output(const Link *link);
size_t link_unsent(const Link *link);
void link_sent(Link *link, size_t size);

/// Returns whether the output is so long that the server probably does not read.
bool link_is_clogged(const Link *link);

/// Ends the connection for this reason, unless it is ending for another one.
void link_fail(PerigeeClient *client, int code, const char *text, size_t size);

/// Begins the heartbeat after WELCOME.
void link_welcomed(PerigeeClient *client);

/// Acknowledges a RELIABLE packet of `bytes` bytes, now or a little later.
void link_acknowledge(PerigeeClient *client, uint32_t bytes);

// --- link_udp.c ---

/// Returns whether the client uses UDP without TCP.
bool link_is_alone(const PerigeeClient *client);

/// Returns whether the server has accepted the request for datagrams.
bool link_udp_is_on(const PerigeeClient *client);

/// Begins to request a connection by UDP without TCP. Returns false if encryption does
/// not work.
bool link_udp_open(PerigeeClient *client);

/// Begins to attach datagrams to the session, if the options and the server allow it.
void link_udp_attach(PerigeeClient *client, uint16_t port, const uint8_t *key);
void link_udp_deinit(PerigeeClient *client);
void link_udp_receive(PerigeeClient *client, const uint8_t *datagram, size_t size);

/// Handles the system's report that no program listens at the port for datagrams beside
/// TCP.
void link_udp_refused(PerigeeClient *client);

/// Reports when datagrams beside TCP begin or stop to get through. Ends datagrams that
/// are useless.
void link_udp_settle(PerigeeClient *client);

/// Returns whether the stream of datagrams accepts bytes of the output now.
bool link_udp_has_stream(const PerigeeClient *client);

/// Sends the packet in `scratch` in a datagram. Returns false if it must use the
/// stream.
bool link_udp_take(PerigeeClient *client, const Packet *header);

/// Writes the next datagram and its port; returns its size, or 0 if none is due.
size_t link_udp_produce(PerigeeClient *client, uint8_t *out, uint16_t *port);

// --- send.c ---

/// Begins a packet; returns the buffer for its payload. packet_send sends it.
Buf *packet_begin(PerigeeClient *client);

/// Sends the packet. `flags` are PerigeeSendFlags. Returns 0 or a negative PerigeeCode.
int packet_send(PerigeeClient *client, Packet header, uint32_t flags);

/// Sends the packet as a request and returns the request's number. On an error, frees
/// the request and returns a negative PerigeeCode.
int packet_request(PerigeeClient *client, Packet header, Request *request);

/// Sends the packet as a control packet outside of the RELIABLE stream.
void control_send(PerigeeClient *client, ControlType type);

void hello_send(PerigeeClient *client);

/// Sends a PING; returns its value.
uint64_t ping_send(PerigeeClient *client);
void ack_send(PerigeeClient *client);

/// Sends all kept packets, for the first time or again; returns their number.
uint32_t kept_send(PerigeeClient *client);

/// Joins a room of the previous session again. Returns false if the queue is full.
bool room_join_again(PerigeeClient *client, const Room *room);

// --- take.c, take_rooms.c ---

/// Handle a packet. Return false if it breaks a rule; the connection has then been
/// ended.
bool packet_take(PerigeeClient *client, const Packet *packet);

bool take_malformed(PerigeeClient *client, const char *what);
bool take_joined(PerigeeClient *client, const Packet *packet);
bool take_left(PerigeeClient *client, const Packet *packet);
bool take_peer_joined(PerigeeClient *client, const Packet *packet);
bool take_peer_renamed(PerigeeClient *client, const Packet *packet);
bool take_peer_left(PerigeeClient *client, const Packet *packet);
bool take_relayed(PerigeeClient *client, const Packet *packet);
bool take_rooms(PerigeeClient *client, const Packet *packet);
bool take_rooms_found(PerigeeClient *client, const Packet *packet);

/// Reports that the client has left a room, and frees the room. `request` 0: the
/// program did not request it.
void room_leave(PerigeeClient *client, Room *room, int code, uint32_t request);

/// Leaves the rooms that the server has not listed after a resume.
void rooms_confirmed(PerigeeClient *client);

// --- messages.c ---

bool take_message(PerigeeClient *client, const Packet *packet);

// --- channels.c ---

typedef struct Tool {
  struct Tool *next;
  char json[];  // the tool's fields, as the program gave them
} Tool;

typedef struct Channel {
  struct Channel *next;
  Tool *tools;  // tools that this client offers on it; owned
  uint16_t id;
  bool is_open;  // false: a new session is requesting it again
  char name[];
} Channel;

void channel_free(Channel **at);

bool channel_is_served(const PerigeeClient *client, uint16_t id);
bool take_channel_opened(PerigeeClient *client, const Packet *packet);
bool take_packet(PerigeeClient *client, const Packet *packet);

/// Ends all channels, with PERIGEE_CHANNEL_CLOSED.
void channels_end(PerigeeClient *client, int code);

/// Requests the channels of the previous session in the new one.
void channels_open_again(PerigeeClient *client);

/// Ends a channel that the server has refused to the new session.
void channel_refused(PerigeeClient *client, const char *name, int code, EventText text);

// --- tools.c ---

bool take_tool(PerigeeClient *client, const Packet *packet);

/// Offers the tools of a channel in a new session.
void tools_offer_again(PerigeeClient *client, const Channel *channel);

void tools_free(Channel *channel);
