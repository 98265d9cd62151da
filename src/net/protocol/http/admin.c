// Connections of the admin listener. One request at a time: its head is checked before
// its body is taken, it is handed up when it is whole, and the next one waits until it
// is answered. What is written waits here until the transport has taken what came before.
#include "net/admin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/protocol/http/admin_internal.h"
#include "net/protocol/web_internal.h"
#include "net/transport/tls_calls.h"

typedef enum AdminState {
  ADMIN_HEAD,    // of a request is awaited
  ADMIN_BODY,    // of it
  ADMIN_LATE,    // a request had a wrong token; its refusal is sent later
  ADMIN_ASKED,   // it was handed up
  ADMIN_STREAM,  // its answer is a stream
  ADMIN_OVER,    // it is answered; the rest of that is on its way
} AdminState;

typedef struct Admin {
  char address[ADDRESS_SIZE];
  uint8_t state;      // AdminState
  bool is_first;      // nothing has come yet
  bool is_last;       // the connection ends after this request
  bool is_running;    // requests are being taken
  bool is_refused;    // there are too many
  uint64_t since_ms;  // when the request began, or the wait for one, or for its refusal
  Verdict verdict;    // of ADMIN_LATE
  HttpBody body;
  size_t reserved;  // of the port's bytes, for the body
  Buf text;         // what will be handed up
  Buf out;          // what waits to be written
} Admin;

static Admin *admin_of(const Conn *conn) { return conn->speech; }

static AdminPort *port_of(const Conn *conn) { return conn->net->admin; }

// --- Deadlines ---

static void refuse(Conn *conn, int status, const char *why);
static void flush(Conn *conn);
static void set_timer(Conn *conn);

static bool is_writing(const Conn *conn) {
  return conn->out.backlog != NULL || admin_of(conn)->out.size > 0;
}

static void put_chunk(Buf *out, Text bytes) {
  if (bytes.size == 0) return;
  buf_printf(out, "%x\r\n", bytes.size);
  buf_append(out, bytes.bytes, bytes.size);
  buf_append(out, "\r\n", 2);
}

static void on_timer(void *data, uint64_t now_ms) {
  (void)now_ms;
  Conn *conn = data;
  Admin *admin = admin_of(conn);
  if (conn->state != CONN_OPEN) return;
  if (is_writing(conn)) {
    conn_end(conn, END_BROKEN);
  } else if (admin->state == ADMIN_STREAM) {
    put_chunk(&admin->out, (Text){":\n\n", 3});
    flush(conn);
  } else if (admin->state == ADMIN_HEAD && conn->in.bytes.size == 0) {
    conn_close(conn);
  } else if (admin->state == ADMIN_LATE) {
    refuse(conn, admin->verdict.status, admin->verdict.why);
    flush(conn);
  } else {
    refuse(conn, 408, "the request did not come in time");
    flush(conn);
  }
}

// The deadline of the head of a request, or of the handshake of TLS before the first one.
static uint64_t head_due_ms(const Conn *conn) {
  uint32_t head_ms = conn->net->limits.handshake_timeout_ms;
  return admin_of(conn)->since_ms + (head_ms > 0 ? head_ms : ADMIN_BODY_DEADLINE_MS);
}

static void set_timer(Conn *conn) {
  const Admin *admin = admin_of(conn);
  uint64_t now_ms = net_now_ms(conn->net), due_ms = 0;
  if (is_writing(conn))
    due_ms = now_ms + WEB_STALL_MS;
  else if (admin->state == ADMIN_STREAM)
    due_ms = now_ms + ADMIN_BEAT_MS;
  else if (admin->state == ADMIN_BODY)
    due_ms = admin->since_ms + ADMIN_BODY_DEADLINE_MS;
  else if (admin->state == ADMIN_LATE)
    due_ms = admin->since_ms + ADMIN_WRONG_MS;
  else if (admin->state == ADMIN_HEAD && conn->in.bytes.size == 0)
    due_ms = admin->since_ms + WEB_KEEP_ALIVE_MS;
  else if (admin->state == ADMIN_HEAD)
    due_ms = head_due_ms(conn);
  if (due_ms > 0)
    timers_set(conn->net->timers, &conn->timer, due_ms, on_timer, conn);
  else
    timers_stop(conn->net->timers, &conn->timer);
}

// --- Writing ---

static void release_body(Conn *conn) {
  port_of(conn)->reserved_bytes -= admin_of(conn)->reserved;
  admin_of(conn)->reserved = 0;
}

static void complete(Conn *conn) {
  Admin *admin = admin_of(conn);
  if (admin->is_last) {
    conn_close(conn);
    return;
  }
  admin->state = ADMIN_HEAD;
  admin->since_ms = net_now_ms(conn->net);
  conn_start(conn, STOP_BUSY);
}

static void flush(Conn *conn) {
  Admin *admin = admin_of(conn);
  if (!conn->out.backlog && admin->out.size > 0) {
    Buf out = admin->out;
    admin->out = (Buf){0};
    backlog_write_now(conn, out.data, out.size);
    buf_deinit(&out);
  }
  if (conn->state != CONN_OPEN || conn->listed & LISTED_ENDED) return;
  if (admin->state == ADMIN_OVER && !is_writing(conn)) complete(conn);
  if (conn->state == CONN_OPEN) set_timer(conn);
}

static void put_head(Conn *conn, const AdminAnswer *answer) {
  Admin *admin = admin_of(conn);
  Buf *out = &admin->out;
  http_put_status(out, answer->part == ANSWER_WHOLE ? answer->status : 200);
  buf_append(out, answer->fields.bytes, answer->fields.size);
  http_put_field(out, "Cache-Control", "no-store");
  http_put_field(out, "X-Content-Type-Options", "nosniff");
  if (answer->part == ANSWER_OPEN)
    http_put_field(out, "Transfer-Encoding", "chunked");
  else
    http_put_field(out, "Content-Length", "%u", answer->body.size);
  http_put_field(out, "Connection", "%s", admin->is_last ? "close" : "keep-alive");
  http_put_end(out);
}

static void put_answer(Conn *conn, const AdminAnswer *answer) {
  Admin *admin = admin_of(conn);
  if (answer->part <= ANSWER_OPEN) put_head(conn, answer);
  if (answer->part == ANSWER_WHOLE)
    buf_append(&admin->out, answer->body.bytes, answer->body.size);
  else
    put_chunk(&admin->out, answer->body);
  if (answer->part == ANSWER_LAST) buf_append(&admin->out, "0\r\n\r\n", 5);
  bool is_over = answer->part == ANSWER_WHOLE || answer->part == ANSWER_LAST;
  admin->state = is_over ? ADMIN_OVER : ADMIN_STREAM;
}

static const char *extra_field(int status) {
  switch (status) {
    case 401:
      return "WWW-Authenticate: Bearer\r\n";
    case 405:
      return "Allow: GET, POST, DELETE\r\n";
    case 429:
      return "Retry-After: 30\r\n";
    case 503:
      return "Retry-After: 5\r\n";
    default:
      return "";
  }
}

// The connection ends after it: of what follows it is not known what it is.
static void refuse(Conn *conn, int status, const char *why) {
  char fields[128], body[256];
  Admin *admin = admin_of(conn);
  log_info("admin: refused", log_str("address", admin->address),
           log_num("status", status), log_str("text", why));
  int size = snprintf(fields, sizeof fields, "Content-Type: application/json\r\n%s",
                      extra_field(status));
  int length = snprintf(body, sizeof body,
                        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,"
                        "\"message\":\"%s\"}}",
                        why);
  release_body(conn);
  admin->is_last = true;
  put_answer(conn, &(AdminAnswer){.part = ANSWER_WHOLE,
                                  .status = status,
                                  .fields = {fields, (uint32_t)size},
                                  .body = {body, (uint32_t)length}});
}

// --- Requests ---

static const char *head_fault(int status) {
  switch (status) {
    case 405:
      return "there is no such method";
    case 414:
      return "the address is too long";
    case 431:
      return "the head of the request is too large";
    default:
      return "the request is not well-formed";
  }
}

static const char *method_name(HttpMethod method) {
  switch (method) {
    case METHOD_GET:
      return "GET";
    case METHOD_POST:
      return "POST";
    case METHOD_DELETE:
      return "DELETE";
    default:
      return NULL;
  }
}

// What is handed up of the head.
static void put_text(Buf *text, const HttpRequest *request) {
  static const char *const FIELDS[] = {"accept", "content-type", "mcp-session-id",
                                       "mcp-protocol-version", "last-event-id"};
  text->size = 0;
  buf_printf(text, "%s %.*s\n", method_name(request->method), (int)request->target.size,
             request->target.bytes);
  for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
    for (uint32_t at = 0; at < request->field_count; at++) {
      const HttpField *field = &request->fields[at];
      if (http_is_text(field->name, FIELDS[i]))
        buf_printf(text, "%s: %.*s\n", FIELDS[i], (int)field->value.size,
                   field->value.bytes);
    }
  buf_u8(text, '\n');
}

static bool is_path(Text target, const char *path) {
  return target.size == strlen(path) && memcmp(target.bytes, path, target.size) == 0;
}

static Verdict check_body(Conn *conn, const HttpRequest *request) {
  Admin *admin = admin_of(conn);
  AdminPort *port = port_of(conn);
  static const char BAD[] = "the body is not well-formed, or larger than 1 MiB";
  int refused = http_body_begin(&admin->body, request, ADMIN_BODY_MAX);
  if (refused) return (Verdict){-refused, BAD, false};
  if (request->method != METHOD_POST && !admin->body.is_done)
    return (Verdict){400, BAD, false};
  size_t wanted = admin->body.is_chunked ? ADMIN_BODY_MAX : admin->body.left;
  if (port->reserved_bytes + wanted > ADMIN_BODY_TOTAL)
    return (Verdict){503, "too much is being received at a time", false};
  port->reserved_bytes += admin->reserved = wanted;
  return (Verdict){0};
}

static Verdict check_head(Conn *conn, const HttpRequest *request) {
  const Admin *admin = admin_of(conn);
  if (admin->is_refused) return (Verdict){503, "there are too many connections", false};
  if (request->is_old) return (Verdict){505, "HTTP/1.1 is needed", false};
  Verdict verdict =
      gate_check(port_of(conn), admin->address, request, net_now_ms(conn->net));
  if (verdict.status) return verdict;
  if (!is_path(request->target, "/mcp"))
    return (Verdict){404, "there is nothing here but /mcp", false};
  if (!method_name(request->method))
    return (Verdict){405, "only GET, POST and DELETE are served", false};
  return check_body(conn, request);
}

static void refuse_later(Conn *conn, Verdict verdict) {
  Admin *admin = admin_of(conn);
  admin->verdict = verdict;
  admin->state = ADMIN_LATE;
  admin->since_ms = net_now_ms(conn->net);
}

static void begin_body(Conn *conn, const HttpRequest *request) {
  Admin *admin = admin_of(conn);
  put_text(&admin->text, request);
  admin->state = ADMIN_BODY;
  if (!admin->body.is_done && http_has_token(request, "expect", "100-continue")) {
    http_put_status(&admin->out, 100);
    http_put_end(&admin->out);
  }
}

// Whether there was a head.
static bool take_head(Conn *conn) {
  HttpRequest request;
  Admin *admin = admin_of(conn);
  int size = http_read_request((const char *)conn->in.bytes.data, conn->in.bytes.size,
                               &request);
  if (size == 0) return false;
  if (size < 0) {
    refuse(conn, -size, head_fault(-size));
    return true;
  }
  admin->is_last = !request.keeps_alive || conn->is_eof;
  Verdict verdict = check_head(conn, &request);
  if (verdict.is_guess)
    refuse_later(conn, verdict);
  else if (verdict.status)
    refuse(conn, verdict.status, verdict.why);
  else
    begin_body(conn, &request);
  buf_consume(&conn->in.bytes, (size_t)size);
  return true;
}

static void hand_up(Conn *conn) {
  Admin *admin = admin_of(conn);
  const AdminPort *port = port_of(conn);
  admin->state = ADMIN_ASKED;
  release_body(conn);
  port->events.request(port->data, conn->id,
                       (Text){(char *)admin->text.data, (uint32_t)admin->text.size});
  buf_deinit(&admin->text);
}

// Whether it is all there.
static bool take_body(Conn *conn) {
  Admin *admin = admin_of(conn);
  int64_t taken = http_body_read(&admin->body, (const char *)conn->in.bytes.data,
                                 conn->in.bytes.size, &admin->text);
  if (taken < 0) {
    refuse(conn, (int)-taken, "the body is not well-formed, or larger than 1 MiB");
    return true;
  }
  buf_consume(&conn->in.bytes, (size_t)taken);
  if (!admin->body.is_done) return false;
  hand_up(conn);
  return true;
}

static bool take_some(Conn *conn) {
  switch ((AdminState)admin_of(conn)->state) {
    case ADMIN_HEAD:
      return conn->in.bytes.size > 0 && take_head(conn);
    case ADMIN_BODY:
      return take_body(conn);
    default:
      return false;
  }
}

static void run(Conn *conn) {
  Admin *admin = admin_of(conn);
  if (admin->is_running) return;
  admin->is_running = true;
  while (conn_takes_input(conn) && take_some(conn)) flush(conn);
  admin->is_running = false;
  if (conn->state != CONN_OPEN) return;
  if (conn->in.bytes.size == 0) buf_deinit(&conn->in.bytes);
  if (conn->in.bytes.size > HTTP_HEAD_MAX && admin->state >= ADMIN_LATE)
    conn_stop(conn, STOP_BUSY);
  flush(conn);
}

// --- The connection ---

static void begin(Conn *conn) {
  AdminPort *port = port_of(conn);
  Admin *admin = conn->speech = mem_zalloc(sizeof *admin);
  memcpy(admin->address, conn->info->address, ADDRESS_SIZE);
  admin->is_first = true;
  admin->since_ms = net_now_ms(conn->net);
  admin->is_refused = ++port->conn_count > ADMIN_CONNS_MAX;
  if (port->conn_count > 2 * ADMIN_CONNS_MAX)
    conn_close(conn);
  else
    set_timer(conn);
}

static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  Admin *admin = admin_of(conn);
  bool is_encrypted = conn->transport->kind->is_encrypted;
  if (admin->is_first && bytes[0] == TLS_FIRST_BYTE && !is_encrypted) {
    web_begin_tls(conn, admin->address, head_due_ms(conn), bytes, size);
    return;
  }
  admin->is_first = false;
  if (admin->state == ADMIN_HEAD && conn->in.bytes.size == 0)
    admin->since_ms = net_now_ms(conn->net);
  buf_append(&conn->in.bytes, bytes, size);
  run(conn);
}

static void drained(Conn *conn) {
  if (conn->listed & LISTED_ENDED || conn->state != CONN_OPEN) return;
  flush(conn);
  if (conn->state == CONN_OPEN) run(conn);
}

static InputEnd input_end(Conn *conn) {
  Admin *admin = admin_of(conn);
  admin->is_last = true;
  bool is_due = admin->state == ADMIN_LATE || admin->state == ADMIN_ASKED ||
                admin->state == ADMIN_OVER;
  return is_due ? INPUT_STAYS : INPUT_ENDS;
}

static void leave(Conn *conn) {
  Admin *admin = admin_of(conn);
  AdminPort *port = port_of(conn);
  bool was_asked = admin->state == ADMIN_ASKED || admin->state == ADMIN_STREAM;
  admin->state = ADMIN_OVER;
  release_body(conn);
  port->conn_count--;
  if (was_asked) port->events.gone(port->data, conn->id);
}

static void free_admin(Conn *conn) {
  buf_deinit(&admin_of(conn)->text);
  buf_deinit(&admin_of(conn)->out);
  mem_free(conn->speech);
  conn->speech = NULL;
}

const Protocol ADMIN = {
    .open = begin,
    .ready = set_timer,
    .input = input,
    .resume = run,
    .drained = drained,
    .input_end = input_end,
    .leave = leave,
    .free = free_admin,
};

void net_admin_answer(Net *net, ConnId id, const AdminAnswer *answer) {
  Conn *conn = conn_find(net, id);
  if (!conn || conn->protocol != &ADMIN || conn->state != CONN_OPEN ||
      conn->listed & LISTED_ENDED)
    return;
  Admin *admin = admin_of(conn);
  bool is_begin = answer->part <= ANSWER_OPEN;
  if (admin->state != (is_begin ? ADMIN_ASKED : ADMIN_STREAM)) return;
  put_answer(conn, answer);
  flush(conn);
  if (conn->state != CONN_OPEN) return;
  if (admin->out.size > ADMIN_OUT_MAX)
    conn_end(conn, END_BROKEN);
  else
    run(conn);
}

// --- The listener ---

int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options,
                     const AdminEvents *events, void *data) {
  assert(net->admin == NULL);
  int err = net_listen(net, options->host, port, FRAMING_ADMIN);
  if (err) return err;
  net->admin = mem_zalloc(sizeof *net->admin);
  net->admin->events = *events;
  net->admin->data = data;
  net->admin->host = mem_strdup(options->host);
  net->admin->names = mem_strdup(options->names);
  net->admin->token = options->token ? mem_strdup(options->token) : NULL;
  return 0;
}

bool net_admin_has_token(const Net *net) {
  return net->admin != NULL && net->admin->token != NULL;
}

void admin_port_free(Net *net) {
  AdminPort *port = net->admin;
  if (!port) return;
  mem_free(port->host);
  mem_free(port->token);
  mem_free(port->names);
  mem_free(port);
  net->admin = NULL;
}
