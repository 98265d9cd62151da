// perigee.core: images of states, and the parts of sessions and rooms that survive the
// process.
#include <lauxlib.h>
#include <sodium.h>
#include <string.h>

#include "base/hash.h"
#include "relay/room.h"
#include "script/core.h"
#include "script/guard/deadline.h"
#include "script/image.h"
#include "wire/json.h"

enum {
  HASH_SIZE = 8,
  BYTES_PER_STEP = 16,
  KEPT_SCHEMA = 1,  // schema of the documents that durable.lua writes
};

// Charges the work, and frees the buffer if it has become large.
static void end_image(Host *host, lua_State *L) {
  uint32_t steps = (uint32_t)(host->scratch.size / BYTES_PER_STEP);
  host->scratch.size = 0;
  buf_trim(&host->scratch);
  deadline_charge(host, L, steps);
}

// Replaces the bytes behind `from` by their Base64. libsodium's encoder is for secrets,
// and takes several times as long.
static void encode_base64(Buf *bytes, size_t from) {
  static const char DIGITS[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t size = bytes->size - from, groups = (size + 2) / 3;
  buf_reserve(bytes, groups * 4);
  // Works from the last group to the first, because the text is longer than the bytes.
  for (size_t i = groups; i-- > 0;) {
    const uint8_t *in = bytes->data + from + i * 3;
    uint8_t *out = bytes->data + from + i * 4;
    bool has_second = i * 3 + 1 < size, has_third = i * 3 + 2 < size;
    uint32_t group = (uint32_t)in[0] << 16;
    if (has_second) group |= (uint32_t)in[1] << 8;
    if (has_third) group |= in[2];
    out[3] = has_third ? (uint8_t)DIGITS[group & 63] : '=';
    out[2] = has_second ? (uint8_t)DIGITS[group >> 6 & 63] : '=';
    out[1] = (uint8_t)DIGITS[group >> 12 & 63];
    out[0] = (uint8_t)DIGITS[group >> 18];
  }
  bytes->size = from + groups * 4;
}

// image_take(value, name, hash, head): returns the hash of the value's image; and, if
// it differs from `hash`, the JSON of the object that begins with `head`, with the image
// as Base64 in the field `image`; or nil, and whether the image is too large. `name`
// gets an object and returns its text.
static int core_image_take(lua_State *L) {
  Host *host = core_host(L);
  Buf *json = &host->scratch;
  size_t size = 0;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  const char *old = luaL_optlstring(L, 3, "", &size);
  Text head = core_text(L, 4);
  json->size = 0;
  buf_append(json, head.bytes, head.size);
  buf_append(json, ",\"image\":\"", 10);
  size_t start = json->size;
  ImageResult result = image_take(L, 1, 2, json);
  if (result != IMAGE_TAKEN) {
    end_image(host, L);
    lua_pushnil(L);
    lua_pushboolean(L, result == IMAGE_TOO_LARGE);
    return 2;
  }
  uint64_t hash = hash_bytes(NULL, json->data + start, json->size - start);
  bool is_same = size == HASH_SIZE && memcmp(&hash, old, HASH_SIZE) == 0;
  lua_pushlstring(L, (const char *)&hash, HASH_SIZE);
  if (!is_same) {
    encode_base64(json, start);
    buf_append(json, "\"}", 2);
    lua_pushlstring(L, (const char *)json->data, json->size);
  }
  end_image(host, L);
  return is_same ? 1 : 2;
}

// image_read(base64, find): returns true and the value of an image; or false, if the
// bytes are not an image. `find` gets the text of an object, and returns the object, or
// nil.
static int core_image_read(lua_State *L) {
  size_t size, count;
  const char *text = luaL_checklstring(L, 1, &size);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  uint8_t *bytes = lua_newuserdata(L, size + 1);
  bool is_good = sodium_base642bin(bytes, size + 1, text, size, NULL, &count, NULL,
                                   sodium_base64_VARIANT_ORIGINAL) == 0;
  lua_pushboolean(L, 1);
  if (is_good && image_read(L, 2, bytes, count)) return 2;
  lua_pushboolean(L, 0);
  return 1;
}

// --- Sessions ---

static void set_hex(lua_State *L, const char *name, const uint8_t *bytes, size_t size) {
  char hex[2 * 2 * TOKEN_HASH_SIZE + 1];
  sodium_bin2hex(hex, sizeof hex, bytes, size);
  core_set_text(L, name, hex);
}

static bool get_hex(lua_State *L, int at, const char *name, uint8_t *bytes,
                    size_t size) {
  size_t length, count;
  lua_getfield(L, at, name);
  const char *hex = lua_tolstring(L, -1, &length);
  bool is_good = hex &&
                 sodium_hex2bin(bytes, size, hex, length, NULL, &count, NULL) == 0 &&
                 count == size;
  lua_pop(L, 1);
  return is_good;
}

static Text get_text(lua_State *L, int at, const char *name) {
  size_t size = 0;
  lua_getfield(L, at, name);
  const char *bytes = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : "";
  lua_pop(L, 1);  // the table keeps the string
  return (Text){bytes, (uint32_t)size};
}

static double get_number(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  double number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number >= 0 && number <= UINT32_MAX ? number : 0;
}

static bool get_switch(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  bool is_on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_on;
}

static void push_durable_rooms(lua_State *L, const Host *host, const Peer *peer) {
  int count = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < peer->relay.room_count; i++) {
    const Room *room = relay_room(host->relay, peer->relay.rooms[i].room);
    if (!room->kind.is_durable) continue;
    lua_pushlstring(L, room->name, room->name_size);
    lua_rawseti(L, -2, ++count);
  }
}

// kept_session(peer, session): returns the part of a session that survives the process;
// nil if the session has ended or cannot be resumed. `session` has the bytes of its
// UUID; nil: any session.
static int core_kept_session(lua_State *L) {
  const Host *host = core_host(L);
  Session *session = relay_session(host->relay);
  const Peer *peer = session_find(session, core_id(L, 1));
  size_t size = 0;
  const char *uuid = luaL_optlstring(L, 2, NULL, &size);
  KeptSession kept;
  if (!peer || !session_kept(session, peer, &kept) ||
      (uuid && (size != UUID_SIZE || memcmp(uuid, kept.session, UUID_SIZE) != 0)))
    return 0;
  lua_createtable(L, 0, 10);
  core_set_number(L, "peer", kept.id);
  set_hex(L, "session", kept.session, UUID_SIZE);
  set_hex(L, "hashes", kept.hashes[0], sizeof kept.hashes);
  set_hex(L, "protocol_hash", (const uint8_t *)&kept.protocol_hash,
          sizeof kept.protocol_hash);
  lua_pushlstring(L, kept.name.bytes, kept.name.size);
  lua_setfield(L, -2, "name");
  core_set_text(L, "transport", kept.transport.bytes);
  core_set_switch(L, "renamed", kept.is_renamed);
  push_durable_rooms(L, host, peer);
  lua_setfield(L, -2, "rooms");
  return 1;
}

// restore_session(kept, seconds, is_over): makes a suspended peer from a table of
// kept_session. The client was last heard `seconds` ago. Returns the peer's id; false
// if the session does not survive; nil if the table is damaged. If `is_over` is true,
// no token resumes the session.
static int core_restore_session(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  KeptSession kept = {.id = (uint32_t)get_number(L, 1, "peer"),
                      .name = get_text(L, 1, "name"),
                      .transport = get_text(L, 1, "transport"),
                      .is_renamed = get_switch(L, 1, "renamed")};
  double seconds = luaL_checknumber(L, 2);
  if (!get_hex(L, 1, "session", kept.session, UUID_SIZE) ||
      !get_hex(L, 1, "hashes", kept.hashes[0], sizeof kept.hashes) ||
      !get_hex(L, 1, "protocol_hash", (uint8_t *)&kept.protocol_hash,
               sizeof kept.protocol_hash))
    return 0;
  if (lua_toboolean(L, 3)) memset(kept.hashes, 0, sizeof kept.hashes);
  Session *session = relay_session(core_host(L)->relay);
  if (!session_can_restore(session)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  const Peer *peer =
      session_restore(session, &kept, seconds > 0 ? (uint64_t)(seconds * 1000) : 0);
  if (!peer) return 0;
  lua_pushnumber(L, peer->id);
  return 1;
}

// keep_sessions(is_on): switches events `keep` on or off, which report changes of
// sessions
static int core_keep_sessions(lua_State *L) {
  core_host(L)->keeps = lua_toboolean(L, 1);
  return 0;
}

// release(conn): sends the output of a connection that an event `keep` holds back
static int core_release(lua_State *L) {
  net_release(core_host(L)->net, core_id(L, 1));
  return 0;
}

// --- Documents ---

// unix(): returns seconds since 1970, with their fraction
static int core_unix(lua_State *L) {
  lua_pushnumber(L, (double)net_unix_us(core_host(L)->net) / 1e6);
  return 1;
}

// keep_settings(): returns save_interval, durable and version
static int core_keep_settings(lua_State *L) {
  const Host *host = core_host(L);
  ScriptStore settings = host->events->config_store(host->events_data);
  lua_pushnumber(L, settings.save_s);
  lua_pushboolean(L, settings.is_durable);
  lua_pushnumber(L, settings.version);
  return 3;
}

// Adds a document to the two tables of kept_documents.
static bool on_row(void *data, const BackendRow *row) {
  lua_State *L = data;
  lua_pushlstring(L, row->id.bytes, row->id.size);
  lua_pushvalue(L, -1);
  lua_pushlstring(L, row->document.value.bytes, row->document.value.size);
  lua_rawset(L, -5);
  lua_pushboolean(L, row->document.schema > KEPT_SCHEMA);
  lua_rawset(L, -3);
  return true;
}

static int fail_to_read(lua_State *L, const StoreFault *fault) {
  lua_pushnil(L);
  lua_pushstring(L, fault->text);
  return 2;
}

// The next three functions return nil and a sentence after a failure. They may only be
// called during the first load of the game.

// keep_define(index, name): creates a collection, and returns true
static int core_keep_define(lua_State *L) {
  StoreFault fault;
  Store *store = core_host(L)->store;
  StoreCollection collection = {.name = luaL_checkstring(L, 2)};
  if (store && store_define_now(store, core_id(L, 1), &collection, &fault))
    return fail_to_read(L, &fault);
  lua_pushboolean(L, 1);
  return 1;
}

// kept_documents(index): returns all documents of a collection, JSON by id; and the ids
// of those with a later schema
static int core_kept_documents(lua_State *L) {
  StoreFault fault;
  Store *store = core_host(L)->store;
  lua_newtable(L);
  lua_newtable(L);
  if (store && store_read_all(store, core_id(L, 1), on_row, L, &fault))
    return fail_to_read(L, &fault);
  return 2;
}

// kept_document(index, id): returns the JSON of a document, or ""
static int core_kept_document(lua_State *L) {
  StoreFault fault;
  StoreDocument document = {0};
  Store *store = core_host(L)->store;
  if (store && store_read(store, core_id(L, 1), core_text(L, 2), &document, &fault))
    return fail_to_read(L, &fault);
  lua_pushlstring(L, document.value.size > 0 ? document.value.bytes : "",
                  document.value.size);
  return 1;
}

// kept_row(row): returns JSON that has the bytes of a document that cannot be restored
static int core_kept_row(lua_State *L) {
  Host *host = core_host(L);
  Text row = core_text(L, 1);
  Buf *json = &host->scratch;
  lua_settop(L, 1);
  if (json_is_value(row)) return 1;
  json->size = 0;
  if (text_is_utf8(row.bytes, row.size)) {
    json_put_text(json, row);
    lua_pushlstring(L, (const char *)json->data, json->size);
  } else {
    buf_append(json, "{\"base64\":\"", 11);
    buf_append(json, row.bytes, row.size);
    encode_base64(json, 11);
    buf_append(json, "\"}", 2);
    lua_pushlstring(L, (const char *)json->data, json->size);
  }
  end_image(host, L);
  return 1;
}

// --- Rooms ---

static void push_own_settings(lua_State *L, const RoomSettings *own) {
  const RoomKind *values = &own->values;
  lua_newtable(L);
  if (own->given & SETTING_CAPACITY) core_set_number(L, "capacity", values->capacity);
  if (own->given & SETTING_HIDDEN) core_set_switch(L, "hidden", values->is_hidden);
  if (own->given & SETTING_LOCKED) core_set_switch(L, "locked", values->is_locked);
  if (own->given & SETTING_KEEP)
    core_set_switch(L, "permanent", values->keep == KEEP_ALL);
  if (own->given & SETTING_AUTO_DELETE && values->has_auto_delete)
    core_set_number(L, "auto_delete", (double)values->auto_delete_ms / 1000);
  // The server knows only a digest of the password, under a key of this process, so the
  // password cannot be kept.
  if (own->given & SETTING_PASSWORD && values->has_password)
    core_set_switch(L, "locked", true);
}

static void push_meta(lua_State *L, const Room *room) {
  RoomMeta meta;
  int count = 0;
  lua_newtable(L);
  for (size_t at = 0; room_next_meta(room, &at, &meta);) {
    lua_createtable(L, 3, 0);
    lua_pushlstring(L, meta.key.bytes, meta.key.size);
    lua_rawseti(L, -2, 1);
    lua_pushlstring(L, meta.json.bytes, meta.json.size);
    lua_rawseti(L, -2, 2);
    lua_pushboolean(L, meta.is_public);
    lua_rawseti(L, -2, 3);
    lua_rawseti(L, -2, ++count);
  }
}

// kept_room(room): returns the part of a room that survives the process, except its
// state and its timers; nil if the room is not open or not durable
static int core_kept_room(lua_State *L) {
  const Room *room = relay_room(core_host(L)->relay, core_id(L, 1));
  if (!room || room->state != ROOM_OPEN || !room->kind.is_durable) return 0;
  lua_createtable(L, 0, 8);
  core_set_switch(L, "by_join", room->is_by_join);
  push_own_settings(L, &room->own);
  lua_setfield(L, -2, "settings");
  push_meta(L, room);
  lua_setfield(L, -2, "meta");
  return 1;
}

static void restore_meta(lua_State *L, uint32_t room, int at) {
  luaL_checktype(L, at, LUA_TTABLE);
  int count = (int)lua_objlen(L, at);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, at, i);
    for (int field = 1; field <= 3; field++) lua_rawgeti(L, at + 1, field);
    relay_restore_meta(core_host(L)->relay, room, core_text(L, at + 2),
                       core_text(L, at + 3), lua_toboolean(L, at + 4));
    lua_settop(L, at);
  }
}

// restore_room(id, name, by_join, settings, meta): makes the room; returns whether that
// succeeded
static int core_restore_room(lua_State *L) {
  KeptRoom kept = {.id = core_id(L, 1),
                   .name = core_text(L, 2),
                   .is_by_join = lua_toboolean(L, 3),
                   .own = core_room_settings(L, 4)};
  lua_settop(L, 5);
  bool is_good = relay_restore_room(core_host(L)->relay, &kept);
  if (is_good) restore_meta(L, kept.id, 5);
  lua_pushboolean(L, is_good);
  return 1;
}

// restore_member(peer, room): makes the restored peer a member; returns whether that
// succeeded
static int core_restore_member(lua_State *L) {
  lua_pushboolean(
      L, relay_restore_member(core_host(L)->relay, core_id(L, 1), core_id(L, 2)));
  return 1;
}

const luaL_Reg core_keep_functions[] = {{"image_take", core_image_take},
                                        {"image_read", core_image_read},
                                        {"kept_session", core_kept_session},
                                        {"restore_session", core_restore_session},
                                        {"keep_sessions", core_keep_sessions},
                                        {"release", core_release},
                                        {"unix", core_unix},
                                        {"keep_settings", core_keep_settings},
                                        {"keep_define", core_keep_define},
                                        {"kept_documents", core_kept_documents},
                                        {"kept_document", core_kept_document},
                                        {"kept_row", core_kept_row},
                                        {"kept_room", core_kept_room},
                                        {"restore_room", core_restore_room},
                                        {"restore_member", core_restore_member},
                                        {NULL, NULL}};
