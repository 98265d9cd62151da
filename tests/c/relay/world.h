// A whole server without sockets and without Lua. Net is fake; session and relay are
// real; the test plays the clients and the script.
#pragma once

#include "base/err.h"
#include "expect.h"
#include "relay/relay.h"
#include "relay/room.h"

typedef struct World {
  Net *net;
  Session *session;
  Relay *relay;
  SessionLimits session_limits;
  RelayLimits limits;
  // Whether the relay should drop own events as outdated.
  bool is_stale;
  uint32_t taken, executed, discarded;  // ids (or `a`) of the last own event or command
  size_t live;                          // allocations before the world was made
} World;

typedef struct Client {
  ConnId conn;
  uint32_t id;
} Client;

// --- The layer above, with types of its own ---

enum {
  OWN_EVENT = EVENT_TYPE_COUNT,
  OWN_URGENT,
  OWN_BACKGROUND,
  OWN_COMMAND = COMMAND_TYPE_COUNT,
};

static inline bool own_take(void *data, const Event *event) {
  World *world = data;
  world->taken = event->a;
  return !world->is_stale;
}

static inline void own_execute(void *data, const Command *command) {
  ((World *)data)->executed = command->id;
}

static inline void own_discard(void *data, const Command *command) {
  ((World *)data)->discarded = command->id;
}

/// Pushes an event of the layer above.
static inline void push_own(World *world, int type, uint32_t peer, uint32_t a) {
  EventOrder order = type == OWN_URGENT       ? ORDER_URGENT
                     : type == OWN_BACKGROUND ? ORDER_BACKGROUND
                                              : ORDER_FIRST;
  relay_emit(world->relay, &(Event){.type = (uint8_t)type,
                                    .order = (uint8_t)order,
                                    .peer = peer,
                                    .a = a,
                                    .data = {"own", 3}});
}

static inline int set_up(void **state) {
  log_set_level(LOG_OFF);
  size_t live = mem_live();
  World *world = mem_zalloc(sizeof *world);
  world->live = live;
  world->session_limits = (SessionLimits){.max_clients = 1000, .max_payload = 65536};
  world->limits = (RelayLimits){.max_rooms = 16, .max_payload = 65536, .tick_rate = 20};
  SessionEvents session_events = relay_session_events();
  NetEvents net_events = session_net_events();
  world->relay = relay_new(&world->limits);
  world->session = session_new(&world->session_limits, &session_events, world->relay);
  world->net = net_new(&(NetLimits){0}, &net_events, world->session);
  session_attach(world->session, world->net);
  relay_attach(world->relay, world->session, world->net);
  static const RelayHost HOST = {
      .take = own_take, .execute = own_execute, .discard = own_discard};
  relay_set_host(world->relay, &HOST, world);
  *state = world;
  return 0;
}

static inline int tear_down(void **state) {
  World *world = *state;
  size_t live = world->live;
  relay_free(world->relay);
  session_free(world->session);
  assert_int_equal(timers_next_ms(net_timers(world->net)), UINT64_MAX);
  assert_int_equal(fake_groups(world->net), 0);
  net_free(world->net);
  mem_free(world);
  assert_int_equal(mem_live(), live);
  return 0;
}

// --- The script ---

/// Sets a script with these handlers of the game; with `kind` not NULL, also one kind
/// `duel`.
static inline void script(World *world, uint32_t game_hooks, const RoomKind *duel) {
  relay_set_scripted(world->relay);
  relay_kinds_begin(world->relay, game_hooks);
  if (duel) relay_kind_set(world->relay, text_from("duel"), duel);
  relay_kinds_end(world->relay);
}

static inline void begin(World *world) {
  relay_begin_drain(world->relay, net_clock_us(world->net));
}

/// Returns the next event, and checks its type.
static inline Event next(World *world, int type) {
  Event event;
  assert_true(relay_next_event(world->relay, &event));
  assert_int_equal(event.type, type);
  return event;
}

static inline Event next_of(World *world, int type, Client client) {
  Event event = next(world, type);
  assert_int_equal(event.peer, client.id);
  return event;
}

/// Ends the drain.
static inline void end(World *world) {
  Event event;
  if (relay_next_event(world->relay, &event))
    fail_msg("unexpected event %u", event.type);
}

/// Expects a drain without events.
static inline void expect_no_events(World *world) {
  begin(world);
  end(world);
}

static inline void drain(World *world) {
  Event event;
  begin(world);
  while (relay_next_event(world->relay, &event)) continue;
}

static inline void expect_text(Text text, const char *expected) {
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.bytes, expected, text.size);
}

/// Queues a command that must be accepted.
static inline void command(World *world, Command command) {
  assert_int_equal(relay_command(world->relay, &command), 0);
}

/// Returns a message `hi` with the value 1, to which the caller adds exceptions.
static inline Command message(Target target, uint32_t id) {
  return (Command){.type = COMMAND_MESSAGE,
                   .target = (uint8_t)target,
                   .id = id,
                   .priority = PRIORITY_NORMAL,
                   .name = text_from("hi"),
                   .body = text_from("[\"hi\",1]"),
                   .value_at = 6};
}

static inline uint32_t create(World *world, const char *name) {
  int err;
  uint32_t room = relay_create(world->relay, text_from(name), &err);
  assert_int_not_equal(room, 0);
  relay_commit(world->relay);
  return room;
}

// --- Clients ---

/// Returns a connected binary client.
static inline Client enter_from(World *world, const char *name, const char *address) {
  Client client = {.conn = fake_open(world->net, FRAMING_PACKETS, address)};
  say_hello(world->net, client.conn, name);
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_WELCOME);
  Reader reader = reader_of(sent->packet.payload + 2, 4);
  client.id = reader_u32(&reader);
  return client;
}

static inline Client enter(World *world, const char *name) {
  return enter_from(world, name, "192.0.2.1");
}

/// Returns a connected text client.
static inline Client enter_text(World *world) {
  Client client = {.conn = fake_open(world->net, FRAMING_LINES, "192.0.2.1")};
  const Sent *sent = fake_next(world->net, client.conn);
  assert_non_null(sent);
  char line[100];
  snprintf(line, sizeof line, "%.*s", (int)sent->line.size, sent->line.bytes);
  assert_int_equal(sscanf(line, "* connected as guest-%u;", &client.id), 1);
  return client;
}

static inline Peer *peer_of(World *world, Client client) {
  return session_find(world->session, client.id);
}

static inline void ask_join(World *world, Client client, const char *name) {
  Buf payload = with_str8(name);
  say(world->net, client.conn, control(CONTROL_JOIN), &payload);
}

/// Joins a room; returns its id.
static inline uint32_t join(World *world, Client client, const char *name) {
  ask_join(world, client, name);
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_JOINED);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  return reader_u32(&reader);
}

static inline void type_line(World *world, Client client, const char *text) {
  fake_line(world->net, client.conn, text);
}

static inline void join_text(World *world, Client client, const char *name) {
  char line[100];
  snprintf(line, sizeof line, "/join %s", name);
  type_line(world, client, line);
  skip_all(world->net, client.conn);
}

static inline void leave(World *world, Client client, uint32_t room) {
  Buf payload = with_u32(room);
  say(world->net, client.conn, control(CONTROL_LEAVE), &payload);
}

static inline void broadcast(World *world, Client client, uint32_t room,
                             const char *data) {
  Buf payload = with_data(room, data);
  say(world->net, client.conn, control(CONTROL_BROADCAST), &payload);
}

/// Returns the header of a message on channel 2.
static inline Packet message_packet(void) {
  return (Packet){.channel = CHANNEL_MESSAGE, .priority = PRIORITY_NORMAL};
}

static inline void say_message(World *world, Client client, uint32_t room,
                               const char *body) {
  Buf payload = with_data(room, body);
  say(world->net, client.conn, message_packet(), &payload);
}

static inline const Sent *expect_error(World *world, Client client, Code code) {
  return expect_code(world->net, client.conn, CONTROL_ERROR, code);
}

static inline const Sent *expect_relayed(World *world, Client client, uint32_t room,
                                         uint32_t sender, const char *data) {
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_RELAYED);
  return expect_data(sent, (uint32_t[]){room, sender}, 2, data);
}

static inline const Sent *expect_message(World *world, Client client, uint32_t room,
                                         const char *body) {
  const Sent *sent = expect_packet(world->net, client.conn, CHANNEL_MESSAGE, 0);
  return expect_data(sent, &room, 1, body);
}

static inline void expect_quiet(World *world, Client client) {
  expect_nothing(world->net, client.conn);
}

static inline void overlook(World *world, Client client) {
  skip_all(world->net, client.conn);
}

// Makes two clients and a text peer join "lobby", and skips the notifications.
static inline void fill_lobby(World *world, Client ann, Client bob, Client guest) {
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  join_text(world, guest, "lobby");
  overlook(world, ann);
  overlook(world, bob);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
