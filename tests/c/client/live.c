// The client with a real server, which tests/e2e/c_client_spec.lua starts: `live NAME
// ADDRESS TRANSPORT [ARGUMENT]` runs one story over one transport. Its exit code is 0
// if the story passed.
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client/live.h"

// --- Connections and messages ---

static void connects_joins_talks_and_leaves(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann"), *bob = open_client("bob");
  assert_int_not_equal(perigee_peer_id(ann), perigee_peer_id(bob));
  assert_int_equal(36, strlen(perigee_session(ann)));
  assert_int_equal(65536, perigee_max_payload(ann));
  uint64_t now_us = (uint64_t)time(NULL) * 1000000;
  assert_true(perigee_server_time_us(ann) + 60000000 > now_us);
  uint32_t hers = join_lobby(ann), his = join_lobby(bob);
  const PerigeeEvent *event = expect(ann, PERIGEE_PEER_JOINED);
  assert_int_equal(perigee_peer_id(bob), event->peer);
  assert_string_equal("bob", event->name);
  assert_int_equal(1, perigee_member_count(bob, his));
  assert_int_equal(perigee_peer_id(ann), perigee_member(bob, his, 0));
  perigee_relay(bob, his, "hello \0 there", 13, 0);
  event = expect(ann, PERIGEE_RELAY);
  assert_int_equal(perigee_peer_id(bob), event->peer);
  assert_string_equal("bob", event->name);
  assert_int_equal(13, event->size);
  assert_memory_equal("hello \0 there", event->data, 13);
  perigee_send(bob, his, "relay", "\"from the script\"", PERIGEE_UNRELIABLE);
  event = expect(ann, PERIGEE_RELAY);
  assert_int_equal(0, event->peer);
  expect(bob, PERIGEE_RELAY);
  int leaving = perigee_leave(bob, his);
  assert_int_equal(leaving, expect(bob, PERIGEE_LEFT)->request);
  assert_string_equal("bob", expect(ann, PERIGEE_PEER_LEFT)->name);
  assert_int_equal(0, perigee_member_count(ann, hers));
}

static void is_refused(void **state) {
  (void)state;
  PerigeeOptions options = options_of("eve");
  const PerigeeEvent *event = expect(open_with(&options), PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_REJECTED, event->code);
  assert_string_equal("no eve", event->text);
  options = options_of("ann");
  options.protocol_hash = 1;
  assert_int_equal(PERIGEE_PROTOCOL_HASH_MISMATCH,
                   expect(open_with(&options), PERIGEE_CLOSED)->code);
}

static void is_refused_rooms(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann"), *bob = open_client("bob");
  expect_failure(ann, perigee_join(ann, "nowhere", 0), PERIGEE_NO_SUCH_ROOM);
  join(ann, "duel:1");
  expect_failure(ann, perigee_join(ann, "duel:1", 0), PERIGEE_ALREADY_IN_ROOM);
  expect_failure(bob, perigee_join(bob, "duel:1", 0), PERIGEE_ROOM_FULL);
}

static void asks_and_is_asked(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  expect_answer(ann, perigee_ask(ann, 0, "double", "21", 0), "42");
  uint32_t room = join_lobby(ann);
  expect_answer(ann, perigee_ask(ann, room, "where", NULL, 0), "\"lobby\"");
  expect_answer(ann, perigee_ask(ann, 0, "where", NULL, 0), "null");
  expect_failure(ann, perigee_ask(ann, 0, "unheard of", NULL, 0), PERIGEE_UNSUPPORTED);
  expect_failure(ann, perigee_ask(ann, 0, "double", "\"x\"", 0), PERIGEE_INTERNAL);
  perigee_send(ann, 0, "quiz", NULL, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_QUESTION);
  assert_string_equal("sum", event->name);
  assert_string_equal("[1,2]", (const char *)event->data);
  assert_int_equal(0, perigee_answer(ann, &event->question, event->name, "3"));
  expect_message(ann, "result", "3");
}

static void hears_of_errors(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_send(ann, 0, "unheard of", NULL, 0);
  assert_int_equal(PERIGEE_UNSUPPORTED, expect(ann, PERIGEE_ERROR)->code);
  perigee_send_packet(ann, 1999, 1, "", 0, 0);
  assert_int_equal(PERIGEE_CHANNEL_NOT_FOUND, expect(ann, PERIGEE_ERROR)->code);
}

static void is_put_into_rooms_and_out_of_them(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_send(ann, 0, "put", NULL, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_JOINED);
  uint32_t room = event->room;
  assert_string_equal("duel:2", event->name);
  perigee_send(ann, room, "out", NULL, 0);
  assert_int_equal(PERIGEE_KICKED, expect(ann, PERIGEE_LEFT)->code);
}

static void sends_packets_and_serves_a_channel(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann"), *plugin = open_client("plugin");
  perigee_send_packet(ann, 3000, 7, "abc", 3, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_PACKET);
  assert_int_equal(8, event->number);
  assert_string_equal("ABC", (const char *)event->data);
  expect_answer(ann, perigee_ask_packet(ann, 3000, 7, "abc", 3, 0), "cba");
  perigee_open_channel(plugin, "shout", 0);
  uint16_t channel = expect(plugin, PERIGEE_CHANNEL_OPENED)->channel;
  expect_failure(ann, perigee_open_channel(ann, "shout", 0), PERIGEE_CHANNEL_TAKEN);
  int request = perigee_ask_packet(ann, channel, 1, "hi", 2, 0);
  event = expect(plugin, PERIGEE_PACKET);
  assert_int_equal(perigee_peer_id(ann), event->peer);
  perigee_answer_bytes(plugin, &event->question, "HI", 2);
  expect_answer(ann, request, "HI");
  perigee_send_to(plugin, channel, perigee_peer_id(ann), 4, "psst", 4, 0);
  assert_string_equal("psst", (const char *)expect(ann, PERIGEE_PACKET)->data);
  perigee_close_channel(plugin, channel);
  perigee_sync(plugin, 0);
  expect(plugin, PERIGEE_SYNCED);
  expect_failure(ann, perigee_ask_packet(ann, channel, 1, "", 0, 0),
                 PERIGEE_CHANNEL_NOT_FOUND);
}

static void lists_rooms_and_measures(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_list_rooms(ann, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_ROOMS);
  bool is_there = false;
  for (uint32_t i = 0; i < event->count; i++)
    is_there = is_there || strcmp(event->rooms[i].name, "lobby") == 0;
  assert_true(is_there);
  perigee_ping(ann, 0);
  assert_true(expect(ann, PERIGEE_PONG)->time_us < 10000000);
  assert_true(perigee_latency_us(ann) >= 0);
}

static void is_kicked_for_good(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_send(ann, 0, "kick", NULL, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_KICKED, event->code);
  assert_string_equal("enough", event->text);
}

static void closing_loses_nothing_that_was_sent_before(void **state) {
  (void)state;
  enum { COUNT = 500 };
  PerigeeClient *ann = open_client("ann"), *bob = open_client("bob");
  uint32_t hers = join_lobby(ann);
  join_lobby(bob);
  expect(ann, PERIGEE_PEER_JOINED);
  for (uint32_t i = 0; i < COUNT; i++) perigee_relay(ann, hers, &i, sizeof i, 0);
  perigee_close(ann);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t value;
    const PerigeeEvent *event = expect(bob, PERIGEE_RELAY);
    assert_int_equal(sizeof value, event->size);
    memcpy(&value, event->data, sizeof value);
    assert_int_equal(i, value);
  }
  expect(bob, PERIGEE_PEER_LEFT);
}

static void works_in_a_loop_of_ones_own(void **state) {
  (void)state;
  PerigeeOptions options = options_of("ann");
  PerigeeClient *client = open_with(&options);
  int request = 0;
  for (bool is_done = false; !is_done;) {
    PerigeeFd fds[2];
    struct pollfd polled[2];
    int count = perigee_fds(client, fds);
    assert_true(count >= 1);
    for (int i = 0; i < count; i++) {
      int events =
          (fds[i].wants_read ? POLLIN : 0) | (fds[i].wants_write ? POLLOUT : 0);
      polled[i] = (struct pollfd){.fd = fds[i].fd, .events = (short)events};
    }
    int wait_ms = perigee_wait_ms(client);
    assert_true(wait_ms >= 0);
    poll(polled, (nfds_t)count, wait_ms);
    perigee_poll(client, 0);
    const PerigeeEvent *event;
    while ((event = perigee_next_event(client)) != NULL) {
      if (event->type == PERIGEE_CONNECTED)
        request = perigee_ask(client, 0, "double", "4", 0);
      if (event->type != PERIGEE_ANSWER) continue;
      assert_int_equal(request, event->request);
      assert_string_equal("8", (const char *)event->data);
      is_done = true;
    }
  }
}

// Runs one client in its own thread. Threads do not disturb each other, because the
// library has no shared state.
static void *ask_and_leave(void *name) {
  PerigeeOptions options = options_of(name);
  PerigeeClient *client = perigee_connect(live.address, &options, NULL);
  uint64_t deadline = now_ms() + DEADLINE_MS;
  const PerigeeEvent *event;
  bool has_answer = false;
  perigee_ask(client, 0, "double", "4", 0);
  while (perigee_state(client) != PERIGEE_STATE_CLOSED && now_ms() < deadline) {
    perigee_poll(client, 100);
    while ((event = perigee_next_event(client)) != NULL) {
      if (event->type != PERIGEE_ANSWER) continue;
      has_answer = strcmp((const char *)event->data, "8") == 0;
      perigee_close(client);
    }
  }
  perigee_free(client);
  return has_answer ? name : NULL;
}

static void many_live_in_threads_of_their_own(void **state) {
  (void)state;
  static char names[][8] = {"ann", "bob", "cleo", "dora"};
  enum { COUNT = sizeof names / sizeof *names };
  pthread_t threads[COUNT];
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(0, pthread_create(&threads[i], NULL, ask_and_leave, names[i]));
  for (int i = 0; i < COUNT; i++) {
    void *name;
    pthread_join(threads[i], &name);
    assert_ptr_equal(names[i], name);
  }
}

static int all(void) {
  const struct CMUnitTest tests[] = {
      TEST(connects_joins_talks_and_leaves),
      TEST(is_refused),
      TEST(is_refused_rooms),
      TEST(asks_and_is_asked),
      TEST(hears_of_errors),
      TEST(is_put_into_rooms_and_out_of_them),
      TEST(sends_packets_and_serves_a_channel),
      TEST(lists_rooms_and_measures),
      TEST(is_kicked_for_good),
      TEST(closing_loses_nothing_that_was_sent_before),
      TEST(works_in_a_loop_of_ones_own),
      TEST(many_live_in_threads_of_their_own),
  };
  return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}

static const char *const TRANSPORTS[] = {"tcp", "attached", "udp"};

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  live.address = argv[2];
  while (strcmp(argv[3], TRANSPORTS[live.transport]) != 0)
    if (live.transport++ == PERIGEE_UDP) return 2;
  if (argc > 4) live.argument = argv[4];
  return strcmp(argv[1], "all") == 0 ? all() : run_story(argv[1]);
}
