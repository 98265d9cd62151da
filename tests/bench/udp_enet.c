// ENet at the work of udp_load.c, for comparison: members of one host, of whom one sends a
// datagram full of packets that may be lost, which go on to all others with the sender's number,
// and again when all have theirs. A server, or the load before it:
//
//   bench_udp_enet serve
//   bench_udp_enet load --port PORT --pid PID [--seconds S] [--members N] [--burst N]
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include <enet/enet.h>

#include "cpu.h"

enum {
  MEMBERS_MAX = 4000,
  PAYLOAD = 64,
  EVENTS = 256,
  WAIT_MS = 100,      // of the server, for whatever comes
  STEP_NS = 5000000,  // between two looks at clients to which nothing comes
  SETTLE_NS = 30000000,
};

typedef struct Load {
  ENetAddress address;
  int pid;
  double seconds;
  uint32_t count, burst;
  int epoll;
  ENetHost **hosts;
  ENetPeer *sender;
  uint64_t joined, packets;
  uint64_t next_step_ns;
} Load;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format,
                                                                 ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("bench-udp-enet: ", stderr);
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

// --- The server ---

static void relay(ENetHost *host, const ENetEvent *event) {
  const uint32_t from = event->peer->incomingPeerID;
  ENetPacket *packet =
      enet_packet_create(NULL, sizeof from + event->packet->dataLength, 0);
  memcpy(packet->data, &from, sizeof from);
  memcpy(packet->data + sizeof from, event->packet->data, event->packet->dataLength);
  for (size_t i = 0; i < host->peerCount; i++) {
    ENetPeer *peer = &host->peers[i];
    if (peer->state == ENET_PEER_STATE_CONNECTED && peer != event->peer)
      enet_peer_send(peer, 0, packet);
  }
  if (packet->referenceCount == 0) enet_packet_destroy(packet);
}

static int serve(void) {
  ENetAddress address = {.port = 0};
  enet_address_set_host_ip(&address, "127.0.0.1");
  ENetHost *host = enet_host_create(&address, MEMBERS_MAX, 1, 0, 0);
  if (!host) fail("no host");
  printf("enet: serving on 127.0.0.1:%u\nenet: ready\n", host->address.port);
  fflush(stdout);
  for (;;) {
    ENetEvent event;
    while (enet_host_service(host, &event, WAIT_MS) > 0) {
      if (event.type ==
          ENET_EVENT_TYPE_CONNECT)  // it would leave out packets by chance
        enet_peer_throttle_configure(event.peer, ENET_PEER_PACKET_THROTTLE_INTERVAL,
                                     ENET_PEER_PACKET_THROTTLE_SCALE, 0);
      if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
      relay(host, &event);
      enet_packet_destroy(event.packet);
    }
  }
}

// --- The load ---

static void service(Load *load, ENetHost *host) {
  ENetEvent event;
  while (enet_host_service(host, &event, 0) > 0) {
    if (event.type == ENET_EVENT_TYPE_CONNECT) load->joined++;
    if (event.type == ENET_EVENT_TYPE_DISCONNECT) fail("a client is sent away");
    if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
    load->packets++;
    enet_packet_destroy(event.packet);
  }
}

// One turn, without ever sleeping.
static void turn(Load *load) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(load->epoll, events, EVENTS, 0);
  for (int i = 0; i < count; i++) service(load, events[i].data.ptr);
  if (clock_ns() < load->next_step_ns) return;
  load->next_step_ns = clock_ns() + STEP_NS;
  for (uint32_t i = 0; i < load->count && load->hosts[i]; i++)
    service(load, load->hosts[i]);
}

static bool await(Load *load, const uint64_t *counter, uint64_t goal, double seconds) {
  uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9);
  while (*counter < goal && clock_ns() < until) turn(load);
  return *counter >= goal;
}

static uint64_t run(Load *load, double seconds) {
  static const uint8_t data[PAYLOAD];
  uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9), goals = 0;
  uint64_t before = load->packets;
  while (clock_ns() < until) {
    uint64_t goal = (uint64_t)load->burst * (load->count - 1);
    goals += goal;
    goal += load->packets;
    for (uint32_t i = 0; i < load->burst; i++)
      enet_peer_send(load->sender, 0, enet_packet_create(data, sizeof data, 0));
    enet_host_flush(load->hosts[0]);
    await(load, &load->packets, goal, 0.1);
  }
  if (load->packets - before < goals * 99 / 100)
    fprintf(stderr, "bench-udp-enet: some datagrams were lost\n");
  return (load->packets - before) / load->burst;
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
  double micros = (double)cpu_used(&cpu).all_ns / 1e3;
  printf("us_per_datagram=%.4f datagrams=%.0f per_second=%.0f\n",
         micros / (double)count, (double)count, (double)count / seconds);
}

static void connect_all(Load *load) {
  load->hosts = calloc(load->count, sizeof(ENetHost *));
  for (uint32_t i = 0; i < load->count; i++) {
    ENetHost *host = enet_host_create(NULL, 1, 1, 0, 0);
    if (!host) fail("no host for client %u", i);
    load->hosts[i] = host;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = host};
    epoll_ctl(load->epoll, EPOLL_CTL_ADD, host->socket, &event);
    ENetPeer *peer = enet_host_connect(host, &load->address, 1, 0);
    if (i == 0) load->sender = peer;
    if (!await(load, &load->joined, i + 1, 5)) fail("client %u does not join", i);
  }
}

static int attack(Load *load) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  load->epoll = epoll_create1(0);
  connect_all(load);
  measure(load);
  for (uint32_t i = 0; i < load->count; i++) {
    enet_peer_disconnect_now(&load->hosts[i]->peers[0], 0);
    enet_host_destroy(load->hosts[i]);
  }
  free(load->hosts);
  return 0;
}

int main(int argc, char **argv) {
  static const struct option OPTIONS[] = {{"port", required_argument, NULL, 'p'},
                                          {"pid", required_argument, NULL, 'i'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"members", required_argument, NULL, 'm'},
                                          {"burst", required_argument, NULL, 'b'},
                                          {0}};
  Load load = {.seconds = 1, .count = 500, .burst = 8};
  if (enet_initialize() != 0) fail("ENet cannot begin");
  enet_address_set_host_ip(&load.address, "127.0.0.1");
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
    if (option == 'p') load.address.port = (uint16_t)atoi(optarg);
    if (option == 'i') load.pid = atoi(optarg);
    if (option == 's') load.seconds = atof(optarg);
    if (option == 'm') load.count = (uint32_t)atoi(optarg);
    if (option == 'b') load.burst = (uint32_t)atoi(optarg);
  }
  const char *what = optind < argc ? argv[optind] : "";
  if (strcmp(what, "serve") == 0) return serve();
  if (strcmp(what, "load") != 0 || !load.address.port || !load.pid)
    fail("serve, or load with --port and --pid");
  return attack(&load);
}
