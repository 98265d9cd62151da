// Parses requests of the control API, finds their routes, and answers them.
#define _GNU_SOURCE  // memmem
#include "server/library/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "server/control_path.h"
#include "wire/http.h"
#include "wire/json.h"

// --- Answers ---

static void send_http(perigee_server *self, ApiClient to, int status, const Buf *body,
                      const char *more) {
  Buf fields = {0};
  buf_printf(&fields, "Content-Type: application/json\r\n%s", more);
  net_admin_answer(
      self->server->engine.net, to.id,
      &(AdminAnswer){.part = ANSWER_WHOLE,
                     .status = status,
                     .fields = {(const char *)fields.data, (uint32_t)fields.size},
                     .body = {(const char *)body->data, (uint32_t)body->size}});
  buf_deinit(&fields);
}

static void send_line(perigee_server *self, ApiClient to, const char *word,
                      const char *text, size_t size) {
  Buf line = {0};
  if (self->server->control == NULL) return;
  buf_printf(&line, "%s ", word);
  buf_append(&line, text, size);
  buf_u8(&line, '\n');
  control_reply(self->server->control, to.id, (const char *)line.data, line.size);
  buf_deinit(&line);
}

static void answer(perigee_server *self, ApiClient to, int status, Buf *json) {
  if (to.is_control) {
    send_line(self, to, "ok", (const char *)json->data, json->size);
  } else {
    buf_u8(json, '\n');
    send_http(self, to, status, json, "");
  }
  buf_deinit(json);
}

static void fail(perigee_server *self, ApiClient to, int status, const char *code,
                 const char *message, const char *fields) {
  Buf json = {0};
  if (to.is_control) {
    send_line(self, to, "error", message, strlen(message));
    return;
  }
  buf_printf(&json, "{\"error\":{\"code\":\"%s\",\"message\":", code);
  json_put_text(&json, text_from(message));
  buf_printf(&json, "}}\n");
  send_http(self, to, status, &json, fields);
  buf_deinit(&json);
}

void api_answer(const ApiRequest *request, int status, Buf *json) {
  answer(request->self, request->client, status, json);
}

void api_fail(const ApiRequest *request, int status, const char *code,
              const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  message[text_cut(message, strlen(message), sizeof message - 1)] = '\0';
  fail(request->self, request->client, status, code, message, "");
}

void api_make_login(ApiRequest *request) {
  Buf json = {0};
  char token[ADMIN_SECRET_DIGITS + 1];
  const Server *server = request->self->server;
  if (!request->client.is_control || server->admin.port == 0) {
    api_fail(request, 404, "NotFound", "%s",
             request->client.is_control ? "the server has no admin listener"
                                        : "there is nothing at this address");
    return;
  }
  net_admin_make_token(server->engine.net, token);
  buf_printf(&json, "{\"address\":\"http://%s:%u/#%s\"}", server->admin.host,
             server->admin.port, token);
  api_answer(request, 200, &json);
}

// --- Outcomes ---

// Answers that an order has failed. If `result` has a text, it is the report of a
// reload.
static void fail_order(perigee_server *self, ApiClient to, const char *missing,
                       const perigee_server_event *result) {
  static const struct {
    int status;
    const char *code;
  } ERRORS[] = {
      [-PERIGEE_SERVER_INVALID] = {400, "BadRequest"},
      [-PERIGEE_SERVER_NOT_FOUND] = {404, NULL},
      [-PERIGEE_SERVER_EXISTS] = {409, "AlreadyExists"},
      [-PERIGEE_SERVER_LIMIT] = {503, "LimitReached"},
      [-PERIGEE_SERVER_TOO_LARGE] = {413, "PayloadTooLarge"},
      [-PERIGEE_SERVER_OVER] = {503, "Unavailable"},
      [-PERIGEE_SERVER_REFUSED] = {409, "Refused"},
  };
  const char *name = ERRORS[-result->code].code;
  if (name == NULL) name = missing;
  if (result->text.size > 0)
    fail(self, to, 409, "ReloadFailed", result->text.bytes, "");
  else
    fail(self, to, ERRORS[-result->code].status, name,
         perigee_server_error(result->code), "");
}

void api_wait(const ApiRequest *request, int order, int status, const char *missing) {
  perigee_server *self = request->self;
  Api *api = &self->api;
  if (order < 0) {
    fail_order(self, request->client, missing, &(perigee_server_event){.code = order});
    return;
  }
  if (api->count == API_PENDING_MAX) {
    api_fail(request, 503, "Unavailable", "too many requests wait for their outcome");
    return;
  }
  ApiPending *pending = mem_alloc(sizeof *pending);
  *pending = (ApiPending){.next = api->first,
                          .client = request->client,
                          .order = (uint32_t)order,
                          .status = status,
                          .missing = missing};
  api->first = pending;
  api->count++;
}

static ApiPending *take_pending(Api *api, uint32_t order) {
  ApiPending **at = &api->first;
  while (*at != NULL && (*at)->order != order) at = &(*at)->next;
  ApiPending *pending = *at;
  if (pending == NULL) return NULL;
  *at = pending->next;
  api->count--;
  return pending;
}

static void put_result(Buf *json, const perigee_server_event *result) {
  if (result->room != 0) {
    buf_printf(json, "{\"id\":%u,\"name\":", result->room);
    json_put_text(json,
                  (Text){result->room_name.bytes, (uint32_t)result->room_name.size});
    buf_u8(json, '}');
  } else if (result->text.size > 0) {
    buf_printf(json, "{\"report\":");
    json_put_text(json, (Text){result->text.bytes, (uint32_t)result->text.size});
    buf_u8(json, '}');
  } else {
    buf_printf(json, "{}");
  }
}

bool api_result(perigee_server *self, const perigee_server_event *result) {
  ApiPending *pending = take_pending(&self->api, result->request);
  Buf json = {0};
  if (pending == NULL) return false;
  if (result->code < 0) {
    fail_order(self, pending->client, pending->missing, result);
  } else if (pending->client.is_control && result->text.size > 0) {
    send_line(self, pending->client, "ok", result->text.bytes, result->text.size);
  } else {
    put_result(&json, result);
    answer(self, pending->client, pending->status, &json);
  }
  mem_free(pending);
  return true;
}

void api_deinit(Api *api) {
  for (ApiPending *pending = api->first, *next; pending != NULL; pending = next) {
    next = pending->next;
    mem_free(pending);
  }
}

// --- Fields ---

typedef struct FieldRule {
  const char *name;
  bool is_text;  // whether a body contains the field as a string; false: as any JSON,
                 // which the route checks
} FieldRule;

static const FieldRule FIELDS[API_FIELDS] = {
    [API_LIMIT] = {"limit", false},       [API_AFTER] = {"after", false},
    [API_NAME] = {"name", true},          [API_META] = {"meta", false},
    [API_PUBLIC] = {"public", false},     [API_HIDDEN] = {"hidden", false},
    [API_LOCKED] = {"locked", false},     [API_PERMANENT] = {"permanent", false},
    [API_CAPACITY] = {"capacity", false}, [API_PASSWORD] = {"password", false},
    [API_DATA] = {"data", true},          [API_MESSAGE] = {"message", true},
    [API_VALUE] = {"value", false},       [API_RELIABLE] = {"reliable", false},
    [API_REASON] = {"reason", true},      [API_FORCE] = {"force", false},
    [API_SECONDS] = {"seconds", false},   [API_MEMORY] = {"memory", false},
};

static Buf *find_field(ApiRequest *request, uint32_t fields, Text name, int *field) {
  for (*field = 0; *field < API_FIELDS; ++*field)
    if (fields >> *field & 1 && text_equals(name, text_from(FIELDS[*field].name)))
      break;
  if (*field == API_FIELDS)
    api_fail(request, 400, "BadRequest", "there is no field \"%.*s\" here",
             (int)(name.size < 64 ? name.size : 64), name.bytes);
  else if (api_has(request, *field))
    api_fail(request, 400, "BadRequest", "the field %s came twice",
             FIELDS[*field].name);
  else
    return &request->fields[*field];
  return NULL;
}

// Parses name=value&name=value.
static bool read_query(ApiRequest *request, uint32_t fields, Text query) {
  while (query.size > 0) {
    const char *end = memchr(query.bytes, '&', query.size);
    uint32_t size = end != NULL ? (uint32_t)(end - query.bytes) : query.size;
    const char *equals = memchr(query.bytes, '=', size);
    uint32_t name_size = equals != NULL ? (uint32_t)(equals - query.bytes) : size;
    uint32_t skip = equals != NULL ? name_size + 1 : size;
    int field;
    Buf *to = find_field(request, fields, (Text){query.bytes, name_size}, &field);
    if (to == NULL) return false;
    bool is_good = http_decode((Text){query.bytes + skip, size - skip}, to);
    if (!is_good || (!FIELDS[field].is_text && !json_is_value(api_text(to)))) {
      api_fail(request, 400, "BadRequest", "%s is not well-formed", FIELDS[field].name);
      return false;
    }
    size += end != NULL;
    query = (Text){query.bytes + size, query.size - size};
  }
  return true;
}

static bool read_member(ApiRequest *request, uint32_t fields, Text key, Text value) {
  int field;
  Buf *to = find_field(request, fields, (Text){key.bytes + 1, key.size - 2}, &field);
  if (to == NULL) return false;
  if (!FIELDS[field].is_text) {
    buf_append(to, value.bytes, value.size);
  } else if (!json_read_text(value, to) ||
             (field != API_DATA && to->size > 0 && memchr(to->data, '\0', to->size))) {
    api_fail(request, 400, "BadRequest", "%s must be a text%s", FIELDS[field].name,
             to->size > 0 ? " without NUL" : "");
    return false;
  }
  buf_u8(to, '\0');
  return true;
}

static bool read_body(ApiRequest *request, uint32_t fields, Text body) {
  Text key, value;
  body = json_trim(body);
  if (body.size == 0) return true;
  if (body.bytes[0] != '{' || !json_is_value(body)) {
    api_fail(request, 400, "BadRequest", "the body must be a JSON object");
    return false;
  }
  for (uint32_t at = 0; json_next(body, &at, &key, &value);)
    if (!read_member(request, fields, key, value)) return false;
  return true;
}

static bool has_needed(const ApiRequest *request, uint32_t needs) {
  for (int field = 0; field < API_FIELDS; field++)
    if (needs >> field & 1 && !api_has(request, field)) {
      api_fail(request, 400, "BadRequest", "the field %s is missing",
               FIELDS[field].name);
      return false;
    }
  return true;
}

// --- Routes ---

// Returns the text of `rest` before `c`, or all of it, and removes that text from
// `rest`.
static Text cut(Text *rest, char c) {
  const char *end = rest->size > 0 ? memchr(rest->bytes, c, rest->size) : NULL;
  uint32_t size = end != NULL ? (uint32_t)(end - rest->bytes) : rest->size;
  Text part = {rest->bytes, size};
  size += end != NULL;
  *rest = (Text){rest->bytes + size, rest->size - size};
  return part;
}

// Returns whether a path belongs to the route. Sets `name` to the part at the route's
// "*".
static bool fits(const ApiRoute *route, Text path, Text *name) {
  Text pattern = text_from(route->path);
  *name = (Text){0};
  while (pattern.size > 0 && path.size > 0) {
    Text want = cut(&pattern, '/');
    bool is_last = memchr(path.bytes, '/', path.size) == NULL;
    Text part = cut(&path, '/');
    if (!is_last && path.size == 0) return false;  // the path ends with a slash
    if (want.bytes[0] == '*')
      *name = part;
    else if (!text_equals(want, part))
      return false;
  }
  return pattern.size == 0 && path.size == 0;
}

static const ApiRoute *find_route(const ApiRequest *request, Text path, Text *name) {
  Buf methods = {0};
  for (const ApiRoute *route = API_ROUTES; route->method != NULL; route++) {
    if (!fits(route, path, name)) continue;
    if (text_equals(request->method, text_from(route->method))) {
      buf_deinit(&methods);
      return route;
    }
    buf_printf(&methods, "%s%s", methods.size > 0 ? ", " : "Allow: ", route->method);
  }
  if (methods.size == 0) {
    api_fail(request, 404, "NotFound", "there is nothing at this address");
  } else {
    buf_append(&methods, "\r\n", 3);
    fail(request->self, request->client, 405, "MethodNotAllowed",
         "this address has no such method", (const char *)methods.data);
  }
  buf_deinit(&methods);
  return NULL;
}

static bool may_write(const ApiRequest *request) {
  const Engine *engine = &request->self->server->engine;
  if (request->client.is_control || net_admin_has_token(engine->net) ||
      config_is_on(&engine->config, KEY_ADMIN_WRITE))
    return true;
  api_fail(request, 403, "Unauthorized",
           "changes are off: give the server an admin_token (PERIGEE_ADMIN_TOKEN), or "
           "set admin_write = true");
  return false;
}

static void run(ApiRequest *request, Text target, Text body) {
  Text path = cut(&target, '?'), name;
  path = (Text){path.bytes + strlen("/api/"), path.size - (uint32_t)strlen("/api/")};
  const ApiRoute *route = find_route(request, path, &name);
  if (route == NULL || (route->is_write && !may_write(request))) return;
  if (!http_decode(name, &request->name))
    api_fail(request, 400, "BadRequest", "the address is not well-formed");
  else if (read_query(request, route->fields, target) &&
           read_body(request, route->fields, body) && has_needed(request, route->needs))
    route->run(request);
}

static void free_request(ApiRequest *request) {
  buf_deinit(&request->name);
  for (int i = 0; i < API_FIELDS; i++) buf_deinit(&request->fields[i]);
}

// --- Receiving ---

static bool is_json(Text fields) {
  static const char TYPE[] = "content-type: application/json";
  while (fields.size > 0) {
    Text line = cut(&fields, '\n');
    size_t size = sizeof TYPE - 1;
    bool fits = line.size >= size && strncasecmp(line.bytes, TYPE, size) == 0;
    if (fits && (line.size == size || strchr("; \t", line.bytes[size]))) return true;
  }
  return false;
}

// Implements AdminEvents.request.
static void on_request(void *data, ConnId conn, Text text) {
  ApiRequest request = {.self = data, .client = {false, conn}};
  const char *end = memmem(text.bytes, text.size, "\n\n", 2);
  Text fields = {text.bytes, (uint32_t)(end - text.bytes)};
  Text body = {end + 2, text.size - fields.size - 2};
  request.method = cut(&fields, ' ');
  Text target = cut(&fields, '\n');
  if (body.size > 0 && !is_json(fields))
    api_fail(&request, 415, "BadRequest", "Content-Type must be application/json");
  else
    run(&request, target, body);
  free_request(&request);
}

const AdminEvents API_EVENTS = {.request = on_request};

void api_control(void *data, ControlToken token, const char *line) {
  ApiRequest request = {.self = data, .client = {true, token}};
  Text target = text_from(line);
  bool is_forced = strcmp(line, CONTROL_RELOAD_FORCED) == 0;
  if (strcmp(line, CONTROL_STOP) == 0) {
    api_control(data, token, "POST /api/stop");
    return;
  }
  request.method = cut(&target, ' ');
  if (is_forced || strcmp(line, CONTROL_RELOAD) == 0) {
    api_wait(&request, library_reload(request.self, is_forced), 200, "");
  } else if (target.size > 5 && memcmp(target.bytes, "/api/", 5) == 0 &&
             text_is_utf8(line, strlen(line))) {
    run(&request, target, (Text){0});
  } else {
    api_fail(&request, 400, "BadRequest",
             "unknown request; the requests are: " CONTROL_RELOAD
             ", " CONTROL_RELOAD_FORCED ", " CONTROL_STOP
             ", and those of the control API: GET /api/rooms");
  }
  free_request(&request);
}
