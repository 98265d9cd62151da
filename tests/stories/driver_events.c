#include "driver.h"

#include <stdio.h>
#include <string.h>

// --- What is printed ---

static void print_quoted(const char *text) {
  putchar('"');
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\' || *at < 32)
      printf("\\u%04x", *at);
    else
      putchar(*at);
  }
  putchar('"');
}

void print_text(const char *key, const char *text) {
  printf(",\"%s\":", key);
  print_quoted(text);
}

static void print_hex(const uint8_t *data, size_t size) {
  putchar('"');
  for (size_t i = 0; i < size; i++) printf("%02x", data[i]);
  putchar('"');
}

static void print_data(const PerigeeEvent *event) {
  printf(",\"data\":");
  print_hex(event->data, event->size);
}

void print_begin(const App *app, const char *event) {
  printf("{\"app\":%d,\"event\":\"%s\"", app->number, event);
}

void print_end(void) {
  printf("}\n");
  fflush(stdout);
}

// Functions in C return negative codes. This table has the protocol's names for them.
static int code_of_protocol(int code) {
  switch (code) {
    case PERIGEE_NOT_JOINED:
      return PERIGEE_NOT_IN_ROOM;
    case PERIGEE_BAD_ARGUMENT:
      return PERIGEE_PROTOCOL;
    case PERIGEE_TOO_LARGE:
      return PERIGEE_PAYLOAD_TOO_LARGE;
    case PERIGEE_OFFLINE:
      return PERIGEE_CONNECTION_RESET;
    case PERIGEE_OVER:
      return PERIGEE_CONNECTION_CLOSED;
    default:
      return code;
  }
}

void print_code(int code) {
  print_text("code", perigee_code_name(code_of_protocol(code)));
}

void print_members(const App *app, uint32_t room) {
  printf(",\"members\":{");
  for (uint32_t i = 0; i < perigee_member_count(app->client, room); i++) {
    uint32_t peer = perigee_member(app->client, room, i);
    printf("%s\"%u\":", i ? "," : "", peer);
    print_quoted(perigee_member_name(app->client, room, peer));
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

uint32_t number_of(const Name *names, const char *name) {
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

// --- Events ---

static const char *const EVENTS[] = {
    [PERIGEE_CONNECTED] = "connected",
    [PERIGEE_DISCONNECTED] = "disconnected",
    [PERIGEE_RECONNECTING] = "reconnecting",
    [PERIGEE_RESUMED] = "resumed",
    [PERIGEE_RESTORED] = "restored",
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
    [PERIGEE_ROOMS_FOUND] = "found",
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
    [PERIGEE_TOOL_CHANGED] = "tool_changed",
    [PERIGEE_SIGNED_IN] = "signed_in",
    [PERIGEE_MATCHMAKER_QUEUED] = "matchmaker.queued",
    [PERIGEE_MATCHMAKER_MATCHED] = "matchmaker.matched",
    [PERIGEE_MATCHMAKER_CANCELLED] = "matchmaker.cancelled",
    [PERIGEE_MATCHMAKER_TIMEOUT] = "matchmaker.timeout",
    [PERIGEE_MATCHMAKER_ENDED] = "matchmaker.ended",
    [PERIGEE_PARTY_CHANGED] = "party.changed",
    [PERIGEE_PARTY_INVITED] = "party.invited",
    [PERIGEE_PARTY_LEFT] = "party.left",
};

// Returns whether the event ends a client that was never accepted. The drivers of other
// clients print an error then.
static bool is_refusal(const App *app, const PerigeeEvent *event) {
  return event->type == PERIGEE_CLOSED && perigee_peer_id(app->client) == 0;
}

static void print_value(const PerigeeEvent *event) {
  if (event->type == PERIGEE_ANSWER && event->name[0] == '\0')
    print_data(event);
  else
    print_text("json", event->size ? (const char *)event->data : "null");
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
    printf("%s{\"name\":", i ? "," : "");
    print_quoted(event->rooms[i].name);
    printf(",\"members\":%u}", event->rooms[i].members);
  }
  putchar(']');
}

// --- Lockstep ---

// Prints how a match begins, with its state. After turn N, the state is "state N" and
// the hash is 1000 * N; the state has one part.
static void print_match(const App *app, const PerigeeEvent *event) {
  static const char *const STARTS[] = {"fresh", "snapshot", "goes on"};
  PerigeeMatch match;
  perigee_lockstep_match(app->client, event->room, &match);
  print_text("how", STARTS[event->number]);
  printf(",\"turn\":%u,\"seed\":%u,\"slot\":", event->count, match.seed);
  if (match.slot == PERIGEE_SPECTATOR)
    printf("null");
  else
    printf("%u", match.slot);
  print_data(event);
}

static void print_entries(const PerigeeEvent *event) {
  static const char *const KINDS[] = {"input", "missing", "repeated", "joined", "left"};
  printf(",\"turn\":%u,\"entries\":[", event->count);
  for (uint32_t i = 0; i < event->entry_count; i++) {
    const PerigeeEntry *entry = &event->entries[i];
    printf("%s[%u,\"%s\",", i ? "," : "", entry->slot, KINDS[entry->kind]);
    print_hex(entry->data, entry->size);
    putchar(']');
  }
  putchar(']');
}

static void print_slots(const PerigeeEvent *event) {
  printf(",\"turn\":%u,\"slots\":[", event->count);
  for (size_t i = 0; i < event->size; i++) printf("%s%u", i ? "," : "", event->data[i]);
  putchar(']');
  if (event->type == PERIGEE_DESYNC)
    printf(",\"odd\":%s", event->is_odd ? "true" : "false");
}

static void print_pace(const App *app, const PerigeeEvent *event) {
  PerigeeMatch match;
  perigee_lockstep_match(app->client, event->room, &match);
  printf(",\"speed\":%g,\"delay\":%u", match.speed_percent / 100.0, match.input_delay);
}

// Does the work of a game that no step of a story contains. Returns whether the
// application sees the event.
static bool play(const App *app, const PerigeeEvent *event) {
  char text[32];
  PerigeeMatch match;
  bool is_given =
      event->type == PERIGEE_MATCH && event->number == PERIGEE_MATCH_FROM_SNAPSHOT;
  if (event->type == PERIGEE_SNAPSHOT_WANTED) {
    perigee_lockstep_match(app->client, event->room, &match);
    int size = snprintf(text, sizeof text, "state %u", match.turn);
    perigee_lockstep_snapshot(app->client, event->room, event->count, text,
                              (size_t)size);
    return false;
  }
  if (event->type == PERIGEE_TURN || is_given) {
    perigee_lockstep_done(app->client, event->room, event->count, event->count * 1000);
  }
  if (event->type == PERIGEE_TREE_WANTED) {
    snprintf(text, sizeof text, "{\"part\":%u}", event->count * 1000);
    perigee_lockstep_tree(app->client, event->room, event->count, text);
    return false;
  }
  return true;
}

// Prints the code of a failure. An error of the game has its own code, and a value.
static void print_failure(const PerigeeEvent *event) {
  if (event->code != PERIGEE_FAULT) {
    print_code(event->code);
    return;
  }
  print_text("code", event->name);
  print_text("json", (const char *)event->data);
}

static void print_session(const PerigeeClient *client) {
  printf(",\"time\":%g", (double)perigee_server_time_us(client) / 1e6);
  printf(",\"id\":%u,\"max\":%u,\"tick\":%u", perigee_peer_id(client),
         perigee_max_payload(client), perigee_tick_rate(client));
  print_text("name", perigee_name(client));
  print_text("session", perigee_session(client));
}

// Prints a report about queues or parties: its value, and the fields that the event has
// of it.
static void print_report(const PerigeeEvent *event, const char *text, const char *count,
                         const char *seconds) {
  print_value(event);
  print_text(text, event->text);
  if (count) printf(",\"%s\":%u", count, event->count);
  if (event->time_us) printf(",\"%s\":%g", seconds, (double)event->time_us / 1e6);
  if (event->peer) printf(",\"leader\":%u", event->peer);
}

static void print_fields(App *app, const PerigeeEvent *event) {
  switch (event->type) {
    case PERIGEE_CONNECTED:
      print_session(app->client);
      break;
    case PERIGEE_FAILED:
    case PERIGEE_ERROR:
      print_failure(event);
      break;
    case PERIGEE_DISCONNECTED:
    case PERIGEE_CLOSED:
    case PERIGEE_CHANNEL_CLOSED:
    case PERIGEE_MATCH_ENDED:
    case PERIGEE_LEFT:
      print_code(event->code);
      break;
    case PERIGEE_RECONNECTING:
      printf(",\"attempt\":%u,\"delay\":%f", event->count,
             (double)event->time_us / 1e6);
      break;
    case PERIGEE_RESUMED:
    case PERIGEE_RESTORED:
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
    case PERIGEE_SIGNED_IN:
    case PERIGEE_ROOMS_FOUND:
    case PERIGEE_ANSWER:
      print_value(event);
      break;
    case PERIGEE_MATCHMAKER_QUEUED:
      print_report(event, "queue", "position", "estimate");
      break;
    case PERIGEE_MATCHMAKER_MATCHED:
      print_report(event, "room", "team", "seconds");
      break;
    case PERIGEE_MATCHMAKER_TIMEOUT:
      print_report(event, "queue", NULL, NULL);
      break;
    case PERIGEE_MATCHMAKER_ENDED:
      print_report(event, "room", NULL, NULL);
      break;
    case PERIGEE_PARTY_CHANGED:
    case PERIGEE_PARTY_INVITED:
      print_report(event, "code", NULL, NULL);
      break;
    case PERIGEE_MATCHMAKER_CANCELLED:
    case PERIGEE_PARTY_LEFT:
      print_report(event, "reason", NULL, NULL);
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
    case PERIGEE_MATCH:
      print_match(app, event);
      break;
    case PERIGEE_TURN:
      print_entries(event);
      break;
    case PERIGEE_PACE:
      print_pace(app, event);
      break;
    case PERIGEE_DESYNC:
    case PERIGEE_WAITING:
      print_slots(event);
      break;
    case PERIGEE_REDIRECT:
      print_text("host", event->name);
      printf(",\"port\":%u", event->number);
      break;
    default:
      break;
  }
}

static bool is_shown(const App *app, const char *event) {
  char word[32];
  snprintf(word, sizeof word, ",%s,", event);
  return app->only[0] == '\0' || strstr(app->only, word) != NULL;
}

void print_event(App *app, const PerigeeEvent *event) {
  if (!is_shown(app, is_refusal(app, event) ? "failed" : EVENTS[event->type])) {
    play(app, event);
    return;
  }
  if (is_refusal(app, event)) {
    print_begin(app, "failed");
    print_text("call", "connect");
    print_code(event->code);
    print_text("text", event->text);
    print_end();
    return;
  }
  if (!play(app, event)) return;
  print_begin(app, EVENTS[event->type]);
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
  print_end();
}
