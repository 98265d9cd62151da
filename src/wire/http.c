// Parsing a request takes three steps. A pass over the bytes refuses malformed heads
// that http-parser would accept. Then http-parser parses the head. Finally,
// http_read_request checks the rules that concern several parts of the head.
#include "wire/http.h"

#include <http_parser.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { LINE_SPARE = 32 };  // most bytes of a request line besides its target

// --- The shape of the head ---

// Returns the size of the head, 0 if its end has not arrived, or a negated status.
static int find_end(const uint8_t *bytes, size_t size) {
  size_t limit = size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX;
  size_t line = 0;  // start of the current line
  for (size_t i = 0; i < limit; i++) {
    uint8_t c = bytes[i];
    if (c == '\r') {
      if (i + 1 < limit && bytes[i + 1] != '\n') return -400;
    } else if (c == '\n') {
      if (i == 0 || bytes[i - 1] != '\r') return -400;
      if (i - 1 == line) return line == 0 ? -400 : (int)i + 1;
      line = i + 1;
    } else if ((c < 0x20 && c != '\t') || c == 0x7f || (line == 0 && c > 0x7f)) {
      return -400;
    } else if (line > 0 && i == line && (c == ' ' || c == '\t')) {
      return -400;  // a field continues in the next line
    }
  }
  if (line == 0 && limit > HTTP_TARGET_MAX + LINE_SPARE) return -414;
  return size >= HTTP_HEAD_MAX ? -431 : 0;
}

// --- The parser ---

typedef struct Parse {
  http_parser parser;
  HttpRequest *request;
  int status;  // negated status of a refusal; 0: none
} Parse;

static int on_url(http_parser *parser, const char *at, size_t size) {
  Parse *parse = parser->data;
  parse->request->target = (Text){at, (uint32_t)size};
  return 0;
}

static bool is_token(const char *at, size_t size) {
  static const char OTHERS[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < size; i++) {
    char c = at[i];
    bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain && (c == '\0' || !strchr(OTHERS, c))) return false;
  }
  return size > 0;
}

static int on_field(http_parser *parser, const char *at, size_t size) {
  Parse *parse = parser->data;
  HttpRequest *request = parse->request;
  if (request->field_count == HTTP_FIELDS_MAX)
    parse->status = -431;
  else if (!is_token(at, size))
    parse->status = -400;
  if (parse->status) return -1;
  request->fields[request->field_count++] =
      (HttpField){.name = {at, (uint32_t)size}, .value = {"", 0}};
  return 0;
}

static int on_value(http_parser *parser, const char *at, size_t size) {
  Parse *parse = parser->data;
  HttpRequest *request = parse->request;
  while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t')) size--;
  request->fields[request->field_count - 1].value = (Text){at, (uint32_t)size};
  return 0;
}

// Stops the parser after the head.
static int on_head(http_parser *parser) {
  Parse *parse = parser->data;
  parse->request->keeps_alive = http_should_keep_alive(parser);
  return 1;
}

// Returns the negated status that refuses the bytes: -405 for an unknown method, -400
// for anything else.
static int refusal(const char *bytes, size_t size, enum http_errno problem) {
  size_t at = 0;
  while (at < size && ((bytes[at] >= 'A' && bytes[at] <= 'Z') || bytes[at] == '-'))
    at++;
  bool is_method = at > 0 && at < size && bytes[at] == ' ';
  return problem == HPE_INVALID_METHOD && is_method ? -405 : -400;
}

static int parse_head(Parse *parse, const char *bytes, size_t size) {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = on_url;
  settings.on_header_field = on_field;
  settings.on_header_value = on_value;
  settings.on_headers_complete = on_head;
  http_parser_init(&parse->parser, HTTP_REQUEST);
  parse->parser.data = parse;
  http_parser_execute(&parse->parser, &settings, bytes, size);
  enum http_errno problem = HTTP_PARSER_ERRNO(&parse->parser);
  if (parse->status) return parse->status;
  return problem == HPE_OK ? 0 : refusal(bytes, size, problem);
}

// --- Fields ---

bool http_is_text(Text text, const char *other) {
  return strlen(other) == text.size && strncasecmp(text.bytes, other, text.size) == 0;
}

const Text *http_field(const HttpRequest *request, const char *name) {
  for (uint32_t i = 0; i < request->field_count; i++)
    if (http_is_text(request->fields[i].name, name)) return &request->fields[i].value;
  return NULL;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Removes the next entry of a comma-separated list; returns false at the end.
static bool next_item(Text *list, Text *item) {
  if (list->bytes == NULL) return false;
  const char *comma = memchr(list->bytes, ',', list->size);
  size_t size = comma ? (size_t)(comma - list->bytes) : list->size;
  *item = (Text){list->bytes, (uint32_t)size};
  while (item->size && is_blank(item->bytes[0])) item->bytes++, item->size--;
  while (item->size && is_blank(item->bytes[item->size - 1])) item->size--;
  *list = comma ? (Text){comma + 1, list->size - (uint32_t)size - 1} : (Text){NULL, 0};
  return true;
}

bool http_has_token(const HttpRequest *request, const char *name, const char *token) {
  for (uint32_t i = 0; i < request->field_count; i++) {
    if (!http_is_text(request->fields[i].name, name)) continue;
    Text list = request->fields[i].value, item;
    while (next_item(&list, &item))
      if (http_is_text(item, token)) return true;
  }
  return false;
}

// --- Rules ---

static bool is_host(Text host) {
  for (uint32_t i = 0; i < host.size; i++) {
    char c = host.bytes[i];
    bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain && (c == '\0' || !strchr(".-_:[]", c))) return false;
  }
  return host.size > 0;
}

// Returns whether a proxy in front of the server could understand the request
// differently.
static bool is_ambiguous(const HttpRequest *request) {
  static const char *const ONCE[] = {
      "host",         "content-length", "transfer-encoding", "origin",
      "content-type", "authorization",  "sec-websocket-key", "sec-websocket-version"};
  for (size_t i = 0; i < sizeof ONCE / sizeof *ONCE; i++) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < request->field_count; k++)
      count += http_is_text(request->fields[k].name, ONCE[i]);
    if (count > 1) return true;
  }
  const Text *host = http_field(request, "host");
  if (host ? !is_host(*host) : !request->is_old) return true;
  return http_field(request, "content-length") &&
         http_field(request, "transfer-encoding");
}

// Returns whether exactly one space separates the three parts of the request line.
static bool is_plain_line(const char *bytes, const HttpRequest *request,
                          const http_parser *parser) {
  const char *method = http_method_str((enum http_method)parser->method);
  size_t before = strlen(method) + 1;
  return request->target.bytes == bytes + before &&
         memcmp(request->target.bytes + request->target.size, " HTTP/1.", 8) == 0;
}

const char *const HTTP_METHODS[METHOD_OTHER] = {"GET", "HEAD", "POST", "DELETE"};

static HttpMethod method_of(const http_parser *parser) {
  const char *name = http_method_str((enum http_method)parser->method);
  uint32_t method = METHOD_GET;
  while (method < METHOD_OTHER && strcmp(name, HTTP_METHODS[method]) != 0) method++;
  return (HttpMethod)method;
}

int http_read_request(const char *bytes, size_t size, HttpRequest *request) {
  int end = find_end((const uint8_t *)bytes, size);
  if (end <= 0) return end;
  *request = (HttpRequest){.target = {"", 0}};
  Parse parse = {.request = request};
  int refused = parse_head(&parse, bytes, (size_t)end);
  if (refused) return refused;
  const http_parser *parser = &parse.parser;
  bool is_known = parser->http_major == 1 && parser->http_minor <= 1;
  if (!is_known || !is_plain_line(bytes, request, parser)) return -400;
  request->is_old = parser->http_minor == 0;
  request->method = method_of(parser);
  const Text *length = http_field(request, "content-length");
  request->has_body = http_field(request, "transfer-encoding") ||
                      (length && !http_is_text(*length, "0"));
  if (is_ambiguous(request)) return -400;
  if (request->target.size > HTTP_TARGET_MAX) return -414;
  if (request->method != METHOD_OTHER && request->target.bytes[0] != '/') return -400;
  return end;
}

// --- Origins ---

// Removes the port if it is the scheme's default.
static Text without_port(Text host, const char *port) {
  size_t size = strlen(port);
  if (host.size > size && memcmp(host.bytes + host.size - size, port, size) == 0)
    host.size -= (uint32_t)size;
  return host;
}

bool http_is_same_origin(Text origin, Text host) {
  static const struct {
    const char *scheme, *port;
  } SCHEMES[] = {{"http://", ":80"}, {"https://", ":443"}};
  for (int i = 0; i < 2; i++) {
    uint32_t size = (uint32_t)strlen(SCHEMES[i].scheme);
    if (origin.size <= size || strncasecmp(origin.bytes, SCHEMES[i].scheme, size) != 0)
      continue;
    Text rest = {origin.bytes + size, origin.size - size};
    Text a = without_port(rest, SCHEMES[i].port);
    Text b = without_port(host, SCHEMES[i].port);
    return a.size == b.size && strncasecmp(a.bytes, b.bytes, a.size) == 0;
  }
  return false;
}

bool http_is_listed_origin(Text origin, const char *list) {
  Text rest = {list, (uint32_t)strlen(list)}, item;
  while (next_item(&rest, &item)) {
    if (item.size == 1 && item.bytes[0] == '*') return true;
    if (item.size > 0 && item.size == origin.size &&
        strncasecmp(item.bytes, origin.bytes, item.size) == 0)
      return true;
  }
  return false;
}

static bool is_origin(Text item) {
  static const char SCHEME[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  if (http_is_text(item, "*") || http_is_text(item, "null")) return true;
  uint32_t size = 0;
  while (size < item.size && item.bytes[size] && strchr(SCHEME, item.bytes[size]))
    size++;
  if (size == 0 || item.size < size + 3) return false;
  Text host = {item.bytes + size + 3, item.size - size - 3};
  return memcmp(item.bytes + size, "://", 3) == 0 && is_host(host);
}

bool http_find_bad_origin(const char *list, Text *bad) {
  Text rest = {list, (uint32_t)strlen(list)};
  while (next_item(&rest, bad))
    if (bad->size > 0 && !is_origin(*bad)) return true;
  return false;
}

// --- Answers ---

const char *http_reason(int status) {
  switch (status) {
#define X(number, name, text) \
  case number:                \
    return #text;
    HTTP_STATUS_MAP(X)
#undef X
    default:
      return "Unknown";
  }
}

void http_put_status(Buf *buf, int status) {
  buf_printf(buf, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
}

void http_put_field(Buf *buf, const char *name, const char *format, ...) {
  char value[HTTP_TARGET_MAX + 2];  // a Location field has the longest value
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(value, sizeof value, format, arguments);
  va_end(arguments);
  buf_printf(buf, "%s: %s\r\n", name, value);
}

void http_put_end(Buf *buf) { buf_append(buf, "\r\n", 2); }

bool http_decode(Text text, Buf *out) {
  for (uint32_t i = 0; i < text.size; i++) {
    char c = text.bytes[i];
    if (c == '%') {
      int high = i + 2 < text.size ? text_hex_digit(text.bytes[i + 1]) : -1;
      int low = i + 2 < text.size ? text_hex_digit(text.bytes[i + 2]) : -1;
      if (i + 2 >= text.size || high < 0 || low < 0) return false;
      c = (char)(high << 4 | low);
      i += 2;
    }
    buf_u8(out, (uint8_t)c);
  }
  bool is_good = text_is_utf8((const char *)out->data, out->size) &&
                 (out->size == 0 || memchr(out->data, '\0', out->size) == NULL);
  buf_u8(out, '\0');
  return is_good;
}
