// A Net: the order of an iteration, start and stop.
#include "net/net.h"

#include <assert.h>
#include <sodium.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/protocol/protocols.h"
#include "net/sim.h"
#include "net/transport/tls_calls.h"
#include "os/child.h"
#include "os/worker.h"

Loop *net_loop(Net *net) { return net->sim ? NULL : &net->loop; }

// --- The iteration ---

bool net_accepts(Net *net, const ConnInfo *info) {
  if (info->framing == FRAMING_ADMIN || !net->events.accept) return true;
  uint64_t began_us = net_clock_us(net);
  bool is_in = net->events.accept(net->data, info->address, info->port);
  net->accept_us += net_clock_us(net) - began_us;
  return is_in;
}

bool net_end_iteration(Net *net, uint64_t now_us) {
  void *data = net->events.iteration_data ? net->events.iteration_data : net->data;
  bool is_more = net->events.iteration(data, now_us);
  is_more |= flush_due(net);
  for (; net->ended.count; is_more = true) {
    Endpoint *endpoint = net->ended.items[--net->ended.count];
    endpoint->ops->report_end(endpoint);
  }
  is_more |= net_resume(net);
  inbox_limit(net);
  for (NetPart *part = net->parts; part; part = part->next)
    if (part->ops->end_iteration) is_more |= part->ops->end_iteration(part);
  if (net->events.flushed) net->events.flushed(net->data);
  net->accept_us = 0;
  return tcp_accept_waiting(net) || is_more;
}

// --- Figures of all connections ---

NetSent net_sent_by(const Net *net, TransportName transport) {
  return net_counters(net).sent[transport];
}

NetSent net_sent_in_all(const Net *net) {
  NetCounters counters = net_counters(net);
  NetSent all = {0};
  for (int i = 0; i < TRANSPORT_COUNT; i++) {
    all.packets += counters.sent[i].packets;
    all.bytes += counters.sent[i].bytes;
  }
  return all;
}

uint64_t net_replaced(const Net *net) { return net_counters(net).replaced; }

WebStats net_web_stats(const Net *net) { return net_counters(net).web; }

TlsStats net_tls_stats(const Net *net) { return net_counters(net).tls; }

UdpTotals net_udp_totals(const Net *net) { return net_counters(net).udp; }

NetSent net_queued_in_all(const Net *net) {
  return (NetSent){net->totals->backlog_packets, net->totals->backlog_bytes};
}

// --- Start and stop ---

static bool end_iteration(void *data, uint64_t now_us) {
  return net_end_iteration(data, now_us);
}

int net_open_loop(Net *net) {
  net->timers = &net->loop.timers;
  return loop_init(&net->loop, end_iteration, net);
}

static uint64_t descriptor_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

// Initial protocols of connections, by Framing.
static const Protocol *const PROTOCOLS[] = {
    [FRAMING_PACKETS] = &NATIVE,
    [FRAMING_LINES] = &NATIVE,
    [FRAMING_SNIFF] = &SNIFF,
    [FRAMING_ADMIN] = &SNIFF_ADMIN,
};

Net *net_make(const NetLimits *limits, const NetEvents *events, void *data) {
  int err = sodium_init();  // must precede the use of randomness by several threads
  assert(err >= 0 && "libsodium does not work here");
  (void)err;
  Net *net = mem_zalloc(sizeof *net);
  net->limits = *limits;
  net->events = *events;
  net->data = data;
  net->protocols = PROTOCOLS;
  net->encrypt = tls_wrap;
  net->clock = &MACHINE_CLOCK;
  net->sequence = 1;
  net->descriptors = descriptor_limit();
  net->totals = &net->own_totals;
  net->own_totals.threads = 1;
  return net;
}

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data) {
  Net *net = net_make(limits, events, data);
  int err = net_open_loop(net);
  assert(err == 0 && "no loop");
  (void)err;
  return net;
}

Net *net_new_simulated(const NetLimits *limits, const NetEvents *events, void *data,
                       uint64_t seed) {
  Net *net = net_make(limits, events, data);
  sim_init(net, seed, net_end_iteration);
  return net;
}

void net_stop(Net *net) {
  if (net->is_stopping) return;
  net->is_stopping = true;
  net_unlisten(net);
  if (net->sim)
    sim_stop(net);
  else
    child_stop_all(&net->loop);
  uint32_t cursor = 0;
  for (Endpoint *endpoint; (endpoint = slots_next(&net->conns, &cursor));)
    net_close(net, endpoint->id);
  for (NetPart *part = net->parts; part; part = part->next)
    if (part->ops->stop) part->ops->stop(part);
}

void net_run(Net *net) { loop_run(net_loop(net)); }
bool net_poll(Net *net, int timeout_ms) { return loop_poll(&net->loop, timeout_ms); }
int net_fd(const Net *net) { return loop_fd(&net->loop); }
int net_timeout_ms(const Net *net) { return loop_timeout_ms(&net->loop); }

static void close_handle(uv_handle_t *handle, void *data) {
  Net *net = data;
  if (!uv_is_closing(handle) && handle->data == net) uv_close(handle, NULL);
}

void net_free(Net *net) {
  net_stop(net);
  net->is_ending = true;
  for (NetPart *part = net->parts; part; part = part->next)
    if (part->ops->end) part->ops->end(part);
  if (net->sim) {
    sim_free(net);
  } else {
    tcp_destroy_all(net);
    workers_end(&net->loop);
    uv_walk(&net->loop.uv, close_handle, net);
    loop_deinit(&net->loop);
  }
  uint32_t cursor = 0;
  for (Group *group; (group = slots_next(&net->groups, &cursor));)
    net_group_close(net, group->id);
  while (net->parts) {
    NetPart *part = net->parts;
    net->parts = part->next;
    if (part->ops->free) part->ops->free(part);
  }
  slots_deinit(&net->conns);
  slots_deinit(&net->groups);
  outbuf_pool_free(net);
  list_deinit(&net->dirty_groups);
  list_deinit(&net->dirty_conns);
  list_deinit(&net->ended);
  list_deinit(&net->resumed);
  list_deinit(&net->dropping);
  mem_free(net->remotes);
  mem_free(net);
}
