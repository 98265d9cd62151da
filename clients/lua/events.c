// Events as tables, in the form that docs/lua-client.md describes. The field `room_id`
// is the number of a room; `answers` is the request that an event answers.
#include <stdbool.h>

#include "core.h"

static void set_integer(lua_State *L, const char *name, lua_Number number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, int flag) {
  lua_pushboolean(L, flag);
  lua_setfield(L, -2, name);
}

static void set_bytes(lua_State *L, const char *name, const void *bytes, size_t size) {
  lua_pushlstring(L, bytes, size);
  lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void set_reason(lua_State *L, const PerigeeEvent *event) {
  set_text(L, "code", perigee_code_name(event->code));
  set_text(L, "message", event->text);
}

// Sets the fields of an error. An error of the game has a code of its own, and a value
// as JSON.
static void set_error(lua_State *L, const PerigeeEvent *event) {
  set_reason(L, event);
  if (event->code != PERIGEE_FAULT) return;
  set_text(L, "code", event->name);
  set_bytes(L, "fault", event->data, event->size);
}

static void set_seconds(lua_State *L, const char *name, const PerigeeEvent *event) {
  set_integer(L, name, (lua_Number)event->time_us / 1e6);
}

static void set_question(lua_State *L, const PerigeeEvent *event) {
  set_bytes(L, "question", &event->question, sizeof event->question);
}

static void set_peer(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "id", event->peer);
  set_text(L, "name", event->name);
}

static void set_data(lua_State *L, const char *name, const PerigeeEvent *event) {
  set_bytes(L, name, event->data, event->size);
}

static void set_message(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "number", event->number);
  if (event->number == 0) set_text(L, "name", event->name);
  if (event->room == 0) set_integer(L, "room_id", 0);
  set_data(L, "body", event);
}

static void set_packet(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "channel", event->channel);
  set_integer(L, "number", event->number);
  set_integer(L, "sender", event->peer);
  set_data(L, "payload", event);
  set_flag(L, "request", event->is_question);
  set_flag(L, "reliable", event->is_reliable);
  if (event->is_question) set_question(L, event);
}

static void set_rooms(lua_State *L, const PerigeeEvent *event) {
  lua_createtable(L, (int)event->count, 0);
  for (uint32_t i = 0; i < event->count; i++) {
    lua_createtable(L, 0, 2);
    set_text(L, "name", event->rooms[i].name);
    set_integer(L, "members", event->rooms[i].members);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "rooms");
}

static void set_found(lua_State *L, const PerigeeEvent *event) {
  set_data(L, "found", event);
}

// --- Lockstep ---

static uint32_t read_u32(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

static void set_entry(lua_State *L, const PerigeeEntry *entry) {
  static const char *const KINDS[] = {
      [PERIGEE_INPUT] = "input",
      [PERIGEE_INPUT_MISSING] = "missing",
      [PERIGEE_INPUT_REPEATED] = "repeated",
      [PERIGEE_PLAYER_JOINED] = "joined",
      [PERIGEE_PLAYER_LEFT] = "left",
  };
  set_integer(L, "slot", entry->slot);
  set_text(L, "kind", KINDS[entry->kind]);
  bool is_player = entry->kind == PERIGEE_PLAYER_JOINED && entry->size >= 4;
  set_bytes(L, "data", entry->data, is_player ? 0 : entry->size);
  if (!is_player) return;
  set_integer(L, "id", read_u32(entry->data));
  set_bytes(L, "name", entry->data + 4, entry->size - 4);
}

static void set_entries(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "turn", event->count);
  lua_createtable(L, (int)event->entry_count, 0);
  for (uint32_t i = 0; i < event->entry_count; i++) {
    lua_newtable(L);
    set_entry(L, &event->entries[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "entries");
}

static void set_start(lua_State *L, const PerigeeEvent *event) {
  static const char *const HOW[] = {[PERIGEE_MATCH_FRESH] = "fresh",
                                    [PERIGEE_MATCH_FROM_SNAPSHOT] = "snapshot",
                                    [PERIGEE_MATCH_GOES_ON] = "goes_on"};
  set_text(L, "how", HOW[event->number]);
  set_integer(L, "turn", event->count);
  set_data(L, "data", event);
}

static void set_slots(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "turn", event->count);
  set_flag(L, "is_odd", event->is_odd);
  lua_createtable(L, (int)event->size, 0);
  for (size_t i = 0; i < event->size; i++) {
    lua_pushinteger(L, event->data[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "slots");
}

// --- The table of events ---

static void set_try(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "attempt", event->count);
  set_integer(L, "retry", event->number);
  set_seconds(L, "delay", event);
  set_reason(L, event);
}

static void set_resumed(lua_State *L, const PerigeeEvent *event) {
  set_seconds(L, "seconds", event);
  set_integer(L, "resent", event->count);
}

static void set_restored(lua_State *L, const PerigeeEvent *event) {
  set_seconds(L, "seconds", event);
  set_integer(L, "dropped", event->count);
}

static void set_dropped(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "dropped", event->count);
}

static void set_name(lua_State *L, const PerigeeEvent *event) {
  set_text(L, "name", event->name);
}

static void set_rename(lua_State *L, const PerigeeEvent *event) {
  set_peer(L, event);
  set_text(L, "before", event->text);
  if (event->room == 0) set_integer(L, "room_id", 0);
}

static void set_relay(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "sender", event->peer);
  if (*event->name) set_text(L, "name", event->name);
  set_data(L, "data", event);
}

static void set_asked(lua_State *L, const PerigeeEvent *event) {
  set_message(L, event);
  set_question(L, event);
}

static void set_answer(lua_State *L, const PerigeeEvent *event) {
  if (event->channel != 0)
    set_packet(L, event);
  else
    set_message(L, event);
}

static void set_round_trip(lua_State *L, const PerigeeEvent *event) {
  set_seconds(L, "seconds", event);
}

static void set_channel(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "channel", event->channel);
  set_text(L, "name", event->name);
  set_reason(L, event);
}

static void set_redirect(lua_State *L, const PerigeeEvent *event) {
  set_text(L, "host", event->name);
  set_integer(L, "port", event->number);
}

static void set_number(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "number", event->count);
}

static void set_missed(lua_State *L, const PerigeeEvent *event) {
  set_integer(L, "turn", event->count);
  set_data(L, "data", event);
}

// For each type of event in C: the name in Lua, and the function that sets the fields
// (NULL: no fields).
static const struct {
  const char *type;
  void (*set)(lua_State *L, const PerigeeEvent *event);
} EVENTS[] = {
    [PERIGEE_CONNECTED] = {"connected", NULL},
    [PERIGEE_DISCONNECTED] = {"disconnected", set_reason},
    [PERIGEE_RECONNECTING] = {"reconnecting", set_try},
    [PERIGEE_RESUMED] = {"resumed", set_resumed},
    [PERIGEE_RESTORED] = {"restored", set_restored},
    [PERIGEE_LOST] = {"lost", set_dropped},
    [PERIGEE_CLOSED] = {"closed", set_reason},
    [PERIGEE_JOINED] = {"joined", set_name},
    [PERIGEE_LEFT] = {"left", set_reason},
    [PERIGEE_PEER_JOINED] = {"peer_joined", set_peer},
    [PERIGEE_PEER_LEFT] = {"peer_left", set_peer},
    [PERIGEE_RELAY] = {"broadcast", set_relay},
    [PERIGEE_MESSAGE] = {"message", set_message},
    [PERIGEE_QUESTION] = {"ask", set_asked},
    [PERIGEE_ANSWER] = {"answer", set_answer},
    [PERIGEE_PACKET] = {"packet", set_packet},
    [PERIGEE_FAILED] = {"failed", set_error},
    [PERIGEE_ERROR] = {"error", set_error},
    [PERIGEE_ROOMS] = {"rooms", set_rooms},
    [PERIGEE_PONG] = {"pong", set_round_trip},
    [PERIGEE_SYNCED] = {"synced", NULL},
    [PERIGEE_CHANNEL_OPENED] = {"channel_opened", set_channel},
    [PERIGEE_CHANNEL_CLOSED] = {"channel_closed", set_channel},
    [PERIGEE_REDIRECT] = {"redirect", set_redirect},
    [PERIGEE_UDP_UP] = {"udp_up", NULL},
    [PERIGEE_UDP_DOWN] = {"udp_down", set_reason},
    [PERIGEE_MATCH] = {"match", set_start},
    [PERIGEE_TURN] = {"turn", set_entries},
    [PERIGEE_PACE] = {"pace", NULL},
    [PERIGEE_SNAPSHOT_WANTED] = {"snapshot_wanted", set_number},
    [PERIGEE_TREE_WANTED] = {"tree_wanted", set_number},
    [PERIGEE_DESYNC] = {"desync", set_slots},
    [PERIGEE_WAITING] = {"waiting", set_slots},
    [PERIGEE_MATCH_ENDED] = {"match_ended", set_reason},
    [PERIGEE_PEER_RENAMED] = {"peer_renamed", set_rename},
    [PERIGEE_INPUT_WANTED] = {"input_wanted", NULL},
    [PERIGEE_INPUT_MISSED] = {"input_missed", set_missed},
    [PERIGEE_TOOL_CHANGED] = {"tool_changed", NULL},
    [PERIGEE_ROOMS_FOUND] = {"rooms_found", set_found},
    [PERIGEE_SIGNED_IN] = {"signed_in", set_found},
    [PERIGEE_MATCHMAKER_QUEUED] = {"message", set_message},
    [PERIGEE_MATCHMAKER_MATCHED] = {"message", set_message},
    [PERIGEE_MATCHMAKER_CANCELLED] = {"message", set_message},
    [PERIGEE_MATCHMAKER_TIMEOUT] = {"message", set_message},
    [PERIGEE_MATCHMAKER_ENDED] = {"message", set_message},
    [PERIGEE_PARTY_CHANGED] = {"message", set_message},
    [PERIGEE_PARTY_INVITED] = {"message", set_message},
    [PERIGEE_PARTY_LEFT] = {"message", set_message},
};

void core_push_event(lua_State *L, const PerigeeEvent *event) {
  lua_createtable(L, 0, 6);
  set_text(L, "type", EVENTS[event->type].type);
  if (event->request != 0) set_integer(L, "answers", event->request);
  if (event->room != 0) set_integer(L, "room_id", event->room);
  if (event->by_udp) set_flag(L, "by_udp", 1);
  if (EVENTS[event->type].set) EVENTS[event->type].set(L, event);
}
