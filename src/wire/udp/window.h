// The numbers of received datagrams. Decides whether a number is new, and which numbers
// to acknowledge. A number has 64 bits; its low 16 bits are on the wire.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_WINDOW_SIZE = 1024 };  // numbers that are remembered; older ones are refused

typedef struct UdpWindow {
  uint64_t next;    // one more than the newest accepted number; at first, the first
                    // number
  uint64_t recent;  // bit n: whether number (newest - 1 - n) was accepted
  uint64_t taken[UDP_WINDOW_SIZE / 64];  // bit `number` modulo UDP_WINDOW_SIZE
  bool is_used;                          // a number has been accepted
} UdpWindow;

/// Returns the number nearest to `next` whose low 16 bits are `low`. If that number is
/// negative, the result is above INT64_MAX.
uint64_t udp_number(uint64_t next, uint16_t low);

/// Initializes a window whose first number is `first`.
void udp_window_init(UdpWindow *window, uint16_t first);

/// Returns whether a number may be accepted: it is new and not too old. Changes
/// nothing, so it can be called before the datagram is known to be authentic.
bool udp_window_is_fresh(const UdpWindow *window, uint64_t number);

/// Returns bits for the 64 numbers before the accepted `number`. Bit n is set if
/// (number - 1 - n) was accepted and is still remembered.
uint64_t udp_window_bits(const UdpWindow *window, uint64_t number);

/// Accepts a new number.
void udp_window_take(UdpWindow *window, uint64_t number);
