#include "script/figures.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "net/udp.h"
#include "script/host.h"
#include "store/store.h"

enum { US_PER_MS = 1000 };

static uint32_t put_all(Figure figures[FIGURES_MAX], const Figure *all, size_t size) {
  assert(size <= FIGURES_MAX * sizeof *figures);
  memcpy(figures, all, size);
  return (uint32_t)(size / sizeof *figures);
}

uint32_t figures_of_server(const Script *script, Figure figures[FIGURES_MAX]) {
  const Session *owner = relay_session(script->relay);
  RelayStats relay = relay_stats(script->relay);
  SessionStats session = session_stats(owner);
  NetSent received = session_received(&session);
  NetSent sent = net_sent_in_all(script->net), queued = net_queued_in_all(script->net);
  const Figure all[] = {
      {"peers", relay.peers},
      {"suspended", session.suspended_now},
      {"rooms", relay.rooms},
      {"connections", (double)session.opened},
      {"accepted", (double)session.accepted},
      {"resumed", (double)session.resumed},
      {"messages_in", (double)relay.messages_in},
      {"deliveries", (double)relay.deliveries},
      {"dropped", (double)relay.dropped},
      {"packets_in", (double)received.packets},
      {"bytes_in", (double)received.bytes},
      {"packets_out", (double)sent.packets},
      {"bytes_out", (double)sent.bytes},
      {"queued", (double)queued.packets},
      {"queued_bytes", (double)queued.bytes},
      {"resent", (double)session.resent},
      {"throttled", (double)session.throttled},
      {"latency_ms", session_latency_ms(owner)},
      {"names_refused", (double)relay.names_refused},
      {"timers", script->timers.count - script->waiting},
      {"waiting", script->waiting},
      {"handlers", (double)script->handlers},
      {"errors", (double)relay.errors},
      {"memory", (double)script->memory.bytes},
  };
  return put_all(figures, all, sizeof all);
}

uint32_t figures_of_udp(const Script *script, Figure figures[FIGURES_MAX]) {
  UdpTotals udp = net_udp_totals(script->net);
  const Figure all[] = {
      {"links", (double)udp.links},
      {"accepted", (double)udp.accepted},
      {"attached", (double)udp.attached},
      {"challenged", (double)udp.challenged},
      {"rejected", (double)udp.rejected},
      {"datagrams_in", (double)udp.received},
      {"bytes_in", (double)udp.received_bytes},
      {"refused", (double)udp.refused},
      {"datagrams_out", (double)udp.sent},
      {"bytes_out", (double)udp.sent_bytes},
      {"unsent", (double)udp.unsent},
      {"lost", (double)udp.lost},
      {"resent_bytes", (double)udp.resent_bytes},
      {"moved", (double)udp.moved},
  };
  return put_all(figures, all, sizeof all);
}

uint32_t figures_of_store(const Script *script, Figure figures[FIGURES_MAX]) {
  StoreStats store = figures_of_commits(script);
  uint64_t failures = 0;
  for (int i = 0; i < STORE_CODES; i++) failures += store.failures[i];
  const Figure all[] = {
      {"waiting", store.waiting},
      {"writes", (double)store.writes},
      {"failures", (double)failures},
      {"commits", (double)store.commits.count},
      {"commit_ms", (double)store.commits.total_us / US_PER_MS},
      {"cache_hits", (double)store.cache_hits},
  };
  return put_all(figures, all, sizeof all);
}

StoreStats figures_of_commits(const Script *script) {
  return script->store != NULL ? store_stats(script->store) : (StoreStats){0};
}

ScriptFigures figures_of_script(const Script *script) {
  ScriptFigures figures = {.version = script->version,
                           .hash = script->hash,
                           .collector_us = script->memory.collector_us,
                           .has_collector = script->memory.collector.activity != NULL};
  memcpy(figures.reloads, script->reload.outcomes, sizeof figures.reloads);
  return figures;
}

CostSums figures_of_handlers(Script *script) {
  CostSums *past = &script->past_costs, sums = *past;
  sums.items = mem_alloc((sums.count + 1) * sizeof *sums.items);
  if (sums.count > 0) memcpy(sums.items, past->items, sums.count * sizeof *sums.items);
  costs_sum(&script->costs, &sums);
  past->names = sums.names;
  return sums;
}

Text figures_of_queues(const Script *script) {
  return (Text){(const char *)script->queues.data, (uint32_t)script->queues.size};
}
