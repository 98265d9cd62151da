// Connecting and leaving: how many cycles of connect, join, leave and close the server
// handles, and the cost of idle clients.
#include <unistd.h>

#include "scenarios.h"

enum {
  CYCLES_MAX = 4000,  // cycles of one run, because each takes a port of the system
  PING_INTERVAL_S =
      13,  // ping interval of the server; a measurement must contain a whole one
};

typedef struct Churn {
  uint64_t until_ns, begun, done;
} Churn;

static void begin(Load *load, Client *client) {
  Churn *churn = load->data;
  if (clock_ns() > churn->until_ns || churn->begun == CYCLES_MAX) return;
  churn->begun++;
  client_open(load, client);
}

static void on_churn_packet(Load *load, Client *client, uint16_t type,
                            const uint8_t *payload) {
  (void)load;
  (void)payload;
  if (type == WIRE_WELCOME) client_join(load, client, 1 + client->index);
  if (type == WIRE_JOINED) client_send(load, client, WIRE_LEAVE, &client->room);
  if (type == WIRE_LEFT) client_send(load, client, WIRE_BYE, NULL);
}

static void on_churn_close(Load *load, Client *client) {
  Churn *churn = load->data;
  churn->done++;
  begin(load, client);
}

void run_churn(Load *load) {
  CpuTimes cpu = cpu_times(load->pid);
  uint64_t start = clock_ns();
  Churn churn = {.until_ns = start + (uint64_t)(load->seconds * 1e9)};
  load->data = &churn;
  load->on_packet = on_churn_packet;
  load->on_close = on_churn_close;
  load->finishing = true;
  load->clients = calloc(load->members, sizeof *load->clients);
  for (uint32_t i = 0; i < load->members; i++) {
    load->clients[i].index = i;
    begin(load, &load->clients[i]);
  }
  while (churn.done < churn.begun)
    load_await(load, &churn.done, churn.done + 1, "cycles");
  double seconds = (double)(clock_ns() - start) / 1e9;
  CpuUse use = cpu_used(&cpu);
  double cycles = (double)churn.done;
  printf(
      "us_per_cycle=%.3f cycles=%.0f per_second=%.0f first_us=%.3f busiest_us=%.3f\n",
      (double)use.all_ns / 1e3 / cycles, cycles, cycles / seconds,
      (double)use.first_ns / 1e3 / cycles, (double)use.busiest_ns / 1e3 / cycles);
  free(load->clients);
}

void run_idle(Load *load) {
  load->spin = false;
  uint64_t rss_kb = server_rss_kb(load);
  load_connect(load, load->members);
  uint64_t deadline = clock_ns() + 1000000000u;
  while (clock_ns() < deadline) load_poll(load, 100);

  double kb = (double)(server_rss_kb(load) - rss_kb);
  CpuTimes cpu = cpu_times(load->pid);
  uint64_t start = clock_ns();
  while (clock_ns() < start + PING_INTERVAL_S * 1000000000ull) load_poll(load, 100);
  double elapsed = (double)(clock_ns() - start);
  printf(
      "clients=%u kb_per_client=%.3f base_kb=%llu core_percent=%.3f cores=%ld "
      "pings=%llu\n",
      load->count, kb / load->count, (unsigned long long)rss_kb,
      (double)cpu_used(&cpu).all_ns / elapsed * 100, sysconf(_SC_NPROCESSORS_ONLN),
      (unsigned long long)load->pings);
  load_finish(load);
}
