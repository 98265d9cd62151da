// Stories in which tests/e2e/c_client_spec.lua takes part. Each printed line reports to
// the spec how far a story is.
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

#include "client/live.h"

static void say(const char *text) {
  puts(text);
  fflush(stdout);
}

static void a_server_that_ends_and_comes_back(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  uint32_t room = join_lobby(ann);
  say("in");
  assert_int_equal(PERIGEE_UNAVAILABLE, expect(ann, PERIGEE_DISCONNECTED)->code);
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

// The spec kills and restarts the server, which then has the room and the session again.
static void a_session_that_survives_the_server(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  uint32_t room = join(ann, "duel:1"), id = perigee_peer_id(ann);
  say("in");
  expect(ann, PERIGEE_DISCONNECTED);
  say("out");
  const PerigeeEvent *event;
  do event = any_event(ann, PATIENCE_MS);
  while (event && event->type == PERIGEE_RECONNECTING);
  assert_non_null(event);
  assert_int_equal(PERIGEE_RESTORED, event->type);
  assert_int_equal(id, perigee_peer_id(ann));
  expect_answer(ann, perigee_ask(ann, room, "add", NULL, 0), "1");
}

typedef struct Exchange {
  int sent, received;
  int wrong;  // number of messages that came in the wrong order
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

// The spec's proxy cuts the connection again and again. The story ends when all
// messages have arrived in both directions.
static void what_is_reliable_arrives_once_and_in_order(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  perigee_join(ann, "lobby", 0);
  expect(ann, PERIGEE_JOINED);
  say("in");
  Exchange exchange = {0};
  int argument = atoi(live.argument);
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
  // The remaining cuts happen during pings.
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
  // By UDP, the proxy drops datagrams, and the connection lasts.
  assert_true(exchange.resumed > 0 || live.transport == PERIGEE_UDP);
}

// The server's counters show the spec which transport was used.
static void what_may_be_lost_goes_by_datagrams(void **state) {
  (void)state;
  enum { COUNT = 50 };
  PerigeeClient *ann = open_client("ann"), *bob = open_client("bob");
  uint32_t room = join_lobby(ann);
  join_lobby(bob);
  expect(ann, PERIGEE_PEER_JOINED);
  uint64_t deadline = now_ms() + DEADLINE_MS;
  while (live.ups < 2 && now_ms() < deadline) {
    assert_null(any_event(ann, 1));
    assert_null(any_event(bob, 1));
  }
  assert_int_equal(2, live.ups);
  char small[1000] = {0};  // two of these do not fit into a datagram
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(0,
                     perigee_relay(ann, room, small, sizeof small, PERIGEE_UNRELIABLE));
  for (int i = 0; i < COUNT; i++) expect(bob, PERIGEE_RELAY);
  char large[3000] = {0};  // does not fit into a datagram
  perigee_relay(ann, room, large, sizeof large, PERIGEE_UNRELIABLE);
  assert_int_equal(sizeof large, expect(bob, PERIGEE_RELAY)->size);
}

// --- A game with a schema: its messages are bytes ---

static uint64_t schema_hash(void) { return strtoull(live.argument, NULL, 16); }

static PerigeeClient *open_knowing(uint64_t hash) {
  PerigeeOptions options = options_of("ann");
  options.protocol_hash = hash;
  return open_with(&options);
}

static void expect_bytes(PerigeeClient *client, PerigeeEventType type, uint16_t number,
                         const void *bytes, size_t size) {
  const PerigeeEvent *event = expect(client, type);
  assert_int_equal(number, event->number);
  assert_int_equal(size, event->size);
  assert_memory_equal(bytes, event->data, size);
}

static void messages_of_a_schema_are_bytes(void **state) {
  (void)state;
  enum { SUM = 7, QUIZ = 8, RIDDLE = 9, SOLVED = 10 };
  PerigeeClient *ann = open_knowing(schema_hash());
  expect(ann, PERIGEE_CONNECTED);
  perigee_ask_bytes(ann, 0, SUM, "\x01\x02\x03\x04", 4, 0);
  expect_bytes(ann, PERIGEE_ANSWER, SUM, "\x04\x06\0\0", 4);
  perigee_send_bytes(ann, 0, QUIZ, NULL, 0, 0);
  const PerigeeEvent *event = expect(ann, PERIGEE_QUESTION);
  assert_int_equal(RIDDLE, event->number);
  assert_memory_equal("\x02\x01", event->data, 2);
  assert_int_equal(0, perigee_answer_bytes(ann, &event->question, "\x09\0", 2));
  expect_bytes(ann, PERIGEE_MESSAGE, SOLVED, "\x09\0", 2);
  perigee_send(ann, 0, "plain", "1", 0);  // the schema does not have this message
  expect_message(ann, "plain", "1");
  perigee_send_bytes(ann, 0, SUM, "\x01", 1, 0);
  assert_int_equal(PERIGEE_PROTOCOL, expect(ann, PERIGEE_CLOSED)->code);
}

static void without_the_schema_they_are_json(void **state) {
  (void)state;
  PerigeeClient *bob = open_client("bob");
  expect_answer(bob, perigee_ask(bob, 0, "sum", "{\"a\":1,\"b\":2}", 0), "3");
}

static void another_schema_is_refused(void **state) {
  (void)state;
  const PerigeeEvent *event = expect(open_knowing(schema_hash() + 1), PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_PROTOCOL_HASH_MISMATCH, event->code);
  char hash[17];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)schema_hash());
  // A datagram is too small for both hashes.
  assert_true(live.transport == PERIGEE_UDP || strstr(event->text, hash) != NULL);
}

static int schema(void) {
  const struct CMUnitTest tests[] = {
      TEST(messages_of_a_schema_are_bytes),
      TEST(without_the_schema_they_are_json),
      TEST(another_schema_is_refused),
  };
  return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}

// --- A room with more members than fit into a packet of the server's 256 bytes ---

static void all_members_of_a_large_room_are_known(void **state) {
  (void)state;
  PerigeeClient *ann = open_client("ann");
  while (live.client_count < CLIENTS_MAX)
    join(open_client("a name of thirty-two characters."), "hall");
  perigee_join(ann, "hall", 0);
  uint32_t room = expect(ann, PERIGEE_JOINED)->room, count;
  while ((count = perigee_member_count(ann, room)) < CLIENTS_MAX - 1)
    assert_string_equal("a name of thirty-two characters.",
                        expect(ann, PERIGEE_PEER_JOINED)->name);
  assert_int_equal(CLIENTS_MAX - 1, count);
}

static int run_one(const struct CMUnitTest *test) {
  return _cmocka_run_group_tests("live", test, 1, NULL, NULL);
}

int run_story(const char *name) {
  const struct CMUnitTest restart = TEST(a_server_that_ends_and_comes_back);
  const struct CMUnitTest restored = TEST(a_session_that_survives_the_server);
  const struct CMUnitTest cuts = TEST(what_is_reliable_arrives_once_and_in_order);
  const struct CMUnitTest datagrams = TEST(what_may_be_lost_goes_by_datagrams);
  const struct CMUnitTest crowd = TEST(all_members_of_a_large_room_are_known);
  if (strcmp(name, "schema") == 0) return schema();
  if (strcmp(name, "crowd") == 0) return run_one(&crowd);
  if (strcmp(name, "restart") == 0) return run_one(&restart);
  if (strcmp(name, "restored") == 0) return run_one(&restored);
  if (strcmp(name, "datagrams") == 0) return run_one(&datagrams);
  return strcmp(name, "cuts") == 0 ? run_one(&cuts) : 2;
}
