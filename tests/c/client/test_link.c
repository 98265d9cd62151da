// How a client's driver connects, where the test gives its addresses, and how it drives
// many clients. The test links the library's parts instead of its archive.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fake_server.h"
#include "driver.h"
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
  const struct addrinfo *addresses = server.client->driver->addresses;
  assert_non_null(addresses);
  FakePeer *again = fake_resume(&server, peer, 4, 0);
  fake_event(&server, PERIGEE_RESUMED);
  assert_ptr_equal(addresses, server.client->driver->addresses);
  // Another program has the port now.
  fake_cut(again);
  fake_event(&server, PERIGEE_DISCONNECTED);
  fake_event(&server, PERIGEE_RECONNECTING);
  fake_cut(fake_accept(&server));
  fake_event(&server, PERIGEE_RECONNECTING);
  assert_null(server.client->driver->addresses);
}

// A port that neither accepts nor refuses connections, because its queue is full.
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
  struct addrinfo *good = server.client->driver->addresses, first = *good;
  first.ai_addr = (struct sockaddr *)&deaf.address;
  first.ai_next = good;
  server.client->driver->addresses = &first;
  FakePeer *again = fake_resume(&server, peer, 4, 0);
  fake_event(&server, PERIGEE_RESUMED);
  assert_int_equal(again - server.peers, 1);
  server.client->driver->addresses = good;
  deaf_close(&deaf);
}

// If no server listens, the system may give a socket the same port to which it
// connects.
static void a_socket_that_hears_itself_is_not_connected(void **state) {
  (void)state;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in own = bind_to_loopback(fd);
  fake_open(&server);
  assert_int_equal(0, connect(fd, (struct sockaddr *)&own, sizeof own));
  assert_true(os_is_refused(os_finish_tcp(fd)));
  os_close(fd);
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

// --- Waiting ---

static void on_alarm(int number) { (void)number; }

static void a_signal_ends_the_wait(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
  struct itimerval soon = {.it_value.tv_usec = 50000, .it_interval.tv_usec = 50000};
  static const struct itimerval NEVER;
  fake_connect(&server, NULL, 3);
  sigaction(SIGALRM, &action, &before);
  setitimer(ITIMER_REAL, &soon, NULL);
  assert_int_equal(0, perigee_poll(server.client, -1));
  setitimer(ITIMER_REAL, &NEVER, NULL);
  sigaction(SIGALRM, &before, NULL);
  fake_expect_silence(&server);
}

static void many_clients_and_descriptors_share_one_wait(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  PerigeeClient *first = server.client;
  server.client = perigee_connect(server.address, NULL, NULL);
  FakePeer *other = fake_accept(&server);
  fake_welcome(other, &(FakeWelcome){.token = 4});
  fake_event(&server, PERIGEE_CONNECTED);
  int ends[2];
  assert_int_equal(0, pipe(ends));
  PerigeeClient *clients[] = {first, server.client};
  PerigeeFd input = {.fd = ends[0], .wants_read = 1};
  assert_int_equal(0, perigee_poll_all(clients, 2, &input, 1, 0));
  assert_false(input.wants_read);
  fake_packet(other, (Packet){.channel = 3000}, "");
  input.wants_read = 1;
  assert_int_equal(1, perigee_poll_all(clients, 2, &input, 1, -1));
  assert_ptr_equal(server.client, clients[0]);
  assert_ptr_equal(first, clients[1]);
  assert_int_equal(PERIGEE_PACKET, perigee_next_event(clients[0])->type);
  assert_int_equal(1, write(ends[1], "x", 1));
  input.wants_read = 1;
  assert_int_equal(0, perigee_poll_all(clients, 2, &input, 1, -1));
  assert_true(input.wants_read);
  fake_packet(peer, (Packet){.channel = 3000}, "");
  assert_int_equal(1, perigee_poll_all(clients, 2, NULL, 0, -1));
  assert_ptr_equal(first, clients[0]);
  perigee_free(first);
  close(ends[0]);
  close(ends[1]);
}

static void clients_that_are_closed_are_not_waited_for(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  perigee_close(server.client);
  assert_int_equal(1, perigee_poll_all(&server.client, 1, NULL, 0, -1));
  fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(0, perigee_poll_all(&server.client, 1, NULL, 0, -1));
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_name_is_resolved_once_while_its_addresses_are_good),
      TEST(an_address_that_does_not_answer_leaves_time_for_the_next),
      TEST(a_socket_that_hears_itself_is_not_connected),
      TEST(counts_go_round),
      TEST(a_signal_ends_the_wait),
      TEST(many_clients_and_descriptors_share_one_wait),
      TEST(clients_that_are_closed_are_not_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
