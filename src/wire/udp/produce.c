// The output: writes and seals the next datagram in the caller's memory, and computes
// the time of the datagram after it.
#include <string.h>

#include "base/integers.h"
#include "base/least.h"
#include "wire/udp/internal.h"

enum {
  STREAM_PIECE_MIN = 64,  // least room, in bytes, for a piece of the stream
  STREAM_TURN =
      8,  // while packets wait, every STREAM_TURN-th datagram carries the stream
};

/// A datagram that is being written.
typedef struct Draft {
  uint8_t *at;   // position of the next item
  uint8_t *end;  // end of the room for items
  UdpSent sent;
  bool is_asking;  // the datagram needs an acknowledgement
} Draft;

static size_t room(const Draft *draft) { return (size_t)(draft->end - draft->at); }

static Draft begin(const UdpLink *link, uint8_t *out) {
  return (Draft){.at = out + UDP_HEAD_SIZE + UDP_ACK_SIZE,
                 .end = out + UDP_DATAGRAM_MAX - udp_tag_size(link)};
}

// Writes an acknowledgement. It reports the newest datagram and the datagrams before
// it, or a late datagram, which the bits of the newest acknowledgement cannot report.
static uint8_t *put_ack(UdpLink *link, uint8_t *at) {
  if (link->has_late) {
    link->has_late = false;  // the newest datagram must still be acknowledged
    at = put_u16(at, (uint16_t)link->late);
    return put_u64(at, udp_window_bits(&link->window, link->late));
  }
  link->ack_due_us = UDP_NEVER;
  link->ack_waiting = 0;
  at = put_u16(at, (uint16_t)(link->window.next - 1));
  return put_u64(at, link->window.recent);
}

// Writes the bytes before the items, seals the items, and counts the datagram as sent.
static size_t finish(UdpLink *link, Draft *draft, uint8_t *out, uint64_t now_us) {
  const uint64_t number = link->sent.next;
  memcpy(out, link->keys.channel, UDP_CHANNEL_SIZE);
  uint8_t *at = put_u16(out + UDP_CHANNEL_SIZE, (uint16_t)number);
  put_ack(link, at);

  uint8_t *inside = out + UDP_HEAD_SIZE;
  if (!link->is_unencrypted)
    udp_seal(link->keys.send, number, out, UDP_HEAD_SIZE, inside,
             (size_t)(draft->at - inside));
  size_t size = (size_t)(draft->at - out) + udp_tag_size(link);

  UdpSent *sent = &draft->sent;
  sent->sent_us = link->last_sent_us = now_us;
  sent->size = (uint16_t)size;
  sent->state = draft->is_asking ? UDP_SENT_FLYING : UDP_SENT_SETTLED;
  if (draft->is_asking) {
    udp_loss_on_send(&link->loss, link->sent.flying == 0, now_us);
    udp_rate_on_send(&link->rate, sent, link->sent.flying_bytes, now_us);
  }
  if (!udp_sent_has_room(&link->sent)) udp_ack_make_room(link);
  udp_sent_push(&link->sent, sent);
  link->stats.sent++;
  link->stats.sent_bytes += size;
  return size;
}

// --- Items ---

static void put_path(Draft *draft, UdpItemKind kind, uint64_t value) {
  *draft->at++ = kind;
  draft->at = put_u64(draft->at, value);
}

static bool put_packet(UdpLink *link, Draft *draft) {
  UdpQueueEntry entry;
  if (!udp_queue_peek(&link->queue, &entry)) return false;
  size_t head = entry.key ? UDP_LATEST_HEAD : UDP_PACKET_HEAD;
  if (head + entry.size > room(draft)) return false;
  if (entry.key)
    draft->at = udp_put_latest(draft->at, entry.key, ++link->order);
  else
    *draft->at++ = UDP_ITEM_PACKET;
  memcpy(draft->at, entry.packet, entry.size);
  draft->at += entry.size;
  draft->is_asking = true;
  udp_queue_pop(&link->queue);
  return true;
}

static void put_stream(UdpLink *link, Draft *draft) {
  if (room(draft) < UDP_STREAM_HEAD + STREAM_PIECE_MIN) return;
  const uint64_t new = link->out.next;
  UdpRange piece = udp_stream_out_take(&link->out, room(draft) - UDP_STREAM_HEAD,
                                       draft->at + UDP_STREAM_HEAD);
  uint16_t size = (uint16_t)(piece.end - piece.start);
  if (size == 0) return;
  udp_put_stream(draft->at, piece.start, size);
  draft->at += UDP_STREAM_HEAD + size;
  draft->sent.stream_start = piece.start;
  draft->sent.stream_size = size;
  draft->is_asking = true;
  if (piece.start < new) link->stats.resent_bytes += size;
}

// --- Limits ---

static bool stream_waits(const UdpLink *link) {
  return udp_stream_out_is_waiting(&link->out);
}

static bool window_is_open(const UdpLink *link, bool is_stream, uint64_t now_us) {
  return link->sent.flying_bytes < udp_rate_window(&link->rate, is_stream, now_us);
}

// Returns whether the owner has nothing more to send. If the window of the stream is
// half full or more, the owner may wait for the line, so it does not count as idle.
static bool is_idle(const UdpLink *link, uint64_t now_us) {
  return link->queue.count == 0 && !stream_waits(link) &&
         link->out.end - link->out.base < UDP_STREAM_WINDOW / 2 &&
         window_is_open(link, false, now_us);
}

// Fills the datagram. Packets precede the stream, but do not block it for ever, because
// the pings that keep the connection alive are in the stream.
static void fill(UdpLink *link, Draft *draft, uint64_t now_us) {
  const bool is_probing = link->is_probing;
  const bool may_go =
      udp_rate_next_us(&link->rate) <= now_us && window_is_open(link, false, now_us);
  if (!may_go && !is_probing) return;
  const bool may_stream =
      stream_waits(link) && (is_probing || window_is_open(link, true, now_us));
  if (may_stream && link->packets_in_a_row >= STREAM_TURN - 1) put_stream(link, draft);
  while (put_packet(link, draft)) continue;
  if (may_stream && draft->sent.stream_size == 0) put_stream(link, draft);
  const bool is_passed_over = may_stream && draft->sent.stream_size == 0;
  link->packets_in_a_row = is_passed_over ? link->packets_in_a_row + 1 : 0;
  if (draft->is_asking) link->last_used_us = now_us;
}

// Handles events that depend only on time: losses, and probes if no acknowledgement
// arrives.
static void run_timers(UdpLink *link, uint64_t now_us) {
  if (now_us >= link->loss.due_us) udp_ack_detect(link, now_us);
  if (link->sent.flying == 0 || now_us < udp_loss_probe_us(&link->loss)) return;
  if (link->loss.probes < UINT8_MAX) link->loss.probes++;
  link->is_probing = true;
  // Fills the probe with useful bytes. The first probe carries new bytes, if any wait.
  // Later probes carry old bytes again, because new bytes may be beyond the other
  // side's window.
  const UdpStreamOut *out = &link->out;
  const bool has_new = stream_waits(link) || link->queue.count > 0;
  if (has_new && link->loss.probes == 1) return;
  udp_stream_out_lose(&link->out, out->base,
                      least(out->next, out->base + UDP_DATAGRAM_MAX));
}

static size_t produce_close(UdpLink *link, uint64_t now_us, uint8_t *out) {
  if (!link->owes_close) return 0;
  link->owes_close = false;
  link->closes--;
  Draft draft = begin(link, out);
  *draft.at++ = UDP_ITEM_CLOSE;
  draft.at = put_u16(draft.at, link->close_code);
  return finish(link, &draft, out, now_us);
}

size_t udp_link_produce(UdpLink *link, uint64_t now_us, uint8_t *out) {
  if (link->is_closed) return produce_close(link, now_us, out);
  if (link->is_over) return 0;
  run_timers(link, now_us);
  Draft draft = begin(link, out);
  if (link->owes_response) {
    put_path(&draft, UDP_ITEM_PATH_RESPONSE, link->response);
    draft.is_asking = true;
    link->owes_response = false;
  }
  fill(link, &draft, now_us);
  const bool is_silent = now_us >= link->last_sent_us + UDP_KEEPALIVE_US;
  if (is_silent) udp_link_rest(link, now_us);
  if (!draft.is_asking && (link->is_probing || is_silent)) {
    // The datagram is as long as a PATH_CHALLENGE, because it may be the first from
    // another address.
    for (int i = 0; i < UDP_PATH_SIZE; i++) *draft.at++ = UDP_ITEM_PROBE;
    draft.is_asking = true;
  }
  link->is_probing = false;
  if (draft.is_asking || now_us >= link->ack_due_us)
    return finish(link, &draft, out, now_us);
  if (is_idle(link, now_us)) udp_rate_limited(&link->rate, link->sent.flying_bytes);
  return 0;
}

size_t udp_link_produce_challenge(UdpLink *link, uint64_t now_us, uint64_t value,
                                  size_t came, uint8_t *out) {
  const size_t size = UDP_HEAD_SIZE + UDP_ACK_SIZE + UDP_PATH_SIZE + udp_tag_size(link);
  if (udp_link_is_closed(link) || size > came) return 0;
  Draft draft = begin(link, out);
  put_path(&draft, UDP_ITEM_PATH_CHALLENGE, value);
  return finish(link, &draft, out, now_us);
}

// Returns the time at which waiting bytes may be sent; UDP_NEVER if an acknowledgement
// must come first.
static uint64_t pace_deadline(const UdpLink *link) {
  const UdpRate *rate = &link->rate;
  const bool has_packets = link->queue.count > 0;
  if (!has_packets && !stream_waits(link)) return UDP_NEVER;
  if (!window_is_open(link, false, UDP_NEVER)) return UDP_NEVER;
  uint64_t next_us = udp_rate_next_us(rate);
  if (has_packets || window_is_open(link, true, 0)) return next_us;
  return most(next_us, rate->probe_rtt_until_us);
}

uint64_t udp_link_deadline(const UdpLink *link) {
  if (link->is_closed) return link->owes_close ? 0 : UDP_NEVER;
  if (link->is_over) return UDP_NEVER;
  if (link->owes_response) return 0;
  uint64_t deadline = link->last_sent_us + UDP_KEEPALIVE_US;
  if (link->sent.flying > 0) {
    deadline = least(deadline, link->loss.due_us);
    deadline = least(deadline, udp_loss_probe_us(&link->loss));
  }
  deadline = least(deadline, pace_deadline(link));
  return least(deadline, link->ack_due_us);
}
