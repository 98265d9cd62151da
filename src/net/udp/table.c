// The table of UDP connections. Most connections are found by the address and port of a
// datagram. A datagram from a new address leads to its connection by the channel.
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

static UdpEntry **path_bucket(const UdpTable *table, const UdpOrigin *path) {
  uint64_t hash = hash_bytes(table->key, path, sizeof *path);
  return &table->buckets[hash & table->mask].by_path;
}

// Returns the bucket of a channel. The bytes of the channel itself serve as the hash,
// because a channel is part of a keyed hash.
static UdpEntry **channel_bucket(const UdpTable *table,
                                 const uint8_t channel[UDP_CHANNEL_SIZE]) {
  uint32_t number = channel[0] | (uint32_t)channel[1] << 8 | (uint32_t)channel[2] << 16;
  return &table->buckets[number & table->mask].by_channel;
}

static void link_in(UdpTable *table, UdpEntry *entry) {
  UdpEntry **path = path_bucket(table, &entry->path);
  UdpEntry **channel = channel_bucket(table, entry->channel);
  entry->next_path = *path;
  entry->next_channel = *channel;
  *path = *channel = entry;
}

static void grow(UdpTable *table) {
  UdpTable old = *table;
  uint32_t size = (old.mask + 1) * 2;
  table->mask = size - 1;
  table->buckets = mem_zalloc(size * sizeof *table->buckets);
  for (uint32_t i = 0; i <= old.mask; i++)
    for (UdpEntry *entry = old.buckets[i].by_path, *next; entry; entry = next) {
      next = entry->next_path;
      link_in(table, entry);
    }
  table_deinit(&old);
}

void table_add(UdpTable *table, UdpEntry *entry) {
  if (table->count > table->mask) grow(table);
  table->count++;
  link_in(table, entry);
}

void table_remove(UdpTable *table, UdpEntry *entry) {
  UdpEntry **at = path_bucket(table, &entry->path);
  while (*at != entry) at = &(*at)->next_path;
  *at = entry->next_path;
  at = channel_bucket(table, entry->channel);
  while (*at != entry) at = &(*at)->next_channel;
  *at = entry->next_channel;
  table->count--;
}

static UdpEntry *at_path(UdpEntry *entry, const UdpOrigin *path) {
  while (entry && !origin_is_same(&entry->path, path)) entry = entry->next_path;
  return entry;
}

UdpEntry *table_first(const UdpTable *table, const UdpOrigin *path) {
  return at_path(*path_bucket(table, path), path);
}

UdpEntry *table_next(const UdpEntry *entry) {
  return at_path(entry->next_path, &entry->path);
}

static UdpEntry *of_channel(UdpEntry *entry, const uint8_t channel[UDP_CHANNEL_SIZE]) {
  while (entry && memcmp(entry->channel, channel, UDP_CHANNEL_SIZE) != 0)
    entry = entry->next_channel;
  return entry;
}

UdpEntry *table_first_of(const UdpTable *table,
                         const uint8_t channel[UDP_CHANNEL_SIZE]) {
  return of_channel(*channel_bucket(table, channel), channel);
}

UdpEntry *table_next_of(const UdpEntry *entry) {
  return of_channel(entry->next_channel, entry->channel);
}

UdpEntry *table_any(const UdpTable *table) {
  for (uint32_t i = 0; i <= table->mask; i++)
    if (table->buckets[i].by_path) return table->buckets[i].by_path;
  return NULL;
}

void table_visit(const UdpTable *table, void (*visit)(void *data, UdpEntry *entry),
                 void *data) {
  for (uint32_t i = 0; i <= table->mask; i++)
    for (UdpEntry *entry = table->buckets[i].by_path; entry; entry = entry->next_path)
      visit(data, entry);
}
