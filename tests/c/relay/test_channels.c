// Plugin channels: served by one client, used by the others.
#include "world.h"

static void ask_open(World *world, Client client, const char *name, uint16_t ref) {
  Buf payload = with_str8(name);
  Packet packet = control(CONTROL_CHANNEL_OPEN);
  say(world->net, client.conn, ref ? asking(packet, ref) : packet, &payload);
}

static uint16_t open_channel(World *world, Client client, const char *name) {
  ask_open(world, client, name, 4);
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_CHANNEL_OPENED);
  expect_answer(sent, 4);
  assert_int_equal(sent->flags, OUT_KEEP | OUT_URGENT);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  uint16_t channel = reader_u16(&reader);
  expect_text(reader_str8(&reader), name);
  assert_true(reader_is_done(&reader));
  return channel;
}

static void close_channel(World *world, Client client, uint16_t channel) {
  Buf payload = empty();
  buf_u16(&payload, channel);
  say(world->net, client.conn, control(CONTROL_CHANNEL_CLOSE), &payload);
}

static Packet on_channel(uint16_t channel) {
  return (Packet){.channel = channel,
                  .type = 17,
                  .priority = PRIORITY_HIGH,
                  .flags = PACKET_REQUEST | PACKET_RELIABLE,
                  .ref = 88};
}

static void expect_same(const Sent *sent, const Packet *packet) {
  assert_int_equal(sent->packet.priority, packet->priority);
  assert_int_equal(sent->packet.flags, packet->flags);
  assert_int_equal(sent->packet.ref, packet->ref);
  assert_int_equal(sent->flags, OUT_KEEP);
}

static void channels_are_handed_out_from_1000_up(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  assert_int_equal(open_channel(world, ann, "chat"), 1000);
  assert_int_equal(open_channel(world, bob, "score"), 1001);
  ask_open(world, ann, "x", 0);
  expect_no_answer(expect_control(world->net, ann.conn, CONTROL_CHANNEL_OPENED));
}

static void a_name_keeps_its_number(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  open_channel(world, ann, "chat");
  open_channel(world, ann, "score");
  close_channel(world, ann, 1001);
  expect_quiet(world, ann);
  fake_end(world->net, ann.conn, CODE_RESET);
  assert_int_equal(open_channel(world, bob, "score"), 1001);
  assert_int_equal(open_channel(world, bob, "chat"), 1000);
  assert_int_equal(open_channel(world, bob, "new"), 1002);
}

static void a_served_name_is_taken(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  open_channel(world, ann, "chat");
  ask_open(world, bob, "chat", 7);
  expect_answer(expect_error(world, bob, CODE_CHANNEL_TAKEN), 7);
  ask_open(world, ann, "chat", 0);
  expect_error(world, ann, CODE_CHANNEL_TAKEN);
}

static void a_bad_name_is_a_protocol_error(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  ask_open(world, ann, "", 1);
  expect_error(world, ann, CODE_PROTOCOL);
  ask_open(world, ann, "a\x07", 1);
  expect_error(world, ann, CODE_PROTOCOL);
}

static void one_peer_serves_so_many_at_most(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  char name[20];
  for (int i = 0; i < RELAY_CHANNELS_PER_PEER; i++) {
    snprintf(name, sizeof name, "c%d", i);
    open_channel(world, ann, name);
  }
  ask_open(world, ann, "one more", 1);
  expect_error(world, ann, CODE_SERVER_FULL);
  close_channel(world, ann, 1003);
  open_channel(world, ann, "one more");
}

static void the_numbers_run_out(void **state) {
  World *world = *state;
  char name[20];
  Client ann = enter(world, "ann");
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "c%d", i);
    close_channel(world, ann, open_channel(world, ann, name));
  }
  ask_open(world, ann, "one more", 1);
  expect_error(world, ann, CODE_SERVER_FULL);
  assert_int_equal(open_channel(world, ann, "c999"), 1999);
}

static void only_its_server_closes_a_channel(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  open_channel(world, ann, "chat");
  const uint16_t channels[] = {1000, 1001, 0, 3000};
  for (int i = 0; i < 4; i++) {
    close_channel(world, bob, channels[i]);
    expect_error(world, bob, CODE_CHANNEL_NOT_FOUND);
  }
}

static void a_packet_reaches_the_server_with_its_sender(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint16_t chat = open_channel(world, ann, "chat");
  Packet packet = on_channel(chat);
  Buf payload = empty();
  buf_append(&payload, "hi", 2);
  say(world->net, bob.conn, packet, &payload);
  const Sent *sent = expect_packet(world->net, ann.conn, chat, 17);
  expect_data(sent, (uint32_t[]){bob.id}, 1, "hi");
  expect_same(sent, &packet);
  expect_quiet(world, bob);
}

static void the_answer_reaches_whom_it_is_for(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint16_t chat = open_channel(world, ann, "chat");
  Packet packet = on_channel(chat);
  packet.flags = PACKET_RESPONSE | PACKET_RELIABLE;
  Buf payload = with_data(bob.id, "hello");
  say(world->net, ann.conn, packet, &payload);
  const Sent *sent = expect_packet(world->net, bob.conn, chat, 17);
  expect_data(sent, NULL, 0, "hello");
  expect_same(sent, &packet);
}

static void an_answer_for_nobody_is_an_error(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), guest = enter_text(world);
  uint16_t chat = open_channel(world, ann, "chat");
  const uint32_t targets[] = {4711, guest.id};
  for (int i = 0; i < 2; i++) {
    Buf payload = with_data(targets[i], "hello");
    say(world->net, ann.conn, on_channel(chat), &payload);
    expect_answer(expect_error(world, ann, CODE_CHANNEL_NOT_FOUND), 88);
  }
}

static void an_answer_without_a_target_closes(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint16_t chat = open_channel(world, ann, "chat");
  Buf payload = empty();
  buf_u8(&payload, 1);
  say(world->net, ann.conn, on_channel(chat), &payload);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
  payload = with_u32(0);
  say(world->net, bob.conn, on_channel(chat), &payload);
  expect_error(world, bob, CODE_CHANNEL_NOT_FOUND);
}

static void a_packet_for_the_server_itself_goes_to_the_script(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  uint16_t chat = open_channel(world, ann, "chat");
  Buf payload = with_data(0, "hello");
  say(world->net, ann.conn, on_channel(chat), &payload);
  expect_error(world, ann, CODE_CHANNEL_NOT_FOUND);
  script(world, HOOK_PACKET, NULL);
  payload = with_data(0, "hello");
  say(world->net, ann.conn, on_channel(chat), &payload);
  begin(world);
  Event event = next_of(world, EVENT_PACKET, ann);
  assert_int_equal(event.channel, chat);
  expect_text(event.data, "hello");
  end(world);
}

static Command packet_command(uint32_t peer, uint16_t channel) {
  return (Command){.type = COMMAND_PACKET,
                   .id = peer,
                   .channel = channel,
                   .packet_type = 2,
                   .priority = PRIORITY_NORMAL,
                   .body = text_of("yo")};
}

static void the_script_uses_a_channel_as_sender_0(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint16_t chat = open_channel(world, ann, "chat");
  command(world, packet_command(0, chat));
  command(world, packet_command(ann.id, chat));
  command(world, packet_command(bob.id, chat));
  relay_commit(world->relay);
  for (int i = 0; i < 2; i++)
    expect_data(expect_packet(world->net, ann.conn, chat, 2), (uint32_t[]){0}, 1, "yo");
  expect_data(expect_packet(world->net, bob.conn, chat, 2), NULL, 0, "yo");
  Command nobody = packet_command(0, 1500);
  assert_int_equal(relay_command(world->relay, &nobody), ERR_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(channels_are_handed_out_from_1000_up),
      TEST(a_name_keeps_its_number),
      TEST(a_served_name_is_taken),
      TEST(a_bad_name_is_a_protocol_error),
      TEST(one_peer_serves_so_many_at_most),
      TEST(the_numbers_run_out),
      TEST(only_its_server_closes_a_channel),
      TEST(a_packet_reaches_the_server_with_its_sender),
      TEST(the_answer_reaches_whom_it_is_for),
      TEST(an_answer_for_nobody_is_an_error),
      TEST(an_answer_without_a_target_closes),
      TEST(a_packet_for_the_server_itself_goes_to_the_script),
      TEST(the_script_uses_a_channel_as_sender_0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
