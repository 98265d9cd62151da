// The threads: starting and ending them, and what passes between them and the main thread
// when a turn ends.
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "net/io_threads/io_threads_internal.h"
#include "os/thread.h"

enum {
  THREAD_NAME_SIZE = 16,  // the kernel's limit
  LOSSES_MS = 100,        // from one look at the losses by UDP to the next
};

// --- Turns ---

void *servicer_command(Servicer *servicer, CommandKind kind, size_t size) {
  Mailbox *commands = &servicer->commands;
  if (commands->written.size > COMMANDS_EARLY) {
    mailbox_wait(commands, COMMANDS_MAX);
    mailbox_post(commands, false);
  }
  return mailbox_add(commands, kind, size);
}

void servicers_end_turn(Servicers *servicers) {
  clients_free_retired(servicers);
  for (uint32_t i = 0; i < servicers->count; i++) {
    Servicer *servicer = &servicers->items[i];
    if (servicer->commands.written.size == 0) continue;
    servicer_command(servicer, DOWN_TURN, 0);
    mailbox_wait(&servicer->commands, COMMANDS_MAX);
    mailbox_post(&servicer->commands, false);
  }
}

// Each connection by UDP is looked at, which is not for every turn.
static UdpTotals count_udp(Servicer *servicer) {
  const Net *net = servicer->net;
  UdpTotals totals = udp_past(net);
  uint64_t now_ms = net_now_ms(net);
  if (net->udp && now_ms - servicer->losses_ms >= LOSSES_MS) {
    servicer->losses = udp_losses(net);
    servicer->losses_ms = now_ms;
  }
  totals.lost += servicer->losses.lost;
  totals.resent_bytes += servicer->losses.resent_bytes;
  return totals;
}

static void publish_figures(Servicer *servicer) {
  const Net *net = servicer->net;
  ServicerFigures figures = {.web = net_web_stats(net),
                             .tls = net_tls_stats(net),
                             .udp = count_udp(servicer),
                             .adopted = servicer->adopted,
                             .conns = net->conns.count};
  uv_mutex_lock(&servicer->lock);
  servicer->figures = figures;
  uv_mutex_unlock(&servicer->lock);
}

void servicer_end_turn(Servicer *servicer) {
  publish_figures(servicer);
  servicer_post_events(servicer);
}

static void on_servicer_bell(uv_async_t *bell) {
  Net *net = bell->data;
  servicer_resume_flow(net->servicer);
  servicer_run_commands(net->servicer);
}

static void on_main_bell(uv_async_t *bell) {
  const Net *net = bell->data;
  for (uint32_t i = 0; i < net->servicers->count; i++)
    servicer_take_events(&net->servicers->items[i]);
}

// --- Figures ---

NetSent published_sent(const Published *published) {
  return (NetSent){atomic_load_explicit(&published->sent_packets, memory_order_relaxed),
                   atomic_load_explicit(&published->sent_bytes, memory_order_relaxed)};
}

uint32_t servicers_count(const Servicers *servicers) { return servicers->count; }

static ServicerFigures read_figures(Servicer *servicer) {
  uv_mutex_lock(&servicer->lock);
  ServicerFigures figures = servicer->figures;
  uv_mutex_unlock(&servicer->lock);
  return figures;
}

ServicerFigures servicers_figures(const Net *net) {
  ServicerFigures all = {.adopted = 0};
  for (uint32_t i = 0; net->servicers && i < net->servicers->count; i++) {
    ServicerFigures one = read_figures(&net->servicers->items[i]);
    NetSent sent = published_sent(&net->servicers->items[i].net->published);
    all.sent.packets += sent.packets;
    all.sent.bytes += sent.bytes;
    all.web.requests += one.web.requests;
    all.web.refused += one.web.refused;
    all.web.upgraded += one.web.upgraded;
    all.web.stalled += one.web.stalled;
    all.tls.handshakes += one.tls.handshakes;
    all.tls.resumed += one.tls.resumed;
    all.tls.failed += one.tls.failed;
    all.tls.refused += one.tls.refused;
    udp_add_totals(&all.udp, &one.udp);
  }
  return all;
}

// --- New connections ---

// Those on their way to the servicer count.
static uint64_t load_of(Servicer *servicer) {
  ServicerFigures figures = read_figures(servicer);
  return servicer->given - figures.adopted + figures.conns;
}

static Servicer *least_loaded(Servicers *servicers) {
  Servicer *best = &servicers->items[0];
  uint64_t least = load_of(best);
  for (uint32_t i = 1; i < servicers->count; i++) {
    uint64_t load = load_of(&servicers->items[i]);
    if (load >= least) continue;
    least = load;
    best = &servicers->items[i];
  }
  return best;
}

void servicers_adopt(Net *net, uv_os_fd_t fd, const ConnInfo *info) {
  const char *refusal = NULL;
  if (info->framing == FRAMING_SNIFF)
    refusal = net->events.enter(net->data, info->address);
  Servicer *servicer = least_loaded(net->servicers);
  servicer->given++;
  DownAdopt *down = servicer_command(servicer, DOWN_ADOPT, sizeof *down);
  *down = (DownAdopt){.fd = fd, .refusal = refusal, .info = *info};
}

// --- Starting ---

static void run(void *data) {
  Servicer *servicer = data;
  loop_run(&servicer->net->loop);
  mailbox_add(&servicer->events, UP_OVER, 0);
  servicer_end_turn(servicer);
  mailbox_close(&servicer->commands);
}

static int start_thread(Servicer *servicer) {
  char name[THREAD_NAME_SIZE];
  snprintf(name, sizeof name, "perigee-io-%u", (unsigned)servicer->index % 100);
  return thread_start(&servicer->thread, name, run, servicer);
}

static int open_net(Servicer *servicer) {
  NetEvents events = servicer_net_events();
  Net *net = net_make(&servicer->main->limits, &events, servicer);
  net->servicer = servicer;
  net->totals = servicer->main->totals;
  int err = net_open_loop(net);
  if (err) {
    mem_free(net);
    return err;
  }
  servicer->net = net;
  err = uv_async_init(&net->loop.uv, &servicer->bell, on_servicer_bell);
  servicer->bell.data = net;
  return err;
}

static void deinit_servicer(Servicer *servicer) {
  mailbox_deinit(&servicer->events);
  mailbox_deinit(&servicer->commands);
  uv_mutex_destroy(&servicer->lock);
  buf_deinit(&servicer->flow);
  mem_free(servicer->groups);
}

static int start_servicer(Servicer *servicer, Net *main) {
  servicer->main = main;
  servicer->index = (uint32_t)(servicer - main->servicers->items);
  uv_mutex_init(&servicer->lock);
  mailbox_init(&servicer->events, &main->servicers->bell, &servicer->bell);
  mailbox_init(&servicer->commands, &servicer->bell, &main->servicers->bell);
  int err = open_net(servicer);
  if (!err) err = start_thread(servicer);
  if (!err) return 0;
  if (servicer->net) net_free(servicer->net);
  deinit_servicer(servicer);
  return err;
}

int net_serve(Net *net, uint32_t count) {
  assert(!net->sim && !net->servicers && !net->listeners && count <= NET_SERVICERS_MAX);
  if (count == 0) return 0;
  Servicers *servicers = mem_zalloc(sizeof *servicers);
  int err = uv_async_init(&net->loop.uv, &servicers->bell, on_main_bell);
  if (err) {
    mem_free(servicers);
    return err;
  }
  servicers->bell.data = net;
  servicers->items = mem_zalloc(count * sizeof *servicers->items);
  net->servicers = servicers;
  net->totals->threads = count;
  while (!err && servicers->count < count) {
    err = start_servicer(&servicers->items[servicers->count], net);
    if (!err) servicers->count++;
  }
  if (err) return err;
  if (net->web) servicers_share_web(net);
  if (net->web) servicers_share_schema(net);
  if (net->tls) servicers_share_tls(net);
  servicers_share_hashes(net);
  return 0;
}

// --- Ending ---

void servicers_stop(Servicers *servicers) {
  for (uint32_t i = 0; i < servicers->count; i++)
    servicer_command(&servicers->items[i], DOWN_STOP, 0);
}

void servicers_end(Net *net) {
  Servicers *servicers = net->servicers;
  servicers->is_deaf = true;
  for (uint32_t i = 0; i < servicers->count; i++) {
    servicer_command(&servicers->items[i], DOWN_QUIT, 0);
    mailbox_post(&servicers->items[i].commands, false);
  }
  for (uint32_t i = 0; i < servicers->count; i++) {
    Servicer *servicer = &servicers->items[i];
    uv_thread_join(&servicer->thread);
    servicer_drop_commands(servicer);
    servicer_take_events(servicer);  // its bell may ring, while there is one
    net_free(servicer->net);
    servicer_take_events(servicer);
    clients_free_all(servicer);
  }
}

void servicers_free(Net *net) {
  Servicers *servicers = net->servicers;
  if (!servicers) return;
  for (uint32_t i = 0; i < servicers->count; i++) deinit_servicer(&servicers->items[i]);
  mem_free(servicers->items);
  mem_free(servicers);
}
