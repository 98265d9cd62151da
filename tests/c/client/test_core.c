// A client without sockets. The test carries its bytes and datagrams, and sets the
// time.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

enum { SECOND_US = 1000000, EVENTS_MAX = 4096 };

typedef struct Core {
  PerigeeClient *client;
  uint64_t now_us;
} Core;

static Core core;

static void create(PerigeeTransport transport) {
  PerigeeOptions options = fake_options();
  options.transport = transport;
  core = (Core){.now_us = 5 * SECOND_US};
  core.client = perigee_new(&options, core.now_us, NULL);
  assert_non_null(core.client);
}

static int tear_down(void **state) {
  (void)state;
  perigee_free(core.client);
  core.client = NULL;
  return 0;
}

static const PerigeeEvent *expect_event(PerigeeEventType type) {
  const PerigeeEvent *event = perigee_next_event(core.client);
  assert_non_null(event);
  assert_int_equal(type, event->type);
  return event;
}

static void expect_no_event(void) { assert_null(perigee_next_event(core.client)); }

// Takes what the client sends; returns the type of its first packet.
static uint16_t expect_packet(void) {
  size_t size;
  Packet packet;
  const uint8_t *bytes = perigee_output(core.client, &size, core.now_us);
  assert_true(packet_read(bytes, size, 1 << 20, &packet) > 0);
  uint16_t type = packet.type;
  perigee_sent(core.client, size);
  return type;
}

static void receive(const Buf *bytes) {
  perigee_receive(core.client, bytes->data, bytes->size, core.now_us);
}

static void receive_packet(Packet packet) {
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  receive(&bytes);
  buf_deinit(&bytes);
}

static void welcome(const FakeWelcome *fields) {
  Buf bytes = {0};
  fake_welcome_packet(&bytes, fields);
  receive(&bytes);
  buf_deinit(&bytes);
}

static void connect_client(PerigeeTransport transport) {
  create(transport);
  perigee_connection_opened(core.client, core.now_us);
  assert_int_equal(CONTROL_HELLO, expect_packet());
  welcome(&(FakeWelcome){.token = 3});
  expect_event(PERIGEE_CONNECTED);
  assert_int_equal(CONTROL_PING, expect_packet());
}

static void advance_to(uint64_t now_us) {
  core.now_us = now_us;
  perigee_advance(core.client, now_us);
}

// Moves the time from one deadline of the client to the next, until the client has an
// event or `until_us` has come.
static void advance_until(uint64_t until_us) {
  uint64_t due_us;
  while ((due_us = perigee_due_us(core.client)) <= until_us) {
    advance_to(due_us > core.now_us ? due_us : core.now_us);
    if (!perigee_wants_input(core.client)) break;
  }
  advance_to(until_us);
}

// --- Connections ---

static void nothing_is_sent_before_the_connection_is_open(void **state) {
  (void)state;
  size_t size;
  create(PERIGEE_TCP);
  assert_int_equal(1, perigee_connection(core.client));
  perigee_output(core.client, &size, core.now_us);
  assert_int_equal(0, size);
  perigee_connection_opened(core.client, core.now_us);
  assert_int_equal(CONTROL_HELLO, expect_packet());
  perigee_output(core.client, &size, core.now_us);
  assert_int_equal(0, size);
}

static void each_connection_has_a_number(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  assert_int_equal(1, perigee_connection(core.client));
  perigee_connection_ended(core.client, PERIGEE_CONNECTION_RESET, "gone", core.now_us);
  assert_int_equal(0, perigee_connection(core.client));
  assert_string_equal("gone", expect_event(PERIGEE_DISCONNECTED)->text);
  uint64_t pause_us = expect_event(PERIGEE_RECONNECTING)->time_us;
  assert_in_range(perigee_due_us(core.client), core.now_us + pause_us,
                  core.now_us + pause_us + 1000);
  advance_to(perigee_due_us(core.client));
  assert_int_equal(2, perigee_connection(core.client));
  perigee_connection_opened(core.client, core.now_us);
  assert_int_equal(CONTROL_HELLO, expect_packet());
  welcome(&(FakeWelcome){.token = 3, .is_resumed = 1});
  expect_event(PERIGEE_RESUMED);
  perigee_close(core.client);
  perigee_connection_ended(core.client, PERIGEE_CONNECTION_CLOSED, "", core.now_us);
  expect_event(PERIGEE_CLOSED);
  assert_int_equal(0, perigee_connection(core.client));
  assert_true(perigee_due_us(core.client) == UINT64_MAX);
}

static void a_server_that_never_welcomes_is_given_up(void **state) {
  (void)state;
  create(PERIGEE_TCP);
  perigee_connection_opened(core.client, core.now_us);
  uint64_t start_us = core.now_us;
  advance_until(start_us + 9 * SECOND_US);
  expect_no_event();
  advance_until(start_us + 10 * SECOND_US);
  assert_int_equal(PERIGEE_TIMEOUT, expect_event(PERIGEE_CLOSED)->code);
}

static void a_name_that_cannot_be_is_refused(void **state) {
  (void)state;
  int code = 0;
  PerigeeOptions options = fake_options();
  options.name = "";
  assert_null(perigee_new(&options, 0, &code));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, code);
}

// --- Time ---

static void a_request_begins_with_the_next_time(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  core.now_us += 3 * SECOND_US;
  int request = perigee_join(core.client, "arena", 1000);
  assert_int_equal(0, perigee_due_us(core.client));
  assert_int_equal(CONTROL_JOIN, expect_packet());
  advance_until(core.now_us + SECOND_US - 1000);
  expect_no_event();
  advance_until(core.now_us + 1000);
  const PerigeeEvent *event = expect_event(PERIGEE_FAILED);
  assert_int_equal(request, event->request);
  assert_int_equal(PERIGEE_TIMEOUT, event->code);
}

static void a_round_trip_begins_when_the_ping_is_sent(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  core.now_us += SECOND_US;
  int request = perigee_ping(core.client, 0);
  size_t size;
  Packet ping;
  core.now_us += SECOND_US;
  const uint8_t *bytes = perigee_output(core.client, &size, core.now_us);
  packet_read(bytes, size, 100, &ping);
  ping.type = CONTROL_PONG;
  core.now_us += 70000;
  receive_packet(ping);
  const PerigeeEvent *event = expect_event(PERIGEE_PONG);
  assert_int_equal(request, event->request);
  assert_int_equal(70000, event->time_us);
}

static void a_server_that_is_silent_is_left(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  advance_until(core.now_us + 7 * SECOND_US);
  expect_no_event();
  advance_until(core.now_us + 7 * SECOND_US);
  assert_int_equal(PERIGEE_PING_TIMEOUT, expect_event(PERIGEE_DISCONNECTED)->code);
}

static void closing_waits_for_a_second(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  core.now_us += 3 * SECOND_US;
  perigee_close(core.client);
  assert_int_equal(CONTROL_BYE, expect_packet());
  advance_until(core.now_us + SECOND_US - 1000);
  expect_no_event();
  advance_until(core.now_us + 1000);
  expect_event(PERIGEE_CLOSED);
}

// --- Input ---

static void receive_many(int count) {
  Buf bytes = {0};
  for (int i = 0; i < count; i++) packet_append(&bytes, &(Packet){.channel = 3000});
  receive(&bytes);
  buf_deinit(&bytes);
}

static void input_waits_while_events_do(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  receive_many(EVENTS_MAX - 1);
  assert_true(perigee_wants_input(core.client));
  receive_many(10);
  assert_false(perigee_wants_input(core.client));
  perigee_connection_ended(core.client, PERIGEE_CONNECTION_RESET, "x", core.now_us);
  for (int i = 0; i < EVENTS_MAX; i++) expect_event(PERIGEE_PACKET);
  expect_no_event();
  assert_int_equal(0, perigee_due_us(core.client));
  advance_to(core.now_us);
  for (int i = 0; i < 9; i++) expect_event(PERIGEE_PACKET);
  expect_event(PERIGEE_DISCONNECTED);
}

static void a_program_that_takes_no_events_does_not_call_it_silence(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  receive_many(EVENTS_MAX);
  for (int i = 0; i < 60; i++) advance_to(core.now_us + SECOND_US);
  assert_int_equal(PERIGEE_STATE_OPEN, perigee_state(core.client));
}

static void packets_come_in_single_bytes(void **state) {
  (void)state;
  connect_client(PERIGEE_TCP);
  Buf bytes = {0};
  packet_append(
      &bytes,
      &(Packet){.channel = 3000, .length = 2, .payload = (const uint8_t *)"hi"});
  for (size_t i = 0; i < bytes.size; i++) {
    expect_no_event();
    perigee_receive(core.client, bytes.data + i, 1, core.now_us);
  }
  buf_deinit(&bytes);
  assert_string_equal("hi", (const char *)expect_event(PERIGEE_PACKET)->data);
}

// --- Memory ---

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#include <malloc.h>

static size_t allocated(void) { return mallinfo2().uordblks; }

// Measures the memory of clients that are each in a room with three others.
static void idle_clients_are_small(void **state) {
  (void)state;
  enum { COUNT = 1000, MOST = 4096 };
  static PerigeeClient *clients[COUNT];
  size_t before = allocated();
  for (int i = 0; i < COUNT; i++) {
    connect_client(PERIGEE_TCP);
    clients[i] = core.client;
    perigee_join(core.client, "arena", 0);
    expect_packet();
    static const char JOINED[] =
        "\5\0\0\0\5arena\7\0\0\0\3\0\11\0\0\0\3bob\12\0\0\0\4cleo\13\0\0\0\4dora";
    Packet joined = fake_answer(CONTROL_JOINED, &(Packet){.ref = 1});
    joined.payload = (const uint8_t *)JOINED;
    joined.length = sizeof JOINED - 1;
    receive_packet(joined);
    expect_event(PERIGEE_JOINED);
    receive_packet((Packet){
        .type = CONTROL_ACK, .length = 4, .payload = (const uint8_t *)"\1\0\0\0"});
    // All memory for earlier packets has been freed.
    perigee_send(core.client, 0, "big", NULL, PERIGEE_UNRELIABLE);
    static const uint8_t MUCH[100000];
    perigee_send_packet(core.client, 3000, 1, MUCH, sizeof MUCH, PERIGEE_UNRELIABLE);
    expect_packet();
    receive_packet((Packet){.channel = 3000, .length = sizeof MUCH, .payload = MUCH});
    expect_event(PERIGEE_PACKET);
    advance_to(core.now_us);
    expect_no_event();
  }
  size_t each = (allocated() - before) / COUNT;
  for (int i = 0; i < COUNT; i++) perigee_free(clients[i]);
  core.client = NULL;
  print_message("%zu bytes for each client\n", each);
  assert_in_range(each, 1, MOST);
}
#else
static void idle_clients_are_small(void **state) { (void)state; }
#endif

// --- Datagrams ---

static void datagrams_beside_tcp_are_asked_for_at_the_port_of_welcome(void **state) {
  (void)state;
  static const uint8_t KEY[32] = {1};
  uint8_t datagram[PERIGEE_DATAGRAM_MAX];
  uint16_t port;
  create(PERIGEE_TCP_AND_UDP);
  perigee_connection_opened(core.client, core.now_us);
  assert_false(perigee_uses_datagrams(core.client));
  welcome(&(FakeWelcome){.token = 3, .udp_port = 4000, .udp_key = KEY});
  assert_true(perigee_uses_datagrams(core.client));
  assert_true(perigee_next_datagram(core.client, datagram, &port, core.now_us) > 0);
  assert_int_equal(4000, port);
  assert_int_equal(0, perigee_next_datagram(core.client, datagram, &port, core.now_us));
  perigee_receive_datagram(core.client, "nonsense", 8, core.now_us);
  assert_int_equal(0, perigee_next_datagram(core.client, datagram, &port, core.now_us));
  core.now_us += SECOND_US / 4;
  assert_true(perigee_next_datagram(core.client, datagram, &port, core.now_us) > 0);
  core.now_us += 5 * SECOND_US;
  perigee_next_datagram(core.client, datagram, &port, core.now_us);
  assert_false(perigee_uses_datagrams(core.client));
}

static void datagrams_alone_begin_again_at_another_address(void **state) {
  (void)state;
  uint8_t first[PERIGEE_DATAGRAM_MAX], second[PERIGEE_DATAGRAM_MAX];
  uint16_t port;
  create(PERIGEE_UDP);
  perigee_connection_opened(core.client, core.now_us);
  size_t size = perigee_next_datagram(core.client, first, &port, core.now_us);
  assert_int_equal(64, size - size % 64);
  assert_int_equal(0, port);
  assert_int_equal(0, perigee_next_datagram(core.client, second, &port, core.now_us));
  perigee_connection_opened(core.client, core.now_us);
  assert_int_equal(size,
                   perigee_next_datagram(core.client, second, &port, core.now_us));
  assert_memory_not_equal(first, second, size);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_sent_before_the_connection_is_open),
      TEST(each_connection_has_a_number),
      TEST(a_server_that_never_welcomes_is_given_up),
      TEST(a_name_that_cannot_be_is_refused),
      TEST(a_request_begins_with_the_next_time),
      TEST(a_round_trip_begins_when_the_ping_is_sent),
      TEST(a_server_that_is_silent_is_left),
      TEST(closing_waits_for_a_second),
      TEST(input_waits_while_events_do),
      TEST(a_program_that_takes_no_events_does_not_call_it_silence),
      TEST(packets_come_in_single_bytes),
      TEST(idle_clients_are_small),
      TEST(datagrams_beside_tcp_are_asked_for_at_the_port_of_welcome),
      TEST(datagrams_alone_begin_again_at_another_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
