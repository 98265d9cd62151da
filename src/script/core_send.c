// perigee.core: messages and packets to peers and rooms. These functions may have many
// arguments, because only a few lines of lua/perigee call them.
#include <lauxlib.h>

#include "base/hash.h"
#include "script/core.h"

// Returns the hash of the send option `key`; 0: none.
static uint64_t read_key(lua_State *L, const Host *host, int at) {
  if (lua_isnoneornil(L, at)) return 0;
  size_t size;
  const char *text = luaL_checklstring(L, at, &size);
  uint64_t key = hash_bytes(host->key_seed, text, size);
  return key == 0 ? 1 : key;
}

// Reads a list of peer ids, or nil, at index `at`.
static void read_except(lua_State *L, Host *host, int at, Command *command) {
  if (lua_isnoneornil(L, at)) return;
  luaL_checktype(L, at, LUA_TTABLE);
  host->scratch.size = 0;
  int count = (int)lua_objlen(L, at);
  uint32_t *ids =
      (uint32_t *)(void *)buf_reserve(&host->scratch, (size_t)count * sizeof *ids);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, at, i + 1);
    ids[i] = (uint32_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  command->except = ids;
  command->except_count = (uint32_t)count;
}

// Returns the peer that the running handler may admit to a room, or 0.
static uint32_t joining_peer(const Host *host) {
  return host->event.type == EVENT_JOIN ? host->event.peer : 0;
}

static int queue_to_target(lua_State *L, const Host *host, const Command *command) {
  int result = relay_command(host->relay, command);
  return command->target == TARGET_ROOM ? core_room_result(L, result)
                                        : core_peer_result(L, result);
}

// send(target, id, room, name, body, value_at, priority, flags, ref, key, except,
// number, packed): sends a message; `number` and `packed` are only for messages of the
// schema
static int core_send(lua_State *L) {
  Host *host = core_host(L);
  Command command = {.type = COMMAND_MESSAGE,
                     .target = (uint8_t)luaL_checkint(L, 1),
                     .id = core_id(L, 2),
                     .room = core_id(L, 3),
                     .channel = CHANNEL_MESSAGE,
                     .name = core_text(L, 4),
                     .body = core_text(L, 5),
                     .value_at = (uint32_t)luaL_checkint(L, 6),
                     .priority = (uint8_t)luaL_checkint(L, 7),
                     .flags = (uint8_t)luaL_checkint(L, 8),
                     .ref = (uint16_t)luaL_checkint(L, 9),
                     .key = read_key(L, host, 10)};
  read_except(L, host, 11, &command);
  if (!lua_isnoneornil(L, 12)) {
    command.packet_type = (uint16_t)luaL_checkint(L, 12);
    command.packed = core_text(L, 13);
  }
  // an answer may go to a peer that has left the room
  bool is_answer = command.flags & PACKET_RESPONSE;
  if (command.target == TARGET_PEER && command.room != 0 && !is_answer &&
      !relay_may_have(host->relay, command.room, command.id, joining_peer(host)))
    return core_fail(L, "the peer is not in the room", code_name(CODE_NOT_IN_ROOM));
  return queue_to_target(L, host, &command);
}

// needs_json(target, id): returns whether a message also needs its JSON, because a
// receiver may not know the schema
static int core_needs_json(lua_State *L) {
  const Host *host = core_host(L);
  bool is_needed = relay_needs_json(host->relay, (Target)luaL_checkint(L, 1),
                                    core_id(L, 2), joining_peer(host));
  lua_pushboolean(L, is_needed);
  return 1;
}

// relay(target, id, bytes, priority, flags, key, except): sends bytes as a broadcast of
// the server
static int core_relay(lua_State *L) {
  Host *host = core_host(L);
  Command command = {.type = COMMAND_RELAY,
                     .target = (uint8_t)luaL_checkint(L, 1),
                     .id = core_id(L, 2),
                     .body = core_text(L, 3),
                     .priority = (uint8_t)luaL_checkint(L, 4),
                     .flags = (uint8_t)luaL_checkint(L, 5),
                     .key = read_key(L, host, 6)};
  read_except(L, host, 7, &command);
  return queue_to_target(L, host, &command);
}

// packet(target, id, channel, type, bytes, priority, flags, ref, key, except): sends a
// packet
static int core_packet(lua_State *L) {
  Host *host = core_host(L);
  Command command = {.type = COMMAND_PACKET,
                     .target = (uint8_t)luaL_checkint(L, 1),
                     .id = core_id(L, 2),
                     .channel = (uint16_t)luaL_checkint(L, 3),
                     .packet_type = (uint16_t)luaL_checkint(L, 4),
                     .body = core_text(L, 5),
                     .priority = (uint8_t)luaL_checkint(L, 6),
                     .flags = (uint8_t)luaL_checkint(L, 7),
                     .ref = (uint16_t)luaL_checkint(L, 8),
                     .key = read_key(L, host, 9)};
  read_except(L, host, 10, &command);
  return queue_to_target(L, host, &command);
}

// error(peer, code, flags, ref, text): sends ERROR as the answer to a request. `flags`
// and `ref` come from the request's packet.
static int core_error(lua_State *L) {
  Command command = {.type = COMMAND_ERROR,
                     .id = core_id(L, 1),
                     .code = core_id(L, 2),
                     .flags = (uint8_t)luaL_checkint(L, 3),
                     .ref = (uint16_t)luaL_checkint(L, 4),
                     .body = core_text(L, 5)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

// accept(peer, type, flags, ref): answers a request of the control channel by an empty
// packet. `type`, `flags` and `ref` come from the request's packet.
static int core_accept(lua_State *L) {
  Command command = {.type = COMMAND_ACCEPT,
                     .id = core_id(L, 1),
                     .packet_type = (uint16_t)luaL_checkint(L, 2),
                     .flags = (uint8_t)luaL_checkint(L, 3),
                     .ref = (uint16_t)luaL_checkint(L, 4)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

// close(peer, code, text): ends the peer's session
static int core_close(lua_State *L) {
  Command command = {.type = COMMAND_CLOSE,
                     .id = core_id(L, 1),
                     .code = core_id(L, 2),
                     .body = core_text(L, 3)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

const luaL_Reg core_send_functions[] = {
    {"send", core_send},   {"needs_json", core_needs_json},
    {"relay", core_relay}, {"packet", core_packet},
    {"error", core_error}, {"accept", core_accept},
    {"close", core_close}, {NULL, NULL}};
