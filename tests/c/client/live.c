// The client against a real server, which tests/e2e/c_client_spec.lua starts: `live NAME ADDRESS TRANSPORT`
// runs one story over one transport and ends with 0 when all of it was so.
#include <poll.h>
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
#include <perigee.h>

enum { DEADLINE_MS = 15000, PATIENCE_MS = 60000 };

static const char *address;
static PerigeeTransport transport;
static int argument;  // of the story, where it has one

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// --- Clients ---

enum { CLIENTS_MAX = 4 };

static PerigeeClient *clients[CLIENTS_MAX];
static int ups;  // PERIGEE_UDP_UP so far
static int client_count;

static PerigeeOptions options_of(const char *name) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = name;
  options.transport = transport;
  options.reconnect_first_ms = 2;
  options.reconnect_max_ms = 20;
  return options;
}

static PerigeeClient *open_with(const PerigeeOptions *options) {
  PerigeeClient *client = perigee_connect(address, options, NULL);
  assert_non_null(client);
  clients[client_count++] = client;
  return client;
}

// Drives all clients of the test until this one has an event.
static const PerigeeEvent *any_event(PerigeeClient *client, uint64_t wait_ms) {
  uint64_t deadline = now_ms() + wait_ms;
  for (;;) {
    for (int i = 0; i < client_count; i++) {
      if (clients[i] != client) perigee_poll(clients[i], 0);
    }
    const PerigeeEvent *event = perigee_next_event(client);
    // They come when they come; who waits for them asks for them.
    if (event && event->type == PERIGEE_UDP_UP) {
      ups++;
      continue;
    }
    if (event) return event;
    if (now_ms() > deadline) return NULL;
    perigee_poll(client, client_count > 1 ? 2 : 100);
  }
}

static const PerigeeEvent *expect(PerigeeClient *client, PerigeeEventType type) {
  const PerigeeEvent *event = any_event(client, DEADLINE_MS);
  if (!event) fail_msg("event %d does not come", type);
  if (event->type != type)
    fail_msg("event %d instead of %d: %d %s %s", event->type, type, event->code,
             event->name, event->text);
  return event;
}

static void expect_failure(PerigeeClient *client, int request, int code) {
  const PerigeeEvent *event = expect(client, PERIGEE_FAILED);
  assert_int_equal(request, event->request);
  assert_int_equal(code, event->code);
}

static void expect_message(PerigeeClient *client, const char *name, const char *json) {
  const PerigeeEvent *event = expect(client, PERIGEE_MESSAGE);
  assert_string_equal(name, event->name);
  assert_string_equal(json, (const char *)event->data);
}

static void expect_answer(PerigeeClient *client, int request, const char *data) {
  const PerigeeEvent *event = expect(client, PERIGEE_ANSWER);
  assert_int_equal(request, event->request);
  assert_string_equal(data, (const char *)event->data);
}

static PerigeeClient *open_client(const char *name) {
  PerigeeOptions options = options_of(name);
  PerigeeClient *client = open_with(&options);
  expect(client, PERIGEE_CONNECTED);
  return client;
}

static uint32_t join(PerigeeClient *client, const char *name) {
  int request = perigee_join(client, name, 0);
  const PerigeeEvent *event = expect(client, PERIGEE_JOINED);
  assert_int_equal(request, event->request);
  return event->room;
}

// Its script greets.
static uint32_t join_lobby(PerigeeClient *client) {
  uint32_t room = join(client, "lobby");
  expect_message(client, "entering", "\"lobby\"");
  return room;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < client_count; i++) perigee_close(clients[i]);
  for (int i = 0; i < client_count; i++) {
    while (perigee_state(clients[i]) != PERIGEE_STATE_CLOSED)
      perigee_poll(clients[i], 1000);
    perigee_free(clients[i]);
  }
  client_count = 0;
  return 0;
}

// --- What the server is for ---

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
  options = options_of("");
  assert_int_equal(PERIGEE_PROTOCOL, expect(open_with(&options), PERIGEE_CLOSED)->code);
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

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

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
  };
  return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}

// --- Stories that the spec takes part in: each line that is printed tells it how far this is ---

static void say(const char *text) {
  puts(text);
  fflush(stdout);
}

static void a_server_that_ends_and_comes_back(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  uint32_t room = join_lobby(ann);
  say("in");
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, expect(ann, PERIGEE_DISCONNECTED)->code);
  say("out");
  const PerigeeEvent *event;
  do event = any_event(ann, PATIENCE_MS);
  while (event && event->type == PERIGEE_RECONNECTING);
  assert_non_null(event);
  assert_int_equal(PERIGEE_LOST, event->type);
  assert_int_equal(room, expect(ann, PERIGEE_JOINED)->room);
  expect_message(ann, "entering", "\"lobby\"");
  expect_answer(ann, perigee_ask(ann, room, "where", NULL, 0), "\"lobby\"");
}

typedef struct Exchange {
  int sent, received;
  int wrong;  // out of turn
  int resumed, lost;
} Exchange;

static void take(PerigeeClient *client, Exchange *exchange) {
  const PerigeeEvent *event;
  while ((event = perigee_next_event(client)) != NULL) {
    if (event->type == PERIGEE_RESUMED) exchange->resumed++;
    if (event->type == PERIGEE_LOST || event->type == PERIGEE_CLOSED) exchange->lost++;
    if (event->type != PERIGEE_MESSAGE || strcmp(event->name, "down") != 0) continue;
    int value = atoi((const char *)event->data);
    if (value != exchange->received + 1) exchange->wrong++;
    exchange->received = value;
    char json[16];
    snprintf(json, sizeof json, "%d", value);
    if (value % 100 == 0) perigee_send(client, 0, "seen", json, 0);
  }
}

// The line is cut by the spec's proxy; ends when all has come both ways.
static void what_is_reliable_arrives_once_and_in_order(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_join(ann, "lobby", 0);
  expect(ann, PERIGEE_JOINED);
  say("in");
  Exchange exchange = {0};
  uint64_t deadline = now_ms() + 5 * PATIENCE_MS;
  while (exchange.sent < argument || exchange.received < argument) {
    char json[16];
    snprintf(json, sizeof json, "%d", exchange.sent + 1);
    for (int i = 0; i < 5 && exchange.sent < argument; i++) {
      snprintf(json, sizeof json, "%d", exchange.sent + 1);
      if (perigee_send(ann, 0, "up", json, 0) == 0) exchange.sent++;
    }
    perigee_poll(ann, 2);
    take(ann, &exchange);
    assert_true(exchange.lost == 0 && now_ms() < deadline);
  }
  // What cuts are left fall on pings.
  say("sent");
  char line[16];
  struct pollfd input = {.fd = 0, .events = POLLIN};
  while (poll(&input, 1, 0) == 0) {
    perigee_ping(ann, 0);
    perigee_poll(ann, 2);
    take(ann, &exchange);
    assert_true(exchange.lost == 0 && now_ms() < deadline);
  }
  assert_non_null(fgets(line, sizeof line, stdin));
  int request = perigee_ask(ann, 0, "count", NULL, 30000);
  const PerigeeEvent *event;
  do event = any_event(ann, PATIENCE_MS);
  while (event &&
         (event->type != PERIGEE_ANSWER || event->request != (uint32_t)request));
  assert_non_null(event);
  char wanted[32];
  snprintf(wanted, sizeof wanted, "[%d,0]", argument);
  assert_string_equal(wanted, (const char *)event->data);
  assert_int_equal(argument, exchange.received);
  assert_int_equal(0, exchange.wrong);
  // A line of datagrams that loses some is not cut.
  assert_true(exchange.resumed > 0 || transport == PERIGEE_UDP);
}

// The server's figures tell the spec which way it was.
static void what_may_be_lost_goes_by_datagrams(void **state) {
  (void)state;
  enum { COUNT = 50 };
  PerigeeClient *ann = open_client("ann"), *bob = open_client("bob");
  uint32_t room = join_lobby(ann);
  join_lobby(bob);
  expect(ann, PERIGEE_PEER_JOINED);
  uint64_t deadline = now_ms() + DEADLINE_MS;
  while (ups < 2 && now_ms() < deadline) {
    assert_null(any_event(ann, 1));
    assert_null(any_event(bob, 1));
  }
  assert_int_equal(2, ups);
  char small[1000] = {0};  // two do not fit into a datagram
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(0,
                     perigee_relay(ann, room, small, sizeof small, PERIGEE_UNRELIABLE));
  for (int i = 0; i < COUNT; i++) expect(bob, PERIGEE_RELAY);
  char large[3000] = {0};  // does not fit into a datagram
  perigee_relay(ann, room, large, sizeof large, PERIGEE_UNRELIABLE);
  assert_int_equal(sizeof large, expect(bob, PERIGEE_RELAY)->size);
}

static int run_one(const struct CMUnitTest *test) {
  return _cmocka_run_group_tests("live", test, 1, NULL, NULL);
}

static const char *const TRANSPORTS[] = {"tcp", "attached", "udp"};

int main(int argc, char **argv) {
  const struct CMUnitTest restart = TEST(a_server_that_ends_and_comes_back);
  const struct CMUnitTest cuts = TEST(what_is_reliable_arrives_once_and_in_order);
  const struct CMUnitTest datagrams = TEST(what_may_be_lost_goes_by_datagrams);
  if (argc < 4) return 2;
  address = argv[2];
  for (transport = PERIGEE_TCP; strcmp(argv[3], TRANSPORTS[transport]) != 0;
       transport++)
    if (transport == PERIGEE_UDP) return 2;
  if (argc > 4) argument = atoi(argv[4]);
  if (strcmp(argv[1], "all") == 0) return all();
  if (strcmp(argv[1], "restart") == 0) return run_one(&restart);
  if (strcmp(argv[1], "datagrams") == 0) return run_one(&datagrams);
  return strcmp(argv[1], "cuts") == 0 ? run_one(&cuts) : 2;
}
