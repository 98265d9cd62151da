// Decides which sent datagrams have been acknowledged, and which count as lost.
#include "base/err.h"
#include "wire/udp/internal.h"

enum { LOST_KEPT_RTTS = 4 };  // round trips for which a lost datagram stays in the ring

// Returns whether this side has sent all numbers in an acknowledgement.
static bool is_possible(const UdpLink *link, uint64_t ack, uint64_t bits) {
  if (ack + 1 == link->first_sent)
    return bits == 0;  // the other side has received
                       // nothing so far
  if (ack < link->first_sent || ack >= link->sent.next) return false;
  uint64_t before = ack - link->first_sent;
  return before >= UDP_ACK_BITS || bits >> before == 0;
}

// The effect of one acknowledgement.
typedef struct Effect {
  uint64_t newest;  // one more than the highest number acknowledged before
  UdpRateSample sample;
} Effect;

static void acknowledge(UdpLink *link, uint64_t number, Effect *effect,
                        uint64_t now_us) {
  UdpSent *sent = udp_sent_at(&link->sent, number);
  if (!sent || sent->state == UDP_SENT_SETTLED) return;
  if (number < effect->newest) link->loss.is_reordering = true;
  uint64_t rtt_us = udp_loss_on_ack(&link->loss, sent, number, now_us);
  if (rtt_us) udp_rate_on_rtt(&link->rate, rtt_us, now_us);
  udp_rate_on_ack(&link->rate, &effect->sample, sent, now_us);
  if (sent->stream_size > 0)
    udp_stream_out_ack(&link->out, sent->stream_start,
                       sent->stream_start + sent->stream_size);
  link->stats.acknowledged++;
  if (sent->state == UDP_SENT_LOST) {
    link->stats.spurious++;
    udp_loss_on_spurious(&link->loss, link->sent.next);
  }
  udp_sent_settle(&link->sent, sent, UDP_SENT_SETTLED);
}

static void lose(UdpLink *link, UdpSent *sent) {
  if (sent->stream_size > 0)
    udp_stream_out_lose(&link->out, sent->stream_start,
                        sent->stream_start + sent->stream_size);
  link->stats.lost++;
  udp_sent_settle(&link->sent, sent, UDP_SENT_LOST);
}

// Finds the lost datagrams, and returns the number of their bytes.
static uint32_t detect(UdpLink *link, uint64_t now_us) {
  uint32_t flew = link->sent.flying_bytes;
  uint64_t min_rtt_us = udp_rate_min_rtt(&link->rate);
  link->loss.due_us = UDP_NEVER;
  for (uint64_t *n = &link->sent.flying_from; *n < link->loss.newest; ++*n) {
    UdpSent *sent = udp_sent_at(&link->sent, *n);
    if (!sent || sent->state != UDP_SENT_FLYING) continue;
    if (!udp_loss_is_lost(&link->loss, sent, *n, min_rtt_us, now_us)) break;
    lose(link, sent);
  }
  uint32_t lost = flew - link->sent.flying_bytes;
  if (lost > 0) udp_loss_on_loss(&link->loss, link->sent.next);
  if (link->sent.flying == 0) link->loss.since_us = 0;
  uint64_t keep_us = LOST_KEPT_RTTS * link->loss.srtt_us;
  udp_sent_trim(&link->sent, now_us > keep_us ? now_us - keep_us : 0);
  return lost;
}

void udp_ack_detect(UdpLink *link, uint64_t now_us) { detect(link, now_us); }

void udp_ack_make_room(UdpLink *link) {
  UdpSent *oldest = udp_sent_at(&link->sent, link->sent.first);
  if (oldest->state == UDP_SENT_FLYING) lose(link, oldest);
  udp_sent_trim(&link->sent, oldest->sent_us + 1);
}

int udp_ack_receive(UdpLink *link, uint16_t ack, uint64_t bits, uint64_t now_us) {
  const uint64_t newest = udp_number(link->sent.next, ack);
  if (!is_possible(link, newest, bits)) return ERR_MALFORMED;
  if (newest + 1 == link->first_sent) return 0;
  const uint64_t before = link->stats.acknowledged;
  Effect effect = {.newest = link->loss.newest};
  acknowledge(link, newest, &effect, now_us);
  for (uint64_t n = newest; bits != 0 && n > link->sent.first; bits >>= 1) {
    n--;
    if (bits & 1) acknowledge(link, n, &effect, now_us);
  }
  if (before == link->stats.acknowledged) return 0;
  effect.sample.lost = detect(link, now_us);
  udp_loss_on_acks(&link->loss, link->sent.flying > 0, now_us);
  udp_rate_update(&link->rate, &effect.sample, link->sent.flying_bytes, now_us);
  udp_link_rest(link, now_us);
  return 0;
}
