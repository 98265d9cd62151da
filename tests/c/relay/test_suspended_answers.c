// Requests whose answer is lost with the connection: their senders get a notification
// after the resume.
#include "suspended.h"

// Sends a RELIABLE request, and checks that the server counts it.
static void ask(World *world, Player player, ControlType type, uint16_t ref,
                Buf *payload) {
  Packet request = asking(control(type), ref);
  request.flags |= PACKET_RELIABLE;
  say(world->net, player.client.conn, request, payload);
}

static void ask_named(World *world, Player player, ControlType type, uint16_t ref,
                      const char *name) {
  Buf payload = with_str8(name);
  ask(world, player, type, ref, &payload);
}

static void cut(World *world, Player *player) {
  skip_all(world->net, player->client.conn);  // the client receives none of it
  fake_end(world->net, player->client.conn, CODE_RESET);
}

// Expects that the answer of this type and ref is sent again.
static void expect_again(World *world, Player player, ControlType type, uint16_t ref) {
  const Sent *sent = expect_control(world->net, player.client.conn, type);
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE | PACKET_RESPONSE);
  assert_int_equal(sent->packet.ref, ref);
}

static void refusals_come_again(void **state) {
  World *world = *state;
  RoomKind duel = {.hooks = HOOK_JOIN};
  script(world, 0, &duel);
  create(world, "duel:1");
  Player bob = play(world, "bob");
  ask_named(world, bob, CONTROL_JOIN, 1, "nowhere");
  ask_named(world, bob, CONTROL_JOIN, 2, "duel:1");
  begin(world);
  Event event = next_of(world, EVENT_JOIN, bob.client);
  end(world);
  cut(world, &bob);
  // While the peer is suspended.
  relay_refuse(world->relay, &event, CODE_REJECTED, "no");
  come_back(world, &bob, 0);
  expect_ack(world->net, bob.client.conn, 2);
  expect_again(world, bob, CONTROL_ERROR, 1);
  expect_again(world, bob, CONTROL_ERROR, 2);
  expect_quiet(world, bob.client);
}

static void lists_and_channels_come_again(void **state) {
  World *world = *state;
  Player bob = play(world, "bob");
  Buf nothing = empty();
  ask(world, bob, CONTROL_ROOM_LIST, 1, &nothing);
  ask_named(world, bob, CONTROL_CHANNEL_OPEN, 2, "maps");
  cut(world, &bob);
  come_back(world, &bob, 0);
  expect_ack(world->net, bob.client.conn, 2);
  expect_again(world, bob, CONTROL_ROOMS, 1);
  expect_again(world, bob, CONTROL_CHANNEL_OPENED, 2);
  expect_quiet(world, bob.client);
}

// These answers are older than the list of rooms of the resume, and would contradict
// it.
static void the_list_of_rooms_stands_for_joined_and_left(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby"), arena = create(world, "arena");
  Player bob = play(world, "bob");
  ask_named(world, bob, CONTROL_JOIN, 1, "lobby");
  const Sent *sent = expect_control(world->net, bob.client.conn, CONTROL_JOINED);
  assert_int_equal(sent->packet.flags, PACKET_RESPONSE);
  ask_named(world, bob, CONTROL_JOIN, 2, "arena");
  Buf payload = with_u32(arena);
  ask(world, bob, CONTROL_LEAVE, 3, &payload);
  cut(world, &bob);
  come_back(world, &bob, 0);
  sent = expect_control(world->net, bob.client.conn, CONTROL_JOINED);
  expect_no_answer(sent);
  assert_memory_equal(sent->packet.payload, &lobby, sizeof lobby);
  expect_ack(world->net, bob.client.conn, 3);
  expect_quiet(world, bob.client);
}

static void unreliable_requests_are_not_answered_again(void **state) {
  World *world = *state;
  Player bob = play(world, "bob");
  Buf nothing = empty();
  say(world->net, bob.client.conn, asking(control(CONTROL_ROOM_LIST), 1), &nothing);
  Buf name = with_str8("nowhere");
  say(world->net, bob.client.conn, asking(control(CONTROL_JOIN), 2), &name);
  cut(world, &bob);
  come_back(world, &bob, 0);
  expect_ack(world->net, bob.client.conn, 0);
  expect_quiet(world, bob.client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUMABLE(refusals_come_again),
      RESUMABLE(lists_and_channels_come_again),
      RESUMABLE(the_list_of_rooms_stands_for_joined_and_left),
      RESUMABLE(unreliable_requests_are_not_answered_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
