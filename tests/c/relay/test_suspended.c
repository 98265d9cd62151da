// Members whose connection is lost: they stay in their rooms, miss unreliable messages,
// and get all reliable ones after a resume.
#include "suspended.h"

static void cut(World *world, Player *player) {
  overlook(world, player->client);
  fake_end(world->net, player->client.conn, CODE_RESET);
}

// Expects a JOINED with that number of other members; returns the room.
static uint32_t expect_joined(World *world, Player player, uint16_t others) {
  const Sent *sent = expect_control(world->net, player.client.conn, CONTROL_JOINED);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  uint32_t room = reader_u32(&reader);
  reader_str8(&reader);
  assert_int_equal(reader_u32(&reader), player.client.id);
  assert_int_equal(reader_u16(&reader), others);
  for (int i = 0; i < others; i++) {
    assert_int_not_equal(reader_u32(&reader), player.client.id);
    reader_str8(&reader);
  }
  assert_true(reader_is_done(&reader));
  expect_no_answer(sent);
  return room;
}

static void say_room(World *world, uint32_t room, uint8_t flags) {
  Command said = message(TARGET_ROOM, room);
  said.flags = flags;
  command(world, said);
  relay_commit(world->relay);
}

static uint32_t count_of(World *world, uint32_t room) {
  return relay_room(world->relay, room)->count;
}

static void a_member_stays_and_hears_what_is_reliable(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Player ann = play(world, "ann"), bob = play(world, "bob");
  join(world, ann.client, "lobby");
  join(world, bob.client, "lobby");
  overlook(world, ann.client);
  cut(world, &bob);
  expect_quiet(world, ann.client);  // no PEER_LEFT comes
  assert_int_equal(count_of(world, lobby), 2);
  say_room(world, lobby, 0);
  say_room(world, lobby, PACKET_RELIABLE);
  expect_message(world, ann.client, lobby, "[\"hi\",1]");
  expect_message(world, ann.client, lobby, "[\"hi\",1]");
  assert_int_equal(relay_stats(world->relay).deliveries, 2);
  come_back(world, &bob, 0);
  assert_int_equal(expect_joined(world, bob, 1), lobby);
  expect_ack(world->net, bob.client.conn, 0);
  expect_message(world, bob.client, lobby, "[\"hi\",1]");
  expect_quiet(world, bob.client);
  expect_quiet(world, ann.client);
  say_room(world, lobby, 0);
  expect_message(world, bob.client, lobby, "[\"hi\",1]");
  assert_int_equal(fake_group_count(world->net, bob.client.conn), 1);
}

static void who_does_not_come_leaves(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  script(world, HOOK_LEAVE | HOOK_SUSPEND | HOOK_DISCONNECT, NULL);
  Player ann = play(world, "ann"), bob = play(world, "bob");
  join(world, ann.client, "lobby");
  join(world, bob.client, "lobby");
  overlook(world, ann.client);
  cut(world, &bob);
  begin(world);
  Event event = next_of(world, EVENT_SUSPEND, bob.client);
  assert_int_equal(event.a, CODE_RESET);
  end(world);
  fake_advance(world->net, 30000);
  expect_control(world->net, ann.client.conn, CONTROL_PEER_LEFT);
  begin(world);
  event = next_of(world, EVENT_LEAVE, bob.client);
  assert_int_equal(event.a, CODE_RESET);
  event = next_of(world, EVENT_DISCONNECT, bob.client);
  assert_int_equal(event.a, CODE_RESET);
  end(world);
  assert_int_equal(count_of(world, lobby), 1);
  assert_int_equal(relay_room(world->relay, lobby)->suspended, 0);
}

static void on_resume_is_told_of_the_gap(void **state) {
  World *world = *state;
  RoomKind duel = {.hooks = HOOK_RESUME};
  script(world, HOOK_RESUME | HOOK_SUSPEND, &duel);
  uint32_t lobby = create(world, "lobby"), room = create(world, "duel:1");
  Player ann = play(world, "ann"), bob = play(world, "bob");
  join(world, ann.client, "lobby");
  join(world, bob.client, "duel:1");
  join(world, bob.client, "lobby");
  say_room(world, lobby, PACKET_RELIABLE);
  cut(world, &bob);
  for (int i = 0; i < 3; i++) say_room(world, lobby, 0);
  say_room(world, room, 0);
  say_room(world, room, PACKET_RELIABLE);
  // Bob is not a receiver of this message, so bob does not miss it.
  Command said = message(TARGET_ROOM, room);
  said.except = (uint32_t[]){bob.client.id, bob.client.id};
  said.except_count = 2;
  command(world, said);
  said.flags = PACKET_RELIABLE;
  command(world, said);
  relay_commit(world->relay);
  fake_advance(world->net, 2500);
  come_back(world, &bob, 1);
  begin(world);
  next_of(world, EVENT_SUSPEND, bob.client);
  Event event = next_of(world, EVENT_RESUME, bob.client);
  assert_int_equal(event.room, room);
  assert_int_equal(event.a, 2500);
  assert_int_equal(event.b, 1);
  assert_int_equal(event.ref, 1);
  event = next_of(world, EVENT_RESUME, bob.client);
  assert_int_equal(event.room, lobby);
  assert_int_equal(event.b, 3);
  end(world);
}

static void broadcasts_of_others_and_of_all_wait(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Player ann = play(world, "ann"), bob = play(world, "bob"), eve = play(world, "eve");
  join(world, ann.client, "lobby");
  join(world, bob.client, "lobby");
  overlook(world, ann.client);
  cut(world, &bob);
  Buf data = with_data(lobby, "from ann");
  Packet packet = control(CONTROL_BROADCAST);
  packet.flags = PACKET_RELIABLE;
  say(world->net, ann.client.conn, packet, &data);
  Command said = message(TARGET_ALL, 0);
  said.flags = PACKET_RELIABLE;
  said.except = &eve.client.id;
  said.except_count = 1;
  command(world, said);
  relay_commit(world->relay);
  said = message(TARGET_PEER, bob.client.id);
  said.flags = PACKET_RELIABLE;
  command(world, said);
  relay_commit(world->relay);
  come_back(world, &bob, 0);
  expect_joined(world, bob, 1);
  expect_ack(world->net, bob.client.conn, 0);
  expect_relayed(world, bob.client, lobby, ann.client.id, "from ann");
  expect_message(world, bob.client, 0, "[\"hi\",1]");
  expect_message(world, bob.client, 0, "[\"hi\",1]");
  expect_quiet(world, bob.client);
  // Messages for suspended peers are kept; other messages are not.
  expect_message(world, ann.client, 0, "[\"hi\",1]");
  cut(world, &ann);
  come_back(world, &ann, 0);
  expect_joined(world, ann, 1);
  expect_ack(world->net, ann.client.conn, 1);
  expect_message(world, ann.client, 0, "[\"hi\",1]");
  expect_quiet(world, ann.client);
  say_ack(world->net, eve.client.conn, 0);
  expect_quiet(world, eve.client);
}

static void the_bytes_are_shared(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Player players[20];
  for (int i = 0; i < 20; i++) {
    players[i] = play(world, "p");
    join(world, players[i].client, "lobby");
  }
  uint64_t writes = fake_group_writes(world->net);
  say_room(world, lobby, PACKET_RELIABLE);
  assert_int_equal(fake_group_writes(world->net), writes + 1);
  assert_int_equal(session_stats(world->session).kept_bytes, 12 + 4 + 8);
  for (int i = 0; i < 20; i++) say_ack(world->net, players[i].client.conn, 1);
  assert_int_equal(session_stats(world->session).kept_bytes, 0);
}

static void rooms_change_meanwhile(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby"), arena = create(world, "arena"),
           gone = create(world, "gone"), doomed = create(world, "doomed");
  Player bob = play(world, "bob");
  join(world, bob.client, "lobby");
  join(world, bob.client, "gone");
  join(world, bob.client, "doomed");
  cut(world, &bob);
  command(world, (Command){.type = COMMAND_JOIN, .id = bob.client.id, .room = arena});
  command(world, (Command){.type = COMMAND_LEAVE,
                           .id = bob.client.id,
                           .room = gone,
                           .code = CODE_KICKED,
                           .body = text_from("")});
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = doomed});
  relay_commit(world->relay);
  say_room(world, arena, PACKET_RELIABLE);
  assert_int_equal(relay_room(world->relay, arena)->suspended, 1);
  assert_int_equal(relay_room(world->relay, gone)->suspended, 0);
  come_back(world, &bob, 0);
  assert_int_equal(expect_joined(world, bob, 0), lobby);
  assert_int_equal(expect_joined(world, bob, 0), doomed);
  assert_int_equal(expect_joined(world, bob, 0), arena);
  expect_ack(world->net, bob.client.conn, 0);
  expect_message(world, bob.client, arena, "[\"hi\",1]");
  expect_quiet(world, bob.client);
  assert_int_equal(fake_group_count(world->net, bob.client.conn), 3);
}

static void a_join_that_waits_goes_on(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  script(world, HOOK_JOIN | HOOK_RESUME, NULL);
  Player bob = play(world, "bob");
  ask_join(world, bob.client, "lobby");
  begin(world);
  Event event = next_of(world, EVENT_JOIN, bob.client);
  end(world);
  cut(world, &bob);
  relay_admit(world->relay, &event);  // the peer is suspended at that time
  assert_int_equal(count_of(world, lobby), 1);
  come_back(world, &bob, 0);
  assert_int_equal(expect_joined(world, bob, 0), lobby);
  leave(world, bob.client, lobby);
  skip_all(world->net, bob.client.conn);
  drain(world);

  ask_join(world, bob.client, "lobby");
  cut(world, &bob);
  begin(world);
  // The event of a join before the loss.
  event = next_of(world, EVENT_JOIN, bob.client);
  end(world);
  come_back(world, &bob, 0);
  expect_ack(world->net, bob.client.conn, 0);
  relay_admit(world->relay, &event);  // after the resume
  assert_int_equal(expect_joined(world, bob, 0), lobby);
}

static void packets_keep_their_order_across_the_gap(void **state) {
  World *world = *state;
  script(world, HOOK_PACKET | HOOK_SUSPEND | HOOK_RESUME | HOOK_JOIN, NULL);
  create(world, "lobby");
  Player bob = play(world, "bob");
  Buf data = with_u32(1);
  Packet packet = {.channel = 5, .type = 1, .flags = PACKET_RELIABLE};
  say(world->net, bob.client.conn, packet, &data);
  cut(world, &bob);
  come_back(world, &bob, 0);
  assert_int_equal(bob.ticket.received, 1);
  packet.type = 2;
  data = with_u32(2);
  say(world->net, bob.client.conn, packet, &data);
  begin(world);
  assert_int_equal(next(world, EVENT_PACKET).packet_type, 1);
  next(world, EVENT_SUSPEND);
  assert_int_equal(next(world, EVENT_PACKET).packet_type, 2);
  end(world);
}

static void a_kick_meanwhile_is_the_end(void **state) {
  World *world = *state;
  create(world, "lobby");
  script(world, HOOK_DISCONNECT, NULL);
  Player ann = play(world, "ann"), bob = play(world, "bob");
  join(world, ann.client, "lobby");
  join(world, bob.client, "lobby");
  overlook(world, ann.client);
  cut(world, &bob);
  command(world, (Command){.type = COMMAND_CLOSE,
                           .id = bob.client.id,
                           .code = CODE_KICKED,
                           .body = text_from("out")});
  relay_commit(world->relay);
  expect_control(world->net, ann.client.conn, CONTROL_PEER_LEFT);
  begin(world);
  assert_int_equal(next_of(world, EVENT_DISCONNECT, bob.client).a, CODE_KICKED);
  end(world);
  drain(world);
  assert_null(peer_of(world, bob.client));
}

static void a_plugin_keeps_its_channel(void **state) {
  World *world = *state;
  Player bob = play(world, "bob"), ann = play(world, "ann");
  Buf name = with_str8("maps");
  say(world->net, bob.client.conn, control(CONTROL_CHANNEL_OPEN), &name);
  cut(world, &bob);
  Buf data = with_u32(7);
  Packet packet = {.channel = CHANNEL_PLUGIN_FIRST, .flags = PACKET_RELIABLE};
  say(world->net, ann.client.conn, packet, &data);
  expect_quiet(world, ann.client);
  come_back(world, &bob, 0);
  expect_ack(world->net, bob.client.conn, 0);
  expect_packet(world->net, bob.client.conn, CHANNEL_PLUGIN_FIRST, 0);
  cut(world, &ann);
  data = with_u32(ann.client.id);
  say(world->net, bob.client.conn, packet, &data);
  expect_quiet(world, bob.client);
  come_back(world, &ann, 0);
  expect_ack(world->net, ann.client.conn, 1);
  expect_packet(world->net, ann.client.conn, CHANNEL_PLUGIN_FIRST, 0);
}

static void a_crowd_that_waits_too_long_for_acks_ends(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Player players[5];
  for (int i = 0; i < 5; i++) {
    players[i] = play(world, "p");
    join(world, players[i].client, "lobby");
  }
  for (int i = 0; i <= RELIABLE_WINDOW; i++) {
    say_room(world, lobby, PACKET_RELIABLE);
    if (i == 100) say_ack(world->net, players[0].client.conn, 100);
  }
  // The members leave in a later iteration, not while the sender sends.
  assert_int_equal(count_of(world, lobby), 5);
  fake_advance(world->net, 1);
  assert_int_equal(count_of(world, lobby), 1);
  overlook(world, players[1].client);
  assert_true(fake_is_closed(world->net, players[1].client.conn));
  assert_int_equal(session_stats(world->session).ended[CODE_SLOW_CONSUMER], 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUMABLE(a_member_stays_and_hears_what_is_reliable),
      RESUMABLE(who_does_not_come_leaves),
      RESUMABLE(on_resume_is_told_of_the_gap),
      RESUMABLE(broadcasts_of_others_and_of_all_wait),
      RESUMABLE(the_bytes_are_shared),
      RESUMABLE(rooms_change_meanwhile),
      RESUMABLE(a_join_that_waits_goes_on),
      RESUMABLE(packets_keep_their_order_across_the_gap),
      RESUMABLE(a_kick_meanwhile_is_the_end),
      RESUMABLE(a_plugin_keeps_its_channel),
      RESUMABLE(a_crowd_that_waits_too_long_for_acks_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
