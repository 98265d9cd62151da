// UDP beside TCP, and UDP alone. The server does what each test says, and its side of
// the connection comes from src/wire.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fake_server.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

static FakeServer server;
static const uint8_t KEY[UDP_KEY_SIZE] = "the key that WELCOME has told..";

// State of the server's side of UDP.
static struct {
  int fd;
  uint16_t port;
  UdpCookies cookies;
  struct sockaddr_in from;
  UdpLink *link;
  bool refuses;
  bool stutters;  // whether it challenges twice, with different cookies
  bool is_deaf;   // whether it ignores datagrams and sends none
  int challenges, packets;
  uint32_t size;  // size of the last packet
  Buf stream;
} udp;

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void put(const uint8_t *bytes, size_t size) {
  sendto(udp.fd, bytes, size, 0, (struct sockaddr *)&udp.from, sizeof udp.from);
}

static void produce(void) {
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size;
  while (udp.link && (size = udp_link_produce(udp.link, now_us(), bytes)) > 0) {
    if (!udp.is_deaf) put(bytes, size);
  }
}

// --- The handshake ---

static void say(const UdpRequest *request, const UdpAnswer *answer) {
  uint8_t bytes[UDP_ANSWER_MAX];
  put(bytes, udp_write_answer(bytes, request->size, answer));
}

static void accept_request(const UdpRequest *request, const UdpExtension *extension) {
  uint8_t own[UDP_KEY_SIZE] = {7}, public_key[UDP_KEY_SIZE], shared[UDP_KEY_SIZE];
  bool attaches = extension->flags & UDP_ATTACH;
  UdpAgreement agreement = {
      .secret = KEY, .cookie = extension->cookie, .client_key = extension->client_key};
  if (attaches) {
    assert_int_equal(SELF, extension->peer);
    assert_true(udp_proof_is_good(KEY, extension->cookie, extension->client_key,
                                  extension->proof));
  } else {
    udp_public_key(own, public_key);
    assert_true(udp_shared_secret(own, extension->client_key, shared));
    agreement.secret = shared;
    agreement.server_key = public_key;
  }
  UdpLinkParams params = {.first_sent = 5,
                          .first_received = request->sequence,
                          .is_attached = attaches,
                          .queue_capacity = 64};
  udp_keys_derive(&params.keys, UDP_SERVER, &agreement);
  if (!udp.link) udp.link = udp_link_new(&params, now_us());
  say(request, &(UdpAnswer){.type = UDP_ACCEPTED,
                            .sequence = 5,
                            .port = udp.port,
                            .server_key = agreement.server_key});
}

static void take_request(const uint8_t *bytes, size_t size) {
  UdpRequest request;
  UdpExtension extension;
  UdpOrigin origin = {.port = udp.from.sin_port};
  UdpDoor door = {.cookies = &udp.cookies, .is_hash_good = true};
  uint8_t cookie[UDP_COOKIE_SIZE];
  UdpFault fault;
  assert_int_equal(0, udp_read_request(bytes, size, &request));
  udp_cookies_rotate(&udp.cookies, now_us());
  UdpAnswerType type = udp_judge(&door, &request, &origin, &extension, &fault);
  assert_int_not_equal(UDP_REJECTED, type);
  if (type == UDP_CHALLENGE) {
    udp.challenges++;
    udp_cookie_make(&udp.cookies, &origin, request.hash, cookie);
    say(&request, &(UdpAnswer){.type = UDP_CHALLENGE, .cookie = cookie});
    cookie[0] ^= 1;
    if (udp.stutters)
      say(&request, &(UdpAnswer){.type = UDP_CHALLENGE, .cookie = cookie});
  } else if (udp.refuses) {
    say(&request,
        &(UdpAnswer){
            .type = UDP_REJECTED, .code = CODE_UNAUTHORIZED, .text = "not you"});
  } else {
    accept_request(&request, &extension);
  }
}

// --- Datagrams ---

static void take_arrivals(void) {
  UdpArrival arrival;
  while (udp_link_next(udp.link, &arrival)) {
    if (arrival.kind == UDP_ARRIVAL_STREAM)
      buf_append(&udp.stream, arrival.bytes, arrival.size);
    if (arrival.kind != UDP_ARRIVAL_PACKET) continue;
    udp.packets++;
    udp.size = arrival.packet.length;
  }
}

static void turn(void) {
  uint8_t bytes[UDP_DATAGRAM_MAX + 1];
  socklen_t size = sizeof udp.from;
  ssize_t got;
  while ((got = recvfrom(udp.fd, bytes, sizeof bytes, MSG_DONTWAIT,
                         (struct sockaddr *)&udp.from, &size)) > 0) {
    if (udp.is_deaf) continue;
    if (udp_is_connecting(bytes, (size_t)got)) {
      take_request(bytes, (size_t)got);
    } else if (udp.link) {
      udp_link_receive(udp.link, now_us(), bytes, (size_t)got);
      take_arrivals();
      produce();
    }
  }
  produce();
}

static int set_up(void **state) {
  (void)state;
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  static const uint8_t SEED[UDP_KEY_SIZE] = "of the cookies";
  udp_keys_init();
  udp_cookies_init(&udp.cookies, SEED, now_us());
  udp.fd = socket(AF_INET, SOCK_DGRAM, 0);
  assert_int_equal(0, bind(udp.fd, (struct sockaddr *)&address, sizeof address));
  getsockname(udp.fd, (struct sockaddr *)&address, &size);
  udp.port = ntohs(address.sin_port);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  fake_close(&server);
  memset(&server, 0, sizeof server);
  udp_link_free(udp.link);
  buf_deinit(&udp.stream);
  close(udp.fd);
  memset(&udp, 0, sizeof udp);
  return 0;
}

// --- Beside TCP ---

static FakePeer *enter(uint32_t *room) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.transport = PERIGEE_TCP_AND_UDP;
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  perigee_join(server.client, "arena", 0);
  fake_welcome(peer, &(FakeWelcome){.token = 3, .udp_port = udp.port, .udp_key = KEY});
  fake_event(&server, PERIGEE_CONNECTED);
  fake_let_in(&server, peer, ROOM, "arena", "bc");
  *room = fake_event(&server, PERIGEE_JOINED)->room;
  server.turn = turn;
  return peer;
}

// Drives both sides until that number of packets has arrived by UDP.
static void expect_packets(int count) {
  uint64_t deadline = now_us() + 15000000;
  while (udp.packets < count && now_us() < deadline) {
    perigee_poll(server.client, 2);
    turn();
  }
  assert_int_equal(count, udp.packets);
}

static void relay(uint32_t room, size_t size, uint32_t flags) {
  static const uint8_t BYTES[2000];
  assert_int_equal(0, perigee_relay(server.client, room, BYTES, size, flags));
}

static void what_may_be_lost_goes_by_udp(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = enter(&room);
  fake_event(&server, PERIGEE_UDP_UP);
  assert_int_equal(1, udp.challenges);
  PerigeeFd fds[2];
  assert_int_equal(2, perigee_fds(server.client, fds));
  relay(room, 9, PERIGEE_UNRELIABLE);
  expect_packets(1);
  assert_int_equal(13, udp.size);
  relay(room, 8, 0);
  assert_int_equal(12, fake_expect(&server, peer, 0, CONTROL_BROADCAST).length);
  relay(room, 2000, PERIGEE_UNRELIABLE);  // does not fit into a datagram
  assert_int_equal(2004, fake_expect(&server, peer, 0, CONTROL_BROADCAST).length);
  assert_int_equal(1, udp.packets);
}

static void the_first_challenge_counts(void **state) {
  (void)state;
  uint32_t room;
  udp.stutters = true;
  enter(&room);
  fake_event(&server, PERIGEE_UDP_UP);
  assert_int_equal(1, udp.challenges);
  relay(room, 9, PERIGEE_UNRELIABLE);
  expect_packets(1);
}

static void what_comes_by_udp_is_taken(void **state) {
  (void)state;
  uint32_t room;
  enter(&room);
  fake_event(&server, PERIGEE_UDP_UP);
  Buf bytes = {0};
  Packet packet = {.type = CONTROL_RELAYED,
                   .length = 10,
                   .payload = (const uint8_t *)"\5\0\0\0\x09\0\0\0hi"};
  packet_append(&bytes, &packet);
  udp_link_send(udp.link, bytes.data, bytes.size, 0);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RELAY);
  assert_int_equal(room, event->room);
  assert_string_equal("bob", event->name);
  assert_string_equal("hi", (const char *)event->data);
  // The client does not know this room.
  bytes.data[PACKET_HEADER_SIZE] = 99;
  udp_link_send(udp.link, bytes.data, bytes.size, 0);
  fake_expect_silence(&server);
  buf_deinit(&bytes);
}

static void a_refusal_leaves_everything_to_tcp(void **state) {
  (void)state;
  uint32_t room;
  udp.refuses = true;
  FakePeer *peer = enter(&room);
  fake_expect_silence(&server);
  relay(room, 9, PERIGEE_UNRELIABLE);
  assert_int_equal(13, fake_expect(&server, peer, 0, CONTROL_BROADCAST).length);
}

static void what_does_not_pass_goes_by_tcp_until_it_does(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = enter(&room);
  fake_event(&server, PERIGEE_UDP_UP);
  udp.is_deaf = true;
  relay(room, 9, PERIGEE_UNRELIABLE);
  fake_event(&server, PERIGEE_UDP_DOWN);
  relay(room, 9, PERIGEE_UNRELIABLE);
  assert_int_equal(13, fake_expect(&server, peer, 0, CONTROL_BROADCAST).length);
  udp.is_deaf = false;
  fake_event(&server, PERIGEE_UDP_UP);
  relay(room, 7, PERIGEE_UNRELIABLE);
  uint64_t deadline = now_us() + 15000000;
  while (udp.size != 11 && now_us() < deadline) {
    perigee_poll(server.client, 2);
    turn();
  }
  assert_int_equal(11, udp.size);
}

static void the_servers_close_leaves_everything_to_tcp(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = enter(&room);
  fake_event(&server, PERIGEE_UDP_UP);
  udp_link_close(udp.link, CODE_CLOSED);
  fake_event(&server, PERIGEE_UDP_DOWN);
  relay(room, 9, PERIGEE_UNRELIABLE);
  fake_expect(&server, peer, 0, CONTROL_BROADCAST);
}

// --- Alone ---

static void connect_alone(void) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.transport = PERIGEE_UDP;
  options.reconnect_first_ms = 1;
  fake_open(&server);
  server.turn = turn;
  char address[32];
  snprintf(address, sizeof address, "127.0.0.1:%d", udp.port);
  server.client = perigee_connect(address, &options, NULL);
}

// Waits for a packet of this type at the front of the stream, and removes it.
static void expect_in_stream(uint16_t type) {
  uint64_t deadline = now_us() + 15000000;
  Packet packet = {0};
  int64_t size = 0;
  while (now_us() < deadline) {
    if (udp.stream.size > 0)
      size = packet_read(udp.stream.data, udp.stream.size, 1 << 20, &packet);
    if (size > 0) break;
    perigee_poll(server.client, 2);
    turn();
  }
  assert_true(size > 0);
  assert_int_equal(type, packet.type);
  buf_consume(&udp.stream, (size_t)size);
}

static void alone_everything_goes_by_udp(void **state) {
  (void)state;
  connect_alone();
  expect_in_stream(CONTROL_HELLO);
  Buf bytes = {0};
  fake_welcome_packet(&bytes, &(FakeWelcome){.token = 3});
  assert_int_equal(bytes.size, udp_link_stream_write(udp.link, bytes.data, bytes.size));
  buf_deinit(&bytes);
  fake_event(&server, PERIGEE_CONNECTED);
  assert_int_equal(PERIGEE_STATE_OPEN, perigee_state(server.client));
  expect_in_stream(CONTROL_PING);
  perigee_list_rooms(server.client, 0);
  expect_in_stream(CONTROL_ROOM_LIST);
  assert_int_equal(
      0, perigee_send_packet(server.client, 3000, 1, "loose", 5, PERIGEE_UNRELIABLE));
  expect_packets(1);
  assert_int_equal(5, udp.size);
  udp_link_close(udp.link, CODE_RESET);
  assert_int_equal(PERIGEE_CONNECTION_RESET,
                   fake_event(&server, PERIGEE_DISCONNECTED)->code);
  fake_event(&server, PERIGEE_RECONNECTING);
}

static void alone_a_refusal_is_the_end(void **state) {
  (void)state;
  udp.refuses = true;
  connect_alone();
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_UNAUTHORIZED, event->code);
  assert_string_equal("not you", event->text);
}

static void alone_nobody_is_unreachable(void **state) {
  (void)state;
  close(udp.fd);
  connect_alone();
  server.turn = NULL;
#ifdef _WIN32  // Wine's poll does not report the error
  int code = PERIGEE_TIMEOUT;
#else
  int code = PERIGEE_UNREACHABLE;
#endif
  assert_int_equal(code, fake_event(&server, PERIGEE_CLOSED)->code);
  udp.fd = socket(AF_INET, SOCK_DGRAM, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_may_be_lost_goes_by_udp),
      TEST(the_first_challenge_counts),
      TEST(what_comes_by_udp_is_taken),
      TEST(a_refusal_leaves_everything_to_tcp),
      TEST(what_does_not_pass_goes_by_tcp_until_it_does),
      TEST(the_servers_close_leaves_everything_to_tcp),
      TEST(alone_everything_goes_by_udp),
      TEST(alone_a_refusal_is_the_end),
      TEST(alone_nobody_is_unreachable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
