// The table of UDP connections. Most datagrams are found by address and port; those
// from a new address are found by their channel.
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/udp/udp_internal.h"

enum { BUCKETS_FIRST = 64 };

void origin_of(const SocketAddress *from, UdpOrigin *origin) {
  static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};
  origin->port = address_port(from);
  if (from->any.sa_family == AF_INET6) {
    memcpy(origin->ip, &from->v6.sin6_addr, sizeof origin->ip);
    return;
  }
  memcpy(origin->ip, MAPPED, sizeof MAPPED);
  memcpy(origin->ip + sizeof MAPPED, &from->v4.sin_addr, 4);
}

bool origin_is_same(const UdpOrigin *a, const UdpOrigin *b) {
  return a->port == b->port && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

void table_init(UdpTable *table, Net *net) {
  *table = (UdpTable){.mask = BUCKETS_FIRST - 1};
  net_random(net, table->key, sizeof table->key);
  table->buckets = mem_zalloc(BUCKETS_FIRST * sizeof *table->buckets);
}

void table_deinit(UdpTable *table) { mem_free(table->buckets); }

static UdpPeer **path_bucket(const UdpTable *table, const UdpOrigin *path) {
  uint64_t hash = hash_bytes(table->key, path, sizeof *path);
  return &table->buckets[hash & table->mask].by_path;
}

// Uses channels without hashing, because they come from a keyed hash.
static UdpPeer **channel_bucket(const UdpTable *table,
                                const uint8_t channel[UDP_CHANNEL_SIZE]) {
  uint32_t number = channel[0] | (uint32_t)channel[1] << 8 | (uint32_t)channel[2] << 16;
  return &table->buckets[number & table->mask].by_channel;
}

static void link_in(UdpTable *table, UdpPeer *peer) {
  UdpPeer **path = path_bucket(table, &peer->path);
  UdpPeer **channel = channel_bucket(table, peer->channel);
  peer->next_path = *path;
  peer->next_channel = *channel;
  *path = *channel = peer;
}

static void grow(UdpTable *table) {
  UdpTable old = *table;
  uint32_t size = (old.mask + 1) * 2;
  table->mask = size - 1;
  table->buckets = mem_zalloc(size * sizeof *table->buckets);
  for (uint32_t i = 0; i <= old.mask; i++)
    for (UdpPeer *peer = old.buckets[i].by_path, *next; peer; peer = next) {
      next = peer->next_path;
      link_in(table, peer);
    }
  table_deinit(&old);
}

void table_add(UdpTable *table, UdpPeer *peer) {
  if (table->count > table->mask) grow(table);
  table->count++;
  link_in(table, peer);
}

void table_remove(UdpTable *table, UdpPeer *peer) {
  UdpPeer **at = path_bucket(table, &peer->path);
  while (*at != peer) at = &(*at)->next_path;
  *at = peer->next_path;
  at = channel_bucket(table, peer->channel);
  while (*at != peer) at = &(*at)->next_channel;
  *at = peer->next_channel;
  table->count--;
}

static UdpPeer *at_path(UdpPeer *peer, const UdpOrigin *path) {
  while (peer && !origin_is_same(&peer->path, path)) peer = peer->next_path;
  return peer;
}

UdpPeer *table_first(const UdpTable *table, const UdpOrigin *path) {
  return at_path(*path_bucket(table, path), path);
}

UdpPeer *table_next(const UdpPeer *peer) {
  return at_path(peer->next_path, &peer->path);
}

static UdpPeer *of_channel(UdpPeer *peer, const uint8_t channel[UDP_CHANNEL_SIZE]) {
  while (peer && memcmp(peer->channel, channel, UDP_CHANNEL_SIZE) != 0)
    peer = peer->next_channel;
  return peer;
}

UdpPeer *table_first_of(const UdpTable *table,
                        const uint8_t channel[UDP_CHANNEL_SIZE]) {
  return of_channel(*channel_bucket(table, channel), channel);
}

UdpPeer *table_next_of(const UdpPeer *peer) {
  return of_channel(peer->next_channel, peer->channel);
}

UdpPeer *table_any(const UdpTable *table) {
  for (uint32_t i = 0; i <= table->mask; i++)
    if (table->buckets[i].by_path) return table->buckets[i].by_path;
  return NULL;
}

void table_visit(const UdpTable *table, void (*visit)(void *data, const UdpPeer *peer),
                 void *data) {
  for (uint32_t i = 0; i <= table->mask; i++)
    for (const UdpPeer *peer = table->buckets[i].by_path; peer; peer = peer->next_path)
      visit(data, peer);
}
