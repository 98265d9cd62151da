// The driver of libperigee for stories. It reads calls from a loopback port, which its
// argument names, and prints what the application sees.
// A line of input is NUMBER OF THE APPLICATION, CALL, KEY=VALUE ..., with tabs between; a line of output is JSON.
#include "driver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"

enum { APPS_MAX = 4096, INPUT_MAX = 1 << 20 };

/// The fields of a call: KEY=VALUE with NUL between them.
typedef struct Fields {
  char *words[16];
  int count;
} Fields;

static App *apps[APPS_MAX];
static int app_count;

static Question take_question(App *app) {
  Question first = app->questions[0];
  if (app->question_count > 0) app->question_count--;
  memmove(app->questions, app->questions + 1, sizeof first * (NAMES_MAX - 1));
  return first;
}

// --- Calls ---

static const char *field(const Fields *fields, const char *key) {
  size_t size = strlen(key);
  for (int i = 0; i < fields->count; i++) {
    if (strncmp(fields->words[i], key, size) == 0 && fields->words[i][size] == '=')
      return fields->words[i] + size + 1;
  }
  return NULL;
}

static double number_in(const Fields *fields, const char *key, double otherwise) {
  const char *text = field(fields, key);
  return text ? strtod(text, NULL) : otherwise;
}

static uint32_t ms_in(const Fields *fields, const char *key, double otherwise) {
  return (uint32_t)(number_in(fields, key, otherwise) * 1000 + 0.5);
}

// Decodes a field of hexadecimal digits in place.
static const void *bytes_in(const Fields *fields, const char *key, size_t *size) {
  char *text = (char *)field(fields, key);
  *size = 0;
  if (text == NULL) return "";
  for (unsigned byte; sscanf(text + 2 * *size, "%2x", &byte) == 1; (*size)++)
    text[*size] = (char)byte;
  return text;
}

static uint32_t flags_in(const Fields *fields) {
  const char *priority = field(fields, "priority");
  uint32_t flags = field(fields, "unreliable") ? PERIGEE_UNRELIABLE : 0;
  if (priority == NULL) return flags;
  if (strcmp(priority, "critical") == 0) return flags | PERIGEE_CRITICAL;
  if (strcmp(priority, "high") == 0) return flags | PERIGEE_HIGH;
  return strcmp(priority, "low") == 0 ? flags | PERIGEE_LOW : flags;
}

// Writes SIGN_IN with these fields, which are the JSON of an object or NULL; returns it.
static const char *sign_in_text(char text[1024], const char *verb, const char *json) {
  const char *rest = json ? json + 1 : "}";  // behind the brace
  snprintf(text, 1024, "{\"do\":\"%s\"%s%s", verb, json ? "," : "", rest);
  return text;
}

static int call_connect(App *app, const Fields *fields) {
  char address[32], sign_in[1024];
  int code = 0;
  const char *off = field(fields, "reconnect"), *rejoin = field(fields, "rejoin");
  const char *only = field(fields, "only");
  if (only) snprintf(app->only, sizeof app->only, ",%s,", only);
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = field(fields, "name");
  options.token = field(fields, "token");
  if (field(fields, "sign_in"))
    options.sign_in = sign_in_text(sign_in, "sign_in", field(fields, "sign_in"));
  if (field(fields, "sign_up"))
    options.sign_in = sign_in_text(sign_in, "sign_up", field(fields, "sign_up"));
  options.timeout_ms = ms_in(fields, "timeout", 20);
  options.reconnect_first_ms = ms_in(fields, "first", 0.001);
  options.reconnect_max_ms = ms_in(fields, "max", 0.01);
  options.reconnect_for_ms = ms_in(fields, "for", 0);
  options.reconnect = off == NULL || strcmp(off, "false") != 0;
  options.rejoin = rejoin == NULL || strcmp(rejoin, "false") != 0;
  snprintf(address, sizeof address, "127.0.0.1:%s", field(fields, "port"));
  perigee_free(app->client);
  app->client = perigee_connect(address, &options, &code);
  return app->client ? 0 : code;
}

static int call_state(const App *app) {
  static const char *const STATES[] = {"connecting", "open", "reconnecting", "closing",
                                       "closed"};
  print_begin(app, "state");
  printf(",\"call\":\"state\",\"id\":%u", perigee_peer_id(app->client));
  print_text("name", perigee_name(app->client));
  print_text("state", STATES[perigee_state(app->client)]);
  print_end();
  return 0;
}

static int call_members(const App *app, uint32_t room) {
  print_begin(app, "members");
  printf(",\"call\":\"members\"");
  print_members(app, room);
  print_end();
  return 0;
}

static int call_party(PerigeeClient *client, const char *call, const Fields *fields,
                      uint32_t timeout_ms) {
  const char *name = field(fields, "name");
  uint32_t peer = (uint32_t)number_in(fields, "peer", 0);
  if (strcmp(call, "make") == 0) return perigee_party_make(client, timeout_ms);
  if (strcmp(call, "invite") == 0)
    return perigee_party_invite(client, name, timeout_ms);
  if (strcmp(call, "join") == 0) return perigee_party_join(client, name, timeout_ms);
  if (strcmp(call, "leave") == 0) return perigee_party_leave(client, timeout_ms);
  if (strcmp(call, "promote") == 0)
    return perigee_party_promote(client, peer, timeout_ms);
  return perigee_party_kick(client, peer, timeout_ms);
}

static void free_app(App *app) {
  int at = 0;
  while (apps[at] != app) at++;
  apps[at] = apps[--app_count];
  perigee_free(app->client);
  free(app);
}

// Returns a request, 0, or a negative code.
static int make_call(App *app, const char *call, const Fields *fields) {
  PerigeeClient *client = app->client;
  size_t size;
  const void *data = bytes_in(fields, "data", &size);
  char text[1024];
  const char *name = field(fields, "name"), *value = field(fields, "value"),
             *room_name = field(fields, "room");
  uint32_t room = room_name ? number_of(app->rooms, room_name) : 0,
           timeout_ms = ms_in(fields, "timeout", 0);
  uint16_t channel = (uint16_t)number_in(fields, "channel", 0),
           number = (uint16_t)number_in(fields, "number", 0);
  uint16_t served = name ? (uint16_t)number_of(app->channels, name) : 0;
  if (strcmp(call, "connect") == 0) return call_connect(app, fields);
  if (strcmp(call, "join") == 0)
    return perigee_join_with(client, room_name, field(fields, "options"), timeout_ms);
  if (strcmp(call, "list") == 0)
    return perigee_query_rooms(client, field(fields, "query"), timeout_ms);
  if (strcmp(call, "link") == 0 || strcmp(call, "sign_out") == 0)
    return perigee_sign_in(client, sign_in_text(text, call, value), timeout_ms);
  if (strcmp(call, "enter_queue") == 0)
    return perigee_matchmaker_enter(client, name, value, timeout_ms);
  if (strcmp(call, "cancel") == 0) return perigee_matchmaker_cancel(client, timeout_ms);
  if (strncmp(call, "party_", 6) == 0)
    return call_party(client, call + 6, fields, timeout_ms);
  if (strcmp(call, "leave") == 0) return perigee_leave(client, room);
  if (strcmp(call, "send") == 0)
    return perigee_send(client, room, name, value, flags_in(fields));
  if (strcmp(call, "ask") == 0)
    return perigee_ask(client, room, name, value, timeout_ms);
  if (strcmp(call, "relay") == 0)
    return perigee_relay(client, room, data, size, flags_in(fields));
  if (strcmp(call, "rooms") == 0) return perigee_list_rooms(client, timeout_ms);
  if (strcmp(call, "ping") == 0) return perigee_ping(client, timeout_ms);
  if (strcmp(call, "sync") == 0) return perigee_sync(client, timeout_ms);
  if (strcmp(call, "packet") == 0)
    return perigee_send_packet(client, channel, number, data, size, flags_in(fields));
  if (strcmp(call, "ask_packet") == 0)
    return perigee_ask_packet(client, channel, number, data, size, timeout_ms);
  if (strcmp(call, "serve") == 0) return perigee_open_channel(client, name, timeout_ms);
  if (strcmp(call, "tool") == 0) return perigee_add_tool(client, value, timeout_ms);
  if (strcmp(call, "untool") == 0)
    return perigee_remove_tool(client, value, timeout_ms);
  if (strcmp(call, "unserve") == 0) return perigee_close_channel(client, served);
  if (strcmp(call, "send_to") == 0) {
    return perigee_send_to(client, served, (uint32_t)number_in(fields, "peer", 0),
                           number, data, size, flags_in(fields));
  }
  if (strcmp(call, "enter") == 0) {
    uint32_t flags =
        PERIGEE_GIVES_SNAPSHOTS | (field(fields, "watches") ? PERIGEE_WATCHES : 0);
    return perigee_lockstep_enter(client, room, flags,
                                  size == PERIGEE_SEAT_SIZE ? data : NULL);
  }
  if (strcmp(call, "exit") == 0) return perigee_lockstep_exit(client, room);
  if (strcmp(call, "input") == 0)
    return perigee_lockstep_input(client, room, data, size);
  if (strcmp(call, "answer") == 0) {
    Question question = take_question(app);
    return perigee_answer(client, &question.question, question.name, value);
  }
  if (strcmp(call, "answer_packet") == 0) {
    Question question = take_question(app);
    return perigee_answer_bytes(client, &question.question, data, size);
  }
  if (strcmp(call, "pass") == 0) clock_pass(number_in(fields, "seconds", 0));
  if (strcmp(call, "state") == 0) return call_state(app);
  if (strcmp(call, "members") == 0) return call_members(app, room);
  if (strcmp(call, "close") == 0) perigee_close(client);
  return 0;
}

static App *find_app(int number) {
  for (int i = 0; i < app_count; i++) {
    if (apps[i]->number == number) return apps[i];
  }
  App *app = calloc(1, sizeof *app);
  if (app == NULL || app_count == APPS_MAX) abort();
  app->number = number;
  apps[app_count++] = app;
  return app;
}

static void print_events(void) {
  for (int i = 0; i < app_count; i++) {
    const PerigeeEvent *event;
    while (apps[i]->client && (event = perigee_next_event(apps[i]->client)))
      print_event(apps[i], event);
  }
}

// Drives all clients; returns whether input is available.
static bool drive(int input, int timeout_ms) {
  static PerigeeClient *clients[APPS_MAX];
  PerigeeFd fd = {.fd = input, .wants_read = 1};
  size_t count = 0;
  for (int i = 0; i < app_count; i++) {
    if (apps[i]->client) clients[count++] = apps[i]->client;
  }
  perigee_poll_all(clients, count, &fd, 1, timeout_ms);
  print_events();
  return fd.wants_read;
}

static void take_line(char *line, int fd) {
  Fields fields = {0};
  App *app = find_app((int)strtol(line, &line, 10));
  char *call = strtok(line, "\t");
  for (char *word; fields.count < 16 && (word = strtok(NULL, "\t"));)
    fields.words[fields.count++] = word;
  if (strcmp(call, "free") == 0) {
    free_app(app);
    return;
  }
  int request = make_call(app, call, &fields);
  for (int i = 0; request > 0 && i < REQUESTS_MAX; i++) {
    if (app->requests[i].number != 0) continue;
    app->requests[i].number = request;
    snprintf(app->requests[i].call, sizeof app->requests[i].call, "%s", call);
    break;
  }
  if (request < 0) {
    print_begin(app, "failed");
    print_text("call", call);
    print_code(request);
    print_end();
  }
  if (strcmp(call, "pass") == 0) drive(fd, 0);  // does the work that is due by then
  print_begin(app, "made");
  print_end();
}

// --- The loop ---

int main(int argc, char **argv) {
  static char input[INPUT_MAX];
  size_t size = 0;
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (argc == 2) address.sin_port = htons((uint16_t)atoi(argv[1]));
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return 1;
  for (;;) {
    if (!drive(fd, -1)) continue;
    ssize_t got = recv(fd, input + size, sizeof input - size, 0);
    if (got <= 0) break;
    size += (size_t)got;
    char *line = input, *stop;
    while ((stop = memchr(line, '\n', size - (size_t)(line - input)))) {
      *stop = '\0';
      take_line(line, fd);
      line = stop + 1;
    }
    size -= (size_t)(line - input);
    memmove(input, line, size);
  }
  while (app_count > 0) free_app(apps[0]);
  return 0;
}
