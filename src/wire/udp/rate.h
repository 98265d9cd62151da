// Decides how fast a connection may send. Estimates the delivery rate of the line and
// its round trip without queues. From both, computes the pace and the limit of bytes on
// their way. The method follows BBR (draft-cardwell-iccrg-bbr-congestion-control-00).
// The rate samples follow draft-cheng-iccrg-delivery-rate-estimation-00. Loss does not
// slow the sender down, because on a player's line it says little about the rate.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/udp/sent.h"

typedef enum UdpPhase {
  UDP_STARTUP,  // the rate doubles in each round trip until the line delivers no more
  UDP_DRAIN,    // the queue of UDP_STARTUP drains
  UDP_PROBE_RATE,  // the rate stays near the line's rate, and is sometimes a little
                   // higher
} UdpPhase;

typedef struct UdpRate {
  uint64_t delivered;      // bytes acknowledged so far
  uint64_t delivered_us;   // time of the last acknowledgement
  uint64_t first_sent_us;  // time at which the newest acknowledged datagram was sent
  uint64_t app_limited_until;  // value of `delivered` until which the application
                               // limits the rate; 0: it does not limit the rate
  uint64_t round_end;          // value of `delivered` at which the current round ends
  uint64_t best[2];     // best rates of this and the previous period, in bytes a second
  uint64_t round_best;  // best rate of the current round
  uint64_t low_best;    // best rate of the successive low rounds before the current one
  uint64_t full_best;   // value of `best` when it last grew much
  uint64_t min_rtt_us[2];  // least round trips: of the current 5 s, and of the previous
                           // 5 s; 0: none
  uint64_t min_rtt_since_us;
  uint64_t round_rtt_us;  // least round trip of the current round; 0: none
  uint32_t round_acked;   // bytes acknowledged in the current round
  uint32_t round_lost;    // bytes considered lost in the current round
  uint32_t loss;          // smoothed loss, in thousandths
  uint32_t made_good;     // part of `loss` that the pace makes up for, in thousandths
  uint64_t gain_since_us;
  uint64_t drained_us;          // last time at which the queue was short
  uint64_t probe_rtt_until_us;  // end of a measurement of the round trip, during which
                                // the stream is slowed down
  uint64_t next_send_us;        // earliest time of the next datagram
  uint64_t pace;                // bytes a second
  uint32_t window;              // limit of bytes on their way
  uint8_t phase;                // UdpPhase
  uint8_t gain;                 // index of the current gain in PROBE_RATE
  uint8_t rounds;               // rounds counted in best[0]
  uint8_t low_rounds;           // successive rounds with a best rate far below `best`
  uint8_t full_rounds;          // successive rounds without much growth
  bool is_round_limited;        // the application has limited a sample of the round
} UdpRate;

/// A sample of the rate, from one acknowledgement.
typedef struct UdpRateSample {
  uint64_t prior_delivered;
  uint64_t prior_us;
  uint64_t send_us;  // time in which the delivered bytes were sent
  uint32_t acked;    // bytes acknowledged
  uint32_t lost;     // bytes considered lost
  bool is_app_limited;
} UdpRateSample;

/// Initializes the estimate. Different seeds make connections on one line probe at
/// different times.
void udp_rate_init(UdpRate *rate, uint64_t now_us, uint16_t seed);

/// Returns the estimated rate in bytes a second; 0: unknown.
uint64_t udp_rate_best(const UdpRate *rate);

/// Returns the least round trip of the last 5 to 10 s; 0: unknown.
uint64_t udp_rate_min_rtt(const UdpRate *rate);

/// Returns the earliest time of the next datagram.
static inline uint64_t udp_rate_next_us(const UdpRate *rate) {
  return rate->next_send_us;
}

/// Returns the limit of bytes on their way. For the stream, the limit is lower while
/// the round trip is measured.
uint32_t udp_rate_window(const UdpRate *rate, bool is_stream, uint64_t now_us);

/// Reports that `sent` is being sent, with `flying` bytes on their way before it.
/// Stores in `sent` the values for a later sample. Computes the time of the next
/// datagram.
void udp_rate_on_send(UdpRate *rate, UdpSent *sent, uint32_t flying, uint64_t now_us);

/// Reports that the owner has nothing more to send, although the window allows more
/// than the `flying` bytes.
void udp_rate_limited(UdpRate *rate, uint32_t flying);

/// Counts `sent` as delivered in `sample`, which must be zero-initialized for each
/// acknowledgement.
void udp_rate_on_ack(UdpRate *rate, UdpRateSample *sample, const UdpSent *sent,
                     uint64_t now_us);

/// Reports a measured round trip.
void udp_rate_on_rtt(UdpRate *rate, uint64_t rtt_us, uint64_t now_us);

/// Updates the estimates after an acknowledgement, with `flying` bytes still on their
/// way.
void udp_rate_update(UdpRate *rate, const UdpRateSample *sample, uint32_t flying,
                     uint64_t now_us);
