// Tests of features that only the C client has: impossible arguments, calls before it
// is connected, its loop. tests/stories tests the behaviour that all clients share.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Connecting ---

static void refuses_addresses_and_names_that_cannot_be(void **state) {
  (void)state;
  static const char *const BAD[] = {"",           ":1",         "a b",  "host:0",
                                    "host:65536", "host:x",     "[::1", "[::1]x",
                                    "gopher://x", "host:123456"};
  fake_open(&server);
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    int code = 0;
    assert_null(perigee_connect(BAD[i], NULL, &code));
    assert_int_equal(PERIGEE_BAD_ARGUMENT, code);
  }
  char name[66] = {0};
  memset(name, 'x', 65);
  PerigeeOptions options;
  perigee_options_init(&options);
  static const char *const BAD_NAMES[] = {"", "two\nlines", "no \xc3\x28 UTF-8"};
  for (size_t i = 0; i < sizeof BAD_NAMES / sizeof *BAD_NAMES; i++) {
    options.name = BAD_NAMES[i];
    assert_null(perigee_connect("localhost", &options, NULL));
  }
  options.name = name;
  assert_null(perigee_connect("localhost", &options, NULL));
  assert_int_equal(PERIGEE_STATE_CLOSED, perigee_state(NULL));
}

static void refuses_names_that_no_room_and_no_channel_can_have(void **state) {
  (void)state;
  fake_connect(&server, NULL, 3);
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, "", 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, NULL, 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, "\xff", 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_open_channel(server.client, "\t", 0));
  assert_int_equal(0, perigee_find_room(server.client, NULL));
  assert_int_equal(PERIGEE_BAD_ARGUMENT,
                   perigee_send_packet(server.client, 2, 1, "", 0, 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_close_channel(server.client, 1000));
}

static void codes_have_names(void **state) {
  (void)state;
  assert_string_equal("Unknown", perigee_code_name(999));
  assert_string_equal("RoomFull", perigee_code_name(PERIGEE_ROOM_FULL));
  assert_string_equal("QueueFull", perigee_code_name(PERIGEE_QUEUE_FULL));
  assert_int_equal(0x000100, perigee_version());
}

static void what_is_called_for_before_it_is_connected_waits(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  int request = perigee_join(server.client, "arena", 0);
  perigee_send(server.client, 0, "lost", NULL, PERIGEE_UNRELIABLE);
  perigee_send(server.client, 0, "kept", NULL, 0);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = 0});
  fake_event(&server, PERIGEE_CONNECTED);
  fake_let_in(&server, peer, ROOM, "arena", "");
  fake_expect_message(&server, peer, 0, "[\"kept\",null]");
  assert_int_equal(request, fake_event(&server, PERIGEE_JOINED)->request);
  assert_int_equal(0, perigee_unconfirmed(server.client));
}

// --- The loop ---

static void an_event_that_is_there_is_not_waited_for(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  assert_true(perigee_wait_ms(server.client) > 0);
  perigee_close(server.client);
  PerigeeFd fds[2];
  assert_int_equal(0, perigee_fds(server.client, fds));
  assert_int_equal(0, perigee_wait_ms(server.client));
  assert_int_equal(PERIGEE_CLOSED, perigee_next_event(server.client)->type);
  assert_int_equal(-1, perigee_wait_ms(server.client));
}

static void events_that_nobody_takes_stop_the_reading(void **state) {
  (void)state;
  enum { COUNT = 6000, LIMIT = 4096 };
  FakePeer *peer = fake_connect(&server, NULL, 3);
  for (uint64_t i = 0; i < COUNT; i++) {
    fake_packet(peer, (Packet){.channel = 3000}, "d", i);
    if (i % 100 == 0) perigee_poll(server.client, 0);
  }
  fake_packet(peer, (Packet){.channel = 3001}, "");
  for (int i = 0; i < 1000; i++) perigee_poll(server.client, 0);
  PerigeeFd fds[2];
  assert_int_equal(1, perigee_fds(server.client, fds));
  assert_false(fds[0].wants_read);
  for (uint32_t i = 0; i < COUNT; i++) {
    const PerigeeEvent *event = perigee_next_event(server.client);
    if (i < LIMIT) assert_non_null(event);
    if (!event) event = fake_event(&server, PERIGEE_PACKET);
    uint32_t value;
    memcpy(&value, event->data, 4);
    assert_int_equal(i, value);
  }
  assert_int_equal(3001, fake_event(&server, PERIGEE_PACKET)->channel);
}

// If the system takes no more bytes of a stream, the rest must arrive over another
// connection.
static void a_stream_that_cannot_be_sent_ends_its_connection(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  PerigeeFd fds[2];
  assert_int_equal(1, perigee_fds(server.client, fds));
  assert_int_equal(0, shutdown(fds[0].fd, SHUT_WR));
  perigee_send(server.client, 0, "kept", NULL, 0);
  fake_expect_cut(fake_event(&server, PERIGEE_DISCONNECTED));
  fake_event(&server, PERIGEE_RECONNECTING);
  (void)peer;
  peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = 4, .is_resumed = 1});
  fake_event(&server, PERIGEE_RESUMED);
  fake_expect_message(&server, peer, 0, "[\"kept\",null]");
}

static void a_client_without_sockets_is_not_polled(void **state) {
  (void)state;
  server.client = NULL;
  PerigeeClient *bare = perigee_new(NULL, 0, NULL);
  PerigeeFd fds[2];
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_poll(bare, 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_fds(bare, fds));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_wait_ms(bare));
  assert_int_equal(0, perigee_poll_all(&bare, 1, NULL, 0, 0));
  perigee_free(bare);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(refuses_addresses_and_names_that_cannot_be),
      TEST(refuses_names_that_no_room_and_no_channel_can_have),
      TEST(codes_have_names),
      TEST(what_is_called_for_before_it_is_connected_waits),
      TEST(an_event_that_is_there_is_not_waited_for),
      TEST(events_that_nobody_takes_stop_the_reading),
      TEST(a_stream_that_cannot_be_sent_ends_its_connection),
      TEST(a_client_without_sockets_is_not_polled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
