// Queues and parties: requests to the game's script and messages from it, with fixed
// names (docs/protocol.md, section 21).
#include "matchmaking.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "wire/json.h"

// --- Reports ---

// For each message of the server: the type of its event, and the keys of the values that
// become fields of the event. NULL: none.
static const struct {
  const char *name;
  PerigeeEventType type;
  const char *text, *count, *seconds, *peer;
} REPORTS[] = {
    {.name = "matchmaker.queued",
     .type = PERIGEE_MATCHMAKER_QUEUED,
     .text = "queue",
     .count = "position",
     .seconds = "estimate"},
    {.name = "matchmaker.matched",
     .type = PERIGEE_MATCHMAKER_MATCHED,
     .text = "room",
     .count = "team",
     .seconds = "seconds"},
    {.name = "matchmaker.cancelled",
     .type = PERIGEE_MATCHMAKER_CANCELLED,
     .text = "reason"},
    {.name = "matchmaker.timeout", .type = PERIGEE_MATCHMAKER_TIMEOUT, .text = "queue"},
    {.name = "matchmaker.ended", .type = PERIGEE_MATCHMAKER_ENDED, .text = "room"},
    {.name = "party.changed",
     .type = PERIGEE_PARTY_CHANGED,
     .text = "code",
     .peer = "leader"},
    {.name = "party.invited", .type = PERIGEE_PARTY_INVITED, .text = "code"},
    {.name = "party.left", .type = PERIGEE_PARTY_LEFT, .text = "reason"},
};

// Returns the whole part of the number at a key; 0 if the object has no number from 0 to
// UINT32_MAX there.
static uint32_t number_at(Text object, const char *key) {
  Text value = key ? json_find(object, key) : (Text){0};
  uint64_t number = 0;
  for (uint32_t i = 0; i < value.size; i++) {
    char c = value.bytes[i];
    if (c == '.' && i > 0) break;
    if (c < '0' || c > '9') return 0;
    number = number * 10 + (uint64_t)(c - '0');
    if (number > UINT32_MAX) return 0;
  }
  return (uint32_t)number;
}

void matchmaking_read(PerigeeEvent *event, EventParts *parts, Buf *text) {
  Text name = {parts->name.bytes, (uint32_t)parts->name.size};
  Text json = json_trim((Text){parts->data.bytes, (uint32_t)parts->data.size});
  if (event->room != 0 || json.bytes[0] != '{') return;
  for (size_t i = 0; i < sizeof REPORTS / sizeof *REPORTS; i++) {
    if (!text_equals(name, text_from(REPORTS[i].name))) continue;
    event->type = REPORTS[i].type;
    event->count = number_at(json, REPORTS[i].count);
    event->time_us = number_at(json, REPORTS[i].seconds) * UINT64_C(1000000);
    event->peer = number_at(json, REPORTS[i].peer);
    if (json_read_text(json_find(json, REPORTS[i].text), text))
      parts->text = (EventText){text->data, text->size};
  }
}

// --- Requests ---

// Begins the JSON of an object with a text. Returns false if the text is not UTF-8.
static bool begin_object(Buf *json, const char *key, const char *text) {
  if (!text || !text_is_utf8(text, strlen(text))) return false;
  buf_printf(json, "{\"%s\":", key);
  json_put_text(json, text_from(text));
  return true;
}

// Sends a request with an object that lacks its brace, and frees the object.
static int ask_with(PerigeeClient *client, const char *name, Buf *json,
                    uint32_t timeout_ms) {
  buf_append(json, "}", 2);  // with its NUL
  int request = perigee_ask(client, 0, name, (const char *)json->data, timeout_ms);
  buf_deinit(json);
  return request;
}

static int ask_about_peer(PerigeeClient *client, const char *name, uint32_t peer,
                          uint32_t timeout_ms) {
  char json[32];
  snprintf(json, sizeof json, "{\"id\":%u}", (unsigned)peer);
  return perigee_ask(client, 0, name, json, timeout_ms);
}

int perigee_matchmaker_enter(PerigeeClient *client, const char *queue,
                             const char *properties, uint32_t timeout_ms) {
  Buf json = {0};
  if (!begin_object(&json, "queue", queue)) return PERIGEE_BAD_ARGUMENT;
  if (properties) {
    buf_printf(&json, ",\"properties\":");
    buf_append(&json, properties, strlen(properties));
  }
  return ask_with(client, "matchmaker.enter", &json, timeout_ms);
}

int perigee_matchmaker_cancel(PerigeeClient *client, uint32_t timeout_ms) {
  return perigee_ask(client, 0, "matchmaker.cancel", NULL, timeout_ms);
}

int perigee_party_make(PerigeeClient *client, uint32_t timeout_ms) {
  return perigee_ask(client, 0, "party.make", NULL, timeout_ms);
}

int perigee_party_invite(PerigeeClient *client, const char *name, uint32_t timeout_ms) {
  Buf json = {0};
  if (!begin_object(&json, "name", name)) return PERIGEE_BAD_ARGUMENT;
  return ask_with(client, "party.invite", &json, timeout_ms);
}

int perigee_party_join(PerigeeClient *client, const char *code, uint32_t timeout_ms) {
  Buf json = {0};
  if (!begin_object(&json, "code", code)) return PERIGEE_BAD_ARGUMENT;
  return ask_with(client, "party.join", &json, timeout_ms);
}

int perigee_party_leave(PerigeeClient *client, uint32_t timeout_ms) {
  return perigee_ask(client, 0, "party.leave", NULL, timeout_ms);
}

int perigee_party_promote(PerigeeClient *client, uint32_t peer, uint32_t timeout_ms) {
  return ask_about_peer(client, "party.promote", peer, timeout_ms);
}

int perigee_party_kick(PerigeeClient *client, uint32_t peer, uint32_t timeout_ms) {
  return ask_about_peer(client, "party.kick", peer, timeout_ms);
}
