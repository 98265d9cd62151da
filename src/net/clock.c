// Time and randomness, from the machine or from a simulation.
#include <sodium.h>

#include "net/internal.h"

static uint64_t machine_now_ms(const Net *net) { return loop_now_ms(&net->loop); }

static uint64_t machine_clock_us(const Net *net) {
  (void)net;
  return net_real_us();
}

static uint64_t machine_unix_us(const Net *net) {
  (void)net;
  uv_timeval64_t now;
  uv_gettimeofday(&now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

static void machine_random(Net *net, void *bytes, size_t size) {
  (void)net;
  randombytes_buf(bytes, size);
}

const NetClock MACHINE_CLOCK = {.now_ms = machine_now_ms,
                                .clock_us = machine_clock_us,
                                .unix_us = machine_unix_us,
                                .random = machine_random};

uint64_t net_real_us(void) { return uv_hrtime() / 1000; }

uint64_t net_now_ms(const Net *net) { return net->clock->now_ms(net); }

uint64_t net_clock_us(const Net *net) { return net->clock->clock_us(net); }

uint64_t net_unix_us(const Net *net) { return net->clock->unix_us(net); }

void net_random(Net *net, void *bytes, size_t size) {
  net->clock->random(net, bytes, size);
}

bool net_is_simulated(const Net *net) { return net->sim != NULL; }

Timers *net_timers(Net *net) { return net->timers; }
