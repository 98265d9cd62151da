// A ring of sent datagrams by number. It begins with the oldest datagram that is not
// settled.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_SENT_MAX = 4096 };  // most numbers in the ring; a power of two

typedef enum UdpSentState {
  UDP_SENT_SETTLED,  // acknowledged, or needs no acknowledgement
  UDP_SENT_FLYING,   // neither acknowledged nor considered lost
  UDP_SENT_LOST,     // considered lost; an acknowledgement may still prove the opposite
} UdpSentState;

typedef struct UdpSent {
  uint64_t sent_us;
  uint64_t delivered;  // this and the next two: values of UdpRate at sent_us
  uint64_t delivered_us;
  uint64_t first_sent_us;
  uint64_t stream_start;  // start of the datagram's piece of the stream
  uint16_t stream_size;
  uint16_t size;
  uint8_t state;  // UdpSentState
  bool is_app_limited;
} UdpSent;

/// The ring. A zero-initialized one is empty, and its next number is 0.
typedef struct UdpSentRing {
  UdpSent *items;     // datagrams; number `n` is at index n modulo capacity
  uint32_t capacity;  // power of two
  uint64_t first;     // oldest number that is still needed
  uint64_t next;      // number of the next datagram; equal to `first` if none is needed
  uint64_t flying_from;  // no datagram before this number is on its way
  uint32_t flying_bytes;
  uint32_t flying;
} UdpSentRing;

void udp_sent_deinit(UdpSentRing *ring);

/// Frees the memory, and forgets lost datagrams. No datagram may be on its way.
void udp_sent_rest(UdpSentRing *ring);

/// Returns whether the ring has room for one more datagram.
bool udp_sent_has_room(const UdpSentRing *ring);

/// Counts the next number as sent, and copies `sent`. Its state must be FLYING, or
/// SETTLED for a datagram that needs no acknowledgement. A SETTLED datagram needs no
/// memory if the ring is empty.
void udp_sent_push(UdpSentRing *ring, const UdpSent *sent);

/// Returns the datagram with `number`, or NULL if it is not needed any more.
UdpSent *udp_sent_at(const UdpSentRing *ring, uint64_t number);

/// Sets the state of a datagram that is not on its way any more: SETTLED or LOST.
void udp_sent_settle(UdpSentRing *ring, UdpSent *sent, UdpSentState state);

/// Forgets settled datagrams at the beginning of the ring, and lost datagrams that were
/// sent before `before_us`.
void udp_sent_trim(UdpSentRing *ring, uint64_t before_us);
