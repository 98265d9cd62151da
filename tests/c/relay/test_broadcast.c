// Broadcasts of clients in a room that no handler watches.
#include "world.h"

static void a_broadcast_reaches_all_others(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         eve = enter(world, "eve");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  join(world, eve, "lobby");
  overlook(world, ann);
  overlook(world, bob);
  uint64_t writes = fake_group_writes(world->net);
  broadcast(world, ann, lobby, "hello");
  const Sent *sent = expect_relayed(world, bob, lobby, ann.id, "hello");
  expect_no_answer(sent);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->flags, OUT_UNRELIABLE);
  expect_relayed(world, eve, lobby, ann.id, "hello");
  expect_quiet(world, ann);
  assert_int_equal(fake_group_writes(world->net) - writes, 1);
  assert_int_equal(relay_stats(world->relay).messages_in, 1);
  assert_int_equal(relay_stats(world->relay).deliveries, 2);
}

static void priority_and_reliable_are_carried(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  overlook(world, ann);
  Buf data = with_data(lobby, "x");
  Packet packet = asking(control(CONTROL_BROADCAST), 77);
  packet.priority = PRIORITY_HIGH;
  packet.flags |= PACKET_RELIABLE;
  say(world->net, ann.conn, packet, &data);
  const Sent *sent = expect_relayed(world, bob, lobby, ann.id, "x");
  expect_no_answer(sent);
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE);
  assert_int_equal(sent->packet.priority, PRIORITY_HIGH);
  // RELIABLE packets have their place among normal ones.
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->flags, OUT_KEEP);
  expect_quiet(world, ann);
}

static void empty_data_is_relayed(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  broadcast(world, bob, lobby, "");
  expect_control(world->net, ann.conn, CONTROL_PEER_JOINED);
  expect_relayed(world, ann, lobby, bob.id, "");
}

static void only_members_broadcast(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  Buf data = with_data(lobby, "x");
  say(world->net, bob.conn, asking(control(CONTROL_BROADCAST), 3), &data);
  expect_answer(expect_error(world, bob, CODE_NOT_IN_ROOM), 3);
  broadcast(world, bob, 12345, "x");
  expect_no_answer(expect_error(world, bob, CODE_NO_SUCH_ROOM));
  expect_quiet(world, ann);
}

static void rooms_do_not_hear_each_other(void **state) {
  World *world = *state;
  uint32_t one = create(world, "one"), two = create(world, "two");
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         eve = enter(world, "eve");
  join(world, ann, "one");
  join(world, ann, "two");
  join(world, bob, "one");
  join(world, eve, "two");
  overlook(world, ann);
  broadcast(world, ann, one, "first");
  broadcast(world, ann, two, "second");
  expect_relayed(world, bob, one, ann.id, "first");
  expect_relayed(world, eve, two, ann.id, "second");
  expect_quiet(world, bob);
  expect_quiet(world, eve);
}

static void text_members_get_a_line(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  Client guest = enter_text(world);
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  join_text(world, guest, "lobby");
  overlook(world, ann);
  overlook(world, bob);
  broadcast(world, ann, lobby, "hi\n* eve joined \x1b[1m\xff");
  expect_line(world->net, guest.conn, "ann: hi?* eve joined ?[1m?");
  expect_relayed(world, bob, lobby, ann.id, "hi\n* eve joined \x1b[1m\xff");
  assert_int_equal(relay_stats(world->relay).deliveries, 2);
}

static void text_groups_exist_only_where_text_peers_are(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  join(world, ann, "lobby");
  assert_int_equal(fake_groups(world->net), 1);
  Client guest = enter_text(world);
  join_text(world, guest, "lobby");
  assert_int_equal(fake_groups(world->net), 2);
  assert_int_not_equal(relay_room(world->relay, lobby)->groups[FORM_TEXT], 0);
}

static void a_plain_line_is_a_broadcast(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  Client guest = enter_text(world), other = enter_text(world);
  join(world, ann, "lobby");
  join_text(world, guest, "lobby");
  join_text(world, other, "lobby");
  overlook(world, ann);
  overlook(world, guest);
  char line[40];
  type_line(world, guest, "hello all");
  snprintf(line, sizeof line, "guest-%u: hello all", guest.id);
  expect_line(world->net, other.conn, line);
  expect_relayed(world, ann, lobby, guest.id, "hello all");
  expect_quiet(world, guest);
}

static void drops_are_counted(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann");
  uint32_t lobby = join(world, ann, "lobby");
  fake_drops(world->net, ann.conn, lobby, 5, 100);
  fake_drops(world->net, ann.conn, 0, 2, 100);
  assert_int_equal(peer_of(world, ann)->dropped, 7);
  assert_int_equal(relay_stats(world->relay).dropped, 7);
  assert_false(relay_has_events(world->relay));
}

static void count_drops(void *data, LogLevel level, const char *text, size_t size) {
  (void)level;
  const char line[] = "messages dropped peer=";
  if (size > sizeof line && strncmp(text, line, sizeof line - 1) == 0) ++*(int *)data;
}

// Counts the lines of the log while messages are dropped every 100 ms.
static int warnings_in(World *world, Client peer, int seconds) {
  int lines = 0;
  log_set_sink(count_drops, &lines);
  log_set_level(LOG_WARN);
  for (int i = 0; i < 10 * seconds; i++) {
    fake_drops(world->net, peer.conn, 0, 1, 100);
    fake_advance(world->net, 100);
  }
  log_set_level(LOG_OFF);
  log_set_sink(NULL, NULL);
  return lines;
}

static void warnings_of_drops_grow_rarer(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  assert_int_equal(warnings_in(world, ann, 60), 6);  // after 0, 1, 3, 7, 15, 31 s
  // From 63 s on, one line a minute.
  assert_int_equal(warnings_in(world, ann, 600), 10);
  assert_int_equal(warnings_in(world, bob, 3), 2);
  fake_advance(world->net, 200000);
  assert_int_equal(warnings_in(world, ann, 3), 2);  // after a quiet time
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_broadcast_reaches_all_others),
      TEST(priority_and_reliable_are_carried),
      TEST(empty_data_is_relayed),
      TEST(only_members_broadcast),
      TEST(rooms_do_not_hear_each_other),
      TEST(text_members_get_a_line),
      TEST(text_groups_exist_only_where_text_peers_are),
      TEST(a_plain_line_is_a_broadcast),
      TEST(drops_are_counted),
      TEST(warnings_of_drops_grow_rarer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
