// This file differs from RFC 8985 in two ways. First, the expected round trip of a
// datagram is never shorter than the smoothed one, because on players' lines round
// trips vary, while datagrams rarely change their order. Second, the window for
// reordering narrows step by step, not at once.
#include "wire/udp/loss.h"

#include "base/least.h"
#include "wire/udp/link.h"

enum {
  ORDER_LIMIT = 3,   // later numbers after which a datagram is lost; only before the
                     // first reordering
  LOSS_ROUNDS = 16,  // rounds with losses after which the window narrows (RFC 8985,
                     // 6.2)
  FIRST_RTT_US = 200000,  // round trip assumed before the first sample
  RTT_MAX_US = 10000000,  // longest valid sample; a longer one means that a machine was
                          // asleep
  LEAST_MARGIN_US = 1000,
  PROBE_MAX_US = 1000000,
};

void udp_loss_init(UdpLoss *loss) {
  *loss = (UdpLoss){.due_us = UDP_NEVER, .window = 1};
}

void udp_loss_on_send(UdpLoss *loss, bool is_first, uint64_t now_us) {
  loss->last_sent_us = now_us;
  if (is_first && loss->since_us == 0) loss->since_us = most(now_us, 1);
}

static void smooth(UdpLoss *loss, uint64_t rtt_us) {
  if (loss->srtt_us == 0) {
    loss->srtt_us = rtt_us;
    loss->rttvar_us = rtt_us / 2;
    return;
  }
  uint64_t off =
      rtt_us > loss->srtt_us ? rtt_us - loss->srtt_us : loss->srtt_us - rtt_us;
  loss->rttvar_us = (3 * loss->rttvar_us + off) / 4;
  loss->srtt_us = (7 * loss->srtt_us + rtt_us) / 8;
}

uint64_t udp_loss_on_ack(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                         uint64_t now_us) {
  if (number < loss->newest) return 0;
  loss->newest = number + 1;
  loss->newest_rtt_us = least(most(now_us - sent->sent_us, 1), RTT_MAX_US);
  smooth(loss, loss->newest_rtt_us);
  return loss->newest_rtt_us;
}

void udp_loss_on_acks(UdpLoss *loss, bool flies, uint64_t now_us) {
  loss->probes = 0;
  loss->since_us = flies ? most(now_us, 1) : 0;
}

void udp_loss_on_spurious(UdpLoss *loss, uint64_t next) {
  loss->loss_rounds = 0;
  if (loss->newest < loss->widened || loss->window == UINT8_MAX) return;
  loss->widened = next;
  loss->window++;
}

bool udp_loss_is_lost(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                      uint64_t min_rtt_us, uint64_t now_us) {
  if (number >= loss->newest) return false;
  const uint64_t later = loss->newest - 1 - number;
  if (later >= ORDER_LIMIT && !loss->is_reordering) return true;
  uint64_t window_us = least(min_rtt_us / 4 * loss->window, loss->srtt_us);
  uint64_t due_us =
      sent->sent_us + most(loss->newest_rtt_us, loss->srtt_us) + window_us;
  if (now_us >= due_us) return true;
  loss->due_us = due_us;
  return false;
}

void udp_loss_on_loss(UdpLoss *loss, uint64_t next) {
  if (loss->newest < loss->narrowed) return;
  loss->narrowed = next;
  if (++loss->loss_rounds < LOSS_ROUNDS || loss->window == 1) return;
  loss->loss_rounds = 0;
  loss->window--;
}

uint64_t udp_loss_probe_us(const UdpLoss *loss) {
  uint64_t wait_us = FIRST_RTT_US;
  if (loss->srtt_us)
    wait_us = loss->srtt_us + most(4 * loss->rttvar_us, LEAST_MARGIN_US);
  wait_us += UDP_ACK_DELAY_US;
  for (int i = 0; i < loss->probes && wait_us < PROBE_MAX_US; i++) wait_us *= 2;
  return loss->last_sent_us + least(wait_us, PROBE_MAX_US);
}
