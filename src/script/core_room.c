// perigee.core: rooms, their members, and plugin channels. Unless they say otherwise,
// the functions return the state before the running handler. They know the rooms that
// the handler has created.
#include "relay/room.h"

#include <lauxlib.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "relay/describe.h"
#include "relay/listing.h"
#include "script/core.h"

static Room *find_room(lua_State *L, int at) {
  return relay_room(core_host(L)->relay, core_id(L, at));
}

// Pushes a field of the table at `at`. If the field exists, sets its bit and returns
// true.
static bool get_setting(lua_State *L, int at, const char *name, RoomSetting setting,
                        RoomSettings *settings) {
  lua_getfield(L, at, name);
  if (lua_isnil(L, -1)) return false;
  settings->given |= setting;
  return true;
}

// Relies on the Lua half, which has checked the types.
RoomSettings core_room_settings(lua_State *L, int at) {
  RoomSettings settings = {0};
  RoomKind *values = &settings.values;
  if (lua_isnoneornil(L, at)) return settings;
  luaL_checktype(L, at, LUA_TTABLE);
  if (get_setting(L, at, "capacity", SETTING_CAPACITY, &settings))
    values->capacity = (uint32_t)lua_tonumber(L, -1);
  if (get_setting(L, at, "hidden", SETTING_HIDDEN, &settings))
    values->is_hidden = lua_toboolean(L, -1);
  if (get_setting(L, at, "locked", SETTING_LOCKED, &settings))
    values->is_locked = lua_toboolean(L, -1);
  if (get_setting(L, at, "permanent", SETTING_KEEP, &settings))
    values->keep = lua_toboolean(L, -1) ? KEEP_ALL : KEEP_NONE;
  if (get_setting(L, at, "auto_delete", SETTING_AUTO_DELETE, &settings)) {
    values->has_auto_delete = true;
    values->auto_delete_ms = (uint64_t)(lua_tonumber(L, -1) * 1000);
  }
  if (get_setting(L, at, "password", SETTING_PASSWORD, &settings) &&
      lua_toboolean(L, -1)) {
    Text password = core_text(L, -1);
    values->has_password = true;
    values->password = secret_of(password.bytes, password.size);
  }
  lua_pop(L, 6);
  return settings;
}

// room_create(name, settings, is_for_join): returns the id
static int core_room_create(lua_State *L) {
  int err = 0;
  Relay *relay = core_host(L)->relay;
  RoomSettings settings = core_room_settings(L, 2);
  uint32_t room = relay_create(relay, core_text(L, 1), &err);
  switch (err) {
    case 0:
      relay_configure(relay, room, &settings);
      if (lua_toboolean(L, 3)) relay_create_for_join(relay, room);
      lua_pushnumber(L, room);
      return 1;
    case ERR_EXISTS:
      return core_fail(L, "a room of that name exists", "Exists");
    case ERR_FULL:
      return core_fail(L, "max_rooms is reached", code_name(CODE_SERVER_FULL));
    default:
      return core_fail(L, "room names are " TEXT_NAME_RULE, "Invalid");
  }
}

// room_set(room, settings): changes settings of the room
static int core_room_set(lua_State *L) {
  RoomSettings settings = core_room_settings(L, 2);
  Command command = {.type = COMMAND_ROOM_SET,
                     .id = core_id(L, 1),
                     .body = {(const char *)&settings, sizeof settings}};
  return core_room_result(L, relay_command(core_host(L)->relay, &command));
}

// room_settings(room): returns the settings, including changes by the running handler;
// nil if the room is gone
static int core_room_get_settings(lua_State *L) {
  const Room *room = find_room(L, 1);
  if (room == NULL) return 0;
  RoomKind kind = relay_room_settings(core_host(L)->relay, room);
  lua_createtable(L, 0, 5);
  if (kind.capacity > 0) core_set_number(L, "capacity", kind.capacity);
  core_set_switch(L, "hidden", kind.is_hidden);
  core_set_switch(L, "locked", kind.is_locked);
  core_set_switch(L, "permanent", !room_is_temporary(room, &kind));
  core_set_switch(L, "has_password", kind.has_password);
  return 1;
}

static int core_room_delete(lua_State *L) {
  Command command = {.type = COMMAND_ROOM_DELETE, .id = core_id(L, 1)};
  return core_room_result(L, relay_command(core_host(L)->relay, &command));
}

// join(peer, room, token): adds the peer; if `token` is not 0, an event reports the
// outcome
static int core_join(lua_State *L) {
  Command command = {.type = COMMAND_JOIN,
                     .id = core_id(L, 1),
                     .room = core_id(L, 2),
                     .token = core_id(L, 3)};
  const Room *room = find_room(L, 2);
  if (room == NULL || room->state > ROOM_OPEN)
    return core_room_result(L, ERR_NOT_FOUND);
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

// join_never_ends(peer, room): returns nil if the running handler can wait for the end
// of the join; otherwise returns the reason as a text
static int core_join_never_ends(lua_State *L) {
  const Host *host = core_host(L);
  const Event *event = &host->event;
  const Peer *peer = session_find(relay_session(host->relay), core_id(L, 1));
  if (peer != NULL && peer->state == PEER_CONNECTING) {
    lua_pushliteral(L,
                    "the peer is not let in yet: on_connect's joins are carried out "
                    "after WELCOME");
    return 1;
  }
  if (event->type == EVENT_CREATE && event->room == core_id(L, 2)) {
    lua_pushliteral(L, "nobody joins a room before its on_create has ended");
    return 1;
  }
  return 0;
}

// leave(peer, room, code, text): removes the peer
static int core_leave(lua_State *L) {
  Command command = {.type = COMMAND_LEAVE,
                     .id = core_id(L, 1),
                     .room = core_id(L, 2),
                     .code = core_id(L, 3),
                     .body = core_text(L, 4)};
  if (relay_command(core_host(L)->relay, &command) != 0)
    return core_fail(L, "not in the room", code_name(CODE_NOT_IN_ROOM));
  lua_pushboolean(L, 1);
  return 1;
}

// room_find(name, is_creating): returns the id of the room of that name, or nil. With
// is_creating, also finds a room whose on_create has not ended.
static int core_room_find(lua_State *L) {
  const Relay *relay = core_host(L)->relay;
  uint32_t id = relay_find_room(relay, core_text(L, 1));
  if (id == 0) return 0;
  if (relay_room(relay, id)->state == ROOM_CREATING && !lua_toboolean(L, 2)) return 0;
  lua_pushnumber(L, id);
  return 1;
}

// rooms(is_all): returns the ids of the rooms that can be joined, including those that
// the handler has created. With is_all, returns all rooms that other handlers know,
// including deleted ones with members.
static int core_rooms(lua_State *L) {
  const Relay *relay = core_host(L)->relay;
  int is_all = lua_toboolean(L, 1), count = 0;
  lua_newtable(L);
  uint32_t cursor = 0;
  for (const Room *room; (room = relay_next_room(relay, &cursor)) != NULL;) {
    if (room->state == (is_all ? ROOM_RESERVED : ROOM_DELETED)) continue;
    if (room->state == ROOM_CREATING) continue;
    lua_pushnumber(L, room->id);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

// query_rooms(json): returns ids, and the name after which the next page begins, or nil
// at the end. Returns nil and an error text for a wrong query.
static int core_query_rooms(lua_State *L) {
  RoomQuery query;
  const char *wrong = query_read(&query, core_text(L, 1));
  int count = 0;
  if (wrong != NULL)
    lua_pushnil(L);
  else
    lua_newtable(L);
  for (const Room *room;
       wrong == NULL && (room = query_next(core_host(L)->relay, &query)) != NULL;) {
    lua_pushnumber(L, room->id);
    lua_rawseti(L, -2, ++count);
  }
  if (wrong != NULL)
    lua_pushstring(L, wrong);
  else if (query.at.size > 0)
    lua_pushlstring(L, (const char *)query.at.data, query.at.size);
  else
    lua_pushnil(L);
  query_deinit(&query);
  return 2;
}

static int core_room_name(lua_State *L) {
  const Room *room = find_room(L, 1);
  if (room == NULL) return 0;
  lua_pushlstring(L, room->name, room->name_size);
  return 1;
}

// room_count(room): returns the number of members, and of connected members
static int core_room_count(lua_State *L) {
  const Room *room = find_room(L, 1);
  lua_pushnumber(L, room == NULL ? 0 : room->count);
  lua_pushnumber(L, room == NULL ? 0 : room_present(room));
  return 2;
}

static int core_room_members(lua_State *L) {
  const Room *room = find_room(L, 1);
  lua_newtable(L);
  int count = 0;
  for (uint32_t place = 0, id; room != NULL && (id = room_next_member(room, &place));) {
    lua_pushnumber(L, id);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

// room_has(room, peer): returns whether the peer is a member
static int core_room_has(lua_State *L) {
  const Session *session = relay_session(core_host(L)->relay);
  const Peer *peer = session_find(session, core_id(L, 2));
  lua_pushboolean(L, peer != NULL && relay_is_member(peer, core_id(L, 1)));
  return 1;
}

// describe_room(room): returns JSON
static int core_describe_room(lua_State *L) {
  Buf json = {0};
  buf_u8(&json, '{');
  describe_room(&json, find_room(L, 1));
  buf_u8(&json, '}');
  lua_pushlstring(L, (const char *)json.data, json.size);
  buf_deinit(&json);
  return 1;
}

// set_room_meta(room, key, json, is_public): sets a value; nil removes the key
static int core_set_room_meta(lua_State *L) {
  Command command = {.type = COMMAND_ROOM_META,
                     .id = core_id(L, 1),
                     .name = core_text(L, 2),
                     .flags = 0};
  if (!lua_isnoneornil(L, 3)) {
    command.flags = lua_toboolean(L, 4) ? META_SETS | META_PUBLIC : META_SETS;
    command.body = core_text(L, 3);
  }
  int result = relay_command(core_host(L)->relay, &command);
  if (result == ERR_INVALID)
    return core_fail(L, "a meta key has 1 to 64 bytes", "Invalid");
  if (result == ERR_FULL)
    return core_fail(
        L, "the meta of a room has 64 KiB of JSON at most, 4 KiB of it public",
        code_name(CODE_PAYLOAD_TOO_LARGE));
  return core_room_result(L, result);
}

// room_meta(room, key): returns JSON, or nil
static int core_room_meta(lua_State *L) {
  Text json;
  if (!relay_room_meta(core_host(L)->relay, core_id(L, 1), core_text(L, 2), &json))
    return 0;
  lua_pushlstring(L, json.bytes, json.size);
  return 1;
}

// room_metas(room): returns a table key -> JSON with the values before the handler
static int core_room_metas(lua_State *L) {
  const Room *room = find_room(L, 1);
  RoomMeta meta;
  lua_newtable(L);
  for (size_t at = 0; room != NULL && room_next_meta(room, &at, &meta);) {
    lua_pushlstring(L, meta.key.bytes, meta.key.size);
    lua_pushlstring(L, meta.json.bytes, meta.json.size);
    lua_rawset(L, -3);
  }
  return 1;
}

// --- Plugin channels ---

static int fail_taken(lua_State *L, const Relay *relay, uint16_t first, uint16_t last) {
  Text name = {0};
  char text[160];
  if (first == last && relay_channel_name(relay, first, &name))
    snprintf(text, sizeof text, "the number %d is that of the channel \"%.*s\"", first,
             (int)name.size, name.bytes);
  else
    snprintf(text, sizeof text,
             "it has another number already, which stays while the server runs");
  return core_fail(L, text, code_name(CODE_CHANNEL_TAKEN));
}

// channel_open(name, first, last): returns a channel's number from `first` to `last`
// (0: any number), and whether the channel ends with this version of the script. On
// failure, returns nil, message, code.
static int core_channel_open(lua_State *L) {
  const Host *host = core_host(L);
  int err;
  uint16_t first = (uint16_t)core_id(L, 2), last = (uint16_t)core_id(L, 3);
  uint16_t channel = relay_channel(host->relay, core_text(L, 1), first, last, &err);
  if (channel == 0 && err == ERR_INVALID)
    return core_fail(L, "channel names are " TEXT_NAME_RULE, "Invalid");
  if (channel == 0 && err == ERR_EXISTS)
    return core_fail(L, "a client serves this channel", code_name(CODE_CHANNEL_TAKEN));
  if (channel == 0 && err == ERR_TAKEN) return fail_taken(L, host->relay, first, last);
  if (channel == 0)
    return core_fail(L, "no number is left for this channel",
                     code_name(CODE_SERVER_FULL));
  lua_pushinteger(L, channel);
  lua_pushboolean(L, host->is_owned);
  return 2;
}

// channel_name(number): returns the name of the channel with that number, or nil
static int core_channel_name(lua_State *L) {
  Text name;
  if (!relay_channel_name(core_host(L)->relay, (uint16_t)core_id(L, 1), &name))
    return 0;
  lua_pushlstring(L, name.bytes, name.size);
  return 1;
}

// channel_spans(list): sets the numbers that channels of certain names may have. The
// list is { name, first, last, name, first, ... }.
static int core_channel_spans(lua_State *L) {
  Relay *relay = core_host(L)->relay;
  luaL_checktype(L, 1, LUA_TTABLE);
  int count = (int)lua_objlen(L, 1);
  relay_channel_spans_begin(relay);
  for (int i = 1; i < count; i += 3, lua_settop(L, 1)) {
    for (int k = 0; k < 3; k++) lua_rawgeti(L, 1, i + k);
    relay_channel_span(relay, core_text(L, 2), (uint16_t)core_id(L, 3),
                       (uint16_t)core_id(L, 4));
  }
  return 0;
}

// channel_close(channel): stops serving the channel
static int core_channel_close(lua_State *L) {
  Command command = {.type = COMMAND_CHANNEL_CLOSE, .id = core_id(L, 1)};
  lua_pushboolean(L, relay_command(core_host(L)->relay, &command) == 0);
  return 1;
}

// channel_find(name): returns the number, and the peer that serves the channel (0: the
// script); nil if nobody serves it
static int core_channel_find(lua_State *L) {
  uint32_t peer;
  uint16_t channel = relay_find_channel(core_host(L)->relay, core_text(L, 1), &peer);
  if (channel == 0) return 0;
  lua_pushinteger(L, channel);
  lua_pushnumber(L, peer);
  return 2;
}

const luaL_Reg core_room_functions[] = {{"room_create", core_room_create},
                                        {"room_set", core_room_set},
                                        {"room_settings", core_room_get_settings},
                                        {"room_delete", core_room_delete},
                                        {"join", core_join},
                                        {"join_never_ends", core_join_never_ends},
                                        {"leave", core_leave},
                                        {"room_find", core_room_find},
                                        {"rooms", core_rooms},
                                        {"query_rooms", core_query_rooms},
                                        {"room_name", core_room_name},
                                        {"room_count", core_room_count},
                                        {"room_members", core_room_members},
                                        {"room_has", core_room_has},
                                        {"describe_room", core_describe_room},
                                        {"set_room_meta", core_set_room_meta},
                                        {"room_meta", core_room_meta},
                                        {"room_metas", core_room_metas},
                                        {"channel_open", core_channel_open},
                                        {"channel_close", core_channel_close},
                                        {"channel_find", core_channel_find},
                                        {"channel_name", core_channel_name},
                                        {"channel_spans", core_channel_spans},
                                        {NULL, NULL}};
