// The sent datagrams whose fate is open: a ring by number, from the oldest one to the last.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_SENT_MAX = 4096 };  // numbers that the ring spans at most, a power of two

typedef enum UdpSentState {
  UDP_SENT_SETTLED,  // acknowledged, or needs no acknowledgement
  UDP_SENT_FLYING,   // on its way
  UDP_SENT_LOST,     // considered lost; an acknowledgement may still prove the opposite
} UdpSentState;

typedef struct UdpSent {
  uint64_t sent_us;
  uint64_t delivered;  // these as they stood when it was sent: see udp_rate.h
  uint64_t delivered_us;
  uint64_t first_sent_us;
  uint64_t stream_start;  // the piece of the stream in it
  uint16_t stream_size;
  uint16_t size;
  uint8_t state;  // UdpSentState
  bool is_app_limited;
} UdpSent;

/// Zero-initialised is empty, with number 0 next.
typedef struct UdpSentRing {
  UdpSent *items;        // number `n` is at n modulo capacity
  uint32_t capacity;     // power of two
  uint64_t first;        // the oldest number that is still needed,
  uint64_t next;         // and one more than the last; equal if none is needed
  uint64_t flying_from;  // nothing before it is on its way
  uint32_t flying_bytes;
  uint32_t flying;
} UdpSentRing;

void udp_sent_deinit(UdpSentRing *ring);

/// Gives the memory back, and forgets what was taken for lost. Nothing may be flying.
void udp_sent_rest(UdpSentRing *ring);

/// Returns whether there is room for one more.
bool udp_sent_has_room(const UdpSentRing *ring);

/// Counts the next number as sent. `sent` is copied; its state is FLYING, or SETTLED for a
/// datagram that is not acknowledged, which takes no memory unless something is flying.
void udp_sent_push(UdpSentRing *ring, const UdpSent *sent);

/// Returns the datagram sent with `number`; NULL if it does not matter any more.
UdpSent *udp_sent_at(const UdpSentRing *ring, uint64_t number);

/// Notes that it is not on its way any more: SETTLED or LOST.
void udp_sent_settle(UdpSentRing *ring, UdpSent *sent, UdpSentState state);

/// Forgets what is settled at the beginning of the ring, and what was lost and sent before
/// `before_us`.
void udp_sent_trim(UdpSentRing *ring, uint64_t before_us);
