// libperigee for stories: makes the calls of standard input, prints what the application sees.
// A line of input is NUMBER OF THE APPLICATION, CALL, KEY=VALUE ..., with tabs between; a line of output is JSON.
#include <perigee.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  APPS_MAX = 4096,
  REQUESTS_MAX = 64,
  NAMES_MAX = 16,
  INPUT_MAX = 1 << 20,
  FDS_MAX = 256
};

/// What a request was called, until its outcome is seen.
typedef struct Request {
  int number;
  char call[16];
} Request;

/// A name, and the library's number for it.
typedef struct Name {
  char name[80];
  uint32_t number;
} Name;

typedef struct Question {
  PerigeeQuestion question;
  char name[80];
} Question;

typedef struct App {
  int number;
  PerigeeClient *client;
  Request requests[REQUESTS_MAX];
  Name rooms[NAMES_MAX], channels[NAMES_MAX];
  Question questions[NAMES_MAX];
  int question_count;
} App;

/// The fields of a call: KEY=VALUE with NUL between them.
typedef struct Fields {
  char *words[16];
  int count;
} Fields;

static App *apps[APPS_MAX];
static int app_count;

// --- What is printed ---

static void print_text(const char *key, const char *text) {
  printf(",\"%s\":\"", key);
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\' || *at < 32)
      printf("\\u%04x", *at);
    else
      putchar(*at);
  }
  putchar('"');
}

static void print_data(const PerigeeEvent *event) {
  printf(",\"data\":\"");
  for (size_t i = 0; i < event->size; i++) printf("%02x", event->data[i]);
  putchar('"');
}

static void begin(const App *app, const char *event) {
  printf("{\"app\":%d,\"event\":\"%s\"", app->number, event);
}

static void end(void) {
  printf("}\n");
  fflush(stdout);
}

// The library's own codes for what the server would say, too.
static void print_code(int code) {
  if (code == PERIGEE_NOT_JOINED) code = PERIGEE_NOT_IN_ROOM;
  if (code == PERIGEE_TOO_LARGE) code = PERIGEE_PAYLOAD_TOO_LARGE;
  print_text("code", perigee_code_name(code));
}

static void print_members(const App *app, uint32_t room) {
  printf(",\"members\":{");
  for (uint32_t i = 0; i < perigee_member_count(app->client, room); i++) {
    uint32_t peer = perigee_member(app->client, room, i);
    printf("%s\"%u\":\"%s\"", i ? "," : "", peer,
           perigee_member_name(app->client, room, peer));
  }
  putchar('}');
}

// --- Names ---

static void remember(Name *names, const char *name, uint32_t number) {
  int i = 0;
  while (i < NAMES_MAX - 1 && names[i].name[0] && strcmp(names[i].name, name) != 0) i++;
  snprintf(names[i].name, sizeof names[i].name, "%s", name);
  names[i].number = number;
}

static uint32_t number_of(const Name *names, const char *name) {
  for (int i = 0; i < NAMES_MAX && names[i].name[0]; i++) {
    if (strcmp(names[i].name, name) == 0) return names[i].number;
  }
  return 0;
}

static const char *name_of(const Name *names, uint32_t number) {
  for (int i = 0; i < NAMES_MAX && names[i].name[0]; i++) {
    if (names[i].number == number) return names[i].name;
  }
  return "";
}

static void keep_question(App *app, const PerigeeEvent *event) {
  if (app->question_count == NAMES_MAX) return;
  Question *question = &app->questions[app->question_count++];
  question->question = event->question;
  snprintf(question->name, sizeof question->name, "%s", event->name);
}

static Question take_question(App *app) {
  Question first = app->questions[0];
  if (app->question_count > 0) app->question_count--;
  memmove(app->questions, app->questions + 1, sizeof first * (NAMES_MAX - 1));
  return first;
}

// --- Events ---

static const char *const EVENTS[] = {
    [PERIGEE_CONNECTED] = "connected",
    [PERIGEE_DISCONNECTED] = "disconnected",
    [PERIGEE_RECONNECTING] = "reconnecting",
    [PERIGEE_RESUMED] = "resumed",
    [PERIGEE_LOST] = "lost",
    [PERIGEE_CLOSED] = "closed",
    [PERIGEE_JOINED] = "joined",
    [PERIGEE_LEFT] = "left",
    [PERIGEE_PEER_JOINED] = "peer_joined",
    [PERIGEE_PEER_LEFT] = "peer_left",
    [PERIGEE_RELAY] = "relay",
    [PERIGEE_MESSAGE] = "message",
    [PERIGEE_QUESTION] = "question",
    [PERIGEE_ANSWER] = "answer",
    [PERIGEE_PACKET] = "packet",
    [PERIGEE_FAILED] = "failed",
    [PERIGEE_ERROR] = "error",
    [PERIGEE_ROOMS] = "rooms",
    [PERIGEE_PONG] = "pong",
    [PERIGEE_SYNCED] = "synced",
    [PERIGEE_CHANNEL_OPENED] = "channel_opened",
    [PERIGEE_CHANNEL_CLOSED] = "channel_closed",
    [PERIGEE_REDIRECT] = "redirect",
    [PERIGEE_UDP_UP] = "udp_up",
    [PERIGEE_UDP_DOWN] = "udp_down",
    [PERIGEE_MATCH] = "match",
    [PERIGEE_TURN] = "turn",
    [PERIGEE_PACE] = "pace",
    [PERIGEE_SNAPSHOT_WANTED] = "snapshot_wanted",
    [PERIGEE_TREE_WANTED] = "tree_wanted",
    [PERIGEE_DESYNC] = "desync",
    [PERIGEE_WAITING] = "waiting",
    [PERIGEE_MATCH_ENDED] = "match_ended",
    [PERIGEE_PEER_RENAMED] = "peer_renamed",
};

// A client that has never been let in has not connected; the others tell an error of it.
static bool is_refusal(const App *app, const PerigeeEvent *event) {
  return event->type == PERIGEE_CLOSED && perigee_peer_id(app->client) == 0;
}

static void print_value(const PerigeeEvent *event) {
  if (event->type == PERIGEE_ANSWER && event->name[0] == '\0')
    print_data(event);
  else
    printf(",\"value\":%s", event->size ? (const char *)event->data : "null");
}

static void print_request(App *app, const PerigeeEvent *event) {
  for (int i = 0; i < REQUESTS_MAX; i++) {
    if (event->request == 0 || app->requests[i].number != (int)event->request) continue;
    print_text("call", app->requests[i].call);
    app->requests[i].number = 0;
  }
}

static void print_rooms(const PerigeeEvent *event) {
  printf(",\"rooms\":[");
  for (uint32_t i = 0; i < event->count; i++) {
    printf("%s{\"name\":\"%s\",\"members\":%u}", i ? "," : "", event->rooms[i].name,
           event->rooms[i].members);
  }
  putchar(']');
}

static void print_fields(App *app, const PerigeeEvent *event) {
  switch (event->type) {
    case PERIGEE_CONNECTED:
      printf(",\"id\":%u,\"max\":%u,\"tick\":%u", perigee_peer_id(app->client),
             perigee_max_payload(app->client), perigee_tick_rate(app->client));
      print_text("name", perigee_name(app->client));
      print_text("session", perigee_session(app->client));
      break;
    case PERIGEE_DISCONNECTED:
    case PERIGEE_CLOSED:
    case PERIGEE_FAILED:
    case PERIGEE_ERROR:
    case PERIGEE_CHANNEL_CLOSED:
    case PERIGEE_LEFT:
      print_code(event->code);
      break;
    case PERIGEE_RECONNECTING:
      printf(",\"attempt\":%u,\"delay\":%f", event->count,
             (double)event->time_us / 1e6);
      break;
    case PERIGEE_RESUMED:
    case PERIGEE_LOST:
      printf(",\"count\":%u", event->count);
      break;
    case PERIGEE_JOINED:
      remember(app->rooms, event->name, event->room);
      print_members(app, event->room);
      break;
    case PERIGEE_PEER_JOINED:
    case PERIGEE_PEER_LEFT:
    case PERIGEE_PEER_RENAMED:
      printf(",\"id\":%u", event->peer);
      break;
    case PERIGEE_RELAY:
      printf(",\"from\":%u", event->peer);
      print_data(event);
      break;
    case PERIGEE_MESSAGE:
    case PERIGEE_ANSWER:
      print_value(event);
      break;
    case PERIGEE_QUESTION:
      keep_question(app, event);
      print_value(event);
      break;
    case PERIGEE_PACKET:
      if (event->is_question) keep_question(app, event);
      printf(",\"channel\":%u,\"number\":%u,\"from\":%u,\"request\":%s", event->channel,
             event->number, event->peer, event->is_question ? "true" : "false");
      print_data(event);
      break;
    case PERIGEE_ROOMS:
      print_rooms(event);
      break;
    case PERIGEE_CHANNEL_OPENED:
      remember(app->channels, event->name, event->channel);
      printf(",\"channel\":%u", event->channel);
      break;
    case PERIGEE_REDIRECT:
      print_text("host", event->name);
      printf(",\"port\":%u", event->number);
      break;
    default:
      break;
  }
}

static void print_event(App *app, const PerigeeEvent *event) {
  if (is_refusal(app, event)) {
    begin(app, "failed");
    print_text("call", "connect");
    print_code(event->code);
    print_text("text", event->text);
    end();
    return;
  }
  begin(app, EVENTS[event->type]);
  print_request(app, event);
  print_fields(app, event);
  bool is_room = event->type == PERIGEE_JOINED || event->type == PERIGEE_LEFT;
  if (is_room)
    print_text("room", event->name);
  else if (event->room)
    print_text("room", name_of(app->rooms, event->room));
  if (!is_room && event->type != PERIGEE_CONNECTED && event->name[0])
    print_text("name", event->name);
  if (event->type == PERIGEE_PEER_RENAMED)
    print_text("before", event->text);
  else if (event->text[0])
    print_text("text", event->text);
  end();
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

// The bytes of a field of hexadecimal digits, which are replaced by them.
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

static int call_connect(App *app, const Fields *fields) {
  char address[32];
  int code = 0;
  const char *off = field(fields, "reconnect"), *rejoin = field(fields, "rejoin");
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = field(fields, "name");
  options.token = field(fields, "token");
  options.timeout_ms = ms_in(fields, "timeout", 5);
  options.reconnect_first_ms = ms_in(fields, "first", 0.001);
  options.reconnect_max_ms = ms_in(fields, "max", 0.01);
  options.reconnect_for_ms = ms_in(fields, "for", 0);
  options.reconnect = off == NULL || strcmp(off, "false") != 0;
  options.rejoin = rejoin == NULL || strcmp(rejoin, "false") != 0;
  snprintf(address, sizeof address, "127.0.0.1:%s", field(fields, "port"));
  app->client = perigee_connect(address, &options, &code);
  return app->client ? 0 : code;
}

static int call_state(const App *app) {
  static const char *const STATES[] = {"connecting", "open", "reconnecting", "closing",
                                       "closed"};
  begin(app, "state");
  printf(",\"call\":\"state\",\"id\":%u", perigee_peer_id(app->client));
  print_text("name", perigee_name(app->client));
  print_text("state", STATES[perigee_state(app->client)]);
  end();
  return 0;
}

static int call_members(const App *app, uint32_t room) {
  begin(app, "members");
  printf(",\"call\":\"members\"");
  print_members(app, room);
  end();
  return 0;
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
  const char *name = field(fields, "name"), *value = field(fields, "value"),
             *room_name = field(fields, "room");
  uint32_t room = room_name ? number_of(app->rooms, room_name) : 0,
           timeout_ms = ms_in(fields, "timeout", 0);
  uint16_t channel = (uint16_t)number_in(fields, "channel", 0),
           number = (uint16_t)number_in(fields, "number", 0);
  uint16_t served = name ? (uint16_t)number_of(app->channels, name) : 0;
  if (strcmp(call, "connect") == 0) return call_connect(app, fields);
  if (strcmp(call, "join") == 0) return perigee_join(client, room_name, timeout_ms);
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
  if (strcmp(call, "unserve") == 0) return perigee_close_channel(client, served);
  if (strcmp(call, "send_to") == 0) {
    return perigee_send_to(client, served, (uint32_t)number_in(fields, "peer", 0),
                           number, data, size, flags_in(fields));
  }
  if (strcmp(call, "answer") == 0) {
    Question question = take_question(app);
    return perigee_answer(client, &question.question, question.name, value);
  }
  if (strcmp(call, "answer_packet") == 0) {
    Question question = take_question(app);
    return perigee_answer_bytes(client, &question.question, data, size);
  }
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

static void take_line(char *line) {
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
    begin(app, "failed");
    print_text("call", call);
    print_code(request);
    end();
  }
  begin(app, "made");
  end();
}

// --- The loop ---

static void drive(void) {
  for (int i = 0; i < app_count; i++) {
    if (apps[i]->client == NULL) continue;
    perigee_poll(apps[i]->client, 0);
    const PerigeeEvent *event;
    while ((event = perigee_next_event(apps[i]->client))) print_event(apps[i], event);
  }
}

// Waits until a client or the input has something to do; returns whether the input has.
static bool wait_for_input(void) {
  struct pollfd polled[FDS_MAX] = {{.fd = STDIN_FILENO, .events = POLLIN}};
  nfds_t count = 1;
  int wait_ms = -1;
  for (int i = 0; i < app_count && count + 2 <= FDS_MAX; i++) {
    if (apps[i]->client == NULL) continue;
    PerigeeFd fds[2];
    int fd_count = perigee_fds(apps[i]->client, fds);
    for (int k = 0; k < fd_count; k++) {
      short events = (short)((fds[k].wants_read ? POLLIN : 0) |
                             (fds[k].wants_write ? POLLOUT : 0));
      polled[count++] = (struct pollfd){.fd = fds[k].fd, .events = events};
    }
    int ms = perigee_wait_ms(apps[i]->client);
    if (ms >= 0 && (wait_ms < 0 || ms < wait_ms)) wait_ms = ms;
  }
  poll(polled, count, wait_ms);
  return polled[0].revents != 0;
}

int main(void) {
  static char input[INPUT_MAX];
  size_t size = 0;
  for (;;) {
    drive();
    if (!wait_for_input()) continue;
    ssize_t got = read(STDIN_FILENO, input + size, sizeof input - size);
    if (got <= 0) break;
    size += (size_t)got;
    char *line = input, *stop;
    while ((stop = memchr(line, '\n', size - (size_t)(line - input)))) {
      *stop = '\0';
      take_line(line);
      line = stop + 1;
    }
    size -= (size_t)(line - input);
    memmove(input, line, size);
  }
  while (app_count > 0) free_app(apps[0]);
  return 0;
}
