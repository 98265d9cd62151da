// See operate.h.
#define _GNU_SOURCE  // syscall
#include "app/operate.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/remote.h"
#include "base/text.h"
#include "wire/json.h"

typedef struct Column {
  const char *title, *key;
  int width;
} Column;

// Sends a request and reads the JSON of its answer, with a NUL behind it. Returns the
// exit code.
static int ask(uint16_t *port, const char *request, Buf *reply, Text *json) {
  int code = remote_ask(port, request, reply);
  buf_u8(reply, '\0');
  *json = json_trim((Text){(const char *)reply->data, (uint32_t)reply->size - 1});
  if (code == 0 && !json_is_value(*json)) {
    fprintf(stderr, "perigee: the server on port %u is of another version\n", *port);
    return 1;
  }
  return code;
}

// Prints a string without its quotes, and any other value unchanged.
static void print_value(Text value, int width) {
  Buf text = {0};
  if (text_equals(value, text_from("null"))) value = text_from("-");
  if (!json_read_text(value, &text)) buf_append(&text, value.bytes, value.size);
  buf_u8(&text, '\0');
  printf("%-*s", width, (const char *)text.data);
  buf_deinit(&text);
}

// --- Lists ---

// Prints all pages of /api/NAME; the list of queues has no pages.
static int print_list(uint16_t port, const char *name, const Column *columns) {
  char request[80] = "", after[40] = "";
  int code;
  const char *query = strcmp(name, "queues") == 0 ? "" : "?limit=1000";
  bool is_first = true, is_more = true;
  do {
    Buf reply = {0};
    Text json, object;
    const Column *column;
    snprintf(request, sizeof request, "GET /api/%s%s%s\n", name, query, after);
    code = ask(&port, request, &reply, &json);
    if (code == 0) {
      Text list = json_find(json, name), next = json_find(json, "next");
      for (column = columns; is_first && column->title != NULL; column++)
        printf("%-*s%s", column->width, column->title, column[1].title ? "" : "\n");
      for (uint32_t at = 0; json_next(list, &at, NULL, &object); putchar('\n'))
        for (column = columns; column->title != NULL; column++)
          print_value(json_find(object, column->key), column->width);
      is_more = next.size > 0 && *next.bytes != 'n';
      snprintf(after, sizeof after, "&after=%.*s", (int)next.size, next.bytes);
    }
    is_first = false;
    buf_deinit(&reply);
  } while (code == 0 && is_more);
  return code;
}

static int print_status(uint16_t port) {
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

int operate_show(uint16_t port, const char *what) {
  static const Column ROOMS[] = {
      {"ID", "id", 12}, {"MEMBERS", "count", 9}, {"NAME", "name", 0}, {0}};
  static const Column PEERS[] = {
      {"ID", "id", 12},         {"TRANSPORT", "transport", 11},
      {"MS", "latency_ms", 10}, {"ADDRESS", "address", 20},
      {"NAME", "name", 0},      {0}};
  static const Column QUEUES[] = {{"TICKETS", "tickets", 9}, {"PLAYERS", "players", 9},
                                  {"MATCHES", "matches", 9}, {"WAIT", "wait", 6},
                                  {"NAME", "name", 0},       {0}};
  if (strcmp(what, "status") == 0) return print_status(port);
  if (strcmp(what, "queues") == 0) return print_list(port, what, QUEUES);
  return print_list(port, what, strcmp(what, "rooms") == 0 ? ROOMS : PEERS);
}

int operate_dashboard(uint16_t port) {
  Buf reply = {0};
  Text json;
  int code = ask(&port, "POST /api/login\n", &reply, &json);
  if (code == 0) {
    print_value(json_find(json, "address"), 0);
    putchar('\n');
  }
  buf_deinit(&reply);
  return code;
}

// --- Commands ---

// Appends a text; encodes the bytes that would end a name, a field or a line.
static void put_encoded(Buf *request, const char *text) {
  for (; *text != '\0'; text++)
    if ((uint8_t)*text < 0x20 || strchr("%&?/", *text))
      buf_printf(request, "%%%02x", (uint8_t)*text);
    else
      buf_u8(request, (uint8_t)*text);
}

static int command(uint16_t *port, Buf *request, const char *reason) {
  Buf reply = {0};
  if (reason != NULL) {
    buf_printf(request, "?reason=");
    put_encoded(request, reason);
  }
  buf_append(request, "\n", 2);
  int code = remote_ask(port, (const char *)request->data, &reply);
  buf_deinit(&reply);
  buf_deinit(request);
  return code;
}

int operate_kick(uint16_t port, const char *peer, const char *reason) {
  Buf request = {0};
  buf_printf(&request, "DELETE /api/peers/");
  put_encoded(&request, peer);
  int code = command(&port, &request, reason);
  if (code == 0) printf("perigee: peer %s is disconnected\n", peer);
  return code;
}

// --- Stopping ---

// Requests the process id of the server and opens a descriptor of that process.
// `*process` is -1 if this fails. Returns the exit code.
static int open_process(uint16_t *port, int *pid, int *process) {
  Buf reply = {0};
  Text json;
  int code = ask(port, "GET /api/stats\n", &reply, &json);
  *process = -1;
  if (code == 0) {
    char number[16];
    Text value = json_find(json, "pid");
    snprintf(number, sizeof number, "%.*s", (int)value.size, value.bytes);
    *pid = atoi(number);
    *process = (int)syscall(SYS_pidfd_open, *pid, 0);
  }
  buf_deinit(&reply);
  return code;
}

// Waits at most `timeout_s` seconds until the process has ended. Prints a sign of life
// after each second. Returns whether the process has ended.
static bool wait_for_end(int process, int timeout_s) {
  struct pollfd fd = {.fd = process, .events = POLLIN};
  for (int second = 0; second < timeout_s; second++) {
    if (poll(&fd, 1, 1000) > 0) {
      if (second > 0) fputc('\n', stderr);
      return true;
    }
    fputs(second == 0 ? "perigee: the server is stopping ." : ".", stderr);
  }
  return false;
}

int operate_stop(uint16_t port, const char *reason, int timeout_s) {
  Buf request = {0};
  int pid, process, code = open_process(&port, &pid, &process);
  if (code != 0) return code;
  buf_printf(&request, "POST /api/stop");
  code = command(&port, &request, reason);
  if (code == 0 && (process < 0 || timeout_s == 0)) {
    puts("perigee: the server stops");
  } else if (code == 0 && wait_for_end(process, timeout_s)) {
    puts("perigee: the server has stopped");
  } else if (code == 0) {
    fprintf(stderr,
            "\nperigee: the server has not stopped within %d s; its log says why, and "
            "`kill -KILL %d` ends it at once\n",
            timeout_s, pid);
    code = 1;
  }
  if (process >= 0) close(process);
  return code;
}
