// Many things at once: binary and text clients that act at random, a script that
// answers at once, late or never, reloads, and time. In all cases the lists of members
// agree, nothing waits for ever, and nothing is lost or freed twice.
#include "world.h"

enum { CLIENTS = 24, STEPS = 6000, LATE = 16, ROOM_NAMES = 6, TOKENS = 65536 };

typedef struct Storm {
  World *world;
  uint32_t random;
  Client clients[CLIENTS];
  bool is_text[CLIENTS];
  Event late[LATE];  // events whose verdicts come later
  uint32_t handled, joins, outcomes;
  bool has_outcome[TOKENS];  // whether the join with that token has an outcome
} Storm;

static uint32_t choose(Storm *storm, uint32_t below) {
  storm->random = storm->random * 1664525 + 1013904223;
  return (storm->random >> 8) % below;
}

static const char *choose_name(Storm *storm) {
  static const char *const NAMES[ROOM_NAMES] = {"duel:1", "duel:2", "duel:3",
                                                "lobby",  "hall",   "\x01"};
  return NAMES[choose(storm, ROOM_NAMES)];
}

static uint32_t choose_room(Storm *storm) {
  const char *name = choose_name(storm);
  if (choose(storm, 10) == 0) return choose(storm, 50);
  return relay_find_room(storm->world->relay, text_from(name));
}

static bool is_connected(Storm *storm, uint32_t i) {
  ConnId conn = storm->clients[i].conn;
  return conn && !fake_is_closed(storm->world->net, conn);
}

// --- Clients ---

static void reconnect(Storm *storm, uint32_t i) {
  Net *net = storm->world->net;
  storm->is_text[i] = choose(storm, 3) == 0;
  Framing framing = storm->is_text[i] ? FRAMING_LINES : FRAMING_PACKETS;
  storm->clients[i].conn = fake_open(net, framing, "192.0.2.1");
  if (!storm->is_text[i]) say_hello(net, storm->clients[i].conn, "ann");
}

static void speak_line(Storm *storm, Client client) {
  static const char *const LINES[] = {"hello", "/rooms", "/name zoe",  "/send a [1]",
                                      "/quit", "/nope",  "/name \x01", "/send b"};
  char line[40];
  uint32_t what = choose(storm, 14);
  if (what < 8)
    snprintf(line, sizeof line, "%s", LINES[what]);
  else
    snprintf(line, sizeof line, "/%s %s", what < 12 ? "join" : "leave",
             choose_name(storm));
  type_line(storm->world, client, line);
}

static void speak_control(Storm *storm, Client client) {
  static const uint16_t TYPES[] = {
      CONTROL_JOIN,      CONTROL_LEAVE,        CONTROL_BROADCAST,
      CONTROL_BROADCAST, CONTROL_CHANNEL_OPEN, CONTROL_CHANNEL_CLOSE,
      CONTROL_ROOM_LIST, CONTROL_PING,         CONTROL_BYE};
  uint16_t type = TYPES[choose(storm, 9)];
  bool has_name = type == CONTROL_JOIN || type == CONTROL_CHANNEL_OPEN;
  bool is_empty = type == CONTROL_ROOM_LIST || type == CONTROL_BYE;
  Buf payload = has_name   ? with_str8(choose_name(storm))
                : is_empty ? empty()
                           : with_u32(choose_room(storm));
  if (type == CONTROL_CHANNEL_CLOSE) payload.size = 2;
  if (type == CONTROL_PING) buf_u32(&payload, 0);
  if (choose(storm, 100) == 0) buf_u8(&payload, 1);
  Packet packet = control((ControlType)type);
  say(storm->world->net, client.conn,
      choose(storm, 2) ? asking(packet, 1 + (uint16_t)choose(storm, 9)) : packet,
      &payload);
}

static void speak_packet(Storm *storm, Client client) {
  static const uint16_t CHANNELS[] = {1, 2, 2, 2, 3, 1000, 1001, 2000, 3000};
  Packet packet = {.channel = CHANNELS[choose(storm, 9)],
                   .priority = (uint8_t)choose(storm, PRIORITY_COUNT),
                   .flags = (uint8_t)(1u << choose(storm, 3))};
  bool is_message = packet.channel == CHANNEL_MESSAGE;
  Buf payload =
      with_data(is_message ? choose_room(storm) : choose(storm, 30), "[\"x\"]");
  say(storm->world->net, client.conn, packet, &payload);
}

static void act(Storm *storm) {
  uint32_t i = choose(storm, CLIENTS);
  Client client = storm->clients[i];
  Net *net = storm->world->net;
  if (!is_connected(storm, i))
    reconnect(storm, i);
  else if (choose(storm, 40) == 0)
    fake_end(net, client.conn, CODE_RESET), storm->clients[i].conn = 0;
  else if (choose(storm, 40) == 0)
    fake_drops(net, client.conn, choose_room(storm), 1, 2);
  else if (storm->is_text[i])
    speak_line(storm, client);
  else if (choose(storm, 3))
    speak_control(storm, client);
  else
    speak_packet(storm, client);
}

// --- The script ---

static void answer(Storm *storm, const Event *event) {
  Relay *relay = storm->world->relay;
  bool is_good = choose(storm, 5) > 0;
  if (event->type == EVENT_CONNECT && is_good)
    relay_accept(relay, event->peer, (Text){0});
  else if (event->type == EVENT_CONNECT)
    relay_reject(relay, event->peer, CODE_REJECTED, "no");
  else if (event->type == EVENT_JOIN && is_good)
    relay_admit(relay, event);
  else if (event->type == EVENT_JOIN)
    relay_refuse(relay, event, CODE_REJECTED, "no");
  else if (event->type == EVENT_CREATE && is_good)
    relay_created(relay, event->room);
  else if (event->type == EVENT_CREATE)
    relay_not_created(relay, event->room, NULL);
  else if (is_good)
    relay_pass(relay, event, text_from("passed"));
  else
    relay_fail(relay, event);
}

static void answer_or_wait(Storm *storm, const Event *event) {
  Event *late = &storm->late[choose(storm, LATE)];
  if (choose(storm, 3)) {
    answer(storm, event);
    return;
  }
  if (late->type) answer(storm, late);
  *late = *event;
}

static void queue_command(Storm *storm, uint32_t peer) {
  static const uint8_t TYPES[] = {COMMAND_MESSAGE, COMMAND_MESSAGE, COMMAND_RELAY,
                                  COMMAND_PACKET,  COMMAND_ERROR,   COMMAND_JOIN,
                                  COMMAND_LEAVE,   COMMAND_CLOSE,   COMMAND_ROOM_DELETE,
                                  COMMAND_MESSAGE, OWN_COMMAND};
  Command command = message((Target)choose(storm, 3), choose_room(storm));
  command.type = TYPES[choose(storm, 11)];
  command.channel = (uint16_t)(choose(storm, 2) ? 3000 : 1000);
  command.room = choose_room(storm);
  command.except = &peer;
  command.except_count = choose(storm, 2);
  bool has_target = command.type == COMMAND_RELAY || command.type == COMMAND_MESSAGE;
  bool is_for_room = command.type == COMMAND_ROOM_DELETE ||
                     (has_target && command.target == TARGET_ROOM);
  if (!is_for_room) command.id = peer;
  if (command.type == COMMAND_CLOSE && choose(storm, 4)) return;
  if (command.type == COMMAND_JOIN) command.token = ++storm->joins;
  relay_command(storm->world->relay, &command);
}

static void handle(Storm *storm, const Event *event) {
  Relay *relay = storm->world->relay;
  storm->handled++;
  if (event->type == EVENT_CONNECT || event->type == EVENT_JOIN ||
      event->type == EVENT_CREATE || event->type == EVENT_BROADCAST)
    answer_or_wait(storm, event);
  if (event->type == EVENT_JOINED || event->type == EVENT_NOT_JOINED) {
    assert_in_range(event->a, 1, storm->joins);
    assert_false(storm->has_outcome[event->a]);
    storm->has_outcome[event->a] = true;
    storm->outcomes++;
  }
  for (uint32_t i = choose(storm, 4); i > 0; i--) queue_command(storm, event->peer);
  int err;
  const char *name = choose_name(storm);
  if (choose(storm, 4) == 0) relay_create(relay, text_from(name), &err);
  if (choose(storm, 6) == 0) push_own(storm->world, OWN_EVENT, event->peer, 0);
  if (choose(storm, 4) == 0)
    relay_rollback(relay, (RelayMark){0});
  else
    relay_commit(relay);
}

static void reload(Storm *storm) {
  RoomKind duel = {.hooks = choose(storm, 1 << 12),
                   .auto_create = true,
                   .capacity = choose(storm, 8),
                   .has_auto_delete = choose(storm, 2),
                   .is_locked = choose(storm, 4) == 0,
                   .loses_lost = choose(storm, 2),
                   .keep = (uint8_t)choose(storm, 3),
                   .auto_delete_ms = choose(storm, 300),
                   .tick_rate = choose(storm, 40)};
  script(storm->world, choose(storm, 1 << 12), &duel);
}

// --- Checks ---

static void check_room(World *world, const Room *room) {
  uint32_t members = 0;
  for (uint32_t at = 0, id; (id = room_next_member(room, &at)); members++) {
    const Peer *peer = session_find(world->session, id);
    assert_non_null(peer);
    if (room->kind.loses_lost && room->state >= ROOM_OPEN &&
        !relay_has_events(world->relay))
      assert_true(peer->state != PEER_SUSPENDED);
    uint32_t found = 0;
    for (uint32_t j = 0; j < peer->relay.room_count; j++)
      if (peer->relay.rooms[j].room == room->id) {
        assert_int_equal(peer->relay.rooms[j].place, at - 1);
        found++;
      }
    assert_int_equal(found, 1);
  }
  assert_int_equal(members, room->count);
}

static void check(Storm *storm) {
  World *world = storm->world;
  uint32_t members = 0, places = 0, connected = 0, cursor = 0;
  for (Room *room; (room = relay_next_room(world->relay, &cursor));) {
    check_room(world, room);
    members += room->count;
    assert_true(room->state != ROOM_DELETED || room->count > 0);
  }
  cursor = 0;
  for (Peer *peer; (peer = session_next(world->session, &cursor));) {
    places += peer->relay.room_count;
    connected += peer->state == PEER_CONNECTED;
    if (!relay_has_events(world->relay)) assert_int_equal(peer->relay.queued, 0);
  }
  assert_int_equal(members, places);
  assert_int_equal(connected, session_count(world->session));
}

static void run_drain(Storm *storm) {
  Event event;
  relay_begin_drain(storm->world->relay, net_clock_us(storm->world->net));
  while (relay_next_event(storm->world->relay, &event)) handle(storm, &event);
}

static void run_storm(World *world, uint32_t seed) {
  Storm storm = {.world = world, .random = seed};
  reload(&storm);
  for (int step = 0; step < STEPS; step++) {
    act(&storm);
    if (choose(&storm, 4) == 0) fake_jump(world->net, choose(&storm, 20));
    if (choose(&storm, 6) == 0) run_drain(&storm), check(&storm);
    if (choose(&storm, 500) == 0) reload(&storm);
  }
  assert_true(storm.handled > 500);
  assert_true(storm.outcomes > 20);
}

static void a_storm_leaves_everything_in_step(void **state) { run_storm(*state, 1); }
static void another_storm_does_too(void **state) { run_storm(*state, 2); }
static void and_a_third_one(void **state) { run_storm(*state, 3); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_storm_leaves_everything_in_step),
      TEST(another_storm_does_too),
      TEST(and_a_third_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
