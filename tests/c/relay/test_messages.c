// Messages on channel 2 and packets for the script: who may send them, and what the
// script gets.
#include "world.h"

static void a_message_reaches_the_script(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client ann = enter(world, "ann");
  Buf payload = with_data(0, "[\"move\",1]");
  Packet packet = asking(message_packet(), 21);
  packet.priority = PRIORITY_HIGH;
  packet.type = 7;
  say(world->net, ann.conn, packet, &payload);
  begin(world);
  Event event = next_of(world, EVENT_MESSAGE, ann);
  expect_text(event.data, "[\"move\",1]");
  assert_int_equal(event.room, 0);
  assert_int_equal(event.packet_type, 7);
  assert_int_equal(event.flags, PACKET_REQUEST);
  assert_int_equal(event.ref, 21);
  assert_int_equal(event.priority, PRIORITY_HIGH);
  end(world);
  assert_int_equal(relay_stats(world->relay).messages_in, 1);
}

static void a_message_without_a_handler_is_unsupported(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Buf payload = with_data(0, "[\"move\",1]");
  say(world->net, ann.conn, asking(message_packet(), 5), &payload);
  expect_answer(expect_error(world, ann, CODE_UNSUPPORTED), 5);
  say_message(world, ann, 0, "[\"move\",1]");
  expect_no_answer(expect_error(world, ann, CODE_UNSUPPORTED));
  assert_false(relay_has_events(world->relay));
}

static void a_message_for_a_room_comes_from_a_member(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  say_message(world, ann, lobby, "[\"a\",1]");
  expect_error(world, ann, CODE_NOT_IN_ROOM);
  say_message(world, ann, 999, "[\"a\",1]");
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
  join(world, ann, "lobby");
  say_message(world, ann, lobby, "[\"a\",1]");
  begin(world);
  assert_int_equal(next_of(world, EVENT_MESSAGE, ann).room, lobby);
  end(world);
}

static void the_handler_of_the_kind_is_enough(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_MESSAGE});
  create(world, "lobby");
  Client ann = enter(world, "ann");
  uint32_t duel = join(world, ann, "duel:1"), lobby = join(world, ann, "lobby");
  say_message(world, ann, duel, "[\"a\",1]");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
  say_message(world, ann, lobby, "[\"a\",1]");
  expect_error(world, ann, CODE_UNSUPPORTED);
  say_message(world, ann, 0, "[\"a\",1]");
  expect_error(world, ann, CODE_UNSUPPORTED);
}

static void the_game_takes_what_a_kind_has_no_handler_for(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, &(RoomKind){.auto_create = true});
  Client ann = enter(world, "ann");
  uint32_t duel = join(world, ann, "duel:1");
  say_message(world, ann, duel, "[\"a\",1]");
  begin(world);
  assert_int_equal(next_of(world, EVENT_MESSAGE, ann).room, duel);
  end(world);
}

static void a_response_needs_no_handler(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Packet packet = message_packet();
  packet.flags = PACKET_RESPONSE;
  packet.ref = 31;
  Buf payload = with_data(0, "[\"a\",1]");
  say(world->net, ann.conn, packet, &payload);
  assert_false(relay_has_events(world->relay));
  script(world, 0, NULL);
  payload = with_data(0, "[\"a\",1]");
  say(world->net, ann.conn, packet, &payload);
  begin(world);
  Event event = next_of(world, EVENT_RESPONSE, ann);
  assert_int_equal(event.ref, 31);
  expect_text(event.data, "[\"a\",1]");
  end(world);
  expect_quiet(world, ann);
}

static void a_message_too_short_for_its_room_closes(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Buf payload = empty();
  buf_u16(&payload, 1);
  say(world->net, ann.conn, message_packet(), &payload);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
}

static void say_on(World *world, Client client, uint16_t channel) {
  Buf payload = with_u32(0);
  Packet packet = {
      .channel = channel, .type = 5, .priority = PRIORITY_NORMAL, .ref = 9};
  packet.flags = PACKET_REQUEST;
  say(world->net, client.conn, packet, &payload);
}

static void packets_go_to_the_script(void **state) {
  World *world = *state;
  script(world, HOOK_PACKET, NULL);
  Client ann = enter(world, "ann");
  const uint16_t channels[] = {3, 999, 3000, 65535};
  for (int i = 0; i < 4; i++) say_on(world, ann, channels[i]);
  begin(world);
  for (int i = 0; i < 4; i++) {
    Event event = next_of(world, EVENT_PACKET, ann);
    assert_int_equal(event.channel, channels[i]);
    assert_int_equal(event.packet_type, 5);
    assert_int_equal(event.ref, 9);
    assert_int_equal(event.flags, PACKET_REQUEST);
    assert_int_equal(event.data.size, 4);
  }
  end(world);
}

static void packets_without_a_handler_find_no_channel(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client ann = enter(world, "ann");
  say_on(world, ann, 3);
  expect_answer(expect_error(world, ann, CODE_CHANNEL_NOT_FOUND), 9);
  say_on(world, ann, 65535);
  expect_error(world, ann, CODE_CHANNEL_NOT_FOUND);
}

static void channels_of_others_are_not_found(void **state) {
  World *world = *state;
  script(world, HOOK_PACKET, NULL);
  Client ann = enter(world, "ann");
  const uint16_t channels[] = {1, 1000, 1999};
  for (int i = 0; i < 3; i++) {
    say_on(world, ann, channels[i]);
    expect_answer(expect_error(world, ann, CODE_CHANNEL_NOT_FOUND), 9);
  }
  assert_false(relay_has_events(world->relay));
}

// Only the host of the script knows the sessions of LLMs.
static void channels_of_sessions_are_the_hosts(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  say_on(world, ann, CHANNEL_LLM_FIRST);
  expect_answer(expect_error(world, ann, CODE_CHANNEL_NOT_FOUND), 9);
  script(world, 0, NULL);
  const uint16_t channels[] = {CHANNEL_LLM_FIRST, CHANNEL_LLM_LAST};
  for (int i = 0; i < 2; i++) {
    say_on(world, ann, channels[i]);
    begin(world);
    assert_int_equal(next_of(world, EVENT_CHANNEL, ann).channel, channels[i]);
    end(world);
  }
  expect_quiet(world, ann);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_message_reaches_the_script),
      TEST(a_message_without_a_handler_is_unsupported),
      TEST(a_message_for_a_room_comes_from_a_member),
      TEST(the_handler_of_the_kind_is_enough),
      TEST(the_game_takes_what_a_kind_has_no_handler_for),
      TEST(a_response_needs_no_handler),
      TEST(a_message_too_short_for_its_room_closes),
      TEST(packets_go_to_the_script),
      TEST(packets_without_a_handler_find_no_channel),
      TEST(channels_of_others_are_not_found),
      TEST(channels_of_sessions_are_the_hosts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
