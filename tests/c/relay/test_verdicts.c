// The script's verdicts on CONNECT, JOIN and BROADCAST, at once or much later.
#include "world.h"

static const RoomKind WATCHED = {
    .auto_create = true, .capacity = 2, .hooks = HOOK_JOIN | HOOK_BROADCAST};

// Sends HELLO, and returns the event that waits for a verdict on it.
static Event ask_in(World *world, ConnId *conn) {
  *conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_hello(world->net, *conn, "ann");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  end(world);
  return event;
}

static void a_peer_is_accepted(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn;
  Event event = ask_in(world, &conn);
  expect_nothing(world->net, conn);
  assert_int_equal(relay_stats(world->relay).peers, 0);
  assert_true(relay_accept(world->relay, event.peer, (Text){0}));
  expect_control(world->net, conn, CONTROL_WELCOME);
  assert_int_equal(relay_stats(world->relay).peers, 1);
}

static void what_on_connect_sends_comes_after_welcome(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn;
  Event event = ask_in(world, &conn);
  command(world, message(TARGET_PEER, event.peer));
  relay_accept(world->relay, event.peer, (Text){0});
  relay_commit(world->relay);
  expect_control(world->net, conn, CONTROL_WELCOME);
  expect_packet(world->net, conn, CHANNEL_MESSAGE, 0);
}

static void a_peer_is_rejected(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn;
  Event event = ask_in(world, &conn);
  relay_reject(world->relay, event.peer, CODE_REJECTED, "banned");
  expect_code(world->net, conn, CONTROL_REJECTED, CODE_REJECTED);
  assert_false(relay_accept(world->relay, event.peer, (Text){0}));
  expect_no_events(world);
}

static void a_text_peer_is_asked_about_too(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn = fake_open(world->net, FRAMING_LINES, "192.0.2.1");
  fake_line(world->net, conn, "/rooms");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  end(world);
  expect_nothing(world->net, conn);
  relay_accept(world->relay, event.peer, (Text){0});
  fake_advance(world->net, 1);
  assert_non_null(fake_next(world->net, conn));
  expect_line(world->net, conn, "* no rooms");
}

static void a_verdict_for_a_peer_that_left_is_ignored(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn;
  Event event = ask_in(world, &conn);
  fake_end(world->net, conn, CODE_RESET);
  assert_false(relay_accept(world->relay, event.peer, (Text){0}));
  relay_reject(world->relay, event.peer, CODE_REJECTED, "late");
  expect_no_events(world);
}

// Sends a REQUEST to join; returns its event.
static Event ask_to_join(World *world, Client client, uint16_t ref) {
  Buf name = with_str8("duel:1");
  say(world->net, client.conn, asking(control(CONTROL_JOIN), ref), &name);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, client);
  end(world);
  return event;
}

static void an_admitted_join_is_answered(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event event = ask_to_join(world, ann, 14);
  expect_quiet(world, ann);
  assert_int_equal(relay_room(world->relay, event.room)->count, 0);
  relay_admit(world->relay, &event);
  expect_answer(expect_control(world->net, ann.conn, CONTROL_JOINED), 14);
}

static void what_on_join_broadcasts_reaches_the_joiner(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event event = ask_to_join(world, ann, 14);
  command(world, message(TARGET_ROOM, event.room));
  relay_admit(world->relay, &event);
  relay_commit(world->relay);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  expect_message(world, ann, event.room, "[\"hi\",1]");
}

static void a_refused_join_is_answered(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event event = ask_to_join(world, ann, 14);
  relay_refuse(world->relay, &event, CODE_REJECTED, "not you");
  expect_answer(expect_error(world, ann, CODE_REJECTED), 14);
  assert_int_equal(fake_group_count(world->net, ann.conn), 0);
}

static void the_room_may_be_full_by_the_time_of_the_verdict(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client clients[3] = {enter(world, "ann"), enter(world, "bob"), enter(world, "eve")};
  Event events[3];
  for (int i = 0; i < 3; i++) events[i] = ask_to_join(world, clients[i], 1);
  for (int i = 0; i < 3; i++) relay_admit(world->relay, &events[i]);
  expect_control(world->net, clients[1].conn, CONTROL_JOINED);
  expect_answer(expect_error(world, clients[2], CODE_ROOM_FULL), 1);
}

static void two_verdicts_for_two_joins_admit_once(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event first = ask_to_join(world, ann, 1), second = ask_to_join(world, ann, 2);
  relay_admit(world->relay, &first);
  relay_admit(world->relay, &second);
  expect_answer(expect_control(world->net, ann.conn, CONTROL_JOINED), 1);
  expect_answer(expect_error(world, ann, CODE_ALREADY_IN_ROOM), 2);
}

static void the_room_may_be_gone_by_the_time_of_the_verdict(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event event = ask_to_join(world, ann, 3);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = event.room});
  relay_commit(world->relay);
  relay_admit(world->relay, &event);
  expect_answer(expect_error(world, ann, CODE_NO_SUCH_ROOM), 3);
  drain(world);
  relay_admit(world->relay, &event);
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
}

static void a_join_waiting_for_a_room_deleted_meanwhile_is_answered(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  uint32_t room = create(world, "duel:1");
  ask_join(world, ann, "duel:1");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  relay_commit(world->relay);
  begin(world);
  next(world, EVENT_ROOM_DELETE);
  end(world);
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
}

static void the_joiner_may_be_gone_by_the_time_of_the_verdict(void **state) {
  World *world = *state;
  script(world, 0, &WATCHED);
  Client ann = enter(world, "ann");
  Event event = ask_to_join(world, ann, 3);
  fake_end(world->net, ann.conn, CODE_RESET);
  relay_admit(world->relay, &event);
  drain(world);
  relay_admit(world->relay, &event);
  relay_refuse(world->relay, &event, CODE_REJECTED, "late");
  assert_int_equal(relay_room(world->relay, event.room)->count, 0);
}

typedef struct Duel {
  Client ann, bob;
  uint32_t room;
} Duel;

static Duel set_duel(World *world) {
  script(world, 0, &WATCHED);
  Duel duel = {.ann = enter(world, "ann"), .bob = enter(world, "bob")};
  Event first = ask_to_join(world, duel.ann, 1),
        second = ask_to_join(world, duel.bob, 1);
  relay_admit(world->relay, &first);
  relay_admit(world->relay, &second);
  overlook(world, duel.ann);
  overlook(world, duel.bob);
  duel.room = first.room;
  return duel;
}

static Event ask_to_broadcast(World *world, const Duel *duel, uint8_t flags) {
  Packet packet = control(CONTROL_BROADCAST);
  packet.flags = flags;
  packet.ref = flags & PACKET_REQUEST ? 41 : 0;
  packet.priority = PRIORITY_HIGH;
  Buf data = with_data(duel->room, "data");
  say(world->net, duel->ann.conn, packet, &data);
  begin(world);
  Event event = next_of(world, EVENT_BROADCAST, duel->ann);
  expect_text(event.data, "data");
  end(world);
  return event;
}

static void a_watched_broadcast_waits_for_the_verdict(void **state) {
  World *world = *state;
  Duel duel = set_duel(world);
  Event event = ask_to_broadcast(world, &duel, PACKET_RELIABLE | PACKET_REQUEST);
  expect_quiet(world, duel.bob);
  relay_pass(world->relay, &event, text_from("changed"));
  const Sent *sent = expect_relayed(world, duel.bob, duel.room, duel.ann.id, "changed");
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE);
  assert_int_equal(sent->packet.ref, 0);
  assert_int_equal(sent->packet.priority, PRIORITY_HIGH);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  expect_quiet(world, duel.ann);
}

static void a_failed_broadcast_is_answered_when_it_asked(void **state) {
  World *world = *state;
  Duel duel = set_duel(world);
  Event event = ask_to_broadcast(world, &duel, PACKET_REQUEST);
  relay_fail(world->relay, &event);
  expect_answer(expect_error(world, duel.ann, CODE_INTERNAL), 41);
  event = ask_to_broadcast(world, &duel, 0);
  relay_fail(world->relay, &event);
  expect_quiet(world, duel.ann);
}

static void a_changed_broadcast_has_a_limit(void **state) {
  World *world = *state;
  Duel duel = set_duel(world);
  Event event = ask_to_broadcast(world, &duel, PACKET_REQUEST);
  char *data = mem_zalloc(65537);
  relay_pass(world->relay, &event, (Text){data, 65537});
  mem_free(data);
  expect_quiet(world, duel.bob);
  expect_answer(expect_error(world, duel.ann, CODE_INTERNAL), 41);
}

static void a_late_broadcast_of_one_who_left_reaches_nobody(void **state) {
  World *world = *state;
  Duel duel = set_duel(world);
  Event first = ask_to_broadcast(world, &duel, 0);
  Event second = ask_to_broadcast(world, &duel, 0);
  leave(world, duel.ann, duel.room);
  expect_control(world->net, duel.bob.conn, CONTROL_PEER_LEFT);
  relay_pass(world->relay, &first, text_from("late"));
  expect_quiet(world, duel.bob);
  fake_end(world->net, duel.ann.conn, CODE_RESET);
  drain(world);
  relay_pass(world->relay, &second, text_from("later"));
  relay_fail(world->relay, &second);
  expect_quiet(world, duel.bob);
}

static void a_late_broadcast_to_a_deleted_room_reaches_nobody(void **state) {
  World *world = *state;
  Duel duel = set_duel(world);
  Event event = ask_to_broadcast(world, &duel, 0);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = duel.room});
  relay_commit(world->relay);
  relay_pass(world->relay, &event, text_from("late"));
  expect_quiet(world, duel.bob);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_peer_is_accepted),
      TEST(what_on_connect_sends_comes_after_welcome),
      TEST(a_peer_is_rejected),
      TEST(a_text_peer_is_asked_about_too),
      TEST(a_verdict_for_a_peer_that_left_is_ignored),
      TEST(an_admitted_join_is_answered),
      TEST(what_on_join_broadcasts_reaches_the_joiner),
      TEST(a_refused_join_is_answered),
      TEST(the_room_may_be_full_by_the_time_of_the_verdict),
      TEST(two_verdicts_for_two_joins_admit_once),
      TEST(the_room_may_be_gone_by_the_time_of_the_verdict),
      TEST(a_join_waiting_for_a_room_deleted_meanwhile_is_answered),
      TEST(the_joiner_may_be_gone_by_the_time_of_the_verdict),
      TEST(a_watched_broadcast_waits_for_the_verdict),
      TEST(a_failed_broadcast_is_answered_when_it_asked),
      TEST(a_changed_broadcast_has_a_limit),
      TEST(a_late_broadcast_of_one_who_left_reaches_nobody),
      TEST(a_late_broadcast_to_a_deleted_room_reaches_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
