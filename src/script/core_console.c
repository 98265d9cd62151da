// perigee.core: the console, whose lines show their commands before they are carried out.
#include <lauxlib.h>

#include "relay/relay.h"
#include "script/core.h"
#include "script/store.h"

// Names of commands, by their type.
static const char *const COMMANDS[] = {
    [COMMAND_MESSAGE] = "message",
    [COMMAND_RELAY] = "relay",
    [COMMAND_PACKET] = "packet",
    [COMMAND_ACCEPT] = "accept",
    [COMMAND_ERROR] = "error",
    [COMMAND_RENEW] = "renew",
    [COMMAND_CLOSE] = "close",
    [COMMAND_RENAME] = "rename",
    [COMMAND_JOIN] = "join",
    [COMMAND_LEAVE] = "leave",
    [COMMAND_BOT] = "bot",
    [COMMAND_ACT] = "act",
    [COMMAND_ROOM_CREATE] = "room_create",
    [COMMAND_ROOM_DELETE] = "room_delete",
    [COMMAND_ROOM_SET] = "room_set",
    [COMMAND_ROOM_META] = "room_meta",
    [COMMAND_CHANNEL_OPEN] = "channel_open",
    [COMMAND_CHANNEL_CLOSE] = "channel_close",
    [COMMAND_TIMER_SET] = "timer_set",
    [COMMAND_TIMER_CANCEL] = "timer_cancel",
    [COMMAND_ANSWER] = "answer",
    [COMMAND_STOP] = "stop",
    [COMMAND_CHILD] = "child",
    [COMMAND_FETCH] = "fetch",
    [COMMAND_STORE] = "store",
};

static const char *const STEPS[] = {
    [STORE_PUT] = "put",     [STORE_DELETE] = "delete",
    [STORE_CHECK] = "check", [STORE_CHECK_FOUND] = "check",
    [STORE_SCORE] = "score", [STORE_REMOVE_SCORE] = "remove_score",
};

static void set_bytes(lua_State *L, const char *name, Text text) {
  lua_pushlstring(L, text.size > 0 ? text.bytes : "", text.size);
  lua_setfield(L, -2, name);
}

static void push_command(lua_State *L, const Command *command) {
  static const char *const TARGETS[] = {
      [TARGET_PEER] = "peer", [TARGET_ROOM] = "room", [TARGET_ALL] = "all"};
  lua_createtable(L, 0, 12);
  core_set_text(L, "type", COMMANDS[command->type]);
  core_set_text(L, "target", TARGETS[command->target]);
  core_set_number(L, "id", command->id);
  core_set_number(L, "room", command->room);
  core_set_number(L, "code", command->code);
  core_set_number(L, "flags", command->flags);
  core_set_number(L, "channel", command->channel);
  core_set_number(L, "packet_type", command->packet_type);
  core_set_number(L, "size", command->body.size);
  set_bytes(L, "name", command->name);
  bool is_text = command->type == COMMAND_CLOSE || command->type == COMMAND_LEAVE ||
                 command->type == COMMAND_STOP;
  if (is_text || command->type == COMMAND_ROOM_META)
    set_bytes(L, "text", command->body);
  lua_createtable(L, (int)command->except_count, 0);
  for (uint32_t i = 0; i < command->except_count; i++) {
    lua_pushnumber(L, command->except[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "except");
}

// commands(count): returns a list of the first commands of the running handler, which
// are not carried out yet, and the number of all
static int core_commands(lua_State *L) {
  const Host *host = core_host(L);
  uint32_t limit = core_id(L, 1), count = 0;
  Command command;
  lua_newtable(L);
  for (size_t at = 0; relay_next_command(host->relay, &at, &command); count++) {
    if (count >= limit) continue;
    push_command(L, &command);
    lua_rawseti(L, -2, (int)count + 1);
  }
  lua_pushnumber(L, count);
  return 2;
}

// writes(count): returns a list of the first writes of the running handler to the store,
// and the number of all
static int core_writes(lua_State *L) {
  const Host *host = core_host(L);
  uint32_t limit = core_id(L, 1), count = 0;
  StoreStep step;
  lua_newtable(L);
  size_t at = 0;
  for (; host->store && store_next_step(host->store, &at, &step); count++) {
    if (count >= limit) continue;
    lua_createtable(L, 0, 4);
    core_set_text(L, "type", STEPS[step.type]);
    core_set_number(L, "collection", step.collection);
    core_set_number(L, "score", step.score);
    core_set_number(L, "size", step.value.size);
    set_bytes(L, "id", step.id);
    lua_rawseti(L, -2, (int)count + 1);
  }
  lua_pushnumber(L, count);
  return 2;
}

// set_dry(is_dry): forbids commits of the running handler, which tries what it would do
static int core_set_dry(lua_State *L) {
  core_host(L)->is_dry = lua_toboolean(L, 1);
  return 0;
}

const luaL_Reg core_console_functions[] = {{"commands", core_commands},
                                           {"writes", core_writes},
                                           {"set_dry", core_set_dry},
                                           {NULL, NULL}};
