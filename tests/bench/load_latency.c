// Latency: one message back and forth, and a room in which one member has stopped
// reading.
#include "scenarios.h"

enum {
  STALL_RATE = 1000,     // broadcasts a second
  STALL_FILL = 8 << 20,  // bytes that fill the system's buffers first
};

typedef struct Times {
  uint32_t *ns;
  size_t count, capacity;
  bool on;
} Times;

static void times_add(Times *times, uint64_t ns) {
  if (!times->on || times->count == times->capacity) return;
  times->ns[times->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static Times times_new(size_t capacity) {
  Times times = {.ns = malloc(capacity * sizeof *times.ns), .capacity = capacity};
  if (!times.ns) abort();
  return times;
}

static void throw(Load * load, uint32_t from) {
  Bytes packet = {0};
  uint32_t number = load->clients[!from].expected[0];
  broadcast_put(&packet, load, &load->clients[from], number, clock_ns());
  client_write(load, &load->clients[from], &packet);
  bytes_deinit(&packet);
}

void run_echo(Load *load) {
  load->members = 2;
  load_connect(load, 2);
  load_join(load);
  Times times = times_new(1 << 22);
  CpuTimes cpu = cpu_times(load->pid);
  uint64_t end = clock_ns() + (uint64_t)(load->seconds * 1e9);
  for (uint64_t start = 0; start < end;) {
    start = clock_ns();
    times.on = times.on || start > end - (uint64_t)(load->seconds * 0.9e9);
    throw(load, 0);
    load_await(load, &load->deliveries, load->deliveries + 1, "echoes");
    throw(load, 1);
    load_await(load, &load->deliveries, load->deliveries + 1, "echoes");
    times_add(&times, clock_ns() - start);
  }
  double micros = (double)cpu_used(&cpu).all_ns / 1e3;
  printf("p50_us=%.2f p99_us=%.2f us_per_delivery=%.4f\n",
         percentile(times.ns, times.count, 0.5) / 1e3,
         percentile(times.ns, times.count, 0.99) / 1e3,
         micros / (double)load->deliveries);
  free(times.ns);
  load_finish(load);
}

static void on_stall_packet(Load *load, Client *client, uint16_t type,
                            const uint8_t *payload) {
  (void)client;
  if (type == WIRE_RELAYED) times_add(load->data, clock_ns() - relayed_stamp(payload));
}

// Broadcasts at an even pace.
static void pace(Load *load, uint32_t *number, uint32_t count) {
  Bytes packet = {0};
  uint64_t next = clock_ns();
  for (uint32_t i = 0; i < count; i++, next += 1000000000u / STALL_RATE) {
    while (clock_ns() < next) load_poll(load, 1);
    packet.size = 0;
    broadcast_put(&packet, load, &load->clients[0], (*number)++, clock_ns());
    client_write(load, &load->clients[0], &packet);
  }
  bytes_deinit(&packet);
}

// Reads everything that was kept for the stalled member, until nothing has come for
// half a second.
static uint64_t drain(Load *load, Client *stalled) {
  uint64_t before = load->deliveries, last = clock_ns();
  load->lossy = true;
  client_watch(load, stalled);
  while (clock_ns() - last < 500000000u) {
    uint64_t seen = load->deliveries;
    load_poll(load, 10);
    if (load->deliveries != seen) last = clock_ns();
  }
  return load->deliveries - before;
}

// Returns the median of the p99s of all tenths of a second. So a short disturbance by
// other programs does not count, and a lasting slowness of the server does.
static uint32_t steady_p99(const Times *times, size_t window) {
  uint32_t p99[1024];
  size_t count = 0;
  for (size_t at = 0; at + window <= times->count && count < 1024; at += window)
    p99[count++] = percentile(times->ns + at, window, 0.99);
  return percentile(p99, count, 0.5);
}

static void print_stall(const Load *load, Times *times, uint64_t sent,
                        uint64_t rss_kb) {
  size_t window = (size_t)(load->members - 1) * STALL_RATE / 10;
  printf("steady_p99_us=%.2f", steady_p99(times, window) / 1e3);
  printf(" p50_us=%.2f p99_us=%.2f stalled=%u sent=%llu rss_growth_kb=%lld",
         percentile(times->ns, times->count, 0.5) / 1e3,
         percentile(times->ns, times->count, 0.99) / 1e3, load->stalled,
         (unsigned long long)sent, (long long)(server_rss_kb(load) - rss_kb));
}

void run_stall(Load *load) {
  uint32_t fast = load->members, number = 0;
  uint32_t count = (uint32_t)(load->seconds * STALL_RATE);
  Times times = times_new((size_t)count * fast);
  load->data = &times;
  load->on_packet = on_stall_packet;
  load->members += load->stalled;
  load_connect(load, load->members);
  load_join(load);
  uint64_t rss_kb = server_rss_kb(load);
  for (uint32_t i = fast; i < load->members; i++)
    client_ignore(load, &load->clients[i]);

  load->members = fast;
  while (number * load->payload < STALL_FILL) load_burst(load, &number);
  times.on = true;
  pace(load, &number, count);
  load_await(load, &load->deliveries, (uint64_t)number * (fast - 1), "deliveries");
  times.on = false;
  print_stall(load, &times, number, rss_kb);
  for (uint32_t i = fast; i < load->count; i++)
    printf(" received=%llu", (unsigned long long)drain(load, &load->clients[i]));
  printf("\n");
  free(times.ns);
  load_finish(load);
}
