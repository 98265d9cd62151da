// Plugin channels: served by one client, used by the others.
#include "world.h"

static void ask_open(World *world, Client client, const char *name, uint16_t ref) {
  Buf payload = with_str8(name);
  Packet packet = control(CONTROL_CHANNEL_OPEN);
  say(world->net, client.conn, ref ? asking(packet, ref) : packet, &payload);
}

// Plays a script that lets each peer serve the channel that the peer requests.
static void let_serve(World *world) {
  Event event;
  begin(world);
  while (relay_next_event(world->relay, &event))
    if (event.type == EVENT_CHANNEL_OPEN) relay_serve(world->relay, &event);
}

static uint16_t open_channel(World *world, Client client, const char *name) {
  ask_open(world, client, name, 4);
  let_serve(world);
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

static void the_script_decides_who_serves(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  script(world, 0, NULL);
  ask_open(world, ann, "chat", 4);
  ask_open(world, bob, "chat", 5);
  begin(world);
  Event hers = next_of(world, EVENT_CHANNEL_OPEN, ann);
  expect_text(hers.data, "chat");
  relay_refuse(world->relay, &hers, CODE_UNAUTHORIZED, "no");
  expect_answer(expect_error(world, ann, CODE_UNAUTHORIZED), 4);
  Event his = next_of(world, EVENT_CHANNEL_OPEN, bob);
  relay_serve(world->relay, &his);
  expect_answer(expect_control(world->net, bob.conn, CONTROL_CHANNEL_OPENED), 5);
  relay_serve(world->relay, &hers);  // the answer comes too late
  expect_answer(expect_error(world, ann, CODE_CHANNEL_TAKEN), 4);
  end(world);
}

static void who_is_refused_makes_no_names(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  script(world, 0, NULL);
  char name[20];
  for (int i = 0; i < 2 * RELAY_NAMES_PER_ADDRESS; i++) {
    snprintf(name, sizeof name, "c%d", i);
    ask_open(world, ann, name, 4);
    begin(world);
    Event event = next(world, EVENT_CHANNEL_OPEN);
    relay_refuse(world->relay, &event, CODE_REJECTED, "no");
    end(world);
    expect_error(world, ann, CODE_REJECTED);
  }
  assert_int_equal(open_channel(world, ann, "mine"), 1000);
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

// Serves new names, from clients of this address.
static void make_names(World *world, const char *address, int first, int last) {
  char name[20];
  Client client = enter_from(world, "maker", address);
  for (int i = first; i < last; i++) {
    snprintf(name, sizeof name, "c%d", i);
    assert_int_equal(open_channel(world, client, name), 1000 + i);
    close_channel(world, client, (uint16_t)(1000 + i));
    drain(world);
  }
  fake_end(world->net, client.conn, CODE_RESET);
}

static void make_all_names_of_clients(World *world) {
  char address[20];
  for (int i = 0; i < RELAY_NAMES_OF_CLIENTS / RELAY_NAMES_PER_ADDRESS; i++) {
    snprintf(address, sizeof address, "192.0.2.%d", 10 + i);
    make_names(world, address, i * RELAY_NAMES_PER_ADDRESS,
               (i + 1) * RELAY_NAMES_PER_ADDRESS);
  }
}

static void one_address_makes_so_many_names_at_most(void **state) {
  World *world = *state;
  make_names(world, "192.0.2.1", 0, 60);
  make_names(world, "192.0.2.1", 60, RELAY_NAMES_PER_ADDRESS);
  Client ann = enter(world, "ann"), bob = enter_from(world, "bob", "192.0.2.2");
  ask_open(world, ann, "one more", 1);
  expect_answer(expect_error(world, ann, CODE_SERVER_FULL), 1);
  assert_int_equal(relay_stats(world->relay).names_refused, 1);
  assert_int_equal(open_channel(world, ann, "c7"), 1007);
  assert_int_equal(open_channel(world, bob, "one more"), 1100);
  close_channel(world, bob, 1100);
  assert_int_equal(open_channel(world, ann, "one more"), 1100);
}

static uint16_t serve(World *world, const char *name) {
  int err;
  uint16_t channel = relay_channel(world->relay, text_from(name), 0, 0, &err);
  assert_int_not_equal(channel, 0);
  relay_commit(world->relay);
  return channel;
}

static void the_last_numbers_are_the_scripts(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  make_all_names_of_clients(world);
  Client ann = enter(world, "ann");
  ask_open(world, ann, "one more", 1);
  expect_error(world, ann, CODE_SERVER_FULL);
  assert_int_equal(open_channel(world, ann, "c899"), 1899);
  char name[20];
  for (int i = RELAY_NAMES_OF_CLIENTS; i < 1000; i++) {
    snprintf(name, sizeof name, "s%d", i);
    assert_int_equal(serve(world, name), 1000 + i);
  }
  int err;
  assert_int_equal(relay_channel(world->relay, text_from("one more"), 0, 0, &err), 0);
  assert_int_equal(err, ERR_FULL);
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
                   .body = text_from("yo")};
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
  assert_int_equal(relay_command(world->relay, &nobody), ERR_VACANT);
}

// --- Served by the script ---

static Event expect_on_channel(World *world, EventType type, Client client,
                               uint16_t channel) {
  begin(world);
  Event event = next_of(world, type, client);
  assert_int_equal(event.channel, channel);
  end(world);
  return event;
}

static void the_script_hears_what_is_sent_on_its_channel(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  uint16_t chat = serve(world, "chat");
  Packet packet = on_channel(chat);
  Buf payload = empty();
  buf_append(&payload, "hi", 2);
  say(world->net, ann.conn, packet, &payload);
  Event event = expect_on_channel(world, EVENT_CHANNEL, ann, chat);
  assert_int_equal(event.packet_type, 17);
  assert_int_equal(event.priority, PRIORITY_HIGH);
  assert_int_equal(event.flags, PACKET_REQUEST | PACKET_RELIABLE);
  assert_int_equal(event.ref, 88);
  expect_quiet(world, ann);
}

static void the_script_hears_answers_on_any_channel(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  uint16_t own = serve(world, "own"), hers = open_channel(world, ann, "hers");
  const uint16_t channels[] = {own, hers};
  for (int i = 0; i < 2; i++) {
    Packet packet = on_channel(channels[i]);
    packet.flags = PACKET_RESPONSE;
    Buf payload = i == 0 ? empty() : with_u32(0);
    buf_append(&payload, "so", 2);
    say(world->net, ann.conn, packet, &payload);
    Event event = expect_on_channel(world, EVENT_RESPONSE, ann, channels[i]);
    assert_int_equal(event.ref, 88);
    begin(world);
    end(world);
  }
}

static void a_name_of_the_script_is_taken(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  assert_int_equal(serve(world, "chat"), 1000);
  assert_int_equal(serve(world, "chat"), 1000);
  ask_open(world, ann, "chat", 7);
  expect_answer(expect_error(world, ann, CODE_CHANNEL_TAKEN), 7);
  close_channel(world, ann, 1000);
  expect_error(world, ann, CODE_CHANNEL_NOT_FOUND);
  command(world, (Command){.type = COMMAND_CHANNEL_CLOSE, .id = 1000});
  relay_commit(world->relay);
  say(world->net, ann.conn, on_channel(1000), &(Buf){0});
  expect_error(world, ann, CODE_CHANNEL_NOT_FOUND);
  assert_int_equal(open_channel(world, ann, "chat"), 1000);
  int err;
  assert_int_equal(relay_channel(world->relay, text_from("chat"), 0, 0, &err), 0);
  assert_int_equal(err, ERR_EXISTS);
  assert_int_equal(relay_channel(world->relay, text_from("a\x07"), 0, 0, &err), 0);
  assert_int_equal(err, ERR_INVALID);
}

static void a_handler_that_fails_serves_nothing(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  int err;
  assert_int_equal(relay_channel(world->relay, text_from("chat"), 0, 0, &err), 1000);
  relay_rollback(world->relay, (RelayMark){0});
  assert_int_equal(open_channel(world, ann, "chat"), 1000);
}

static void who_serves_a_channel_is_found_by_its_name(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  uint32_t peer;
  open_channel(world, ann, "hers");
  serve(world, "own");
  assert_int_equal(relay_find_channel(world->relay, text_from("hers"), &peer), 1000);
  assert_int_equal(peer, ann.id);
  assert_int_equal(relay_find_channel(world->relay, text_from("own"), &peer), 1001);
  assert_int_equal(peer, 0);
  assert_int_equal(relay_find_channel(world->relay, text_from("none"), &peer), 0);
  fake_end(world->net, ann.conn, CODE_RESET);
  assert_int_equal(relay_find_channel(world->relay, text_from("hers"), &peer), 0);
}

static void the_script_hears_that_a_client_serves_no_more(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  uint16_t chat = open_channel(world, ann, "chat");
  close_channel(world, ann, chat);
  expect_on_channel(world, EVENT_CHANNEL_CLOSED, ann, chat);
}

static void a_packet_goes_to_a_room_or_to_all(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  uint32_t room = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         cid = enter(world, "cid");
  Client guest = enter_text(world);
  fill_lobby(world, ann, bob, guest);
  Command packet = packet_command(0, serve(world, "chat"));
  packet.target = TARGET_ROOM;
  packet.id = room;
  packet.except = &ann.id;
  packet.except_count = 1;
  command(world, packet);
  packet.target = TARGET_ALL;
  packet.id = 0;
  command(world, packet);
  relay_commit(world->relay);
  const Client both[] = {bob, bob, cid};
  for (int i = 0; i < 3; i++)
    expect_data(expect_packet(world->net, both[i].conn, 1000, 2), NULL, 0, "yo");
  expect_quiet(world, ann);
  expect_quiet(world, bob);
  expect_quiet(world, cid);
  expect_quiet(world, guest);
  packet.target = TARGET_ROOM;
  packet.id = room + 1;
  assert_int_equal(relay_command(world->relay, &packet), ERR_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(channels_are_handed_out_from_1000_up),
      TEST(the_script_decides_who_serves),
      TEST(who_is_refused_makes_no_names),
      TEST(a_name_keeps_its_number),
      TEST(a_served_name_is_taken),
      TEST(a_bad_name_is_a_protocol_error),
      TEST(one_peer_serves_so_many_at_most),
      TEST(one_address_makes_so_many_names_at_most),
      TEST(the_last_numbers_are_the_scripts),
      TEST(only_its_server_closes_a_channel),
      TEST(a_packet_reaches_the_server_with_its_sender),
      TEST(the_answer_reaches_whom_it_is_for),
      TEST(an_answer_for_nobody_is_an_error),
      TEST(an_answer_without_a_target_closes),
      TEST(a_packet_for_the_server_itself_goes_to_the_script),
      TEST(the_script_uses_a_channel_as_sender_0),
      TEST(the_script_hears_what_is_sent_on_its_channel),
      TEST(the_script_hears_answers_on_any_channel),
      TEST(a_name_of_the_script_is_taken),
      TEST(a_handler_that_fails_serves_nothing),
      TEST(who_serves_a_channel_is_found_by_its_name),
      TEST(the_script_hears_that_a_client_serves_no_more),
      TEST(a_packet_goes_to_a_room_or_to_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
