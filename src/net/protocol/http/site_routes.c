// The routes of the site, whom it refuses and how, and its own texts.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/protocol/http/site.h"

// --- Who is refused ---

static HttpVerdict check(Conn *conn, const HttpRequest *request, HttpPath *path) {
  Text host;
  if (request->method > METHOD_HEAD) return (HttpVerdict){.status = 405};
  if (request->has_body) return (HttpVerdict){413, "nothing is taken here", false};
  int refused = http_read_path(request->target, path);
  if (refused == -404) return (HttpVerdict){404, "there is nothing here", false};
  if (refused == -414) return (HttpVerdict){414, "the address is too long", false};
  if (refused) return (HttpVerdict){400, "the request is not well-formed", false};
  bool is_open = strcmp(path->text, "healthz") == 0 && !path->is_folder;
  if (is_open || host_is_known(conn, request, &host)) return (HttpVerdict){0};
  if (host.size > 0) return (HttpVerdict){.status = 403};
  return (HttpVerdict){400, "the request is not well-formed", false};
}

// The name needs no escaping, because http_read_request refuses a Host that has other
// characters than letters, digits, and .-_:[].
static void put_host_refusal(Conn *conn, Buf *body) {
  enum { SHOWN_MAX = 253 };  // the longest possible name
  HttpRequest request;
  Text name;
  char text[512];
  http_request(conn, &request);
  host_is_known(conn, &request, &name);
  host_note(conn, name);
  snprintf(text, sizeof text,
           "This server is not known by that name. Its operator can allow it: "
           "<code>hosts = { &quot;%.*s&quot; }</code>.",
           name.size < SHOWN_MAX ? (int)name.size : SHOWN_MAX, name.bytes);
  page_put_status(body, 403, text);
}

// A refusal ends the connection, so that one connection is one line of the log.
static bool refuse(Conn *conn, int status, const char *why, Buf *body) {
  bool is_fault = status != 404 && status != 426;
  char text[256];
  if (is_fault) web_of(conn->net)->refused++;
  if (!why) {
    put_host_refusal(conn, body);
    return true;
  }
  snprintf(text, sizeof text, "%c%s.%s", toupper((unsigned char)why[0]), why + 1,
           status == 503 ? " Try again." : "");
  if (is_fault)
    log_info("refused", log_str("address", conn->info->address),
             log_num("status", status), log_str("text", text));
  page_put_status(body, status, text);
  return is_fault && status < 500;
}

// --- The server's own texts ---

static void handle_health(Conn *conn, const HttpRequest *request, Text body) {
  (void)request;
  (void)body;
  http_answer(conn, &(HttpAnswer){.status = 200,
                                  .type = "text/plain; charset=utf-8",
                                  .body = {"ok\n", 3}});
}

// A page of another server may import it, so that it can be written before it is moved.
static void answer_module(Conn *conn, const HttpRequest *request,
                          const HttpVersion *version, const char *cache, Text text) {
  static const char OPEN[] = "Access-Control-Allow-Origin: *\r\n";
  bool is_known = http_is_known(request, version);
  http_answer(conn, &(HttpAnswer){.status = is_known ? 304 : 200,
                                  .type = http_type("perigee.js"),
                                  .cache = cache,
                                  .version = version,
                                  .fields = {OPEN, sizeof OPEN - 1},
                                  .body = is_known ? (Text){"", 0} : text});
}

static void handle_module(Conn *conn, const HttpRequest *request, Text body) {
  (void)body;
  const Web *web = web_of(conn->net);
  const WebModule *module = web->modules;
  HttpPath path;
  http_read_path(request->target, &path);
  while (module->name && strcmp(module->name, path.text) != 0) module++;
  if (module->size > 0)
    answer_module(conn, request, &web->module_versions[module - web->modules],
                  web->is_watched ? "no-cache" : "max-age=60",
                  (Text){module->text, (uint32_t)module->size});
  else
    http_refuse(conn, 404, "this server was built without its client");
}

// It may change at any time.
static void handle_schema(Conn *conn, const HttpRequest *request, Text body) {
  (void)body;
  const Web *web = web_of(conn->net);
  answer_module(conn, request, &web->schema_version, "no-cache",
                http_text(&web->schema));
}

// --- Routes ---

enum { METHODS = 1 << METHOD_GET | 1 << METHOD_HEAD };

static const HttpRoute ROUTES[] = {
    {.path = "healthz", .methods = METHODS, .handle = handle_health},
    {.path = "ws", .methods = METHODS, .handle = upgrade_handle},
    {.path = "perigee.js", .methods = METHODS, .handle = handle_module},
    {.path = "lockstep.js", .methods = METHODS, .handle = handle_module},
    {.path = "schema.js", .methods = METHODS, .handle = handle_schema},
    {.methods = METHODS,
     .handle = file_handle,
     .drained = file_drained,
     .gone = file_gone},
    {0},
};

const HttpKind SITE = {
    .routes = ROUTES,
    .methods = METHODS,
    .refusal_type = "text/html; charset=utf-8",
    .has_dates = true,
    .check = check,
    .refuse = refuse,
};
