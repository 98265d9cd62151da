// The input: opens a datagram, checks all of it, and only then accepts it. Therefore a
// datagram that is forged or breaks a rule changes nothing. udp_link_next then reads
// the items a second time.
#include <string.h>

#include "base/err.h"
#include "wire/udp/internal.h"

static const Reader nothing;

// Opens a datagram. Returns false unless it is new and authentic.
static bool open_datagram(UdpLink *link, uint8_t *bytes, size_t size, uint64_t *number,
                          Reader *body) {
  const size_t tag = udp_tag_size(link);
  if (size < UDP_HEAD_SIZE + UDP_ACK_SIZE + tag || size > UDP_DATAGRAM_MAX)
    return false;
  if (memcmp(bytes, link->keys.channel, UDP_CHANNEL_SIZE) != 0) return false;
  Reader head = reader_of(bytes + UDP_CHANNEL_SIZE, 2);
  *number = udp_number(link->window.next, reader_u16(&head));
  if (!udp_window_is_fresh(&link->window, *number)) return false;
  uint8_t *inside = bytes + UDP_HEAD_SIZE;
  size -= UDP_HEAD_SIZE + tag;
  *body = reader_of(inside, size);
  return link->is_unencrypted ||
         udp_open(link->keys.receive, *number, bytes, UDP_HEAD_SIZE, inside, size);
}

typedef enum Judgement { GOOD, LATE, BROKEN } Judgement;

// Checks whether the items obey the rules, and whether the stream obeys its window.
// Sets `is_asking` to whether the items need an acknowledgement.
static Judgement judge(const UdpLink *link, Reader items, bool *is_asking) {
  Judgement judgement = GOOD;
  *is_asking = false;
  while (reader_left(&items) > 0) {
    UdpItem item;
    if (udp_read_item(&items, &item) < 0) return BROKEN;
    if (item.kind != UDP_ITEM_CLOSE) *is_asking = true;
    if (item.kind != UDP_ITEM_STREAM) continue;
    if (link->is_attached) return BROKEN;
    if (!udp_stream_in_fits(&link->in, item.offset, item.size)) judgement = LATE;
  }
  return judgement;
}

// Stores that the accepted datagram `number` must be acknowledged, soon or at once.
static void owe_ack(UdpLink *link, uint64_t number, bool is_next, uint64_t now_us) {
  link->ack_waiting++;
  if (link->window.next - 1 - number > UDP_ACK_BITS) {
    link->late = number;
    link->has_late = true;
  }
  if (!is_next || link->ack_waiting >= UDP_ACK_DATAGRAMS)
    link->ack_due_us = now_us;
  else if (link->ack_due_us == UDP_NEVER)
    link->ack_due_us = now_us + UDP_ACK_DELAY_US;
}

UdpTaken udp_link_receive(UdpLink *link, uint64_t now_us, uint8_t *bytes, size_t size) {
  Reader body;
  uint64_t number;
  bool is_asking;
  link->items = nothing;
  if (!open_datagram(link, bytes, size, &number, &body)) {
    link->stats.refused++;
    return UDP_REFUSED;
  }
  if (link->is_closed || link->is_over) {
    udp_window_take(&link->window, number);
    if (link->is_closed) link->owes_close = link->closes > 0;
    return UDP_TAKEN;
  }
  uint16_t ack = reader_u16(&body);
  uint64_t bits = reader_u64(&body);
  Judgement judgement = judge(link, body, &is_asking);
  if (judgement == LATE) {
    link->stats.refused++;
    return UDP_REFUSED;
  }
  const bool is_next = number == link->window.next;
  const bool is_newest = number >= link->window.next;
  udp_window_take(&link->window, number);
  if (judgement == BROKEN || udp_ack_receive(link, ack, bits, now_us) < 0)
    return UDP_BROKEN;
  link->stats.received++;
  link->stats.received_bytes += size;
  if (is_asking) owe_ack(link, number, is_next, now_us);
  link->items = body;
  return is_newest ? UDP_NEWEST : UDP_TAKEN;
}

// --- Items ---

static bool arrive(UdpArrival *arrival, UdpArrivalKind kind) {
  arrival->kind = kind;
  return true;
}

static bool take_stream(UdpLink *link, const UdpItem *item, UdpArrival *arrival) {
  uint16_t fresh = 0;
  if (!link->is_throttled)
    fresh = udp_stream_in_pass(&link->in, item->offset, item->size);
  if (fresh == 0) {
    udp_stream_in_keep(&link->in, item->offset, item->bytes, item->size);
    return false;
  }
  arrival->bytes = item->bytes + item->size - fresh;
  arrival->size = fresh;
  return arrive(arrival, UDP_ARRIVAL_STREAM);
}

// Handles an item; returns whether the owner must get it.
static bool take_item(UdpLink *link, const UdpItem *item, UdpArrival *arrival) {
  switch (item->kind) {
    case UDP_ITEM_LATEST:
      if (!udp_latest_take(&link->latest, item->key, item->order)) return false;
      arrival->packet = item->packet;
      return arrive(arrival, UDP_ARRIVAL_PACKET);
    case UDP_ITEM_PACKET:
      arrival->packet = item->packet;
      return arrive(arrival, UDP_ARRIVAL_PACKET);
    case UDP_ITEM_STREAM:
      return take_stream(link, item, arrival);
    case UDP_ITEM_PATH_CHALLENGE:
      link->owes_response = true;
      link->response = item->path;
      return false;
    case UDP_ITEM_PATH_RESPONSE:
      arrival->value = item->path;
      return arrive(arrival, UDP_ARRIVAL_PATH_RESPONSE);
    case UDP_ITEM_PROBE:
      return false;
    case UDP_ITEM_CLOSE:
      link->is_over = true;
      arrival->code = item->code;
      return arrive(arrival, UDP_ARRIVAL_CLOSE);
  }
  return false;
}

// Stores the next kept bytes of the stream in `arrival`. Returns false if no kept bytes
// are in order.
static bool take_kept(UdpLink *link, UdpArrival *arrival) {
  if (link->is_throttled) return false;
  arrival->bytes = udp_stream_in_next(&link->in, &arrival->size);
  return arrival->bytes && arrive(arrival, UDP_ARRIVAL_STREAM);
}

bool udp_link_next(UdpLink *link, UdpArrival *arrival) {
  if (link->is_closed || link->is_over) return false;
  *arrival = (UdpArrival){0};
  if (take_kept(link, arrival)) return true;
  while (reader_left(&link->items) > 0) {
    UdpItem item;
    if (udp_read_item(&link->items, &item) < 0)
      break;  // cannot fail, because the
              // items were checked before
    if (take_item(link, &item, arrival)) return true;
  }
  return take_kept(link, arrival);
}

void udp_link_throttle(UdpLink *link) { link->is_throttled = true; }

void udp_link_unthrottle(UdpLink *link) { link->is_throttled = false; }
