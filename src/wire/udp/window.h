// The numbers of datagrams that have come: finds whether one is new, and which to
// acknowledge. A number is 64 bits wide, of which 16 are on the wire.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_WINDOW_SIZE = 1024 };  // numbers further behind the newest are too old

typedef struct UdpWindow {
  uint64_t next;    // one more than the newest number taken; at first, the first one
  uint64_t recent;  // bit n: the number n + 1 before the newest has been taken
  uint64_t taken[UDP_WINDOW_SIZE / 64];  // bit `number` modulo UDP_WINDOW_SIZE
  bool is_used;                          // something has been taken
} UdpWindow;

/// Returns the number nearest to `next` whose low 16 bits are `low`. A number before 0 comes out
/// above INT64_MAX.
uint64_t udp_number(uint64_t next, uint16_t low);

/// Returns a window whose first number is `first`.
void udp_window_init(UdpWindow *window, uint16_t first);

/// Returns whether a number may be taken: not yet taken, and not too old. Changes nothing, so it
/// serves before a datagram is known to be authentic.
bool udp_window_is_fresh(const UdpWindow *window, uint64_t number);

/// Returns the 64 numbers before `number`, which has been taken: bit n is set where the one n + 1
/// before it has been taken and is not too old to tell.
uint64_t udp_window_bits(const UdpWindow *window, uint64_t number);

/// Takes a new number.
void udp_window_take(UdpWindow *window, uint64_t number);
