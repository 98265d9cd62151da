// A client's core between a server that sends anything after its WELCOME and a program
// that calls anything: packets, bytes and datagrams, authentic ones too, in any order
// with time, calls, and ends of connections. No input causes a fault or an endless
// loop, and all memory is freed.
#include <assert.h>

#include "base/mem.h"
#include "client_events.h"
#include "wire/control.h"
#include "wire/reader.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

enum { OWN_ID = 7, PORT = 1, DATAGRAMS_MAX = 5000, STEPS_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t KEY[UDP_KEY_SIZE] = "the key that WELCOME has told..";
static const uint8_t COOKIE[UDP_COOKIE_SIZE] = {1};

typedef struct World {
  PerigeeClient *client;
  uint64_t now_us;
  uint32_t connection;
  UdpLink *link;  // the server's side of UDP; NULL: none
  bool is_alone;
} World;

// --- The server's side of UDP ---

static void answer(World *world, const UdpAnswer *fields) {
  uint8_t bytes[UDP_ANSWER_MAX];
  size_t size = udp_write_answer(bytes, UDP_REQUEST_MAX, fields);
  perigee_receive_datagram(world->client, bytes, size, world->now_us);
}

static void take_request(World *world, const uint8_t *bytes, size_t size) {
  UdpRequest request;
  UdpExtension extension;
  assert(udp_read_request(bytes, size, &request) == 0);
  assert(udp_read_extension(&request, &extension) == 0);
  if (!udp_request_cookie(&request)) {
    answer(world, &(UdpAnswer){.type = UDP_CHALLENGE, .cookie = COOKIE});
    return;
  }
  uint8_t own[UDP_KEY_SIZE] = {7}, public_key[UDP_KEY_SIZE], shared[UDP_KEY_SIZE];
  UdpAgreement agreement = {
      .secret = KEY, .cookie = COOKIE, .client_key = extension.client_key};
  if (world->is_alone) {
    udp_public_key(own, public_key);
    assert(udp_shared_secret(own, extension.client_key, shared));
    agreement.secret = shared;
    agreement.server_key = public_key;
  }
  UdpLinkParams params = {.first_sent = 5,
                          .first_received = request.sequence,
                          .is_attached = !world->is_alone,
                          .queue_capacity = 64};
  udp_keys_derive(&params.keys, UDP_SERVER, &agreement);
  udp_link_free(world->link);
  world->link = udp_link_new(&params, world->now_us);
  answer(world, &(UdpAnswer){.type = UDP_ACCEPTED,
                             .sequence = 5,
                             .port = PORT,
                             .server_key = agreement.server_key});
}

static void take_datagram(World *world, uint8_t *bytes, size_t size) {
  UdpArrival arrival;
  if (udp_is_connecting(bytes, size)) {
    take_request(world, bytes, size);
  } else if (world->link) {
    udp_link_receive(world->link, world->now_us, bytes, size);
    while (udp_link_next(world->link, &arrival)) continue;
  }
}

static void produce(World *world) {
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size;
  for (int n = 0; world->link; n++) {
    size = udp_link_produce(world->link, world->now_us, bytes);
    if (size == 0) return;
    assert(n < DATAGRAMS_MAX);
    perigee_receive_datagram(world->client, bytes, size, world->now_us);
  }
}

// --- Both sides ---

static void send_stream(World *world, const void *bytes, size_t size) {
  if (!world->is_alone)
    perigee_receive(world->client, bytes, size, world->now_us);
  else if (world->link)
    udp_link_stream_write(world->link, bytes, size);
}

static void welcome(World *world) {
  Buf payload = {0}, bytes = {0};
  control_welcome(&payload, &(Welcome){.peer = OWN_ID,
                                       .session = KEY,
                                       .resume_token = KEY,
                                       .max_payload = 1 << 16,
                                       .ping_interval_ms = 5000,
                                       .udp_port = PORT,
                                       .udp_key = KEY});
  packet_append(&bytes, &(Packet){.type = CONTROL_WELCOME,
                                  .length = (uint32_t)payload.size,
                                  .payload = payload.data});
  send_stream(world, bytes.data, bytes.size);
  buf_deinit(&payload);
  buf_deinit(&bytes);
}

// Carries the output of both sides, and opens connections.
static void carry(World *world) {
  size_t size;
  uint16_t port;
  uint8_t bytes[PERIGEE_DATAGRAM_MAX];
  uint32_t connection = perigee_connection(world->client);
  bool is_new = connection != 0 && connection != world->connection;
  if (connection != world->connection) {
    udp_link_free(world->link);
    world->link = NULL;
  }
  world->connection = connection;
  if (is_new) perigee_connection_opened(world->client, world->now_us);
  for (int n = 0;; n++) {
    size = perigee_next_datagram(world->client, bytes, &port, world->now_us);
    if (size == 0) break;
    assert(n < DATAGRAMS_MAX && size <= sizeof bytes);
    take_datagram(world, bytes, size);
  }
  const uint8_t *output = perigee_output(world->client, &size, world->now_us);
  assert(size == 0 || (output && perigee_connection(world->client) != 0));
  perigee_sent(world->client, size);
  if (is_new) welcome(world);
  produce(world);
}

// --- Steps ---

static Packet read_packet(Reader *input) {
  static const uint16_t CHANNELS[] = {0, 0, 0, 0, 2, 3, 1000, 3000};
  Packet packet = {.channel = CHANNELS[reader_u8(input) % 8]};
  packet.type = reader_u8(input);
  uint8_t flags = reader_u8(input);
  packet.flags = flags & 7 & ~(flags & PACKET_REQUEST ? PACKET_RESPONSE : 0);
  packet.priority = flags >> 3 & 3;
  packet.ref = reader_u8(input);
  packet.length = reader_u8(input);
  if (packet.length > reader_left(input)) packet.length = (uint32_t)reader_left(input);
  packet.payload = reader_bytes(input, packet.length);
  return packet;
}

static void send_packet(World *world, Reader *input, bool by_datagram) {
  Packet packet = read_packet(input);
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  if (!by_datagram)
    send_stream(world, bytes.data, bytes.size);
  else if (world->link && udp_may_be_lost(&packet))
    udp_link_send(world->link, bytes.data, bytes.size, 0);
  buf_deinit(&bytes);
}

static void send_garbage(World *world, Reader *input, bool by_datagram) {
  size_t size = reader_u8(input);
  if (size > reader_left(input)) size = reader_left(input);
  const uint8_t *bytes = reader_bytes(input, size);
  if (by_datagram)
    perigee_receive_datagram(world->client, bytes, size, world->now_us);
  else
    send_stream(world, bytes, size);
}

static void call(PerigeeClient *client, uint8_t how) {
  uint32_t room = how >> 4;
  switch (how % 16) {
    case 0:
      perigee_join_with(client, "a", room % 2 ? "{\"a\":1}" : NULL, 0);
      break;
    case 1:
      perigee_leave(client, room);
      break;
    case 2:
      perigee_ask(client, room, "a", "1", 10);
      break;
    case 3:
      perigee_send(client, room, "a", "1", how >> 4);
      break;
    case 4:
      perigee_relay(client, room, "abc", 3, PERIGEE_UNRELIABLE);
      break;
    case 5:
      perigee_ping(client, 0);
      break;
    case 6:
      perigee_sync(client, 0);
      break;
    case 7:
      if (room % 2)
        perigee_query_rooms(client, "{}", 0);
      else
        perigee_list_rooms(client, 0);
      break;
    case 8:
      perigee_open_channel(client, "a", 0);
      break;
    case 9:
      perigee_send_to(client, 1000, room, 1, "a", 1, 0);
      break;
    case 10:
      perigee_lockstep_input(client, room, "a", 1);
      break;
    case 11:
      perigee_lockstep_exit(client, room);
      break;
    case 12:
      perigee_ask_packet(client, 3000, 1, "a", 1, 0);
      break;
    case 13:
      if (how >> 4 == 15) perigee_close(client);
      break;
    default:
      take_events(client);
  }
}

static void step(World *world, Reader *input) {
  uint8_t how = reader_u8(input);
  switch (how % 8) {
    case 0:
    case 1:
      send_packet(world, input, how % 8 == 1);
      break;
    case 2:
    case 3:
      send_garbage(world, input, how % 8 == 3);
      break;
    case 4:
      world->now_us += (uint64_t)1 << (how >> 3);
      perigee_advance(world->client, world->now_us);
      break;
    case 5:
      call(world->client, reader_u8(input));
      break;
    case 6:
      if (how >> 3 == 0)
        perigee_connection_ended(world->client, how, "cut", world->now_us);
      else if (how >> 3 == 1)
        welcome(world);
      break;
    default:
      take_events(world->client);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Reader input = reader_of(data, size);
  PerigeeOptions options;
  perigee_options_init(&options);
  options.transport = (PerigeeTransport)(reader_u8(&input) % 3);
  size_t live = mem_live();
  udp_keys_init();
  World world = {.client = perigee_new(&options, 1, NULL),
                 .now_us = 1,
                 .is_alone = options.transport == PERIGEE_UDP};
  for (int i = 0; i < STEPS_MAX && reader_left(&input) > 0; i++) {
    carry(&world);
    step(&world, &input);
    uint64_t due_us = perigee_due_us(world.client);
    if (due_us <= world.now_us) perigee_advance(world.client, world.now_us);
  }
  carry(&world);
  take_events(world.client);
  perigee_free(world.client);
  udp_link_free(world.link);
  assert(mem_live() == live);
  return 0;
}
