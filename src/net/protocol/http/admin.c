// The admin listener: its routes and refusals, and its server.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/protocol/http/admin_port.h"

#define CONSOLE "api/console"
#define DASHBOARD "api/dashboard/"
#define LOGIN "api/login"

static bool begins(const char *path, const char *with) {
  return strncmp(path, with, strlen(with)) == 0;
}

// Returns the token that a request to a path needs; NULL: none. The files of the
// dashboard contain no secrets.
static const char *needed_token(const AdminPort *port, const char *path) {
  if (begins(path, HTTP_DASHBOARD) || strcmp(path, LOGIN) == 0) return NULL;
  bool is_private = begins(path, CONSOLE) || begins(path, DASHBOARD);
  return is_private ? port->secret : port->token;
}

static bool check(Conn *conn, const HttpRequest *request, HttpPath *path) {
  if (request->is_old) return http_refuse(conn, 505, "HTTP/1.1 is needed");
  path->is_folder = false;
  snprintf(path->text, sizeof path->text, "%.*s", (int)request->target.size - 1,
           request->target.bytes + 1);
  if (*path->text == '\0' || *path->text == '?') strcpy(path->text, HTTP_DASHBOARD);
  AdminPort *port = conn->net->admin;
  Verdict verdict = gate_check(port, needed_token(port, path->text),
                               conn->info->address, request, net_now_ms(conn->net));
  if (verdict.is_guess) return http_refuse_late(conn, verdict.status, verdict.why);
  if (verdict.status) return http_refuse(conn, verdict.status, verdict.why);
  return true;
}

// Returns whether the request is for /api. Also works if the head is malformed.
static bool is_api(const Conn *conn) {
  Text head = http_text(&conn->in.bytes);
  const char *slash = memchr(head.bytes, '/', head.size < 16 ? head.size : 16);
  size_t left = slash ? (size_t)(head.bytes + head.size - slash) : 0;
  return left > 4 && memcmp(slash, "/api", 4) == 0;
}

static const char *code_of(int status) {
  if (status == 401 || status == 403) return "Unauthorized";
  if (status == 404) return "NotFound";
  if (status == 405) return "MethodNotAllowed";
  if (status == 413) return "PayloadTooLarge";
  if (status == 429) return "RateLimited";
  return status == 503 ? "Unavailable" : "BadRequest";
}

static bool refuse(Conn *conn, int status, const char *why, Buf *body) {
  log_info("admin: refused", log_str("address", conn->info->address),
           log_num("status", status), log_str("text", why));
  if (is_api(conn))
    buf_printf(body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
               code_of(status), why);
  else
    buf_printf(body,
               "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,"
               "\"message\":\"%s\"}}",
               why);
  return true;
}

static void leave(Conn *conn) { conn->net->admin->conn_count--; }

enum { METHODS = 1 << METHOD_GET | 1 << METHOD_POST | 1 << METHOD_DELETE };

static const HttpRoute ROUTES[] = {
    {.path = "mcp",
     .methods = METHODS,
     .flags = HTTP_TAKES_BODY | HTTP_WAITS,
     .handle = mcp_handle,
     .gone = mcp_gone},
    {.path = CONSOLE,
     .methods = 1 << METHOD_POST,
     .flags = HTTP_TAKES_BODY | HTTP_WAITS,
     .handle = console_handle,
     .gone = console_gone},
    {.path = CONSOLE "/complete",
     .methods = 1 << METHOD_POST,
     .flags = HTTP_TAKES_BODY | HTTP_WAITS,
     .handle = console_handle,
     .gone = console_gone},
    {.path = LOGIN,
     .methods = 1 << METHOD_POST,
     .flags = HTTP_TAKES_BODY,
     .handle = login_handle},
    {.path = DASHBOARD,
     .methods = 1 << METHOD_GET,
     .flags = HTTP_WAITS,
     .handle = dashboard_handle,
     .gone = dashboard_gone},
    {.path = "api/",
     .methods = METHODS,
     .flags = HTTP_TAKES_BODY | HTTP_WAITS,
     .handle = api_handle,
     .gone = api_gone},
    {.path = "metrics", .methods = 1 << METHOD_GET, .handle = metrics_handle},
    {.path = "healthz", .methods = 1 << METHOD_GET, .handle = metrics_handle},
    {.path = "readyz", .methods = 1 << METHOD_GET, .handle = metrics_handle},
    {.path = HTTP_DASHBOARD, .methods = 1 << METHOD_GET, .handle = file_page_handle},
    {0},
};

const HttpKind ADMIN = {
    .routes = ROUTES,
    .methods = METHODS,
    .nothing =
        "there is nothing here but the dashboard at /, and /mcp, /api/, /metrics, "
        "/healthz and /readyz",
    .no_method = "there is no such method",
    .refusal_type = "application/json",
    .head_ms = HTTP_BODY_MS,
    .check = check,
    .refuse = refuse,
    .leave = leave,
};

// --- The server ---

static void free_port(NetPart *part) {
  AdminPort *port = (AdminPort *)part;
  mem_free(port->host);
  mem_free(port->token);
  mem_free(port->secret);
  mem_free(port->names);
  mem_free(port);
}

int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options) {
  static const NetPartOps PART = {.free = free_port};
  assert(net->admin == NULL);
  int err = net_listen(net, options->host, port, FRAMING_ADMIN);
  if (err) return err;
  char digits[ADMIN_SECRET_DIGITS + 1];
  login_make_digits(net, digits);
  AdminPort *admin = net->admin = mem_alloc(sizeof *admin);
  *admin = (AdminPort){
      .host = mem_strdup(options->host),
      .names = mem_strdup(options->names),
      .port = *port,
      .files = options->files,
      .token = options->token ? mem_strdup(options->token) : NULL,
      .secret = mem_strdup(options->token ? options->token : digits),
  };
  net_add_part(net, &admin->part, &PART);
  return 0;
}

void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data) {
  if (net->admin) net->admin->servers[service] = (AdminServer){events, data};
}

bool net_admin_has_token(const Net *net) {
  return net->admin != NULL && net->admin->token != NULL;
}

const char *net_admin_secret(const Net *net) {
  return net->admin != NULL ? net->admin->secret : NULL;
}
