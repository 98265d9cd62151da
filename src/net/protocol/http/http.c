// The states of a connection that speaks HTTP: head, body (if the route takes one),
// answer, next head.
#include "net/protocol/http/http.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

static const char BAD_BODY[] = "the body is not well-formed, or larger than 1 MiB";

void http_request(const Conn *conn, HttpRequest *request) {
  http_read_request((const char *)conn->in.bytes.data, http_of(conn)->size, request);
}

bool http_is_open(const Conn *conn) {
  return conn_speaks(conn, &HTTP) && !(conn->self.listed & LISTED_ENDED);
}

// --- Deadlines ---

static void on_timer(void *data, uint64_t now_ms) {
  (void)now_ms;
  Conn *conn = data;
  const Http *http = http_of(conn);
  if (!http_is_open(conn)) return;
  if (conn->out.backlog || http->state == HTTP_HANDLED) {
    http->server->stats.stalled++;
    log_info("an answer was not taken in time",
             log_str("address", conn->info->address));
    conn_end(conn, END_BROKEN);
  } else if (http->state == HTTP_STREAMING) {
    http_send(conn, (Text){":\n\n", 3}, false);
  } else if (http->state == HTTP_REFUSING) {
    http_refuse(conn, http->late_status, http->late_why);
  } else if (conn->in.bytes.size == 0) {
    conn_close(conn);
  } else {
    http_refuse(conn, 408, "the request did not come in time");
  }
}

// Returns the deadline of the current state; 0: none.
static uint64_t find_due_ms(const Conn *conn) {
  const Http *http = http_of(conn);
  uint64_t now_ms = net_now_ms(conn->net), since_ms = conn->info->since_ms;
  uint32_t head_ms = conn->net->limits.handshake_timeout_ms;
  if (conn->out.backlog) return now_ms + HTTP_STALL_MS;
  switch ((HttpState)http->state) {
    case HTTP_HEAD:
      if (conn->in.bytes.size == 0) return since_ms + HTTP_KEEP_ALIVE_MS;
      if (head_ms == 0) head_ms = http->kind->head_ms;
      return head_ms > 0 ? since_ms + head_ms : 0;
    case HTTP_BODY:
      return since_ms + HTTP_BODY_MS;
    case HTTP_REFUSING:
      return since_ms + HTTP_LATE_MS;
    case HTTP_STREAMING:
      return now_ms + HTTP_BEAT_MS;
    case HTTP_HANDLED:
      return http->route->flags & HTTP_WAITS ? 0 : now_ms + HTTP_STALL_MS;
    default:
      return 0;
  }
}

static void set_timer(Conn *conn) {
  uint64_t due_ms = find_due_ms(conn);
  if (due_ms > 0)
    timers_set(conn->net->timers, &conn->timer, due_ms, on_timer, conn);
  else
    timers_stop(conn->net->timers, &conn->timer);
}

// --- Answering ---

// Prepares for the next request, whose deadline counts from now, or closes the
// connection.
static void complete(Conn *conn) {
  Http *http = http_of(conn);
  if (http->is_last) {
    conn_close(conn);
    return;
  }
  http->state = HTTP_HEAD;
  http->is_head_only = false;
  buf_deinit(&http->text);
  conn->info->since_ms = net_now_ms(conn->net);
  conn_start(conn, STOP_BUSY);
  buf_consume(&conn->in.bytes, http->size);
  if (conn->in.bytes.size == 0)
    buf_deinit(&conn->in.bytes);
  else
    endpoint_resume_later(conn->net, &conn->self);
}

// Writes http->out, unless earlier output still waits. When all output has left,
// continues with the next piece or the next request.
static void flush(Conn *conn) {
  Http *http = http_of(conn);
  if (!conn->out.backlog && http->out.size > 0) {
    Buf out = http->out;
    http->out = (Buf){0};
    backlog_write_now(conn, out.data, out.size);
    buf_deinit(&out);
  }
  if (!http_is_open(conn)) return;
  bool is_out = !conn->out.backlog;
  if (is_out && http->state == HTTP_ANSWERED)
    complete(conn);
  else if (is_out && http->state >= HTTP_HANDLED && http->route->drained)
    http->route->drained(conn);
  if (http_is_open(conn)) set_timer(conn);
}

static void put_body(Http *http, Text bytes) {
  if (http->state != HTTP_STREAMING) {
    buf_append(&http->out, bytes.bytes, bytes.size);
  } else if (bytes.size > 0) {
    buf_printf(&http->out, "%x\r\n", bytes.size);
    buf_append(&http->out, bytes.bytes, bytes.size);
    buf_append(&http->out, "\r\n", 2);
  }
}

void http_answer(Conn *conn, const HttpAnswer *answer) {
  Http *http = http_of(conn);
  HttpAnswer whole = *answer;
  if (answer->body.size > 0) whole.count = answer->body.size;
  uint64_t unix_us = http->kind->has_dates ? net_unix_us(conn->net) : 0;
  http_put_head(&http->out, &whole, (int64_t)(unix_us / 1000000), http->is_last);
  if (answer->rest == HTTP_STREAM) http->state = HTTP_STREAMING;
  if (!http->is_head_only) put_body(http, answer->body);
  if (answer->rest == HTTP_NOTHING || http->is_head_only) http->state = HTTP_ANSWERED;
  flush(conn);
}

void http_send(Conn *conn, Text bytes, bool is_last) {
  Http *http = http_of(conn);
  put_body(http, bytes);
  if (is_last && http->state == HTTP_STREAMING) buf_append(&http->out, "0\r\n\r\n", 5);
  if (is_last) http->state = HTTP_ANSWERED;
  flush(conn);
  if (http_is_open(conn) && http->out.size > HTTP_OUT_MAX) conn_end(conn, END_BROKEN);
}

static void release_body(Http *http) {
  http->server->reserved_bytes -= http->reserved;
  http->reserved = 0;
}

bool http_refuse(Conn *conn, int status, const char *why) {
  Http *http = http_of(conn);
  const HttpKind *kind = http->kind;
  uint32_t methods = http->route ? http->route->methods : kind->methods;
  Buf body = {0}, fields = {0};
  char names[40], only[64];
  if (status == 405 && !why) {
    http_list_methods(names, methods, " and ");
    bool is_one = (methods & (methods - 1)) == 0;
    snprintf(only, sizeof only, "only %s %s served", names, is_one ? "is" : "are");
    why = only;
  }
  release_body(http);
  http_put_hints(&fields, status, methods);
  http->is_last |= kind->refuse(conn, status, why, &body);
  http_answer(conn, &(HttpAnswer){.status = status,
                                  .type = kind->refusal_type,
                                  .fields = http_text(&fields),
                                  .body = http_text(&body)});
  buf_deinit(&fields);
  buf_deinit(&body);
  return false;
}

bool http_refuse_late(Conn *conn, int status, const char *why) {
  Http *http = http_of(conn);
  http->state = HTTP_REFUSING;
  http->late_status = status;
  http->late_why = why;
  conn->info->since_ms = net_now_ms(conn->net);
  return false;
}

static void refuse_head(Conn *conn, int status) {
  const char *why = "the request is not well-formed";
  if (status == 405) why = http_of(conn)->kind->no_method;
  if (status == 414) why = "the address is too long";
  if (status == 431) why = "the head of the request is too large";
  http_of(conn)->is_last = true;  // the end of a malformed request is unknown
  http_refuse(conn, status, why);
}

// --- Requests ---

static bool is_of_route(const HttpPath *path, const char *route) {
  size_t size = strlen(route);
  if (size == 0 || route[size - 1] == '/') return strncmp(path->text, route, size) == 0;
  return !path->is_folder && strcmp(path->text, route) == 0;
}

static bool check_body(Conn *conn, const HttpRequest *request) {
  Http *http = http_of(conn);
  bool takes_body =
      http->route->flags & HTTP_TAKES_BODY && request->method == METHOD_POST;
  int refused = http_body_begin(&http->body, request, HTTP_BODY_MAX);
  if (refused) return http_refuse(conn, -refused, BAD_BODY);
  if (!takes_body && !http->body.is_done) return http_refuse(conn, 400, BAD_BODY);
  size_t wanted = http->body.is_chunked ? HTTP_BODY_MAX : http->body.left;
  if (http->server->reserved_bytes + wanted > HTTP_BODIES_TOTAL)
    return http_refuse(conn, 503, "too much is being received at a time");
  http->server->reserved_bytes += http->reserved = wanted;
  return true;
}

static bool check(Conn *conn, const HttpRequest *request) {
  Http *http = http_of(conn);
  HttpPath path;
  if (conn->is_refused) return http_refuse(conn, 503, "there are too many connections");
  if (!http->kind->check(conn, request, &path)) return false;
  const HttpRoute *route = http->kind->routes;
  while (route->handle && !is_of_route(&path, route->path)) route++;
  if (!route->handle) return http_refuse(conn, 404, http->kind->nothing);
  http->route = route;
  if (!(route->methods >> request->method & 1)) return http_refuse(conn, 405, NULL);
  return check_body(conn, request);
}

static void hand_over(Conn *conn, const HttpRequest *request) {
  Http *http = http_of(conn);
  http->state = HTTP_HANDLED;
  release_body(http);
  http->route->handle(conn, request);
}

// Handles a head. Returns false if the input has no whole head yet.
static bool take_head(Conn *conn) {
  HttpRequest request;
  Http *http = http_of(conn);
  const Buf *in = &conn->in.bytes;
  int size = http_read_request((const char *)in->data, in->size, &request);
  if (size == 0) return false;
  http->server->stats.requests++;
  http->route = NULL;
  http->state = HTTP_HANDLED;
  http->size = size > 0 ? (uint32_t)size : 0;
  if (size < 0) {
    refuse_head(conn, -size);
    return true;
  }
  uint32_t method = 1U << request.method;
  http->is_last = !request.keeps_alive || conn->is_eof || conn->is_refused;
  http->is_head_only = method & http->kind->methods & 1U << METHOD_HEAD;
  if (!check(conn, &request)) return true;
  if (http->body.is_done) {
    hand_over(conn, &request);
    return true;
  }
  http->state = HTTP_BODY;
  if (http_has_token(&request, "expect", "100-continue")) {
    http_put_status(&http->out, 100);
    http_put_end(&http->out);
    flush(conn);
  }
  return true;
}

// Handles bytes of a body. Returns whether the body is complete or refused.
static bool take_body(Conn *conn) {
  HttpRequest request;
  Http *http = http_of(conn);
  Buf *in = &conn->in.bytes;
  uint8_t *bytes = in->data + http->size;
  size_t size = in->size - http->size;
  int64_t taken = http_body_read(&http->body, (char *)bytes, size, &http->text);
  if (taken < 0) {
    http_refuse(conn, (int)-taken, BAD_BODY);
    return true;
  }
  memmove(bytes, bytes + taken, size - (size_t)taken);
  in->size -= (size_t)taken;
  if (!http->body.is_done) return false;
  http_request(conn, &request);
  hand_over(conn, &request);
  return true;
}

static bool take_some(Conn *conn) {
  const Http *http = http_of(conn);
  if (http->state == HTTP_BODY) return take_body(conn);
  return http->state == HTTP_HEAD && conn->in.bytes.size > 0 && take_head(conn);
}

// --- The connection ---

static void run(Conn *conn) {
  while (conn->protocol == &HTTP && conn_takes_input(conn) && take_some(conn)) {
  }
  if (conn->state != CONN_OPEN) return;
  if (conn->protocol != &HTTP) {
    conn->protocol->resume(conn);  // the new protocol reads the bytes behind the
                                   // request
    return;
  }
  const Http *http = http_of(conn);
  size_t size = conn->in.bytes.size;
  bool reads_on =
      http->route && http->route->flags & HTTP_WAITS && size <= HTTP_HEAD_MAX;
  if (http->state > HTTP_BODY && !reads_on) conn_stop(conn, STOP_BUSY);
  set_timer(conn);
}

void http_begin(Conn *conn, const HttpKind *kind, HttpServer *server) {
  conn_speak(conn, &HTTP);
  http_of(conn)->kind = kind;
  http_of(conn)->server = server;
}

static void begin(Conn *conn) { conn->speech = mem_zalloc(sizeof(Http)); }

static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  bool is_next = conn->in.bytes.size == 0 && http_of(conn)->size > 0;
  if (is_next) conn->info->since_ms = net_now_ms(conn->net);
  buf_append(&conn->in.bytes, bytes, size);
  run(conn);
}

static void drained(Conn *conn) {
  if (http_is_open(conn)) flush(conn);
}

static InputEnd input_end(Conn *conn) {
  Http *http = http_of(conn);
  http->is_last = true;
  bool is_due = http->state >= HTTP_REFUSING && http->state != HTTP_STREAMING;
  return is_due ? INPUT_STAYS : INPUT_ENDS;
}

static void leave(Conn *conn) {
  Http *http = http_of(conn);
  bool is_cut = http->state == HTTP_HANDLED || http->state == HTTP_STREAMING;
  release_body(http);
  if (is_cut && http->route->gone) http->route->gone(conn);
  if (http->kind->leave) http->kind->leave(conn);
}

static void free_http(Conn *conn) {
  Http *http = http_of(conn);
  buf_deinit(&http->text);
  buf_deinit(&http->out);
  mem_free(http);
  conn->speech = NULL;
}

const Protocol HTTP = {
    .open = begin,
    .input = input,
    .resume = run,
    .drained = drained,
    .input_end = input_end,
    .leave = leave,
    .free = free_http,
};
