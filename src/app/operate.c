// See operate.h.
#include "app/operate.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/remote.h"
#include "wire/json.h"

typedef struct Column {
  const char *title, *key;
  int width;
} Column;

// Sends a request, and reads the JSON of its answer. Returns the exit code.
static int ask(uint16_t *port, const char *request, Buf *reply, Text *json) {
  int code = remote_ask(port, request, reply);
  *json = json_trim((Text){(const char *)reply->data, (uint32_t)reply->size});
  if (code == 0 && !json_is_value(*json)) {
    fprintf(stderr, "perigee: the server on port %u is of another version\n", *port);
    return 1;
  }
  return code;
}

// The value of a key; empty if the object has none.
static Text find_value(Text object, const char *key) {
  Text name, value;
  for (uint32_t at = 0; json_next(object, &at, &name, &value);)
    if (name.size == strlen(key) + 2 && memcmp(name.bytes + 1, key, name.size - 2) == 0)
      return value;
  return (Text){"", 0};
}

// A text without its quotes; anything else as it is.
static void print_value(Text value, int width) {
  Buf text = {0};
  if (!json_read_text(value, &text)) buf_append(&text, value.bytes, value.size);
  buf_u8(&text, '\0');
  printf("%-*s", width, (const char *)text.data);
  buf_deinit(&text);
}

// --- Lists ---

static void print_row(Text object, const Column *columns) {
  for (const Column *column = columns; column->title != NULL; column++)
    print_value(find_value(object, column->key), column->width);
  putchar('\n');
}

static void print_titles(const Column *columns) {
  for (const Column *column = columns; column->title != NULL; column++)
    printf("%-*s", column->width, column->title);
  putchar('\n');
}

// Prints page after page of /api/NAME.
static int print_list(uint16_t port, const char *name, const Column *columns) {
  char request[80] = "", after[40] = "";
  int code;
  bool is_first = true, is_more = true;
  do {
    Buf reply = {0};
    Text json, object;
    snprintf(request, sizeof request, "GET /api/%s?limit=1000%s\n", name, after);
    code = ask(&port, request, &reply, &json);
    if (code == 0) {
      Text list = find_value(json, name), next = find_value(json, "next");
      if (is_first) print_titles(columns);
      for (uint32_t at = 0; json_next(list, &at, NULL, &object);)
        print_row(object, columns);
      is_more = next.size > 0 && *next.bytes != 'n';
      snprintf(after, sizeof after, "&after=%.*s", (int)next.size, next.bytes);
    }
    is_first = false;
    buf_deinit(&reply);
  } while (code == 0 && is_more);
  return code;
}

int operate_rooms(uint16_t port) {
  static const Column COLUMNS[] = {
      {"ID", "id", 12}, {"MEMBERS", "count", 9}, {"NAME", "name", 0}, {0}};
  return print_list(port, "rooms", COLUMNS);
}

int operate_peers(uint16_t port) {
  static const Column COLUMNS[] = {
      {"ID", "id", 12},         {"TRANSPORT", "transport", 11},
      {"MS", "latency_ms", 10}, {"ADDRESS", "address", 20},
      {"NAME", "name", 0},      {0}};
  return print_list(port, "peers", COLUMNS);
}

// --- The rest ---

int operate_status(uint16_t port) {
  Buf reply = {0};
  Text json, key, value;
  int code = ask(&port, "GET /api/stats\n", &reply, &json);
  for (uint32_t at = 0; code == 0 && json_next(json, &at, &key, &value);) {
    print_value(key, 14);
    print_value(value, 0);
    putchar('\n');
  }
  buf_deinit(&reply);
  return code;
}

// Appends a reason, with the bytes encoded that end a field or a line.
static void put_reason(Buf *request, const char *reason) {
  if (reason != NULL) buf_printf(request, "?reason=");
  for (; reason != NULL && *reason != '\0'; reason++)
    if ((uint8_t)*reason < 0x20 || strchr("%&", *reason))
      buf_printf(request, "%%%02x", (uint8_t)*reason);
    else
      buf_u8(request, (uint8_t)*reason);
  buf_append(request, "\n", 2);
}

static int command(uint16_t *port, Buf *request) {
  Buf reply = {0};
  int code = remote_ask(port, (const char *)request->data, &reply);
  buf_deinit(&reply);
  buf_deinit(request);
  return code;
}

int operate_kick(uint16_t port, const char *peer, const char *reason) {
  Buf request = {0};
  buf_printf(&request, "DELETE /api/peers/%s", peer);
  put_reason(&request, reason);
  int code = command(&port, &request);
  if (code == 0) printf("perigee: peer %s is disconnected\n", peer);
  return code;
}

int operate_stop(uint16_t port, const char *reason) {
  Buf request = {0};
  buf_printf(&request, "POST /api/stop");
  put_reason(&request, reason);
  int code = command(&port, &request);
  if (code == 0) puts("perigee: the server stops");
  return code;
}
