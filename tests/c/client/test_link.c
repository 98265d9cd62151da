// How a client comes to a connection and finds that it is dead, with the client's clock and addresses
// in the test's hands: the library's parts instead of its archive.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fake_server.h"
#include "internal.h"

static FakeServer server;

// --- Addresses ---

static struct sockaddr_in bind_to_loopback(int fd) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  assert_int_equal(0, bind(fd, (struct sockaddr *)&address, size));
  getsockname(fd, (struct sockaddr *)&address, &size);
  return address;
}

static void a_name_is_resolved_once_while_its_addresses_are_good(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  const struct addrinfo *addresses = server.client->target.addresses;
  assert_non_null(addresses);
  FakePeer *again = fake_resume(&server, peer, 4, 0);
  fake_event(&server, PERIGEE_RESUMED);
  assert_ptr_equal(addresses, server.client->target.addresses);
  // Somebody else has the port now.
  fake_cut(again);
  fake_event(&server, PERIGEE_DISCONNECTED);
  fake_event(&server, PERIGEE_RECONNECTING);
  fake_cut(fake_accept(&server));
  fake_event(&server, PERIGEE_RECONNECTING);
  assert_null(server.client->target.addresses);
}

// A port where nobody is let in, nor refused: its queue is full.
typedef struct Deaf {
  int listening, waiting[4];
  struct sockaddr_in address;
} Deaf;

static void deaf_open(Deaf *deaf) {
  deaf->listening = socket(AF_INET, SOCK_STREAM, 0);
  deaf->address = bind_to_loopback(deaf->listening);
  assert_int_equal(0, listen(deaf->listening, 0));
  for (int i = 0; i < 4; i++) {
    deaf->waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)!connect(deaf->waiting[i], (struct sockaddr *)&deaf->address,
                   sizeof deaf->address);
  }
}

static void deaf_close(Deaf *deaf) {
  for (int i = 0; i < 4; i++) close(deaf->waiting[i]);
  close(deaf->listening);
}

static void an_address_that_does_not_answer_leaves_time_for_the_next(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.timeout_ms = 2000;
  FakePeer *peer = fake_connect(&server, &options, 3);
  Deaf deaf;
  deaf_open(&deaf);
  struct addrinfo *good = server.client->target.addresses, first = *good;
  first.ai_addr = (struct sockaddr *)&deaf.address;
  first.ai_next = good;
  server.client->target.addresses = &first;
  FakePeer *again = fake_resume(&server, peer, 4, 0);
  fake_event(&server, PERIGEE_RESUMED);
  assert_int_equal(again - server.peers, 1);
  server.client->target.addresses = good;
  deaf_close(&deaf);
}

// Where nobody listens the system may give a socket the very port that it connects to.
static void a_socket_that_hears_itself_is_not_connected(void **state) {
  (void)state;
  Socket s = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
  struct sockaddr_in own = bind_to_loopback(s.fd);
  fake_open(&server);
  assert_int_equal(0, connect(s.fd, (struct sockaddr *)&own, sizeof own));
  assert_int_equal(SOCKET_END, socket_finish(&s));
  assert_int_equal(ECONNREFUSED, s.error);
  assert_int_equal(-1, s.fd);
}

// So many are taken in one turn, whatever they are.
static void datagrams_are_taken_one_by_one(void **state) {
  (void)state;
  enum { COUNT = 3 };
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = bind_to_loopback(fd), from;
  socklen_t size = sizeof from;
  struct addrinfo there = {.ai_family = AF_INET,
                           .ai_addr = (struct sockaddr *)&address,
                           .ai_addrlen = sizeof address};
  fake_open(&server);
  static Datagrams datagrams;
  uint8_t bytes[UDP_REQUEST_MAX];
  assert_true(datagrams_open(&datagrams, &there, 0, clock_us()));
  assert_true(recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size) >=
              64);
  for (int i = 0; i < COUNT; i++)
    sendto(fd, "nonsense", 8, 0, (struct sockaddr *)&from, size);
  for (int i = 0; i < COUNT; i++) {
    struct pollfd polled = {.fd = datagrams.fd, .events = POLLIN};
    assert_int_equal(1, poll(&polled, 1, 15000));
    assert_int_equal(DATAGRAMS_IGNORED, datagrams_receive(&datagrams, clock_us()));
  }
  assert_int_equal(DATAGRAMS_NOTHING, datagrams_receive(&datagrams, clock_us()));
  datagrams_close(&datagrams, PERIGEE_CONNECTION_CLOSED, clock_us());
  close(fd);
}

// --- Counts ---

static void counts_go_round(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  Reliable *stream = &server.client->session.stream;
  stream->sent = stream->acked = stream->received = stream->reported = UINT32_MAX;
  perigee_send(server.client, 0, "n", "1", 0);
  perigee_send(server.client, 0, "n", "2", 0);
  fake_expect_message(&server, peer, 0, "[\"n\",1]");
  fake_expect_message(&server, peer, 0, "[\"n\",2]");
  fake_packet(peer, (Packet){.channel = 3000, .flags = PACKET_RELIABLE}, "");
  fake_packet(peer, fake_control(CONTROL_ACK), "d", (uint64_t)0);
  fake_event(&server, PERIGEE_PACKET);
  fake_expect_silence(&server);
  assert_int_equal(1, perigee_unconfirmed(server.client));
  FakeHello hello;
  FakePeer *again = fake_return(&server, peer, &hello);
  assert_int_equal(0, hello.received);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1, .received = 0});
  fake_expect_message(&server, again, 0, "[\"n\",2]");
}

// --- Silence ---

// As if a ping had waited for its answer for a minute, when it is time for the next.
static void look_back_on_silence(void) {
  PerigeeClient *client = server.client;
  client->link.heard_ms -= 60000;
  client->beat_ping = 1;
  timers_set(&client->timers, &client->beat_timer, clock_ms(),
             client->beat_timer.callback, client);
  perigee_poll(client, 0);
}

static void a_server_that_is_silent_is_left(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  fake_connect(&server, &options, 3);
  fake_expect_silence(&server);  // everything has been read
  look_back_on_silence();
  assert_int_equal(PERIGEE_PING_TIMEOUT,
                   fake_event(&server, PERIGEE_DISCONNECTED)->code);
  fake_event(&server, PERIGEE_RECONNECTING);
  FakePeer *again = fake_accept(&server);
  fake_hello(&server, again);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1});
  fake_event(&server, PERIGEE_RESUMED);
}

static void what_lies_unread_is_no_silence(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  fake_expect_silence(&server);
  fake_packet(peer, fake_control(CONTROL_PING), "q", (uint64_t)1);
  struct pollfd polled = {.fd = server.client->link.socket.fd, .events = POLLIN};
  assert_int_equal(1, poll(&polled, 1, 15000));
  look_back_on_silence();
  assert_int_equal(PERIGEE_STATE_OPEN, perigee_state(server.client));
}

static void who_does_not_listen_does_not_call_it_silence(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  for (int i = 0; i < 2 * EVENTS_MAX; i++)
    fake_packet(peer, (Packet){.channel = 3000}, "");
  while (!events_are_full(&server.client->events)) perigee_poll(server.client, 10);
  perigee_poll(server.client, 0);
  look_back_on_silence();
  assert_int_equal(PERIGEE_STATE_OPEN, perigee_state(server.client));
  for (int i = 0; i < 2 * EVENTS_MAX; i++) fake_event(&server, PERIGEE_PACKET);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_name_is_resolved_once_while_its_addresses_are_good),
      TEST(an_address_that_does_not_answer_leaves_time_for_the_next),
      TEST(a_socket_that_hears_itself_is_not_connected),
      TEST(datagrams_are_taken_one_by_one),
      TEST(counts_go_round),
      TEST(a_server_that_is_silent_is_left),
      TEST(what_lies_unread_is_no_silence),
      TEST(who_does_not_listen_does_not_call_it_silence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
