// Timers and streams of the dashboard.
#include "server/dashboard/dashboard.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "os/loop.h"
#include "os/process.h"
#include "relay/describe.h"
#include "script/figures.h"
#include "server/dashboard/internal.h"
#include "server/game_path.h"
#include "server/server.h"
#include "wire/json.h"

enum { TICK_MS = 1000 };  // time between two looks at what a page shows

// --- Events of a stream ---

static void event_begin(Buf *out, const char *name) {
  buf_printf(out, "event: %s\ndata: ", name);
}

// Ends an event whose data began at `from`. JSON of games may contain line ends between
// its values, which would end the event.
static void event_end(Buf *out, size_t from) {
  for (size_t i = from; i < out->size; i++)
    if (out->data[i] == '\n' || out->data[i] == '\r') out->data[i] = ' ';
  buf_append(out, "\n\n", 2);
}

static void put_now(const Dashboard *dashboard, Buf *out) {
  Figure figures[FIGURES_MAX];
  event_begin(out, "now");
  size_t from = out->size;
  buf_printf(out, "{\"row\":");
  history_put_row(&dashboard->history, out);
  buf_printf(out, ",\"stats\":{");
  uint32_t count = figures_of_server(dashboard->server->engine.script, figures);
  for (uint32_t i = 0; i < count; i++)
    buf_printf(out, "%s\"%s\":%.15g", i > 0 ? "," : "", figures[i].name,
               figures[i].value);
  buf_printf(out, "},\"failures\":%llu}",
             (unsigned long long)dashboard->failures.changes);
  event_end(out, from);
}

static void put_hello(const Dashboard *dashboard, Buf *out) {
  const Server *server = dashboard->server;
  const Engine *engine = &server->engine;
  char game[GAME_NAME_SIZE];
  bool may_write = net_admin_has_token(engine->net) ||
                   config_is_on(&engine->config, KEY_ADMIN_WRITE);
  game_name(game, server->options.game);
  event_begin(out, "hello");
  size_t from = out->size;
  buf_u8(out, '{');
  describe_text(out, "game", text_from(game));
  buf_printf(
      out, ",\"port\":%u,\"pid\":%d,\"uptime\":%.3f,\"may_write\":%s,\"history\":",
      server->port, (int)getpid(), (double)(net_real_us() - engine->started_us) / 1e6,
      may_write ? "true" : "false");
  history_put(&dashboard->history, out);
  buf_u8(out, '}');
  event_end(out, from);
}

// Appends the view if it differs from what the page has.
static void put_view(const Dashboard *dashboard, Viewer *viewer, Buf *out) {
  size_t before = out->size;
  event_begin(out, "view");
  size_t from = out->size;
  bool is_shown = view_put(&viewer->query, dashboard, out);
  uint64_t hash = is_shown ? hash_bytes(NULL, out->data + from, out->size - from) : 0;
  if (!is_shown || hash == viewer->shown)
    out->size = before;
  else
    event_end(out, from);
  viewer->shown = hash;
}

// Appends the lines of the log that the page does not have.
static void put_log(Viewer *viewer, Buf *out) {
  static const char *const LEVELS[] = {"debug", "info", "warn", "error"};
  char text[LOG_RING_BYTES + 1];
  uint64_t end = log_kept();
  LogLine line;
  if (strcmp(viewer->query.view, "log") != 0 || viewer->logged == end) return;
  event_begin(out, "log");
  size_t from = out->size;
  if (end - viewer->logged > LOG_RING_LINES) viewer->logged = end - LOG_RING_LINES;
  buf_u8(out, '[');
  for (; viewer->logged < end; viewer->logged++) {
    if (!log_read_kept(viewer->logged, &line, text)) continue;
    buf_printf(out, "%s{\"n\":%llu,\"at\":%lld,\"level\":\"%s\",\"text\":",
               out->size > from + 1 ? "," : "", (unsigned long long)viewer->logged,
               (long long)line.unix_s, LEVELS[line.level]);
    json_put_text(out, (Text){text, line.size});
    buf_u8(out, '}');
  }
  buf_u8(out, ']');
  event_end(out, from);
}

static void send_events(const Dashboard *dashboard, ConnId conn, AnswerPart part,
                        Buf *out) {
  if (out->size > 0)
    net_admin_answer(
        dashboard->server->engine.net, conn,
        &(AdminAnswer){.part = part,
                       .fields = text_from("Content-Type: text/event-stream\r\n"
                                           "X-Accel-Buffering: no\r\n"),
                       .body = {(const char *)out->data, (uint32_t)out->size}});
  buf_deinit(out);
}

// --- Timers ---

static Loop *loop_of(const Dashboard *dashboard) {
  return net_loop(dashboard->server->engine.net);
}

// Returns a figure of figures_of_server.
static double find(const Figure *figures, uint32_t count, const char *name) {
  uint32_t i = 0;
  while (i < count && strcmp(figures[i].name, name) != 0) i++;
  return i < count ? figures[i].value : 0;
}

static void take_sample(Dashboard *dashboard) {
  const Engine *engine = &dashboard->server->engine;
  Figure figures[FIGURES_MAX];
  uint32_t count = figures_of_server(engine->script, figures);
  history_add(&dashboard->history,
              &(HistorySample){.at_us = net_real_us(),
                               .peers = find(figures, count, "peers"),
                               .rooms = find(figures, count, "rooms"),
                               .heap = find(figures, count, "memory"),
                               .messages = find(figures, count, "messages_in"),
                               .deliveries = find(figures, count, "deliveries"),
                               .errors = find(figures, count, "errors"),
                               .cpu_s = process_cpu_s(),
                               .lateness = &loop_of(dashboard)->lateness});
}

static void on_step(void *data, uint64_t now_ms) {
  Dashboard *dashboard = data;
  (void)now_ms;
  loop_set_timer(loop_of(dashboard), &dashboard->step, HISTORY_STEP_MS, on_step, data);
  take_sample(dashboard);
  for (int i = 0; i < VIEWERS_MAX; i++) {
    Buf out = {0};
    const Viewer *viewer = &dashboard->viewers[i];
    if (viewer->conn == 0) continue;
    put_now(dashboard, &out);
    send_events(dashboard, viewer->conn, ANSWER_MORE, &out);
  }
}

// Makes the script send the state of the room that the page shows.
static void show(const Dashboard *dashboard, const Viewer *viewer) {
  Script *script = dashboard->server->engine.script;
  Buf view = {0};
  bool is_room = strcmp(viewer->query.view, "room") == 0;
  if (!is_room || !script_is_loaded(script)) return;
  buf_printf(&view, "room\n%s", viewer->query.name);
  script_show(script, viewer->conn,
              (Text){(const char *)view.data, (uint32_t)view.size});
  buf_deinit(&view);
}

static void on_tick(void *data, uint64_t now_ms) {
  Dashboard *dashboard = data;
  (void)now_ms;
  for (int i = 0; i < VIEWERS_MAX; i++) {
    Buf out = {0};
    Viewer *viewer = &dashboard->viewers[i];
    if (viewer->conn == 0) continue;
    put_view(dashboard, viewer, &out);
    put_log(viewer, &out);
    send_events(dashboard, viewer->conn, ANSWER_MORE, &out);
    show(dashboard, viewer);
  }
  if (dashboard->viewer_count > 0)
    loop_set_timer(loop_of(dashboard), &dashboard->tick, TICK_MS, on_tick, data);
}

// --- Streams ---

static void refuse(const Dashboard *dashboard, ConnId conn, int status,
                   const char *code, const char *why) {
  Buf body = {0};
  buf_printf(&body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n", code, why);
  net_admin_answer(
      dashboard->server->engine.net, conn,
      &(AdminAnswer){.part = ANSWER_WHOLE,
                     .status = status,
                     .fields = text_from("Content-Type: application/json\r\n"),
                     .body = {(const char *)body.data, (uint32_t)body.size}});
  buf_deinit(&body);
}

static Viewer *find_viewer(Dashboard *dashboard, ConnId conn) {
  for (int i = 0; i < VIEWERS_MAX; i++)
    if (dashboard->viewers[i].conn == conn) return &dashboard->viewers[i];
  return NULL;
}

static void open_stream(Dashboard *dashboard, ConnId conn, const ViewQuery *query) {
  Buf out = {0};
  Viewer *viewer = find_viewer(dashboard, 0);
  if (viewer == NULL) {
    refuse(dashboard, conn, 503, "LimitReached", "too many pages are open");
    return;
  }
  *viewer = (Viewer){.conn = conn, .query = *query};
  if (dashboard->viewer_count++ == 0)
    loop_set_timer(loop_of(dashboard), &dashboard->tick, TICK_MS, on_tick, dashboard);
  put_hello(dashboard, &out);
  put_now(dashboard, &out);
  put_view(dashboard, viewer, &out);
  put_log(viewer, &out);
  send_events(dashboard, conn, ANSWER_OPEN, &out);
  show(dashboard, viewer);
}

// Implements AdminEvents.request. The text begins with "GET /api/dashboard/stream?...".
static void on_request(void *data, ConnId conn, Text text) {
  static const char STREAM[] = "GET /api/dashboard/stream";
  Dashboard *dashboard = data;
  ViewQuery query = {.after = 0};
  const char *end = memchr(text.bytes, '\n', text.size);
  Text rest = {text.bytes, (uint32_t)(end - text.bytes)};
  uint32_t skip = sizeof STREAM - 1;
  bool is_stream = rest.size >= skip && memcmp(rest.bytes, STREAM, skip) == 0 &&
                   (rest.size == skip || rest.bytes[skip] == '?');
  if (!is_stream) {
    refuse(dashboard, conn, 404, "NotFound", "there is nothing at this address");
    return;
  }
  skip += rest.size > skip;
  if (view_read(&query, (Text){rest.bytes + skip, rest.size - skip}))
    open_stream(dashboard, conn, &query);
  else
    refuse(dashboard, conn, 400, "BadRequest", "the query is not well-formed");
}

static void on_gone(void *data, ConnId conn) {
  Dashboard *dashboard = data;
  Viewer *viewer = find_viewer(dashboard, conn);
  if (viewer == NULL) return;
  *viewer = (Viewer){.conn = 0};
  if (--dashboard->viewer_count == 0)
    timers_stop(&loop_of(dashboard)->timers, &dashboard->tick);
}

// --- The dashboard ---

Dashboard *dashboard_open(Server *server) {
  static const AdminEvents EVENTS = {.request = on_request, .gone = on_gone};
  Dashboard *dashboard = mem_zalloc(sizeof *dashboard);
  dashboard->server = server;
  net_admin_serve(server->engine.net, ADMIN_DASHBOARD, &EVENTS, dashboard);
  loop_set_timer(loop_of(dashboard), &dashboard->step, HISTORY_STEP_MS, on_step,
                 dashboard);
  take_sample(dashboard);
  return dashboard;
}

void dashboard_stop(Dashboard *dashboard) {
  Timers *timers = &loop_of(dashboard)->timers;
  timers_stop(timers, &dashboard->step);
  timers_stop(timers, &dashboard->tick);
}

void dashboard_free(Dashboard *dashboard) {
  if (dashboard == NULL) return;
  for (int i = 0; i < REPORTS_MAX; i++) mem_free(dashboard->reports[i].text);
  failures_deinit(&dashboard->failures);
  mem_free(dashboard);
}

static double unix_s(const Dashboard *dashboard) {
  return (double)net_unix_us(dashboard->server->engine.net) / 1e6;
}

void dashboard_failed(Dashboard *dashboard, const char *text) {
  failures_add(&dashboard->failures, text, unix_s(dashboard));
}

void dashboard_reloaded(Dashboard *dashboard, bool is_good, const char *report) {
  ReloadReport *to = &dashboard->reports[dashboard->report_count++ % REPORTS_MAX];
  size_t size = text_cut(report, strlen(report), REPORT_BYTES);
  mem_free(to->text);
  *to = (ReloadReport){
      .at_s = unix_s(dashboard),
      .is_good = is_good,
      .version = figures_of_script(dashboard->server->engine.script).version,
      .text = mem_alloc(size + 1)};
  memcpy(to->text, report, size);
  to->text[size] = '\0';
}
