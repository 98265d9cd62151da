// Two records of the received numbers: a ring of bits to detect duplicates, and the
// last 64 numbers in the form of acknowledgements.
#include "wire/udp/window.h"

#include <string.h>

uint64_t udp_number(uint64_t next, uint16_t low) {
  int16_t distance = (int16_t)(low - (uint16_t)next);
  return next + (uint64_t)(int64_t)distance;
}

void udp_window_init(UdpWindow *window, uint16_t first) {
  *window = (UdpWindow){.next = first};
}

static uint64_t *word(UdpWindow *window, uint64_t number) {
  return &window->taken[number % UDP_WINDOW_SIZE / 64];
}

static uint64_t bit(uint64_t number) { return UINT64_C(1) << (number % 64); }

bool udp_window_is_fresh(const UdpWindow *window, uint64_t number) {
  if (number > INT64_MAX) return false;
  if (number >= window->next) return true;
  if (window->next - 1 - number >= UDP_WINDOW_SIZE) return false;
  return !(window->taken[number % UDP_WINDOW_SIZE / 64] & bit(number));
}

static void advance(UdpWindow *window, uint64_t number) {
  const uint64_t steps = number - window->next + 1;  // distance from the newest number
                                                     // so far
  if (steps >= UDP_WINDOW_SIZE) {
    memset(window->taken, 0, sizeof window->taken);
  } else {
    for (uint64_t n = window->next; n < number; n++) *word(window, n) &= ~bit(n);
  }
  window->recent = steps < 64 ? window->recent << steps : 0;
  if (window->is_used && steps <= 64) window->recent |= UINT64_C(1) << (steps - 1);
  window->next = number + 1;
  window->is_used = true;
}

void udp_window_take(UdpWindow *window, uint64_t number) {
  if (number >= window->next) {
    advance(window, number);
  } else if (window->next - 2 - number < 64) {
    window->recent |= UINT64_C(1) << (window->next - 2 - number);
  }
  *word(window, number) |= bit(number);
}

uint64_t udp_window_bits(const UdpWindow *window, uint64_t number) {
  if (number + 1 == window->next) return window->recent;
  uint64_t bits = 0;
  for (int n = 0; n < 64 && number-- > 0; n++) {
    if (window->next - 1 - number >= UDP_WINDOW_SIZE) break;
    if (window->taken[number % UDP_WINDOW_SIZE / 64] & bit(number))
      bits |= UINT64_C(1) << n;
  }
  return bits;
}
