// Messages that the game's schema describes: packed for peers that know the schema,
// JSON for other peers, lines for text peers; which targets need JSON; and which
// protocol hashes are accepted.
#include "world.h"

enum { NUMBER = 7 };

static const uint64_t HASHES[] = {0x0123456789abcdef, 0xfedcba9876543210};

// Returns a connected client whose HELLO carried a protocol hash.
static Client enter_with(World *world, const char *name, uint64_t hash) {
  Client client = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  Buf hello = hello_of(name, "");
  memcpy(hello.data + 2, &hash, sizeof hash);
  say(world->net, client.conn, control(CONTROL_HELLO), &hello);
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_WELCOME);
  Reader reader = reader_of(sent->packet.payload + 2, 4);
  client.id = reader_u32(&reader);
  return client;
}

static Command packed(Target target, uint32_t id) {
  Command command = message(target, id);
  command.packet_type = NUMBER;
  command.packed = text_from("packed");
  return command;
}

static const Sent *expect_packed(World *world, Client client, uint32_t room) {
  const Sent *sent = expect_packet(world->net, client.conn, CHANNEL_MESSAGE, NUMBER);
  return expect_data(sent, (uint32_t[]){room}, 1, "packed");
}

static void each_kind_gets_its_own_form(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  session_set_hashes(world->session, HASHES, 2);
  Client ann = enter_with(world, "ann", HASHES[0]),
         old = enter_with(world, "old", HASHES[1]), bob = enter(world, "bob"),
         guest = enter_text(world);
  join(world, ann, "lobby");
  join(world, old, "lobby");
  join(world, bob, "lobby");
  join_text(world, guest, "lobby");
  for (int i = 0; i < 2; i++) {
    overlook(world, ann);
    overlook(world, old);
    overlook(world, bob);
    overlook(world, guest);
    Command hi = packed(i == 0 ? TARGET_ROOM : TARGET_ALL, i == 0 ? lobby : 0);
    hi.flags = i == 0 ? 0 : PACKET_RELIABLE;
    command(world, hi);
    relay_commit(world->relay);
    expect_packed(world, ann, i == 0 ? lobby : 0);
    expect_packed(world, old, i == 0 ? lobby : 0);
    expect_message(world, bob, i == 0 ? lobby : 0, "[\"hi\",1]");
    expect_line(world->net, guest.conn, "hi 1");
  }
  command(world, packed(TARGET_PEER, ann.id));
  command(world, packed(TARGET_PEER, bob.id));
  relay_commit(world->relay);
  expect_packed(world, ann, 0);
  expect_message(world, bob, 0, "[\"hi\",1]");
}

static void one_kind_is_one_write(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  session_set_hashes(world->session, HASHES, 1);
  Client ann = enter_with(world, "ann", HASHES[0]),
         eve = enter_with(world, "eve", HASHES[0]);
  join(world, ann, "lobby");
  join(world, eve, "lobby");
  overlook(world, ann);
  uint64_t writes = fake_group_writes(world->net);
  Command hi = packed(TARGET_ROOM, lobby);
  hi.body = text_from("");
  hi.value_at = 0;
  command(world, hi);
  relay_commit(world->relay);
  expect_packed(world, ann, lobby);
  expect_packed(world, eve, lobby);
  assert_int_equal(fake_group_writes(world->net) - writes, 1);
}

static void what_members_broadcast_reaches_both_kinds(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  session_set_hashes(world->session, HASHES, 1);
  Client ann = enter_with(world, "ann", HASHES[0]), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  overlook(world, ann);
  overlook(world, bob);
  broadcast(world, ann, lobby, "hello");
  expect_relayed(world, bob, lobby, ann.id, "hello");
  expect_quiet(world, ann);
  broadcast(world, bob, lobby, "hi");
  expect_relayed(world, ann, lobby, bob.id, "hi");
  expect_quiet(world, bob);
}

static void json_is_needed_where_somebody_may_be_plain(void **state) {
  World *world = *state;
  Relay *relay = world->relay;
  uint32_t lobby = create(world, "lobby"), hall = create(world, "hall");
  session_set_hashes(world->session, HASHES, 1);
  Client ann = enter_with(world, "ann", HASHES[0]);
  join(world, ann, "lobby");
  assert_true(session_knows_schema(relay_session(relay), HASHES[0]));
  assert_false(session_knows_schema(relay_session(relay), HASHES[1]));
  assert_false(relay_needs_json(relay, TARGET_ALL, 0, 0));
  assert_false(relay_needs_json(relay, TARGET_ROOM, lobby, 0));
  Client bob = enter(world, "bob");
  assert_true(relay_needs_json(relay, TARGET_ALL, 0, 0));
  assert_true(relay_needs_json(relay, TARGET_PEER, bob.id, 0));
  assert_false(relay_needs_json(relay, TARGET_PEER, ann.id, 0));
  assert_false(relay_needs_json(relay, TARGET_ROOM, lobby, ann.id));
  assert_true(
      relay_needs_json(relay, TARGET_ROOM, lobby, bob.id));  // is being accepted now
  command(world, (Command){.type = COMMAND_JOIN, .id = bob.id, .room = hall});
  assert_true(relay_needs_json(relay, TARGET_ROOM, hall, 0));
  relay_commit(relay);
  assert_true(relay_needs_json(relay, TARGET_ROOM, hall, 0));
  assert_false(relay_needs_json(relay, TARGET_ROOM, lobby, 0));
}

static void a_new_schema_ends_those_who_know_another(void **state) {
  World *world = *state;
  session_set_hashes(world->session, HASHES, 1);
  Client ann = enter_with(world, "ann", HASHES[0]), bob = enter(world, "bob");
  session_set_hashes(world->session, (uint64_t[]){HASHES[1], HASHES[0]}, 2);
  expect_quiet(world, ann);
  session_set_hashes(world->session, HASHES + 1, 1);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_CLOSED);
  expect_quiet(world, bob);
  assert_false(session_knows_schema(relay_session(world->relay), HASHES[0]));
}

static void another_hash_is_refused_with_both(void **state) {
  World *world = *state;
  session_set_hashes(world->session, HASHES, 1);
  ConnId conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  Buf hello = hello_of("ann", "");
  hello.data[2] = 0xff;
  say(world->net, conn, control(CONTROL_HELLO), &hello);
  const Sent *sent =
      expect_code(world->net, conn, CONTROL_REJECTED, CODE_HASH_MISMATCH);
  Reader reader = reader_of(sent->packet.payload + 2, sent->packet.length - 2);
  Text text = reader_str16(&reader);
  expect_text(text,
              "your protocol hash is 00000000000000ff, this server's is "
              "0123456789abcdef");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_kind_gets_its_own_form),
      TEST(one_kind_is_one_write),
      TEST(what_members_broadcast_reaches_both_kinds),
      TEST(json_is_needed_where_somebody_may_be_plain),
      TEST(a_new_schema_ends_those_who_know_another),
      TEST(another_hash_is_refused_with_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
