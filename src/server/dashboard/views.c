#include "server/dashboard/views.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/udp.h"
#include "relay/describe.h"
#include "relay/room.h"
#include "script/figures.h"
#include "server/dashboard/internal.h"
#include "server/metrics.h"
#include "server/server.h"
#include "wire/http.h"
#include "wire/json.h"

// --- The query ---

static bool read_field(ViewQuery *query, Text name, const char *value, size_t size) {
  const struct {
    const char *name;
    char *to;
    size_t size;
  } TEXTS[] = {{"view", query->view, sizeof query->view},
               {"name", query->name, sizeof query->name},
               {"search", query->search, sizeof query->search},
               {"kind", query->kind, sizeof query->kind}};
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    if (!text_equals(name, text_from(TEXTS[i].name))) continue;
    if (size >= TEXTS[i].size) return false;
    memcpy(TEXTS[i].to, value, size + 1);
    return true;
  }
  if (!text_equals(name, text_from("after"))) return false;
  query->after = (uint32_t)strtoul(value, NULL, 10);
  return true;
}

bool view_read(ViewQuery *query, Text text) {
  bool is_good = true;
  while (text.size > 0 && is_good) {
    const char *end = memchr(text.bytes, '&', text.size);
    uint32_t size = end != NULL ? (uint32_t)(end - text.bytes) : text.size;
    const char *equals = memchr(text.bytes, '=', size);
    uint32_t name = equals != NULL ? (uint32_t)(equals - text.bytes) : size;
    uint32_t from = equals != NULL ? name + 1 : size;
    Buf value = {0};
    is_good = http_decode((Text){text.bytes + from, size - from}, &value) &&
              read_field(query, (Text){text.bytes, name}, (const char *)value.data,
                         value.size - 1);
    buf_deinit(&value);
    size += end != NULL;
    text = (Text){text.bytes + size, text.size - size};
  }
  return is_good;
}

// Returns whether the text contains the other one, ignoring the case of ASCII letters.
static bool has(Text text, const char *other) {
  size_t size = strlen(other);
  for (size_t i = 0; i + size <= text.size; i++)
    if (strncasecmp(text.bytes + i, other, size) == 0) return true;
  return false;
}

// --- Lists ---

typedef struct List {
  const ViewQuery *query;
  Buf *json;
  uint32_t shown, found;  // entries on this page, and all that the query selects
  uint32_t next;          // start of the next page; 0: none
} List;

// Counts an entry, and returns whether to show it. `before` is the position before it.
static bool list_takes(List *list, uint32_t before) {
  list->found++;
  if (before < list->query->after) return false;
  if (list->shown == VIEW_ROWS && list->next == 0) list->next = before;
  if (list->shown == VIEW_ROWS) return false;
  if (list->shown++ > 0) buf_u8(list->json, ',');
  return true;
}

static void list_end(const List *list) {
  buf_printf(list->json, "],\"found\":%u,\"next\":%u}", list->found, list->next);
}

static void put_kinds(const Dashboard *dashboard, Buf *json) {
  uint32_t *counts = metrics_count_rooms(dashboard->server);
  const Labels *kinds = &dashboard->server->kinds;
  const char *before = "\"kinds\":[";
  for (uint32_t i = 0; i < kinds->count; i++) {
    if (counts[i] == 0) continue;
    buf_printf(json, "%s[", before);
    json_put_text(json, text_from(labels_text(kinds, i)));
    buf_printf(json, ",%u]", counts[i]);
    before = ",";
  }
  buf_printf(json, "%s],", *before == ',' ? "" : before);
  mem_free(counts);
}

static void put_rooms(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  List list = {.query = query, .json = json};
  const Relay *relay = dashboard->server->engine.relay;
  const Room *room;
  size_t kind = strlen(query->kind);
  buf_printf(json, "{\"count\":%u,", relay_stats(relay).rooms);
  put_kinds(dashboard, json);
  buf_printf(json, "\"rooms\":[");
  for (uint32_t cursor = 0, before;
       before = cursor, (room = relay_next_room(relay, &cursor)) != NULL;) {
    // Names are longer than `kind` or end with a NUL there.
    bool is_of_kind = kind == 0 || (strncmp(room->name, query->kind, kind) == 0 &&
                                    strchr(":", room->name[kind]) != NULL);
    bool is_wanted = (room->state == ROOM_OPEN || room->state == ROOM_DELETED) &&
                     is_of_kind && has(room_name(room), query->search);
    if (!is_wanted || !list_takes(&list, before)) continue;
    buf_u8(json, '{');
    describe_room(json, room);
    buf_u8(json, '}');
  }
  list_end(&list);
}

// Appends a peer as the control API does, and what waits for it.
static void put_peer_row(const Server *server, const Peer *peer, Buf *json) {
  describe_peer(json, server->engine.relay, peer);
  NetSent queued = net_queued(server->engine.net, peer->conn);
  json->size--;  // the closing brace
  buf_printf(json, ",\"queued\":%llu,\"queued_bytes\":%llu,\"dropped\":%llu}",
             (unsigned long long)queued.packets, (unsigned long long)queued.bytes,
             (unsigned long long)peer->dropped);
}

static void put_peers(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  List list = {.query = query, .json = json};
  const Engine *engine = &dashboard->server->engine;
  const Session *session = engine->session;
  const Peer *peer;
  buf_printf(json, "{\"count\":%u,\"peers\":[",
             session_count(session) + session_stats(session).suspended_now);
  for (uint32_t cursor = 0, before;
       before = cursor, (peer = session_next(session, &cursor)) != NULL;) {
    bool is_wanted =
        peer_has_session(peer) && (has(peer_name(peer), query->search) ||
                                   has(text_from(peer_address(peer)), query->search));
    if (is_wanted && list_takes(&list, before))
      put_peer_row(dashboard->server, peer, json);
  }
  list_end(&list);
}

// --- One room, one peer ---

static void put_room(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  const Server *server = dashboard->server;
  const Relay *relay = server->engine.relay;
  const Room *room = relay_room(relay, relay_find_room(relay, text_from(query->name)));
  uint32_t shown = 0;
  if (room == NULL) {
    buf_printf(json, "{\"is_gone\":true}");
    return;
  }
  buf_u8(json, '{');
  describe_room(json, room);
  if (room->ticker.interval_us > 0)
    buf_printf(json, ",\"tick_hz\":%.6g", 1e6 / (double)room->ticker.interval_us);
  buf_printf(json, ",\"bots\":%u,\"suspended\":%u,\"meta\":", room->bots,
             room->suspended);
  describe_meta(json, room, false);
  buf_printf(json, ",\"public\":");
  describe_meta(json, room, true);
  buf_printf(json, ",\"members\":[");
  for (uint32_t i = 0; i < room->places && shown < VIEW_ROWS; i++) {
    const Peer *peer = session_find(server->engine.session, room->members[i]);
    if (room->members[i] == 0 || peer == NULL) continue;
    if (shown++ > 0) buf_u8(json, ',');
    put_peer_row(server, peer, json);
  }
  buf_printf(json, "]}");
}

static void put_udp(const Net *net, const Peer *peer, Buf *json) {
  UdpFigures udp;
  if (!net_udp_figures(net, peer->conn, &udp)) return;
  buf_printf(json,
             ",\"udp\":{\"received\":%llu,\"sent\":%llu,\"lost\":%llu,"
             "\"rtt_ms\":%.3f}",
             (unsigned long long)udp.received, (unsigned long long)udp.sent,
             (unsigned long long)udp.lost, udp.rtt_us / 1000.0);
}

static void put_peer(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  const Engine *engine = &dashboard->server->engine;
  const Peer *peer =
      session_find(engine->session, (uint32_t)strtoul(query->name, NULL, 10));
  if (peer == NULL || !peer_has_session(peer)) {
    buf_printf(json, "{\"is_gone\":true}");
    return;
  }
  NetSent sent = net_sent(engine->net, peer->conn);
  sent.packets += peer->ended.sent.packets;
  sent.bytes += peer->ended.sent.bytes;
  put_peer_row(dashboard->server, peer, json);
  json->size--;  // the closing brace
  buf_printf(json,
             ",\"packets_in\":%llu,\"bytes_in\":%llu,"
             "\"packets_out\":%llu,\"bytes_out\":%llu,\"waiting_events\":%u,"
             "\"is_throttled\":%s",
             (unsigned long long)peer->packets_in, (unsigned long long)peer->bytes_in,
             (unsigned long long)sent.packets, (unsigned long long)sent.bytes,
             peer->relay.queued, peer->throttle.reasons != 0 ? "true" : "false");
  put_udp(engine->net, peer, json);
  buf_u8(json, '}');
}

// --- Code and errors ---

static void put_code(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  (void)query;
  CostSums sums = figures_of_handlers(dashboard->server->engine.script);
  ScriptFigures script = figures_of_script(dashboard->server->engine.script);
  const char *before = "";
  buf_printf(json, "{\"version\":%u,\"hash\":\"%s\",\"handlers\":[", script.version,
             script.version > 0 ? script.hash : "");
  for (uint32_t i = 0; i < sums.count; i++) {
    const CostSum *sum = &sums.items[i];
    if (sum->times.count == 0) continue;
    buf_printf(json, "%s{\"name\":", before);
    json_put_text(json, text_from(labels_text(&sums.names, i)));
    buf_printf(json,
               ",\"calls\":%llu,\"total_us\":%llu,\"p50_us\":%llu,\"p99_us\":%llu,"
               "\"worst_us\":%llu,\"failures\":%llu}",
               (unsigned long long)sum->times.count,
               (unsigned long long)sum->times.total_us,
               (unsigned long long)histogram_percentile(&sum->times, 50),
               (unsigned long long)histogram_percentile(&sum->times, 99),
               (unsigned long long)sum->worst_us, (unsigned long long)sum->failures);
    before = ",";
  }
  mem_free(sums.items);
  buf_printf(json, "],\"reloads\":[");
  uint32_t count = dashboard->report_count;
  for (uint32_t i = 0; i < REPORTS_MAX && i < count; i++) {
    const ReloadReport *report = &dashboard->reports[(count - 1 - i) % REPORTS_MAX];
    buf_printf(json,
               "%s{\"at\":%.3f,\"good\":%s,\"version\":%u,\"text\":", i > 0 ? "," : "",
               report->at_s, report->is_good ? "true" : "false", report->version);
    json_put_text(json, text_from(report->text));
    buf_u8(json, '}');
  }
  buf_printf(json, "]}");
}

static void put_errors(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  (void)query;
  buf_printf(json, "{\"errors\":");
  failures_put(&dashboard->failures, json);
  buf_u8(json, '}');
}

bool view_put(const ViewQuery *query, const Dashboard *dashboard, Buf *json) {
  static const struct {
    const char *name;
    void (*put)(const ViewQuery *query, const Dashboard *dashboard, Buf *json);
  } VIEWS[] = {{"rooms", put_rooms}, {"room", put_room}, {"peers", put_peers},
               {"peer", put_peer},   {"code", put_code}, {"errors", put_errors}};
  for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++) {
    if (strcmp(VIEWS[i].name, query->view) != 0) continue;
    VIEWS[i].put(query, dashboard, json);
    return true;
  }
  return false;
}
