// ENet with the work of udp_load.c, for comparison. One member of a host sends a
// datagram full of unreliable packets, the server relays them with the sender's number,
// and the next datagram follows when all members have them. Runs a server, or the load
// for one:
//
//   bench_udp_enet serve
//   bench_udp_enet load --port PORT --pid PID [--seconds S] [--members N] [--burst N]
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <enet/enet.h>

#include "udp_work.h"

enum {
  MEMBERS_MAX = 4000,
  PAYLOAD = 64,
  WAIT_MS = 100,  // longest wait of the server for input
};

typedef struct Load {
  UdpWork work;  // first field, so that a pointer to it is a pointer to this struct
  ENetAddress address;
  ENetHost **hosts;
  uint32_t count;  // number of hosts
  ENetPeer *sender;
} Load;

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
          ENET_EVENT_TYPE_CONNECT)  // otherwise it would drop random packets
        enet_peer_throttle_configure(event.peer, ENET_PEER_PACKET_THROTTLE_INTERVAL,
                                     ENET_PEER_PACKET_THROTTLE_SCALE, 0);
      if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
      relay(host, &event);
      enet_packet_destroy(event.packet);
    }
  }
}

// --- The load ---

static void service(UdpWork *work, void *host) {
  ENetEvent event;
  while (enet_host_service(host, &event, 0) > 0) {
    if (event.type == ENET_EVENT_TYPE_CONNECT) work->joined++;
    if (event.type == ENET_EVENT_TYPE_DISCONNECT) fail("a client is sent away");
    if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
    work->arrived++;
    enet_packet_destroy(event.packet);
  }
}

static void service_all(UdpWork *work) {
  Load *load = (Load *)work;
  for (uint32_t i = 0; i < load->count; i++) service(work, load->hosts[i]);
}

static void send_burst(UdpWork *work) {
  static const uint8_t data[PAYLOAD];
  Load *load = (Load *)work;
  for (uint32_t i = 0; i < work->burst; i++)
    enet_peer_send(load->sender, 0, enet_packet_create(data, sizeof data, 0));
  enet_host_flush(load->hosts[0]);
}

static void connect_all(Load *load) {
  load->hosts = calloc(load->work.members, sizeof(ENetHost *));
  while (load->count < load->work.members) {
    ENetHost *host = enet_host_create(NULL, 1, 1, 0, 0);
    if (!host) fail("no host for client %u", load->count);
    load->hosts[load->count++] = host;
    udp_work_watch(&load->work, host->socket, host);
    ENetPeer *peer = enet_host_connect(host, &load->address, 1, 0);
    if (load->count == 1) load->sender = peer;
    udp_work_await_joined(&load->work, load->count);
  }
}

static int attack(Load *load) {
  udp_work_open(&load->work);
  connect_all(load);
  udp_work_measure(&load->work);
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
  Load load = {.work = {.seconds = 1,
                        .members = 500,
                        .burst = 8,
                        .read = service,
                        .due = service_all,
                        .send = send_burst}};
  if (enet_initialize() != 0) fail("ENet cannot begin");
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
    udp_work_set(&load.work, option);
  const char *what = optind < argc ? argv[optind] : "";
  if (strcmp(what, "serve") == 0) return serve();
  if (strcmp(what, "load") != 0 || !load.work.port || !load.work.pid)
    fail("serve, or load with --port and --pid");
  enet_address_set_host_ip(&load.address, "127.0.0.1");
  load.address.port = load.work.port;
  load.work.per_burst = load.work.burst;
  return attack(&load);
}
