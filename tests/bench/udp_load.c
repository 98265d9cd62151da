// The load of UDP: clients by UDP alone, each with its own link, in one room. One of
// them broadcasts a datagram full of packets, and sends the next when all others have
// it. With --floor they are plain sockets for the floor. Prints the server's cost of a
// datagram that arrived.
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "udp_work.h"
#include "wire/control.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

enum { PAYLOAD = 64 };

typedef struct Client {
  int fd;
  uint32_t index;
  UdpLink *link;  // link; NULL with --floor
  Buf stream;     // beginning of a packet
  uint32_t room;
  uint64_t due_us;
} Client;

typedef struct Load {
  UdpWork work;  // first field, so that a pointer to it is a pointer to this struct
  bool is_floor, is_unencrypted;
  Client *clients;
  uint32_t count;  // number of clients
} Load;

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

static void take_control(UdpWork *work, Client *client, const Packet *packet) {
  switch (packet->type) {
    case CONTROL_JOINED:
      memcpy(&client->room, packet->payload, sizeof client->room);
      work->joined++;
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

static void take_stream(UdpWork *work, Client *client, const UdpArrival *arrival) {
  buf_append(&client->stream, arrival->bytes, arrival->size);
  size_t done = 0;
  for (;;) {
    Packet packet;
    int64_t size = packet_read(client->stream.data + done, client->stream.size - done,
                               UINT32_MAX, &packet);
    if (size <= 0) break;
    take_control(work, client, &packet);
    done += (size_t)size;
  }
  buf_consume(&client->stream, done);
}

static void read_client(UdpWork *work, void *member) {
  Client *client = member;
  uint8_t bytes[2048];
  ssize_t size;
  while ((size = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    if (!client->link) {
      work->arrived++;
      continue;
    }
    UdpTaken taken = udp_link_receive(client->link, clock_us(), bytes, (size_t)size);
    if (taken != UDP_TAKEN && taken != UDP_NEWEST) continue;
    UdpArrival arrival;
    bool has_packets = false;
    while (udp_link_next(client->link, &arrival)) {
      if (arrival.kind == UDP_ARRIVAL_STREAM) take_stream(work, client, &arrival);
      if (arrival.kind == UDP_ARRIVAL_PACKET) has_packets = true;
    }
    work->arrived += has_packets;
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
  UdpExtension extension = {.flags = load->is_unencrypted ? UDP_PLAIN : 0,
                            .client_key = key};
  UdpAnswer answer;
  randombytes_buf(secret, sizeof secret);
  udp_public_key(secret, key);
  size_t size = udp_write_request(request, 0, 1, &extension);
  size = ask(client, request, size, bytes);
  if (udp_read_answer(bytes, size, &answer) < 0 || answer.type != UDP_CHALLENGE)
    fail("no challenge");
  memcpy(cookie, answer.cookie, sizeof cookie);
  extension.cookie = cookie;
  size_t request_size = udp_write_request(request, 0, 1, &extension);
  do {  // skips repeated answers to the first request
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
                          .is_unencrypted = load->is_unencrypted,
                          .queue_capacity = 1024};
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  client->link = udp_link_new(&params, clock_us());
}

static void open_client(Load *load, Client *client) {
  uint8_t answer[2048];
  client->fd = socket(AF_INET, SOCK_DGRAM, 0);
  connect_to(client, load->work.port);
  if (load->is_floor)
    ask(client, (const uint8_t *)"", 1, answer);
  else
    shake_hands(load, client);
  udp_work_watch(&load->work, client->fd, client);
}

// --- The load ---

static void produce_all(UdpWork *work) {
  Load *load = (Load *)work;
  uint64_t now_us = clock_us();
  for (uint32_t i = 0; i < load->count; i++)
    if (load->clients[i].link && load->clients[i].due_us <= now_us)
      produce(&load->clients[i]);
}

static void send_burst(UdpWork *work) {
  const Load *load = (const Load *)work;
  uint8_t data[UDP_DATAGRAM_MAX] = {0};
  Client *sender = &load->clients[0];
  if (load->is_floor) {  // sends datagrams of the same size as Perigee's
    size_t head = load->is_unencrypted ? 15 : 31;
    send(sender->fd, data, head + work->burst * (1 + PACKET_HEADER_SIZE + 8 + PAYLOAD),
         0);
    return;
  }
  memcpy(data, &sender->room, sizeof sender->room);
  Packet packet = {.type = CONTROL_BROADCAST,
                   .priority = PRIORITY_NORMAL,
                   .length = 4 + PAYLOAD,
                   .payload = data};
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  for (uint32_t i = 0; i < work->burst; i++)
    udp_link_send(sender->link, bytes.data, bytes.size, 0);
  buf_deinit(&bytes);
  produce(sender);
}

static void connect_all(Load *load) {
  load->clients = calloc(load->work.members, sizeof *load->clients);
  while (load->count < load->work.members) {
    Client *client = &load->clients[load->count];
    client->index = load->count++;
    open_client(load, client);
    if (load->is_floor) continue;
    say_hello(client);
    produce(client);
    udp_work_await_joined(&load->work, load->count);
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
  Load load = {.work = {.seconds = 1,
                        .members = 500,
                        .burst = 8,
                        .per_burst = 1,
                        .read = read_client,
                        .due = produce_all,
                        .send = send_burst}};
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
    udp_work_set(&load.work, option);
    if (option == 'f') load.is_floor = true;
    if (option == 'l') load.is_unencrypted = true;
  }
  if (udp_keys_init() < 0 || !load.work.port || !load.work.pid)
    fail("--port and --pid are needed");
  udp_work_open(&load.work);
  connect_all(&load);
  udp_work_measure(&load.work);
  close_all(&load);
  return 0;
}
