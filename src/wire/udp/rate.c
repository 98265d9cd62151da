// Differences from the draft that rate.h names:
//   - The two filters keep the best value of the current period and of the previous one,
//     instead of a sliding window.
//   - The round trip is measured again only for a connection that always keeps the line
//     full. Only the stream is slowed down during the measurement.
//   - The estimate follows a line that seems much narrower only after three round trips.
//   - The pace makes up for random loss, because the estimate counts the bytes that
//     arrive, not the bytes that the line accepts.
#include "wire/udp/rate.h"

#include <stddef.h>

#include "base/least.h"
#include "wire/udp/link.h"

enum {
  // Bytes:
  FIRST_WINDOW = 10 * UDP_DATAGRAM_MAX,  // as in RFC 6928
  LEAST_WINDOW = 4 * UDP_DATAGRAM_MAX,   // least window that delayed ACKs do not stop
  SPARE = 3 * UDP_DATAGRAM_MAX,  // spare bytes in the window, which is not exact
  ARRIVED_MAX = UDP_ACK_DATAGRAMS * UDP_DATAGRAM_MAX,  // most bytes that may have
                                                       // arrived without an
                                                       // acknowledgement
  WINDOW_MAX = 4 << 20,                                // about UDP_SENT_MAX datagrams
  BURST = 10 * UDP_DATAGRAM_MAX,  // bytes sent at once after a pause, as in RFC 9002,
                                  // 7.7
  // Times and rounds:
  FIRST_RTT_US = 100 * 1000,
  HOUSE_RTT_US = 10 * 1000,
  PROBE_RTT_US = 200 * 1000,
  FILTER_ROUNDS = 5,  // rounds in each half of a filter; the draft's filter has 10
  LOW_ROUNDS = 3,     // rounds far below the best rate after which the line counts as
                      // narrower
  FULL_ROUNDS = 3,    // rounds without growth after which the line counts as full
  DRAIN_RTTS = 2,  // longest time, in round trips, to drain the queue that a probe has
                   // caused
  // Loss and queues:
  LOSS_MAX = 200,       // most thousandths of loss that the pace makes up for
  QUEUE_PERCENT = 112,  // percent of the least round trip; a longer one means a queue
  // Gains:
  GAINS = 8,           // number of gains in PROBE_RATE, one for each round trip
  WINDOW_GAIN = 200,   // percent of the bytes that fill the line
  STARTUP_GAIN = 289,  // percent: 2 / ln 2, the least gain that doubles the rate
  PACE_PERCENT = 98,   // below 100, so that an overestimate causes no lasting queue
};
static const uint64_t SECOND = 1000000;
static const uint64_t MIN_RTT_HALF_US = 5 * UINT64_C(1000000);

static const uint8_t gains[GAINS] = {125, 75, 100, 100, 100, 100, 100, 100};

void udp_rate_init(UdpRate *rate, uint64_t now_us, uint16_t seed) {
  *rate = (UdpRate){
      .delivered_us = now_us,
      .first_sent_us = now_us,
      .app_limited_until = 1,
      .min_rtt_since_us = now_us,
      .drained_us = now_us,
      .window = FIRST_WINDOW,
      .pace = FIRST_WINDOW * SECOND / FIRST_RTT_US * STARTUP_GAIN / 100,
      .gain = (uint8_t)(2 + seed % (GAINS - 2)),
  };
}

uint64_t udp_rate_best(const UdpRate *rate) {
  return most(rate->best[0], rate->best[1]);
}

uint64_t udp_rate_min_rtt(const UdpRate *rate) {
  const uint64_t *rtt = rate->min_rtt_us;
  if (!rtt[0] || !rtt[1]) return rtt[0] + rtt[1];
  return least(rtt[0], rtt[1]);
}

// Returns `percent` of the bytes that fill the line without a queue.
static uint64_t fill(const UdpRate *rate, uint32_t percent) {
  return udp_rate_best(rate) * udp_rate_min_rtt(rate) / SECOND * percent / 100;
}

uint32_t udp_rate_window(const UdpRate *rate, bool is_stream, uint64_t now_us) {
  if (!is_stream || now_us >= rate->probe_rtt_until_us) return rate->window;
  return (uint32_t)least(rate->window, most(fill(rate, 50), LEAST_WINDOW));
}

void udp_rate_on_send(UdpRate *rate, UdpSent *sent, uint32_t flying, uint64_t now_us) {
  if (flying == 0) rate->first_sent_us = rate->delivered_us = now_us;
  sent->delivered = rate->delivered;
  sent->delivered_us = rate->delivered_us;
  sent->first_sent_us = rate->first_sent_us;
  sent->is_app_limited = rate->app_limited_until != 0;
  uint64_t credit_us = BURST * SECOND / rate->pace;
  uint64_t from = now_us > credit_us ? now_us - credit_us : 0;
  rate->next_send_us =
      most(rate->next_send_us, from) + sent->size * SECOND / rate->pace;
}

void udp_rate_limited(UdpRate *rate, uint32_t flying) {
  rate->app_limited_until = most(rate->delivered + flying, 1);
}

void udp_rate_on_ack(UdpRate *rate, UdpRateSample *sample, const UdpSent *sent,
                     uint64_t now_us) {
  const bool is_newest =
      sample->acked == 0 || sent->delivered >= sample->prior_delivered;
  rate->delivered += sent->size;
  rate->delivered_us = now_us;
  sample->acked += sent->size;
  if (!is_newest) return;
  sample->prior_delivered = sent->delivered;
  sample->prior_us = sent->delivered_us;
  sample->send_us = sent->sent_us - sent->first_sent_us;
  sample->is_app_limited = sent->is_app_limited;
  rate->first_sent_us = most(rate->first_sent_us, sent->sent_us);
}

void udp_rate_on_rtt(UdpRate *rate, uint64_t rtt_us, uint64_t now_us) {
  uint64_t *rtt = rate->min_rtt_us;
  if (now_us - rate->min_rtt_since_us > MIN_RTT_HALF_US) {
    rtt[1] = rtt[0];
    rtt[0] = rtt_us;
    rate->min_rtt_since_us = now_us;
  }
  if (!rtt[0] || rtt_us < rtt[0]) rtt[0] = rtt_us;
  if (!rate->round_rtt_us || rtt_us < rate->round_rtt_us) rate->round_rtt_us = rtt_us;
}

// --- Conclusions ---

// Ends a round that only the line has limited. Several successive rounds far below the
// best rate mean that the line has become narrower.
static void end_round(UdpRate *rate) {
  const bool is_low = rate->round_best < udp_rate_best(rate) * 3 / 4;
  rate->low_rounds = is_low ? rate->low_rounds + 1 : 0;
  rate->low_best = is_low ? most(rate->low_best, rate->round_best) : 0;
  rate->round_best = 0;
  if (rate->low_rounds >= LOW_ROUNDS) {
    rate->best[0] = rate->best[1] = rate->low_best;
    rate->low_best = 0;
    rate->low_rounds = rate->rounds = 0;
  } else if (++rate->rounds >= FILTER_ROUNDS) {
    rate->best[1] = rate->best[0];
    rate->best[0] = 0;
    rate->rounds = 0;
  }
}

// Updates the best rate of the rounds. If the application limited a sample, the sample
// is only a lower bound of the rate, and its round does not count.
static void filter(UdpRate *rate, const UdpRateSample *sample, bool is_round,
                   uint64_t now_us) {
  if (is_round && !rate->is_round_limited) end_round(rate);
  uint64_t took = most(sample->send_us, now_us - sample->prior_us);
  if (took == 0 || took < udp_rate_min_rtt(rate)) return;
  uint64_t best = (rate->delivered - sample->prior_delivered) * SECOND / took;
  if (sample->is_app_limited && best < udp_rate_best(rate)) return;
  rate->best[0] = most(rate->best[0], best);
  rate->round_best = most(rate->round_best, best);
}

// Measures the loss of each round, and how much of it the pace makes up for. Without a
// queue, loss is random: the line accepts as many bytes as before and delivers fewer. A
// sender that adapted to the delivered bytes would become slower and slower.
static void watch_loss(UdpRate *rate, const UdpRateSample *sample, bool is_round) {
  rate->round_acked += sample->acked;
  rate->round_lost += sample->lost;
  if (!is_round) return;
  const uint64_t lost = rate->round_lost, sent = lost + rate->round_acked;
  rate->loss = (3 * rate->loss + (uint32_t)(lost * 1000 / sent)) / 4;
  const bool is_queueing =
      rate->round_rtt_us > udp_rate_min_rtt(rate) * QUEUE_PERCENT / 100;
  rate->made_good = is_queueing ? 0 : (uint32_t)least(rate->loss, LOSS_MAX);
  rate->round_acked = rate->round_lost = 0;
  rate->round_rtt_us = 0;
}

static void watch_startup(UdpRate *rate, bool is_round, uint64_t now_us) {
  if (!is_round || rate->is_round_limited) return;
  uint64_t best = udp_rate_best(rate);
  if (best >= rate->full_best * 125 / 100) {
    rate->full_best = best;
    rate->full_rounds = 0;
  } else if (++rate->full_rounds >= FULL_ROUNDS) {
    rate->phase = UDP_DRAIN;
    rate->gain_since_us = now_us;
  }
}

// Returns the time for which the gain stays the same. This is one round trip, but at
// least the delay of acknowledgements, because no effect is visible earlier.
static uint64_t step_us(const UdpRate *rate) {
  return most(udp_rate_min_rtt(rate), UDP_ACK_DELAY_US);
}

static void watch_gain(UdpRate *rate, const UdpRateSample *sample, uint32_t flying,
                       uint64_t now_us) {
  uint8_t gain = gains[rate->gain];
  const uint64_t for_us = now_us - rate->gain_since_us;
  bool is_over = for_us > step_us(rate);
  if (gain > 100)
    is_over = is_over && (sample->lost > 0 || flying >= fill(rate, gain));
  else if (gain < 100)
    is_over = flying <= fill(rate, 100) || for_us > DRAIN_RTTS * step_us(rate);
  if (!is_over) return;
  rate->gain = (uint8_t)((rate->gain + 1) % GAINS);
  rate->gain_since_us = now_us;
}

static void watch_phase(UdpRate *rate, const UdpRateSample *sample, bool is_round,
                        uint32_t flying, uint64_t now_us) {
  if (rate->phase == UDP_STARTUP) watch_startup(rate, is_round, now_us);
  const bool is_drained = flying <= fill(rate, 100) ||
                          now_us - rate->gain_since_us > FULL_ROUNDS * step_us(rate);
  if (rate->phase == UDP_DRAIN && is_drained) {
    rate->phase = UDP_PROBE_RATE;
    rate->gain_since_us = now_us;
  }
  if (rate->phase == UDP_PROBE_RATE) watch_gain(rate, sample, flying, now_us);
}

// Starts a measurement of the round trip if the queue has not drained for a long time,
// because a queue makes the round trip look longer.
static void watch_queue(UdpRate *rate, const UdpRateSample *sample, uint64_t now_us) {
  if (sample->is_app_limited || rate->phase == UDP_STARTUP) rate->drained_us = now_us;
  if (now_us - rate->drained_us < 2 * MIN_RTT_HALF_US) return;
  rate->drained_us = now_us;
  rate->probe_rtt_until_us = now_us + PROBE_RTT_US + udp_rate_min_rtt(rate);
}

static void set_pace(UdpRate *rate) {
  uint64_t best = udp_rate_best(rate);
  if (best == 0) return;
  uint32_t gain = gains[rate->gain];
  if (rate->phase == UDP_STARTUP) gain = STARTUP_GAIN;
  if (rate->phase == UDP_DRAIN) gain = 100 * 100 / STARTUP_GAIN;
  uint64_t pace = best * gain / 100 * PACE_PERCENT / 100;
  pace = pace * 1000 / (1000 - rate->made_good);
  // The first samples may be low because little was sent, so the pace does not fall at
  // the start.
  rate->pace = most(pace, rate->phase == UDP_STARTUP ? rate->pace : LEAST_WINDOW);
}

static void set_window(UdpRate *rate, const UdpRateSample *sample) {
  const bool is_startup = rate->phase == UDP_STARTUP;
  const uint64_t best = udp_rate_best(rate);
  // Assumes a round trip of at least HOUSE_RTT_US, because on a local network the
  // machines usually cause more delay than the line.
  uint64_t rtt_us = most(udp_rate_min_rtt(rate), HOUSE_RTT_US);
  uint64_t target =
      best * rtt_us / SECOND * (is_startup ? STARTUP_GAIN : WINDOW_GAIN) / 100;
  // Bytes that have arrived may not have been acknowledged yet.
  uint64_t arrived = least(best * UDP_ACK_DELAY_US / SECOND, ARRIVED_MAX);
  target = most(target + arrived + SPARE, LEAST_WINDOW);
  if (is_startup) target = most(target, rate->window);
  uint64_t grown = (uint64_t)rate->window + sample->acked;
  rate->window = (uint32_t)least(least(target, grown), WINDOW_MAX);
}

void udp_rate_update(UdpRate *rate, const UdpRateSample *sample, uint32_t flying,
                     uint64_t now_us) {
  if (sample->acked == 0) return;
  if (rate->app_limited_until && rate->delivered > rate->app_limited_until)
    rate->app_limited_until = 0;
  if (sample->is_app_limited) rate->is_round_limited = true;
  const bool is_round = sample->prior_delivered >= rate->round_end;
  if (is_round) rate->round_end = rate->delivered;
  filter(rate, sample, is_round, now_us);
  watch_loss(rate, sample, is_round);
  watch_phase(rate, sample, is_round, flying, now_us);
  watch_queue(rate, sample, now_us);
  set_pace(rate);
  set_window(rate, sample);
  if (is_round) rate->is_round_limited = false;
}
