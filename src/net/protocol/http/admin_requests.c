// Passes requests up. The layer above answers at once or later, in one
// piece or as a stream.
#include "net/protocol/http/admin_port.h"

// Appends the parts of the head that the layer above gets.
static void put_head(Buf *text, const HttpRequest *request) {
  static const char *const FIELDS[] = {"accept", "content-type", "mcp-session-id",
                                       "mcp-protocol-version", "last-event-id"};
  buf_printf(text, "%s %.*s\n", HTTP_METHODS[request->method],
             (int)request->target.size, request->target.bytes);
  for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
    for (uint32_t at = 0; at < request->field_count; at++) {
      const HttpField *field = &request->fields[at];
      if (http_is_text(field->name, FIELDS[i]))
        buf_printf(text, "%s: %.*s\n", FIELDS[i], (int)field->value.size,
                   field->value.bytes);
    }
}

static void hand_up(Conn *conn, AdminService service, const HttpRequest *request) {
  AdminPort *port = conn->net->admin;
  const AdminServer *server = &port->servers[service];
  Buf text = {0};
  if (!server->events) {
    http_refuse(conn, 404, "there is no game, which would answer here");
    return;
  }
  put_head(&text, request);
  if (service == ADMIN_CONSOLE) buf_printf(&text, "address: %s\n", conn->info->address);
  buf_u8(&text, '\n');
  buf_append(&text, http_of(conn)->text.data, http_of(conn)->text.size);
  buf_deinit(&http_of(conn)->text);
  port->is_handing = true;
  server->events->request(server->data, conn->self.id, http_text(&text));
  port->is_handing = false;
  buf_deinit(&text);
}

static void gone(const Conn *conn, AdminService service) {
  const AdminServer *server = &conn->net->admin->servers[service];
  if (server->events && server->events->gone)
    server->events->gone(server->data, conn->self.id);
}

void mcp_handle(Conn *conn, const HttpRequest *request) {
  hand_up(conn, ADMIN_MCP, request);
}

void mcp_gone(Conn *conn) { gone(conn, ADMIN_MCP); }

void api_handle(Conn *conn, const HttpRequest *request) {
  hand_up(conn, ADMIN_API, request);
}

void api_gone(Conn *conn) { gone(conn, ADMIN_API); }

void dashboard_handle(Conn *conn, const HttpRequest *request) {
  hand_up(conn, ADMIN_DASHBOARD, request);
}

void dashboard_gone(Conn *conn) { gone(conn, ADMIN_DASHBOARD); }

void metrics_handle(Conn *conn, const HttpRequest *request) {
  hand_up(conn, ADMIN_METRICS, request);
}

void console_handle(Conn *conn, const HttpRequest *request) {
  hand_up(conn, ADMIN_CONSOLE, request);
}

void console_gone(Conn *conn) { gone(conn, ADMIN_CONSOLE); }

void net_admin_answer(Net *net, ConnId id, const AdminAnswer *answer) {
  Conn *conn = conn_find(net, id);
  bool is_begin = answer->part <= ANSWER_OPEN;
  bool is_whole = answer->part == ANSWER_WHOLE;
  if (!conn || !http_is_open(conn)) return;
  const Http *http = http_of(conn);
  if (http->state != (is_begin ? HTTP_HANDLED : HTTP_STREAMING) || http->kind != &ADMIN)
    return;
  if (!is_begin)
    http_send(conn, answer->body, answer->part == ANSWER_LAST);
  else
    http_answer(conn, &(HttpAnswer){.status = is_whole ? answer->status : 200,
                                    .rest = is_whole ? HTTP_NOTHING : HTTP_STREAM,
                                    .fields = answer->fields,
                                    .body = answer->body});
  // Continues with the next request. If a request is just being passed up, the loop in
  // http.c continues instead.
  if (!net->admin->is_handing && conn_speaks(conn, &HTTP)) HTTP.resume(conn);
}
