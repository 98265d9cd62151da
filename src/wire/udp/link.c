// A link from its creation to its end, and queries. receive.c has its input, produce.c
// its output, and ack.c the decisions about sent datagrams.
#include "wire/udp/link.h"

#include <assert.h>
#include <sodium.h>

#include "base/mem.h"
#include "wire/udp/internal.h"

enum { REST_US = 1000000 };  // time without traffic after which memory is freed

UdpLink *udp_link_new(const UdpLinkParams *params, uint64_t now_us) {
  assert(params->queue_capacity > 0);
  UdpLink *link = mem_zalloc(sizeof *link);
  link->keys = params->keys;
  link->is_attached = params->is_attached;
  link->is_unencrypted = params->is_unencrypted;
  link->in.is_narrow = params->is_stranger;
  link->in.total = params->kept;
  link->first_sent = params->first_sent;
  link->sent.first = link->sent.next = params->first_sent;
  link->sent.flying_from = params->first_sent;
  link->ack_due_us = UDP_NEVER;
  link->last_sent_us = link->last_used_us = now_us;
  link->queue.max_size = UDP_QUEUE_BYTES;
  udp_link_set_queue(link, params->queue_capacity, params->overflow);
  udp_window_init(&link->window, params->first_received);
  udp_loss_init(&link->loss);
  udp_rate_init(&link->rate, now_us, params->first_sent);
  return link;
}

void udp_link_trust(UdpLink *link) { link->in.is_narrow = false; }

static void drop_all(UdpLink *link) {
  udp_queue_deinit(&link->queue);
  udp_stream_out_deinit(&link->out);
  udp_stream_in_deinit(&link->in);
  udp_latest_deinit(&link->latest);
  udp_sent_deinit(&link->sent);
}

void udp_link_free(UdpLink *link) {
  if (!link) return;
  drop_all(link);
  sodium_memzero(&link->keys, sizeof link->keys);
  mem_free(link);
}

void udp_link_set_queue(UdpLink *link, uint32_t capacity, UdpOverflow overflow) {
  link->queue.max_count = capacity;
  link->queue.drops_oldest = overflow == UDP_DROP_OLDEST;
}

// --- Output: the owner's side ---

uint32_t udp_link_send(UdpLink *link, const void *packet, size_t size, uint32_t key) {
  assert(size <= (key ? UDP_LATEST_MAX : UDP_PACKET_MAX));
  if (udp_link_is_closed(link)) return 0;
  uint32_t dropped = udp_queue_push(&link->queue, packet, (uint16_t)size, key);
  link->stats.dropped += dropped;
  return dropped;
}

UdpLinkQueue udp_link_queued(const UdpLink *link) {
  return (UdpLinkQueue){.packets = link->queue.count, .bytes = link->queue.size};
}

uint32_t udp_link_drop_queued(UdpLink *link) {
  uint32_t dropped = link->queue.count;
  udp_queue_deinit(&link->queue);
  return dropped;
}

size_t udp_link_stream_room(const UdpLink *link) {
  if (udp_link_is_closed(link)) return 0;
  return udp_stream_out_room(&link->out);
}

size_t udp_link_stream_write(UdpLink *link, const void *bytes, size_t size) {
  assert(!link->is_attached);
  size_t room = udp_link_stream_room(link);
  if (size > room) size = room;
  udp_stream_out_write(&link->out, bytes, size);
  return size;
}

size_t udp_link_stream_unacknowledged(const UdpLink *link) {
  return (size_t)(link->out.end - link->out.base);
}

// --- The end ---

void udp_link_close(UdpLink *link, Code code) {
  if (udp_link_is_closed(link)) return;
  link->is_closed = true;
  link->close_code = (uint16_t)code;
  link->closes = UDP_CLOSE_MAX;
  link->owes_close = true;
  link->sent.flying = link->sent.flying_bytes = 0;
  drop_all(link);
}

bool udp_link_is_closed(const UdpLink *link) {
  return link->is_closed || link->is_over;
}

UdpPassing udp_link_passing(const UdpLink *link, uint64_t now_us) {
  uint64_t since_us = link->loss.since_us;
  if (since_us == 0 || now_us < since_us + UDP_STUCK_US) return UDP_PASSES;
  return now_us < since_us + UDP_GONE_US ? UDP_STUCK : UDP_GONE;
}

// --- Queries ---

UdpLinkStats udp_link_stats(const UdpLink *link) {
  UdpLinkStats stats = link->stats;
  stats.rtt_us = link->loss.srtt_us;
  stats.rtt_newest_us = link->loss.newest_rtt_us;
  stats.rtt_min_us = udp_rate_min_rtt(&link->rate);
  stats.rtt_deviation_us = link->loss.rttvar_us;
  stats.rate = udp_rate_best(&link->rate);
  return stats;
}

void udp_link_rest(UdpLink *link, uint64_t now_us) {
  if (link->sent.flying > 0 || link->queue.count > 0) return;
  if (link->out.base != link->out.end || now_us < link->last_used_us + REST_US) return;
  udp_sent_rest(&link->sent);
  udp_queue_deinit(&link->queue);
  udp_stream_out_deinit(&link->out);
  if (link->in.held.count == 0) udp_stream_in_deinit(&link->in);
}
