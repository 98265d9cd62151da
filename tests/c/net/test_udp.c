// UDP ports, requests, and the output of connections by UDP. The clients use the state
// machine of wire/udp/link.h; tests/e2e/udp_* has clients that were written from the
// protocol page alone.
#include <string.h>

#include "net/udp/udp_internal.h"
#include "os/loop_world.h"

enum { CLIENTS_MAX = 64, PORTS = 3 };

typedef struct Client {
  int fd;
  UdpLink *link;
  uint16_t port;  // port in ACCEPTED
  Buf stream;
  uint32_t packets;      // number of packets that came in datagrams
  uint32_t last;         // number in the newest packet
  bool is_closed;        // whether the other side has closed
  uint8_t accepted[64];  // answer that accepted the request
} Client;

typedef struct Ports {
  LoopWorld loop;
  Net *net;
  uint16_t port;
  ConnId conns[CLIENTS_MAX];
  uint32_t count, ended;
  uint64_t dropped;
  const char *refusal;
  Client clients[CLIENTS_MAX];
  uint32_t client_count;
} Ports;

static void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  Ports *ports = data;
  assert_int_equal(info->transport, TRANSPORT_UDP);
  assert_string_equal(info->address, "127.0.0.1");
  ports->conns[ports->count++] = conn;
  return ports;
}

static void on_close(void *data, void *conn_data, Code code) {
  Ports *ports = data;
  (void)conn_data, (void)code;
  ports->ended++;
}

static void on_fault(void *data, void *conn_data, Code code, const char *text) {
  Ports *ports = data;
  (void)conn_data, (void)code, (void)text;
  ports->ended++;
  net_close(ports->net, ports->conns[0]);
}

static void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  Ports *ports = data;
  (void)conn_data, (void)queued;
  assert_int_equal(tag, 5);
  ports->dropped += dropped;
}

static const char *refuse(void *data, const char *address) {
  const Ports *ports = data;
  assert_string_equal(address, "127.0.0.1");
  return ports->refusal;
}

static bool on_iteration(void *data, uint64_t now_us) {
  (void)data, (void)now_us;
  return false;
}

static int set_up(void **state) {
  static const NetEvents EVENTS = {.open = on_open,
                                   .close = on_close,
                                   .fault = on_fault,
                                   .drops = on_drops,
                                   .refuse = refuse,
                                   .iteration = on_iteration};
  NetLimits limits = {.max_payload = 65536, .channel_capacity = 50};
  Ports *ports = mem_zalloc(sizeof *ports);
  ports->net = net_new(&limits, &EVENTS, ports);
  ports->loop.loop = net_loop(ports->net);
  int err = UV_EADDRINUSE;  // another program may have the ports after a free one
  for (int tries = 0; tries < 20 && err == UV_EADDRINUSE; tries++) {
    ports->port = 0;
    err = net_udp_open(ports->net, "127.0.0.1", &ports->port, PORTS);
  }
  assert_int_equal(err, 0);
  *state = ports;
  return 0;
}

static int tear_down(void **state) {
  Ports *ports = *state;
  for (uint32_t i = 0; i < ports->client_count; i++) {
    close(ports->clients[i].fd);
    udp_link_free(ports->clients[i].link);
    buf_deinit(&ports->clients[i].stream);
  }
  net_free(ports->net);
  mem_free(ports);
  assert_int_equal(mem_live(), 0);
  return 0;
}

// --- Clients ---

static void aim(Client *client, uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
}

static Client *add_client(Ports *ports) {
  Client *client = &ports->clients[ports->client_count++];
  client->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  aim(client, ports->port);
  return client;
}

typedef struct Wait {
  Client *client;
  uint8_t *bytes;
  ssize_t size;
} Wait;

static bool has_come(void *data) {
  Wait *wait = data;
  wait->size = recv(wait->client->fd, wait->bytes, 2048, 0);
  return wait->size > 0;
}

static size_t ask(Ports *ports, Client *client, const uint8_t *request, size_t size,
                  uint8_t answer[2048]) {
  Wait wait = {client, answer, 0};
  assert_int_equal(send(client->fd, request, size, 0), (int)size);
  assert_true(loop_world_wait(&ports->loop, has_come, &wait));
  assert_true((size_t)wait.size <= size);
  return (size_t)wait.size;
}

// Sends the request again if the first answer is a challenge.
static UdpAnswerType try_come(Ports *ports, Client *client) {
  uint8_t secret[UDP_KEY_SIZE] = {1}, key[UDP_KEY_SIZE], cookie[UDP_COOKIE_SIZE];
  uint8_t request[UDP_REQUEST_MAX], bytes[2048], shared[UDP_KEY_SIZE];
  UdpExtension extension = {.client_key = key};
  UdpAnswer answer;
  secret[1] = (uint8_t)ports->client_count;
  udp_public_key(secret, key);
  size_t size = udp_write_request(request, 0, 9, &extension);
  size = ask(ports, client, request, size, bytes);
  assert_int_equal(udp_read_answer(bytes, size, &answer), 0);
  if (answer.type != UDP_CHALLENGE) return answer.type;
  memcpy(cookie, answer.cookie, sizeof cookie);
  extension.cookie = cookie;
  size_t request_size = udp_write_request(request, 0, 9, &extension);
  size = ask(ports, client, request, request_size, bytes);
  assert_int_equal(udp_read_answer(bytes, size, &answer), 0);
  if (answer.type != UDP_ACCEPTED) return answer.type;
  memcpy(client->accepted, bytes, size);
  uint8_t again[2048];
  assert_int_equal(ask(ports, client, request, request_size, again), size);
  assert_memory_equal(again, bytes, size);
  assert_true(udp_shared_secret(secret, answer.server_key, shared));
  UdpAgreement agreement = {shared, cookie, key, answer.server_key};
  UdpLinkParams params = {
      .first_sent = 9, .first_received = answer.sequence, .queue_capacity = 100};
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  client->link = udp_link_new(&params, net_real_us());
  client->port = answer.port;
  aim(client, answer.port);
  return UDP_ACCEPTED;
}

static Client *come(Ports *ports) {
  Client *client = add_client(ports);
  assert_int_equal(try_come(ports, client), UDP_ACCEPTED);
  return client;
}

static void take(Client *client, uint8_t *bytes, size_t size) {
  udp_link_receive(client->link, net_real_us(), bytes, size);
  UdpArrival arrival;
  while (udp_link_next(client->link, &arrival)) {
    if (arrival.kind == UDP_ARRIVAL_STREAM)
      buf_append(&client->stream, arrival.bytes, arrival.size);
    if (arrival.kind == UDP_ARRIVAL_CLOSE) client->is_closed = true;
    if (arrival.kind != UDP_ARRIVAL_PACKET) continue;
    client->packets++;
    memcpy(&client->last, arrival.packet.payload, sizeof client->last);
  }
}

static void serve(Client *client) {
  uint8_t bytes[2048];
  ssize_t size;
  while ((size = recv(client->fd, bytes, sizeof bytes, 0)) > 0) {
    take(client, bytes, (size_t)size);
    while ((size = (ssize_t)udp_link_produce(client->link, net_real_us(), bytes)))
      send(client->fd, bytes, (size_t)size, 0);
  }
  while ((size = (ssize_t)udp_link_produce(client->link, net_real_us(), bytes)))
    send(client->fd, bytes, (size_t)size, 0);
}

// --- What the server sends ---

static void write_packet(Ports *ports, uint32_t number, uint32_t size, uint64_t key,
                         bool is_unreliable) {
  uint8_t header[PACKET_HEADER_SIZE];
  uint8_t *payload = mem_zalloc(size);
  memcpy(payload, &number, sizeof number);
  Packet packet = {.channel = 5, .priority = PRIORITY_NORMAL, .length = size};
  packet_write_header(header, &packet);
  Out out = {.parts = {header, payload},
             .sizes = {sizeof header, size},
             .priority = PRIORITY_NORMAL,
             .flags = is_unreliable ? OUT_UNRELIABLE : OUT_KEEP,
             .key = key};
  GroupId group = net_group_open(ports->net, 5);
  for (uint32_t i = 0; i < ports->count; i++)
    net_group_join(ports->net, group, ports->conns[i]);
  net_group_write(ports->net, group, &out, NULL, 0);
  net_group_close(ports->net, group);
  mem_free(payload);
}

typedef struct Goal {
  Ports *ports;
  uint32_t packets;
  size_t stream;
} Goal;

static bool is_reached(void *data) {
  const Goal *goal = data;
  for (uint32_t i = 0; i < goal->ports->client_count; i++) {
    Client *client = &goal->ports->clients[i];
    serve(client);
    if (client->packets < goal->packets || client->stream.size < goal->stream)
      return false;
  }
  return true;
}

static void reach(Ports *ports, uint32_t packets, size_t stream) {
  Goal goal = {ports, packets, stream};
  assert_true(loop_world_wait(&ports->loop, is_reached, &goal));
}

// --- Tests ---

static void a_port_that_is_taken_is_named(void **state) {
  Ports *ports = *state;
  NetLimits limits = {.max_payload = 1024, .channel_capacity = 16};
  NetEvents events = {.iteration = on_iteration};
  Net *other = net_new(&limits, &events, NULL);
  uint16_t port = ports->port + PORTS - 1;
  assert_int_equal(net_udp_open(other, "127.0.0.1", &port, 1), UV_EADDRINUSE);
  assert_int_equal(port, ports->port + PORTS - 1);
  net_free(other);
}

static void nothing_is_kept_of_those_without_a_cookie(void **state) {
  Ports *ports = *state;
  Client *client = add_client(ports);
  uint8_t request[UDP_REQUEST_MAX], bytes[2048], key[UDP_KEY_SIZE] = {7};
  UdpExtension extension = {.client_key = key};
  size_t size = udp_write_request(request, 0, 1, &extension);
  ask(ports, client, request, size, bytes);
  size_t live = mem_live();
  for (int i = 0; i < 500; i++) ask(ports, client, request, size, bytes);
  assert_int_equal(mem_live(), live);
  assert_int_equal(ports->net->udp->table.count, 0);
  assert_int_equal(net_udp_totals(ports->net).challenged, 501);
}

static void clients_are_spread_over_the_ports(void **state) {
  Ports *ports = *state;
  uint32_t counts[PORTS] = {0};
  for (int i = 0; i < 9; i++) counts[come(ports)->port - ports->port]++;
  for (int i = 0; i < PORTS; i++) assert_int_equal(counts[i], 3);
  assert_int_equal(ports->count, 9);
  assert_int_equal(net_udp_totals(ports->net).links, 9);
}

static void who_may_not_come_is_rejected(void **state) {
  Ports *ports = *state;
  ports->refusal = "no";
  assert_int_equal(try_come(ports, add_client(ports)), UDP_REJECTED);
  assert_int_equal(ports->count, 0);
  ports->refusal = NULL;
  come(ports);
}

static void what_may_be_lost_goes_by_datagrams_and_the_rest_by_the_stream(
    void **state) {
  Ports *ports = *state;
  for (int i = 0; i < 5; i++) come(ports);
  write_packet(ports, 1, 100, 0, true);
  write_packet(ports, 2, 100, 0, false);
  write_packet(ports, 3, UDP_LATEST_MAX - PACKET_HEADER_SIZE, 0, true);
  write_packet(ports, 4, UDP_LATEST_MAX - PACKET_HEADER_SIZE + 1, 0, true);
  reach(ports, 2, 112 + UDP_LATEST_MAX + 1);
  assert_int_equal(ports->clients[4].packets, 2);
  assert_int_equal(ports->clients[4].last, 3);
}

static void a_large_stream_comes_whole(void **state) {
  Ports *ports = *state;
  for (int i = 0; i < 2; i++) come(ports);
  for (int i = 0; i < 40; i++) write_packet(ports, 0, 60000, 0, false);
  reach(ports, 0, 40 * 60012);
  assert_int_equal(ports->clients[1].stream.size, 40 * 60012);
  UdpFigures figures;
  assert_true(net_udp_figures(ports->net, ports->conns[0], &figures));
  assert_true(figures.passes);
  assert_true(figures.sent_bytes > 40 * 60012);
}

// The peer gets as many packets as its line carries. Of the waiting packets, at most
// the capacity remains, and always the newest packet of each key.
static void who_acknowledges_nothing_is_bounded(void **state) {
  Ports *ports = *state;
  Client *client = come(ports);
  for (int i = 0; i < 3000; i++) {
    write_packet(ports, (uint32_t)i, 1000, 0, true);
    if (i % 50 == 0) loop_world_turn_once(&ports->loop);
  }
  assert_true(ports->dropped > 1000);
  NetSent queued = net_queued(ports->net, ports->conns[0]);
  assert_true(queued.packets <= 50);
  serve(client);
  uint32_t before = client->packets;
  reach(ports, before + 1, 0);
}

static void the_end_is_told_and_everything_freed(void **state) {
  Ports *ports = *state;
  Client *client = come(ports);
  write_packet(ports, 1, 100, 0, false);
  net_close(ports->net, ports->conns[0]);
  reach(ports, 0, 112);
  Goal goal = {ports, 0, 0};
  for (int i = 0; i < 100 && !client->is_closed; i++) {
    is_reached(&goal);
    loop_world_turn_once(&ports->loop);
  }
  assert_true(client->is_closed);
  assert_int_equal(net_udp_totals(ports->net).links, 0);
  assert_int_equal(ports->ended, 0);
}

static bool is_forgotten(void *data) {
  const Ports *ports = data;
  return ports->net->udp->table.count == 0;
}

// Returns the time until no memory of the only connection is left.
static uint64_t forget_ms(Ports *ports) {
  uint64_t start_us = net_real_us();
  assert_true(loop_world_wait(&ports->loop, is_forgotten, ports));
  return (net_real_us() - start_us) / 1000;
}

static void an_end_is_repeated_for_3_seconds_and_then_forgotten(void **state) {
  Ports *ports = *state;
  come(ports);
  loop_world_turn_once(&ports->loop);
  net_close(ports->net, ports->conns[0]);
  loop_world_turn_once(&ports->loop);
  assert_int_equal(ports->net->udp->over_count, 1);
  assert_in_range(forget_ms(ports), OVER_MS / 2, 2 * OVER_MS);
  assert_int_equal(ports->net->udp->over_count, 0);
}

static void who_says_the_end_himself_is_forgotten_at_once(void **state) {
  Ports *ports = *state;
  Client *client = come(ports);
  udp_link_close(client->link, CODE_CLOSED);
  serve(client);
  assert_in_range(forget_ms(ports), 0, OVER_MS / 2);
  assert_int_equal(ports->ended, 1);
}

static void very_many_ends_are_not_remembered(void **state) {
  Ports *ports = *state;
  Client *client = come(ports);
  loop_world_turn_once(&ports->loop);
  ports->net->udp->over_count = OVER_MAX;
  net_close(ports->net, ports->conns[0]);
  assert_in_range(forget_ms(ports), 0, OVER_MS / 2);
  serve(client);
  assert_true(client->is_closed);  // the end was reported once
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_port_that_is_taken_is_named),
      TEST(nothing_is_kept_of_those_without_a_cookie),
      TEST(clients_are_spread_over_the_ports),
      TEST(who_may_not_come_is_rejected),
      TEST(what_may_be_lost_goes_by_datagrams_and_the_rest_by_the_stream),
      TEST(a_large_stream_comes_whole),
      TEST(who_acknowledges_nothing_is_bounded),
      TEST(the_end_is_told_and_everything_freed),
      TEST(an_end_is_repeated_for_3_seconds_and_then_forgotten),
      TEST(who_says_the_end_himself_is_forgotten_at_once),
      TEST(very_many_ends_are_not_remembered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
