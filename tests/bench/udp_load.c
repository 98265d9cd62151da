// The load of UDP: clients that are alone, each with a link of its own, in one room; one of them
// broadcasts a datagram full of packets, and again when all others have it. With --floor they
// are plain sockets before the floor. Prints what a datagram that arrived cost the server.
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/random.h"
#include "cpu.h"
#include "wire/control.h"
#include "wire/udp.h"
#include "wire/udp_link.h"

enum { EVENTS = 256, STEP_NS = 5000000, SETTLE_NS = 30000000 };

typedef struct Client {
  int fd;
  uint32_t index;
  UdpLink *link;  // NULL before the floor
  Buf stream;     // the beginning of a packet
  bool is_welcome;
  uint32_t room;
  uint64_t due_us;
} Client;

typedef struct Load {
  uint16_t port;
  int pid;
  bool is_floor, is_plain;
  double seconds;
  uint32_t count, burst, payload;
  int epoll;
  Client *clients;
  uint64_t welcomed, joined, packets, datagrams;
  uint64_t next_step_ns;
} Load;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format,
                                                                 ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("bench-udp-load: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t clock_us(void) { return clock_ns() / 1000; }

// --- One client ---

static void produce(Client *client) {
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size;
  while ((size = udp_link_produce(client->link, clock_us(), bytes)) > 0)
    send(client->fd, bytes, size, 0);
  client->due_us = udp_link_deadline(client->link);
}

static void write_packet(Client *client, uint16_t type, const Buf *payload) {
  Packet packet = {.type = type,
                   .priority = PRIORITY_NORMAL,
                   .length = (uint32_t)payload->size,
                   .payload = payload->data};
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  if (udp_link_stream_write(client->link, bytes.data, bytes.size) != bytes.size)
    fail("a stream is full");
  buf_deinit(&bytes);
}

static void say_hello(Client *client) {
  static const uint8_t NO_TOKEN[UUID_SIZE];
  Buf hello = {0};
  buf_u16(&hello, PROTOCOL_VERSION);
  buf_u64(&hello, 0);
  buf_str8(&hello, "bench", 5);
  buf_str16(&hello, "", 0);
  buf_append(&hello, NO_TOKEN, sizeof NO_TOKEN);
  buf_u32(&hello, 0);
  write_packet(client, CONTROL_HELLO, &hello);
  hello.size = 0;
  buf_str8(&hello, "bench:1", 7);
  write_packet(client, CONTROL_JOIN, &hello);
  buf_deinit(&hello);
}

static void take_control(Load *load, Client *client, const Packet *packet) {
  switch (packet->type) {
    case CONTROL_WELCOME:
      load->welcomed++;
      break;
    case CONTROL_JOINED:
      memcpy(&client->room, packet->payload, sizeof client->room);
      load->joined++;
      break;
    case CONTROL_PING: {
      Buf pong = {.data = (uint8_t *)packet->payload, .size = packet->length};
      write_packet(client, CONTROL_PONG, &pong);
      break;
    }
    case CONTROL_CLOSING:
    case CONTROL_REJECTED:
      fail("client %u is sent away", client->index);
    default:
      break;
  }
}

static void take_stream(Load *load, Client *client, const UdpArrival *arrival) {
  buf_append(&client->stream, arrival->bytes, arrival->size);
  size_t done = 0;
  for (;;) {
    Packet packet;
    int64_t size = packet_read(client->stream.data + done, client->stream.size - done,
                               UINT32_MAX, &packet);
    if (size <= 0) break;
    take_control(load, client, &packet);
    done += (size_t)size;
  }
  buf_consume(&client->stream, done);
}

static void read_client(Load *load, Client *client) {
  uint8_t bytes[2048];
  ssize_t size;
  while ((size = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    if (!client->link) {
      load->datagrams++;
      continue;
    }
    UdpTaken taken = udp_link_receive(client->link, clock_us(), bytes, (size_t)size);
    if (taken != UDP_TAKEN && taken != UDP_NEWEST) continue;
    UdpArrival arrival;
    bool has_packets = false;
    while (udp_link_next(client->link, &arrival)) {
      if (arrival.kind == UDP_ARRIVAL_STREAM) take_stream(load, client, &arrival);
      if (arrival.kind != UDP_ARRIVAL_PACKET) continue;
      load->packets++;
      has_packets = true;
    }
    load->datagrams += has_packets;
    client->due_us = udp_link_deadline(client->link);
    if (client->due_us <= clock_us()) produce(client);
  }
}

// --- Connecting ---

static void connect_to(const Client *client, uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(client->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
}

static size_t ask(const Client *client, const uint8_t *request, size_t size,
                  uint8_t answer[2048]) {
  for (int tries = 0; tries < 20; tries++) {
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    send(client->fd, request, size, 0);
    if (poll(&wait, 1, 250) != 1) continue;
    ssize_t got;
    while ((got = recv(client->fd, answer, 2048, MSG_DONTWAIT)) > 0)
      if (got == 1 || udp_is_connecting(answer, (size_t)got)) return (size_t)got;
  }
  fail("client %u has no answer", client->index);
}

static void shake_hands(const Load *load, Client *client) {
  uint8_t secret[UDP_KEY_SIZE], key[UDP_KEY_SIZE], cookie[UDP_COOKIE_SIZE];
  uint8_t request[UDP_REQUEST_MAX], bytes[2048], shared[UDP_KEY_SIZE];
  UdpExtension extension = {.flags = load->is_plain ? UDP_PLAIN : 0, .client_key = key};
  UdpAnswer answer;
  random_bytes(secret, sizeof secret);
  udp_public_key(secret, key);
  size_t size = udp_write_request(request, 0, 1, &extension);
  size = ask(client, request, size, bytes);
  if (udp_read_answer(bytes, size, &answer) < 0 || answer.type != UDP_CHALLENGE)
    fail("no challenge");
  memcpy(cookie, answer.cookie, sizeof cookie);
  extension.cookie = cookie;
  size_t request_size = udp_write_request(request, 0, 1, &extension);
  do {  // what the first request was answered twice is passed over
    size = ask(client, request, request_size, bytes);
    if (udp_read_answer(bytes, size, &answer) < 0) fail("a malformed answer");
  } while (answer.type == UDP_CHALLENGE);
  if (answer.type != UDP_ACCEPTED ||
      !udp_shared_secret(secret, answer.server_key, shared))
    fail("client %u is not accepted", client->index);
  connect_to(client, answer.port);
  UdpAgreement agreement = {shared, cookie, key, answer.server_key};
  UdpLinkParams params = {.first_sent = 1,
                          .first_received = answer.sequence,
                          .is_plain = load->is_plain,
                          .queue_capacity = 1024};
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  client->link = udp_link_new(&params, clock_us());
}

static void open_client(Load *load, Client *client) {
  uint8_t answer[2048];
  client->fd = socket(AF_INET, SOCK_DGRAM, 0);
  connect_to(client, load->port);
  if (load->is_floor)
    ask(client, (const uint8_t *)"", 1, answer);
  else
    shake_hands(load, client);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  epoll_ctl(load->epoll, EPOLL_CTL_ADD, client->fd, &event);
}

// --- The load ---

// One turn, without ever sleeping.
static void turn(Load *load) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(load->epoll, events, EVENTS, 0);
  for (int i = 0; i < count; i++) read_client(load, events[i].data.ptr);
  if (load->is_floor || clock_ns() < load->next_step_ns) return;
  load->next_step_ns = clock_ns() + STEP_NS;
  uint64_t now_us = clock_us();
  for (uint32_t i = 0; i < load->count; i++)
    if (load->clients[i].link && load->clients[i].due_us <= now_us)
      produce(&load->clients[i]);
}

static bool await(Load *load, const uint64_t *counter, uint64_t goal, double seconds) {
  uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9);
  while (*counter < goal && clock_ns() < until) turn(load);
  return *counter >= goal;
}

static void send_burst(Load *load) {
  uint8_t data[UDP_DATAGRAM_MAX] = {0};
  Client *sender = &load->clients[0];
  if (load->is_floor) {  // as large as Perigee's datagrams are
    size_t head = load->is_plain ? 15 : 31;
    send(sender->fd, data,
         head + load->burst * (1 + PACKET_HEADER_SIZE + 8 + load->payload), 0);
    return;
  }
  memcpy(data, &sender->room, sizeof sender->room);
  Packet packet = {.type = CONTROL_BROADCAST,
                   .priority = PRIORITY_NORMAL,
                   .length = 4 + load->payload,
                   .payload = data};
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  for (uint32_t i = 0; i < load->burst; i++)
    udp_link_send(sender->link, bytes.data, bytes.size, 0);
  buf_deinit(&bytes);
  produce(sender);
}

static uint64_t run(Load *load, double seconds) {
  uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9), bursts = 0;
  uint64_t before = load->datagrams;
  while (clock_ns() < until) {
    uint64_t goal = load->datagrams + load->count - 1;
    send_burst(load);
    await(load, &load->datagrams, goal, 0.1);
    bursts++;
  }
  if (load->datagrams - before < bursts * (load->count - 1) * 99 / 100)
    fprintf(stderr, "bench-udp-load: some datagrams were lost\n");
  return load->datagrams - before;
}

static void settle(Load *load) {
  uint64_t until = clock_ns() + SETTLE_NS;
  while (clock_ns() < until) turn(load);
}

static void measure(Load *load) {
  run(load, 0.2);
  settle(load);
  CpuTimes cpu = cpu_times(load->pid);
  uint64_t start = clock_ns();
  uint64_t count = run(load, load->seconds);
  double seconds = (double)(clock_ns() - start) / 1e9;
  settle(load);
  CpuUse use = cpu_used(&cpu);
  double micros = (double)use.all_ns / 1e3;
  printf("us_per_datagram=%.4f datagrams=%.0f per_second=%.0f ", micros / (double)count,
         (double)count, (double)count / seconds);
  printf("first_us=%.4f busiest_us=%.4f\n", (double)use.first_ns / 1e3 / (double)count,
         (double)use.busiest_ns / 1e3 / (double)count);
}

static void connect_all(Load *load) {
  load->clients = calloc(load->count, sizeof *load->clients);
  for (uint32_t i = 0; i < load->count; i++) {
    Client *client = &load->clients[i];
    client->index = i;
    open_client(load, client);
    if (load->is_floor) continue;
    say_hello(client);
    produce(client);
    if (!await(load, &load->joined, i + 1, 5)) fail("client %u does not join", i);
  }
}

static void close_all(Load *load) {
  for (uint32_t i = 0; i < load->count && !load->is_floor; i++) {
    udp_link_close(load->clients[i].link, CODE_CLOSED);
    produce(&load->clients[i]);
    udp_link_free(load->clients[i].link);
    buf_deinit(&load->clients[i].stream);
  }
  free(load->clients);
}

int main(int argc, char **argv) {
  static const struct option OPTIONS[] = {{"port", required_argument, NULL, 'p'},
                                          {"pid", required_argument, NULL, 'i'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"members", required_argument, NULL, 'm'},
                                          {"burst", required_argument, NULL, 'b'},
                                          {"floor", no_argument, NULL, 'f'},
                                          {"plain", no_argument, NULL, 'l'},
                                          {0}};
  Load load = {.seconds = 1, .count = 500, .burst = 8, .payload = 64};
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
    if (option == 'p') load.port = (uint16_t)atoi(optarg);
    if (option == 'i') load.pid = atoi(optarg);
    if (option == 's') load.seconds = atof(optarg);
    if (option == 'm') load.count = (uint32_t)atoi(optarg);
    if (option == 'b') load.burst = (uint32_t)atoi(optarg);
    if (option == 'f') load.is_floor = true;
    if (option == 'l') load.is_plain = true;
  }
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  load.epoll = epoll_create1(0);
  if (udp_keys_init() < 0 || !load.port || !load.pid)
    fail("--port and --pid are needed");
  connect_all(&load);
  measure(&load);
  close_all(&load);
  return 0;
}
