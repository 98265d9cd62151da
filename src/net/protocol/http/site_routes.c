// The routes of the site, its refusals, and its own texts.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/protocol/http/site.h"

static const char PAGE[] = "text/html; charset=utf-8";

// --- Refusals ---

// Refuses an unknown host. The page shows the name without escaping, because
// http_read_request refuses a Host with characters other than letters, digits, and
// .-_:[].
static bool refuse_host(Conn *conn, Text name) {
  enum { SHOWN_MAX = 253 };  // length of the longest possible name
  char text[512];
  Buf body = {0};
  snprintf(text, sizeof text,
           "This server is not known by that name. Its operator can allow it: "
           "<code>hosts = { &quot;%.*s&quot; }</code>.",
           name.size < SHOWN_MAX ? (int)name.size : SHOWN_MAX, name.bytes);
  http_of(conn)->server->stats.refused++;
  http_of(conn)->is_last = true;
  host_note(conn, name);
  page_put_status(&body, 403, text);
  http_answer(conn,
              &(HttpAnswer){.status = 403, .type = PAGE, .body = http_text(&body)});
  buf_deinit(&body);
  return false;
}

static bool check(Conn *conn, const HttpRequest *request, HttpPath *path) {
  static const char BAD[] = "the request is not well-formed";
  Text host;
  if (request->method > METHOD_HEAD) return http_refuse(conn, 405, NULL);
  if (request->has_body) return http_refuse(conn, 413, "nothing is taken here");
  int refused = http_read_path(request->target, path);
  if (refused == -404) return http_refuse(conn, 404, "there is nothing here");
  if (refused == -414) return http_refuse(conn, 414, "the address is too long");
  if (refused) return http_refuse(conn, 400, BAD);
  bool is_health = strcmp(path->text, "healthz") == 0 && !path->is_folder;
  if (is_health || host_is_known(conn, request, &host)) return true;
  return host.size > 0 ? refuse_host(conn, host) : http_refuse(conn, 400, BAD);
}

// Logs refusals, except 404 and 426. After a logged status below 500 the connection
// ends, so that it logs only one.
static bool refuse(Conn *conn, int status, const char *why, Buf *body) {
  bool is_fault = status != 404 && status != 426;
  char text[256];
  snprintf(text, sizeof text, "%c%s.%s", toupper((unsigned char)why[0]), why + 1,
           status == 503 ? " Try again." : "");
  page_put_status(body, status, text);
  if (!is_fault) return false;
  http_of(conn)->server->stats.refused++;
  log_info("refused", log_str("address", conn->info->address),
           log_num("status", status), log_str("text", text));
  return status < 500;
}

// --- The server's own modules ---

static void handle_health(Conn *conn, const HttpRequest *request) {
  (void)request;
  http_answer(conn, &(HttpAnswer){.status = 200,
                                  .type = "text/plain; charset=utf-8",
                                  .body = {"ok\n", 3}});
}

// Answers with a module. Pages of other servers may import it, so that designers can
// develop a page elsewhere.
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

static void handle_module(Conn *conn, const HttpRequest *request) {
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

// Answers with the schema. Forbids caching, because the schema may change at any time.
static void handle_schema(Conn *conn, const HttpRequest *request) {
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
    {.path = "",
     .methods = METHODS,
     .handle = file_handle,
     .drained = file_drained,
     .gone = file_gone},
    {0},
};

const HttpKind SITE = {
    .routes = ROUTES,
    .methods = METHODS,
    .refusal_type = PAGE,
    .has_dates = true,
    .check = check,
    .refuse = refuse,
};
