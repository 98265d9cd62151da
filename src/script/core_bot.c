// perigee.core: bots, the members of rooms that brains play.
#include <lauxlib.h>

#include "base/err.h"
#include "base/text.h"
#include "script/core.h"

static int push_problem(lua_State *L, int err) {
  switch (err) {
    case ERR_EXISTS:
      return core_fail(L, NAME_IN_USE_TEXT, "Exists");
    case ERR_INVALID:
      return core_fail(L, "names are " TEXT_PEER_NAME_RULE, "Invalid");
    case ERR_TAKEN:
      return core_fail(L, "max_bots is reached", code_name(CODE_SERVER_FULL));
    default:
      return core_room_result(L, err);
  }
}

// bot_add(room, name, token, flags): adds a bot and returns its id. The name "" means
// bot-ID. An event with the token reports whether the bot has joined.
static int core_bot_add(lua_State *L) {
  int err;
  uint32_t bot = relay_add_bot(core_host(L)->relay, core_id(L, 1), core_text(L, 2),
                               (uint8_t)luaL_checkint(L, 4), core_id(L, 3), &err);
  if (bot == 0) return push_problem(L, err);
  lua_pushnumber(L, bot);
  return 1;
}

// bot_brain(bot, flags): sets which functions the brain of a bot has, at once
static int core_bot_brain(lua_State *L) {
  relay_set_brain(core_host(L)->relay, core_id(L, 1), (uint8_t)luaL_checkint(L, 2));
  return 0;
}

// act(bot, room, body, type, flags, ref): sends a message, or an answer, as a client
// does
static int core_act(lua_State *L) {
  Command command = {.type = COMMAND_ACT,
                     .channel = CHANNEL_MESSAGE,
                     .id = core_id(L, 1),
                     .room = core_id(L, 2),
                     .body = core_text(L, 3),
                     .packet_type = (uint16_t)luaL_checkint(L, 4),
                     .flags = (uint8_t)luaL_checkint(L, 5),
                     .ref = (uint16_t)luaL_checkint(L, 6)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

// act_line(bot, line): sends a line as a text client does
static int core_act_line(lua_State *L) {
  Command command = {.type = COMMAND_ACT,
                     .channel = CHANNEL_CONTROL,
                     .id = core_id(L, 1),
                     .body = core_text(L, 2)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

const luaL_Reg core_bot_functions[] = {{"bot_add", core_bot_add},
                                       {"bot_brain", core_bot_brain},
                                       {"act", core_act},
                                       {"act_line", core_act_line},
                                       {NULL, NULL}};
