// HTTP connections: one request at a time, answered before the next is looked at. Its
// bytes stay in `conn->in` until it is answered, so nothing of it is copied.
#include "wire/http.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/protocol/web_internal.h"

typedef struct Http {
  bool is_busy;     // a request is being answered
  bool is_written;  // all of the answer has been written, or waits in the backlog
  bool is_last;     // the connection ends after it
  uint32_t size;    // of the request's head
  FileJob *job;     // that has the rest of the answer, or NULL
} Http;

static Http *http_of(const Conn *conn) { return conn->speech; }

// --- Deadlines ---

static void on_stall(void *data, uint64_t now_ms) {
  (void)now_ms;
  Conn *conn = data;
  web_of(conn->net)->stats.stalled++;
  log_info("an answer was not taken in time", log_str("address", conn->info->address));
  conn_end(conn, END_BROKEN);
}

static void on_deadline(void *data, uint64_t now_ms) {
  Conn *conn = data;
  (void)now_ms;
  if (conn->state != CONN_OPEN) return;
  if (conn->in.bytes.size == 0) {
    conn_close(conn);
    return;
  }
  http_of(conn)->is_busy = true;
  http_refuse(conn, NULL, 408, "The request did not come in time.");
}

static void set_timer(Conn *conn, uint64_t due_ms, TimerCallback *callback) {
  timers_set(conn->net->timers, &conn->timer, due_ms, callback, conn);
}

// An answer goes on: its next piece has a while to be read from the disk and to be taken.
static void await_progress(Conn *conn) {
  set_timer(conn, net_now_ms(conn->net) + WEB_STALL_MS, on_stall);
}

// The head of a request has to be here a while after its first byte (of the first one:
// after the connection was made), however slowly it comes.
static void await_request(Conn *conn) {
  uint32_t timeout_ms = conn->net->limits.handshake_timeout_ms;
  if (conn->in.bytes.size == 0)
    set_timer(conn, net_now_ms(conn->net) + WEB_KEEP_ALIVE_MS, on_deadline);
  else if (timeout_ms > 0)
    set_timer(conn, conn->info->since_ms + timeout_ms, on_deadline);
  else
    timers_stop(conn->net->timers, &conn->timer);
}

// --- Answering ---

static void put_version(Buf *out, const HttpVersion *version) {
  char date[HTTP_DATE_SIZE];
  http_put_field(out, "ETag", "%s", version->tag);
  if (version->changed_s == 0) return;
  http_date(date, version->changed_s);
  http_put_field(out, "Last-Modified", "%s", date);
}

// Pages ask each time, so that they and what they use are of one version; the rest may
// be kept for a while where nobody is working on it.
static const char *cache_rule(const Web *web, const Answer *answer) {
  bool is_page = answer->type && strncmp(answer->type, "text/html", 9) == 0;
  if (!answer->version) return "no-store";
  bool must_ask = web->is_watched || is_page || answer->may_change;
  return must_ask ? "no-cache" : "max-age=60";
}

static void put_body_fields(Buf *out, const Answer *answer) {
  if (answer->type) http_put_field(out, "Content-Type", "%s", answer->type);
  if (answer->status == 206)
    http_put_field(out, "Content-Range", "bytes %llu-%llu/%llu",
                   (unsigned long long)answer->first,
                   (unsigned long long)(answer->first + answer->count - 1),
                   (unsigned long long)answer->size);
  else if (answer->status == 416)
    http_put_field(out, "Content-Range", "bytes */%llu",
                   (unsigned long long)answer->size);
  if (answer->status != 304)
    http_put_field(out, "Content-Length", "%llu", (unsigned long long)answer->count);
}

void http_put_answer(Buf *out, Conn *conn, const Answer *answer) {
  char date[HTTP_DATE_SIZE];
  const Web *web = web_of(conn->net);
  http_date(date, (int64_t)(net_unix_us(conn->net) / 1000000));
  http_put_status(out, answer->status);
  http_put_field(out, "Date", "%s", date);
  put_body_fields(out, answer);
  if (answer->version) put_version(out, answer->version);
  if (answer->version) http_put_field(out, "Accept-Ranges", "bytes");
  http_put_field(out, "Cache-Control", "%s", cache_rule(web, answer));
  http_put_field(out, "X-Content-Type-Options", "nosniff");
  if (!answer->version)  // a page of the server's own
    http_put_field(out, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
  if (answer->location) http_put_field(out, "Location", "%s", answer->location);
  if (answer->allow_origin)
    http_put_field(out, "Access-Control-Allow-Origin", "%s", answer->allow_origin);
  if (answer->status == 405) http_put_field(out, "Allow", "GET, HEAD");
  if (answer->status == 503) http_put_field(out, "Retry-After", "5");
  if (answer->status == 426) {
    http_put_field(out, "Upgrade", "websocket");
    http_put_field(out, "Sec-WebSocket-Version", "13");
  }
  http_put_field(out, "Connection", "%s%s", answer->status == 426 ? "Upgrade, " : "",
                 http_of(conn)->is_last ? "close" : "keep-alive");
  http_put_end(out);
}

static void write_whole(Conn *conn, const HttpRequest *request, Answer *answer,
                        const Buf *body) {
  Buf out = {0};
  answer->count = body->size;
  http_put_answer(&out, conn, answer);
  if (!request || request->method != METHOD_HEAD)
    buf_append(&out, body->data, body->size);
  http_finish(conn);
  http_write(conn, &out);
  buf_deinit(&out);
}

static void answer_status(Conn *conn, const HttpRequest *request, int status,
                          const char *text) {
  Buf body = {0};
  Answer answer = {.status = status, .type = "text/html; charset=utf-8"};
  page_put_status(&body, status, text);
  write_whole(conn, request, &answer, &body);
  buf_deinit(&body);
}

// A refusal ends the connection, so that one connection is one line of the log.
static void count_refusal(Conn *conn, int status) {
  if (status < 500) http_of(conn)->is_last = true;
  web_of(conn->net)->stats.refused++;
}

void http_refuse(Conn *conn, const HttpRequest *request, int status, const char *text) {
  if (status != 404 && status != 426) {
    count_refusal(conn, status);
    log_info("refused", log_str("address", conn->info->address),
             log_num("status", status), log_str("text", text));
  }
  answer_status(conn, request, status, text);
}

static const char *refusal_text(int status) {
  switch (status) {
    case 404:
      return "There is nothing here.";
    case 405:
      return "Only GET and HEAD are served.";
    case 414:
      return "The address is too long.";
    case 431:
      return "The head of the request is too large.";
    default:
      return "The request is not well-formed.";
  }
}

// The name needs no escaping, because http_read_request refuses a Host that has other
// characters than letters, digits, and .-_:[].
static void refuse_host(Conn *conn, const HttpRequest *request, Text name) {
  enum { SHOWN_MAX = 253 };  // the longest possible name
  if (name.size == 0) {
    http_refuse(conn, request, 400, refusal_text(400));
    return;
  }
  char text[512];
  int size = name.size < SHOWN_MAX ? (int)name.size : SHOWN_MAX;
  snprintf(text, sizeof text,
           "This server is not known by that name. Its operator can allow it: "
           "<code>hosts = { &quot;%.*s&quot; }</code>.",
           size, name.bytes);
  count_refusal(conn, 403);
  web_note_host(conn, name);
  answer_status(conn, request, 403, text);
}

void http_welcome(Conn *conn, const HttpRequest *request) {
  Buf body = {0};
  Answer answer = {.status = 200, .type = "text/html; charset=utf-8"};
  const Text *host = http_field(request, "host");
  page_put_welcome(&body, web_of(conn->net), host ? *host : (Text){"", 0});
  write_whole(conn, request, &answer, &body);
  buf_deinit(&body);
}

static void send_health(Conn *conn, const HttpRequest *request) {
  Buf body = {0};
  Answer answer = {.status = 200, .type = "text/plain; charset=utf-8"};
  buf_printf(&body, "ok\n");
  write_whole(conn, request, &answer, &body);
  buf_deinit(&body);
}

// A page of another server may import it, so that it can be written before it is moved.
static void send_module(Conn *conn, const HttpRequest *request, Answer *answer,
                        const void *text, size_t size) {
  Buf body = {.data = (uint8_t *)text, .size = size};
  answer->status = 200;
  answer->type = http_type("perigee.js");
  answer->allow_origin = "*";
  if (http_is_known(request, answer->version)) {
    answer->status = 304;
    body.size = 0;
  }
  write_whole(conn, request, answer, &body);
}

// The module of the server's own that a path names; NULL: none.
static const WebModule *find_module(const Conn *conn, const HttpPath *path) {
  const WebModule *module = web_of(conn->net)->modules;
  if (path->is_folder) return NULL;
  while (module->name && strcmp(module->name, path->text) != 0) module++;
  return module->name ? module : NULL;
}

static void send_own(Conn *conn, const HttpRequest *request, const WebModule *module) {
  const Web *web = web_of(conn->net);
  if (module->size == 0) {
    http_refuse(conn, request, 404, "This server was built without its client.");
    return;
  }
  Answer answer = {.version = &web->module_versions[module - web->modules]};
  send_module(conn, request, &answer, module->text, module->size);
}

static void send_schema(Conn *conn, const HttpRequest *request) {
  const Web *web = web_of(conn->net);
  Answer answer = {.version = &web->schema_version, .may_change = true};
  send_module(conn, request, &answer, web->schema.data, web->schema.size);
}

const HttpRequest *http_request(Conn *conn, HttpRequest *request) {
  http_read_request((const char *)conn->in.bytes.data, http_of(conn)->size, request);
  return request;
}

// --- The end of an answer ---

static void complete(Conn *conn) {
  Http *http = http_of(conn);
  file_drop(http->job);
  http->job = NULL;
  http->is_busy = http->is_written = false;
  if (http->is_last) {
    conn_close(conn);
    return;
  }
  buf_consume(&conn->in.bytes, http->size);
  conn->info->since_ms = net_now_ms(conn->net);
  await_request(conn);
  conn_start(conn, STOP_BUSY);
}

void http_finish(Conn *conn) { http_of(conn)->is_written = true; }

static void drained(Conn *conn) {
  Http *http = http_of(conn);
  if (conn->listed & LISTED_ENDED || conn->state != CONN_OPEN || !http->is_busy) return;
  if (http->is_written)
    complete(conn);
  else if (http->job)
    file_continue(http->job);
}

void http_write(Conn *conn, const Buf *bytes) {
  await_progress(conn);
  backlog_write_now(conn, bytes->data, bytes->size);
  if (!conn->out.backlog) drained(conn);
}

// --- Upgrading ---

static bool is_allowed_origin(const Conn *conn, const HttpRequest *request) {
  const Text *origin = http_field(request, "origin");
  const Text *host = http_field(request, "host");
  const char *list = web_of(conn->net)->origins;
  if (!origin) return true;  // no browser: nobody else's pages are behind it
  if (host && http_is_same_origin(*origin, *host)) return true;
  return list && http_is_listed_origin(*origin, list);
}

static void accept_socket(Conn *conn, const HttpRequest *request, Text key) {
  char sum[WS_ACCEPT_SIZE];
  Buf out = {0};
  ws_accept(key, sum);
  http_put_status(&out, 101);
  http_put_field(&out, "Upgrade", "websocket");
  http_put_field(&out, "Connection", "Upgrade");
  http_put_field(&out, "Sec-WebSocket-Accept", "%s", sum);
  if (http_has_token(request, "sec-websocket-protocol", "perigee.1"))
    http_put_field(&out, "Sec-WebSocket-Protocol", "perigee.1");
  http_put_end(&out);
  web_of(conn->net)->stats.upgraded++;
  buf_consume(&conn->in.bytes, http_of(conn)->size);
  conn_speak(conn, &WEBSOCKET);
  web_await(conn);
  backlog_write_now(conn, out.data, out.size);
  buf_deinit(&out);
}

static void upgrade(Conn *conn, const HttpRequest *request) {
  const Text *key = http_field(request, "sec-websocket-key");
  const Text *version = http_field(request, "sec-websocket-version");
  bool is_wanted = http_has_token(request, "upgrade", "websocket") &&
                   http_has_token(request, "connection", "upgrade");
  if (!is_wanted || request->is_old || request->method != METHOD_GET)
    http_refuse(conn, request, 426, "WebSockets are served here.");
  else if (!version || !http_is_text(*version, "13"))
    http_refuse(conn, request, 426, "WebSockets are served here, in version 13.");
  else if (!key || !ws_is_key(*key))
    http_refuse(conn, request, 400, "Sec-WebSocket-Key is not what it has to be.");
  else if (!is_allowed_origin(conn, request))
    http_refuse(conn, request, 403,
                "Pages from elsewhere may not connect. Its operator can let them, with "
                "<code>allowed_origins</code>.");
  else
    accept_socket(conn, request, *key);
}

// --- Requests ---

// Opening it may take a while, and the request is no longer waited for.
static void send_file(Conn *conn, const HttpPath *path) {
  await_progress(conn);
  http_of(conn)->job = file_serve(conn, path);
}

static void serve(Conn *conn, const HttpRequest *request) {
  HttpPath path;
  Text host;
  const WebModule *module;
  int refused = http_read_path(request->target, &path);
  if (refused)
    http_refuse(conn, request, -refused, refusal_text(-refused));
  else if (strcmp(path.text, "healthz") == 0 && !path.is_folder)
    send_health(conn, request);
  else if (!web_knows_host(conn, request, &host))
    refuse_host(conn, request, host);
  else if (strcmp(path.text, "ws") == 0 && !path.is_folder)
    upgrade(conn, request);
  else if ((module = find_module(conn, &path)) != NULL)
    send_own(conn, request, module);
  else if (strcmp(path.text, "schema.js") == 0 && !path.is_folder)
    send_schema(conn, request);
  else
    send_file(conn, &path);
}

static void handle(Conn *conn, const HttpRequest *request) {
  http_of(conn)->is_last = !request->keeps_alive || conn->is_eof || conn->is_refused;
  if (conn->is_refused)
    http_refuse(conn, request, 503, "There are too many connections. Try again.");
  else if (request->method > METHOD_HEAD)
    http_refuse(conn, request, 405, refusal_text(405));
  else if (request->has_body)
    http_refuse(conn, request, 413, "Nothing is taken here.");
  else
    serve(conn, request);
}

// --- Input ---

// Whether there was a request.
static bool take_request(Conn *conn) {
  HttpRequest request;
  Http *http = http_of(conn);
  int size = http_read_request((const char *)conn->in.bytes.data, conn->in.bytes.size,
                               &request);
  if (size == 0) return false;
  web_of(conn->net)->stats.requests++;
  http->is_busy = true;
  http->size = size > 0 ? (uint32_t)size : (uint32_t)conn->in.bytes.size;
  if (size > 0)
    handle(conn, &request);
  else
    http_refuse(conn, NULL, -size, refusal_text(-size));
  return true;
}

static void run(Conn *conn) {
  while (conn->protocol == &HTTP && !http_of(conn)->is_busy &&
         conn->in.bytes.size > 0 && conn_takes_input(conn)) {
    if (take_request(conn)) continue;
    await_request(conn);
    break;
  }
  if (conn->state != CONN_OPEN) return;
  if (conn->protocol != &HTTP) {
    conn->protocol->resume(conn);  // what came behind the request
    return;
  }
  if (http_of(conn)->is_busy) conn_stop(conn, STOP_BUSY);
  if (conn->in.bytes.size == 0) buf_deinit(&conn->in.bytes);
}

static void begin(Conn *conn) { conn->speech = mem_zalloc(sizeof(Http)); }

static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  bool is_next = conn->in.bytes.size == 0 && http_of(conn)->size > 0;
  if (is_next) conn->info->since_ms = net_now_ms(conn->net);
  buf_append(&conn->in.bytes, bytes, size);
  run(conn);
}

static InputEnd input_end(Conn *conn) {
  http_of(conn)->is_last = true;
  return http_of(conn)->is_busy ? INPUT_STAYS : INPUT_ENDS;
}

static void free_http(Conn *conn) {
  file_drop(http_of(conn)->job);
  mem_free(conn->speech);
  conn->speech = NULL;
}

const Protocol HTTP = {
    .open = begin,
    .input = input,
    .resume = run,
    .drained = drained,
    .input_end = input_end,
    .free = free_http,
};
