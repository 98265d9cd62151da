// How fast a connection may send: an estimate of what the line delivers and of its round
// trip without queues, and from both the pace, and how much may be on its way. In the
// manner of BBR (draft-cardwell-iccrg-bbr-congestion-control-00; the rate samples are
// those of draft-cheng-iccrg-delivery-rate-estimation-00): loss by itself, which on the
// way to a player means little, changes nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/udp/sent.h"

typedef enum UdpPhase {
  UDP_STARTUP,     // the rate doubles each round trip, until the line gives no more
  UDP_DRAIN,       // the queue that this has made drains
  UDP_PROBE_RATE,  // about the rate of the line, sometimes a little more
} UdpPhase;

typedef struct UdpRate {
  uint64_t delivered;          // bytes acknowledged so far,
  uint64_t delivered_us;       // when the last were,
  uint64_t first_sent_us;      // and when the newest of these was sent
  uint64_t app_limited_until;  // of `delivered`: the line is not full so far; 0: it is
  uint64_t round_end;          // of `delivered`: a round trip is over
  uint64_t best[2];     // bytes a second: the most of these rounds, and of those before
  uint64_t round_best;  // the most of this round,
  uint64_t low_best;    // and of the low ones before it
  uint64_t full_best;   // `best` when it last grew much
  uint64_t min_rtt_us[2];  // of these seconds, and of those before; 0: none
  uint64_t min_rtt_since_us;
  uint64_t round_rtt_us;  // the least of this round; 0: none
  uint32_t round_acked;   // bytes of this round,
  uint32_t round_lost;    // and those taken for lost
  uint32_t loss;          // smoothed, in thousandths
  uint32_t made_good;     // of `loss`: what the pace makes good
  uint64_t gain_since_us;
  uint64_t drained_us;          // when the queue was last seen to be short
  uint64_t probe_rtt_until_us;  // until then the stream is held back to see it
  uint64_t next_send_us;        // the pace
  uint64_t pace;                // bytes a second
  uint32_t window;              // bytes that may be on their way
  uint8_t phase;                // UdpPhase
  uint8_t gain;                 // index of the present gain in PROBE_RATE
  uint8_t rounds;               // in these best[0]
  uint8_t low_rounds;           // whose best was far below `best`
  uint8_t full_rounds;          // without much growth
  bool is_round_limited;  // the round had a sample that was limited by the application
} UdpRate;

/// A sample of the rate, from one acknowledgement.
typedef struct UdpRateSample {
  uint64_t prior_delivered;
  uint64_t prior_us;
  uint64_t send_us;  // the time in which the delivered bytes were sent
  uint32_t acked;    // bytes
  uint32_t lost;     // bytes
  bool is_app_limited;
} UdpRateSample;

/// `seed` lets connections that share a line probe at different times.
void udp_rate_init(UdpRate *rate, uint64_t now_us, uint16_t seed);

/// Returns the estimate in bytes a second; 0 when there is none.
uint64_t udp_rate_best(const UdpRate *rate);

/// Returns the least round trip of the last 5 to 10 s; 0 when there is none.
uint64_t udp_rate_min_rtt(const UdpRate *rate);

/// Returns when the pace lets the next datagram go.
static inline uint64_t udp_rate_next_us(const UdpRate *rate) {
  return rate->next_send_us;
}

/// Returns how many bytes may be on their way: fewer for the stream while the round trip is
/// measured.
uint32_t udp_rate_window(const UdpRate *rate, bool is_stream, uint64_t now_us);

/// `sent` goes now, with `flying` bytes on their way before it: notes in it what a sample
/// needs, and sets the pace for the next.
void udp_rate_on_send(UdpRate *rate, UdpSent *sent, uint32_t flying, uint64_t now_us);

/// Notes that the owner has nothing more to send, though the window allows more than the
/// `flying` bytes.
void udp_rate_limited(UdpRate *rate, uint32_t flying);

/// Counts `sent` as delivered into `sample`, which is zero-initialised for each acknowledgement.
void udp_rate_on_ack(UdpRate *rate, UdpRateSample *sample, const UdpSent *sent,
                     uint64_t now_us);

/// Notes a measured round trip.
void udp_rate_on_rtt(UdpRate *rate, uint64_t rtt_us, uint64_t now_us);

/// Draws the conclusions of an acknowledgement, after which `flying` bytes are on their way.
void udp_rate_update(UdpRate *rate, const UdpRateSample *sample, uint32_t flying,
                     uint64_t now_us);
