// Writes the metrics of a server when a client requests them. Between requests, it only
// keeps the labels of the room kinds and handlers seen so far.
#include "server/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/tls.h"
#include "os/loop.h"
#include "os/process.h"
#include "relay/room.h"
#include "script/figures.h"
#include "server/game_path.h"
#include "server/server.h"
#include "wire/exposition.h"
#include "wire/json.h"

enum { OWN_MAX = 32, STATES = 3 };

// Bounds of buckets in microseconds: 64 us to 4 s, and for handlers, of which there may
// be many, 16 us to 1 s in steps of four.
static const MetricBounds BOUNDS = {6, 22, 1}, HANDLER_BOUNDS = {4, 20, 2};

static const char *const STATE_NAMES[STATES] = {"connecting", "connected", "suspended"};

typedef struct Page {
  Server *server;
  SessionStats session;
  Figure figures[FIGURES_MAX], udp[FIGURES_MAX], store[FIGURES_MAX], own[OWN_MAX];
  uint32_t figure_count, udp_count, store_count, own_count;
  uint32_t peers[TRANSPORT_COUNT][STATES];
  Exposition exposition;
} Page;

typedef struct Metric {
  MetricFamily family;
  const char *part;
  void (*put)(Page *page, const char *part);
} Metric;

static void put_one(const Page *page, const char *label, const char *text,
                    double value) {
  const MetricLabel labels[] = {{label, text_from(text)}, {0}};
  exposition_put(&page->exposition, labels, value);
}

// --- Figures ---

// Returns the value of a figure; the name must exist.
static double find(const Figure *figures, uint32_t count, const char *name) {
  uint32_t i = 0;
  while (i < count && strcmp(figures[i].name, name) != 0) i++;
  return i < count ? figures[i].value : -1;
}

static void put_figure(Page *page, const char *part) {
  double value;
  if (strncmp(part, "udp.", 4) == 0)
    value = find(page->udp, page->udp_count, part + 4);
  else if (strncmp(part, "store.", 6) == 0)
    value = find(page->store, page->store_count, part + 6);
  else
    value = find(page->figures, page->figure_count, part);
  if (value < 0) value = find(page->own, page->own_count, part);
  if (value >= 0) exposition_put(&page->exposition, (MetricLabel[]){{0}}, value);
}

typedef struct Rtt {
  uint64_t sum_us, max_us;
  uint32_t count;
} Rtt;

// Counts the peers, and the round trips of their datagrams.
static void visit_peers(Page *page, Rtt *rtt) {
  const Engine *engine = &page->server->engine;
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(engine->session, &cursor));) {
    if (peer->state == PEER_CLOSED) continue;
    int state = peer_is_reachable(peer) ? 1 : peer->state == PEER_SUSPENDED ? 2 : 0;
    page->peers[peer->transport][state]++;
    UdpFigures udp;
    if (!net_udp_figures(engine->net, peer->conn, &udp) || udp.rtt_us == 0) continue;
    rtt->sum_us += udp.rtt_us;
    rtt->count++;
    if (udp.rtt_us > rtt->max_us) rtt->max_us = udp.rtt_us;
  }
}

static void gather(Page *page) {
  const Engine *engine = &page->server->engine;
  const Script *script = engine->script;
  Rtt rtt = {0};
  visit_peers(page, &rtt);
  ProcessFigures process = process_figures();
  RelayStats relay = relay_stats(engine->relay);
  ScriptFigures more = figures_of_script(script);
  page->session = session_stats(engine->session);
  page->figure_count = figures_of_server(script, page->figures);
  page->udp_count = figures_of_udp(script, page->udp);
  page->store_count = figures_of_store(script, page->store);
  const Figure own[] = {
      {"uptime", (double)(net_real_us() - engine->started_us) / 1e6},
      {"latency", session_latency_ms(engine->session) / 1e3},
      {"suspensions", (double)page->session.suspended},
      {"expired", (double)page->session.expired},
      {"replaced", (double)net_replaced(engine->net)},
      {"ticks", (double)relay.ticks},
      {"late_ticks", (double)relay.ticks_late},
      {"collector", more.has_collector ? (double)more.collector_us / 1e6 : -1},
      {"rtt", rtt.count > 0 ? (double)rtt.sum_us / rtt.count / 1e6 : 0},
      {"rtt_max", (double)rtt.max_us / 1e6},
      {"lost_lines", (double)log_lost()},
      {"cpu", process.cpu_s},
      {"resident", (double)process.resident_bytes},
      {"virtual", (double)process.virtual_bytes},
      {"descriptors", (double)process.descriptors},
      {"descriptors_max", (double)process.descriptors_max},
      {"started", process.started_s},
  };
  page->own_count = sizeof own / sizeof *own;
  memcpy(page->own, own, sizeof own);
}

// --- Infos ---

static void put_build(Page *page, const char *part) {
  (void)part;
  const MetricLabel labels[] = {{"version", text_from(PERIGEE_VERSION)},
                                {"luajit", text_from(PERIGEE_LUAJIT_VERSION)},
                                {"libuv", text_from(PERIGEE_LIBUV_VERSION)},
                                {"openssl", text_from(net_tls_library())},
                                {0}};
  exposition_put(&page->exposition, labels, 1);
}

static void put_game(Page *page, const char *part) {
  (void)part;
  char game[GAME_NAME_SIZE], number[16];
  ScriptFigures figures = figures_of_script(page->server->engine.script);
  game_name(game, page->server->options.game);
  snprintf(number, sizeof number, "%u", figures.version);
  const MetricLabel labels[] = {{"game", text_from(game)},
                                {"version", text_from(number)},
                                {"hash", text_from(figures.hash)},
                                {0}};
  exposition_put(&page->exposition, labels, 1);
}

// --- Families with labels ---

static void put_peers(Page *page, const char *part) {
  (void)part;
  for (int i = 0; i < TRANSPORT_COUNT; i++)
    for (int state = 0; state < STATES; state++) {
      const MetricLabel labels[] = {
          {"transport", text_from(net_transport_name((TransportName)i))},
          {"state", text_from(STATE_NAMES[state])},
          {0}};
      bool is_possible = i != TRANSPORT_BOT || page->peers[i][state] > 0;
      if (is_possible) exposition_put(&page->exposition, labels, page->peers[i][state]);
    }
}

uint32_t *metrics_count_rooms(Server *server) {
  Labels *kinds = &server->kinds;
  const Relay *relay = server->engine.relay;
  uint32_t *counts = mem_zalloc((LABELS_MAX + 1) * sizeof *counts);
  const Room *room;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (room->state != ROOM_OPEN && room->state != ROOM_DELETED) continue;
    const char *colon = memchr(room->name, ':', room->name_size);
    size_t size = colon != NULL ? (size_t)(colon - room->name) : room->name_size;
    counts[labels_number(kinds, room->name, size)]++;
  }
  return counts;
}

static void put_rooms(Page *page, const char *part) {
  (void)part;
  const Labels *kinds = &page->server->kinds;
  uint32_t *counts = metrics_count_rooms(page->server);
  for (uint32_t i = 0; i < kinds->count; i++)
    put_one(page, "kind", labels_text(kinds, i), counts[i]);
  if (counts[LABELS_MAX] > 0)
    put_one(page, "kind", labels_text(kinds, LABELS_MAX), counts[LABELS_MAX]);
  mem_free(counts);
}

// Writes the numbers of refused connections by code, or of connections that ended
// otherwise.
static void put_ends(Page *page, const char *part) {
  const SessionStats *session = &page->session;
  bool is_of_refused = strcmp(part, "refused") == 0;
  for (int code = 0; code < SESSION_CODES; code++) {
    uint64_t refused = session->refused[code];
    uint64_t count = is_of_refused ? refused : session->ended[code] - refused;
    put_one(page, "code", code_name((Code)code), (double)count);
  }
}

static void put_traffic(Page *page, const char *part) {
  bool is_received = strncmp(part, "received", 8) == 0;
  bool is_of_bytes = strstr(part, ".bytes") != NULL;
  for (int i = 0; i < TRANSPORT_BOT; i++) {
    TransportName name = (TransportName)i;
    NetSent sum = is_received ? page->session.received[i]
                              : net_sent_by(page->server->engine.net, name);
    put_one(page, "transport", net_transport_name(name),
            (double)(is_of_bytes ? sum.bytes : sum.packets));
  }
}

static void put_loop(Page *page, const char *part) {
  const Loop *loop = net_loop(page->server->engine.net);
  bool is_late = strcmp(part, "lateness") == 0;
  exposition_put_histogram(&page->exposition, (MetricLabel[]){{0}},
                           is_late ? &loop->lateness : &loop->iterations, BOUNDS);
}

static void put_handlers(Page *page, const char *part) {
  CostSums sums = figures_of_handlers(page->server->engine.script);
  for (uint32_t i = 0; i < sums.count; i++) {
    const CostSum *sum = &sums.items[i];
    const char *name = labels_text(&sums.names, i);
    const MetricLabel labels[] = {{"handler", text_from(name)}, {0}};
    if (sum->times.count == 0) continue;
    if (strcmp(part, "failures") == 0)
      exposition_put(&page->exposition, labels, (double)sum->failures);
    else
      exposition_put_histogram(&page->exposition, labels, &sum->times, HANDLER_BOUNDS);
  }
  mem_free(sums.items);
}

static void put_reloads(Page *page, const char *part) {
  (void)part;
  static const char *const NAMES[] = {"taken", "refused", "rolled_back"};
  ScriptFigures figures = figures_of_script(page->server->engine.script);
  for (int i = 0; i < RELOAD_OUTCOMES; i++)
    put_one(page, "outcome", NAMES[i], (double)figures.reloads[i]);
}

static void put_commits(Page *page, const char *part) {
  (void)part;
  StoreStats stats = figures_of_commits(page->server->engine.script);
  exposition_put_histogram(&page->exposition, (MetricLabel[]){{0}}, &stats.commits,
                           BOUNDS);
}

// Writes the failures of the store by name. Several codes have the same name, so their
// numbers are added.
static void put_store_failures(Page *page, const char *part) {
  (void)part;
  StoreStats stats = figures_of_commits(page->server->engine.script);
  for (int code = STORE_OK + 1; code < STORE_CODES; code++) {
    const char *name = store_code_name((StoreCode)code);
    double count = 0;
    bool is_first = true;
    for (int i = STORE_OK + 1; i < STORE_CODES; i++) {
      if (strcmp(store_code_name((StoreCode)i), name) != 0) continue;
      is_first &= i >= code;
      count += (double)stats.failures[i];
    }
    if (is_first) put_one(page, "code", name, count);
  }
}

static void put_queues(Page *page, const char *part) {
  Text queue, json = figures_of_queues(page->server->engine.script);
  Text list = json.size > 0 ? json_find(json, "queues") : json;
  Buf name = {0};
  for (uint32_t at = 0; list.size > 0 && json_next(list, &at, NULL, &queue);) {
    Text value = json_find(queue, part);
    name.size = 0;
    json_read_text(json_find(queue, "name"), &name);
    const MetricLabel labels[] = {
        {"queue", {(const char *)name.data, (uint32_t)name.size}}, {0}};
    if (value.size > 0 && value.bytes[0] != 'n')  // the value is not null
      exposition_put(&page->exposition, labels, strtod(value.bytes, NULL));
  }
  buf_deinit(&name);
}

// --- The pages ---

static const Metric ALL[] = {
#define X(name, type, unit, labels, part, put, help) \
  {{name, METRIC_##type, unit, help}, part, put},
    METRICS(X)
#undef X
};

static void answer(const Server *server, ConnId conn, int status, const char *fields,
                   const Buf *body) {
  net_admin_answer(
      server->engine.net, conn,
      &(AdminAnswer){.part = ANSWER_WHOLE,
                     .status = status,
                     .fields = text_from(fields),
                     .body = {(const char *)body->data, (uint32_t)body->size}});
}

static void answer_metrics(Server *server, ConnId conn, bool is_open_metrics) {
  Buf body = {0};
  Page *page = mem_zalloc(sizeof *page);
  *page = (Page){.server = server,
                 .exposition = {.out = &body, .is_open_metrics = is_open_metrics}};
  gather(page);
  for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
    exposition_begin(&page->exposition, &ALL[i].family);
    ALL[i].put(page, ALL[i].part);
  }
  exposition_end(&page->exposition);
  answer(server, conn, 200,
         is_open_metrics ? "Content-Type: application/openmetrics-text; "
                           "version=1.0.0; charset=utf-8\r\n"
                         : "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
         &body);
  buf_deinit(&body);
  mem_free(page);
}

static void answer_health(const Server *server, ConnId conn, bool is_good) {
  Buf body = {0};
  buf_printf(&body, is_good ? "ok\n" : "the server is not accepting connections\n");
  answer(server, conn, is_good ? 200 : 503,
         "Content-Type: text/plain; charset=utf-8\r\n", &body);
  buf_deinit(&body);
}

// Returns the path of a request, which begins with "GET /", without that slash. The
// text has no NUL at its end.
static Text path_of(Text request) {
  size_t from = strlen("GET /"), end = from;
  while (end < request.size && request.bytes[end] != '?' && request.bytes[end] != '\n')
    end++;
  return (Text){request.bytes + from, (uint32_t)(end - from)};
}

// Implements AdminEvents.request.
static void on_request(void *data, ConnId conn, Text text) {
  Server *server = data;
  Text path = path_of(text);
  if (text_equals(path, text_from("metrics")))
    answer_metrics(server, conn, exposition_prefers_open_metrics(text));
  else if (text_equals(path, text_from("healthz")))
    answer_health(server, conn, true);
  else
    answer_health(server, conn, server->engine.state == ENGINE_LIVE);
}

const AdminEvents METRICS_EVENTS = {.request = on_request};
