// Connections that are lost and resumed amid random joins, leaves, kicks and messages.
// A model knows which reliable messages each player must get, and in which order.
#include "suspended.h"

enum { STORM_PLAYERS = 12, STORM_ROOMS = 3, STORM_STEPS = 20000 };

// A player, and the numbers of the reliable messages that it has to get, in order.
typedef struct Stormed {
  Player player;
  bool is_suspended, is_in[STORM_ROOMS];
  uint32_t wanted[RELIABLE_WINDOW];
  uint32_t first, last;  // numbers of the first and last expected message
  uint32_t got;          // number of reliable messages received so far
} Stormed;

typedef struct Storm {
  World *world;
  uint32_t rooms[STORM_ROOMS];
  Stormed players[STORM_PLAYERS];
  uint32_t number;
  uint64_t random;
} Storm;

static uint32_t pick(Storm *storm, uint32_t count) {
  storm->random = storm->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(storm->random >> 33) % count;
}

// Takes all messages; the connection may be lost before the last of them.
static void hear(Storm *storm, Stormed *at, uint32_t most) {
  const Sent *sent;
  while (most-- > 0 && (sent = fake_next(storm->world->net, at->player.client.conn))) {
    if (!(sent->packet.flags & PACKET_RELIABLE)) continue;
    uint32_t number;
    memcpy(&number, sent->packet.payload + 4, sizeof number);
    assert_true(at->first < at->last);
    assert_int_equal(number, at->wanted[at->first++]);
    at->got++;
  }
}

static void enter_storm(Storm *storm, Stormed *at) {
  *at = (Stormed){.player = play(storm->world, "p")};
}

static void toggle_line(Storm *storm, Stormed *at) {
  if (at->is_suspended) {
    come_back(storm->world, &at->player, at->got);
  } else {
    if (pick(storm, 2)) hear(storm, at, pick(storm, 20));
    fake_end(storm->world->net, at->player.client.conn, CODE_RESET);
  }
  at->is_suspended = !at->is_suspended;
}

static void toggle_room(Storm *storm, Stormed *at, uint32_t room) {
  uint8_t type = at->is_in[room] ? COMMAND_LEAVE : COMMAND_JOIN;
  command(storm->world, (Command){.type = type,
                                  .id = at->player.client.id,
                                  .room = storm->rooms[room],
                                  .body = text_from("")});
  relay_commit(storm->world->relay);
  at->is_in[room] = !at->is_in[room];
}

static void say_in_storm(Storm *storm, uint32_t room, uint32_t excluded) {
  uint8_t flags = pick(storm, 3) ? PACKET_RELIABLE : 0;
  uint32_t number = ++storm->number, except = storm->players[excluded].player.client.id;
  Command said = message(TARGET_ROOM, storm->rooms[room]);
  said.flags = flags;
  said.priority = (uint8_t)pick(storm, PRIORITY_COUNT);
  said.body = (Text){(const char *)&number, sizeof number};
  said.except = &except;
  said.except_count = 1;
  command(storm->world, said);
  relay_commit(storm->world->relay);
  for (uint32_t i = 0; flags && i < STORM_PLAYERS; i++) {
    Stormed *at = &storm->players[i];
    if (i != excluded && at->is_in[room]) at->wanted[at->last++] = number;
  }
}

static void settle(Storm *storm, Stormed *at) {
  if (at->is_suspended) toggle_line(storm, at);
  hear(storm, at, UINT32_MAX);
  assert_int_equal(at->first, at->last);
  say_ack(storm->world->net, at->player.client.conn, at->got);
  at->first = at->last = 0;
}

static void kick_in_storm(Storm *storm, Stormed *at) {
  session_kick(storm->world->session, peer_of(storm->world, at->player.client),
               CODE_KICKED, "out");
  drain(storm->world);
  enter_storm(storm, at);
}

static void step(Storm *storm) {
  Stormed *at = &storm->players[pick(storm, STORM_PLAYERS)];
  uint32_t what = pick(storm, 100);
  if (what < 60)
    say_in_storm(storm, pick(storm, STORM_ROOMS), pick(storm, STORM_PLAYERS));
  else if (what < 80)
    toggle_line(storm, at);
  else if (what < 92)
    toggle_room(storm, at, pick(storm, STORM_ROOMS));
  else if (what < 99)
    settle(storm, at);
  else
    kick_in_storm(storm, at);
  if (at->last > RELIABLE_WINDOW / 2) settle(storm, at);
}

static void every_reliable_message_arrives_once(void **state) {
  World *world = *state;
  Storm *storm = mem_zalloc(sizeof *storm);
  storm->world = world;
  storm->random = 42;
  script(world, HOOK_SUSPEND | HOOK_RESUME | HOOK_LEAVE | HOOK_DISCONNECT, NULL);
  const char *names[STORM_ROOMS] = {"a", "b", "c"};
  for (uint32_t i = 0; i < STORM_ROOMS; i++) storm->rooms[i] = create(world, names[i]);
  for (uint32_t i = 0; i < STORM_PLAYERS; i++) enter_storm(storm, &storm->players[i]);
  for (int i = 0; i < STORM_STEPS; i++) {
    step(storm);
    if (i % 50 == 0) drain(world);
  }
  for (uint32_t i = 0; i < STORM_PLAYERS; i++) settle(storm, &storm->players[i]);
  assert_int_equal(session_stats(world->session).kept_bytes, 0);
  for (uint32_t i = 0; i < STORM_ROOMS; i++)
    assert_int_equal(relay_room(world->relay, storm->rooms[i])->suspended, 0);
  drain(world);
  mem_free(storm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUMABLE(every_reliable_message_arrives_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
