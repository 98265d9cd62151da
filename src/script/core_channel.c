// perigee.core: plugin channels and their servers.
#include <lauxlib.h>

#include "base/err.h"
#include "script/core.h"

// channel_open(name): the number, and whether the channel ends with this version of the
// script; or nil, message, code
static int core_channel_open(lua_State *L) {
  const Host *host = core_host(L);
  int err;
  uint16_t channel = relay_channel(host->relay, core_text(L, 1), &err);
  if (channel == 0 && err == ERR_INVALID)
    return core_fail(L, "channel names are " TEXT_NAME_RULE, "Invalid");
  if (channel == 0 && err == ERR_EXISTS)
    return core_fail(L, "a client serves this channel", code_name(CODE_CHANNEL_TAKEN));
  if (channel == 0)
    return core_fail(L, "there are too many channel names",
                     code_name(CODE_SERVER_FULL));
  lua_pushinteger(L, channel);
  lua_pushboolean(L, host->is_owned);
  return 2;
}

// channel_close(channel)
static int core_channel_close(lua_State *L) {
  Command command = {.type = COMMAND_CHANNEL_CLOSE, .id = core_id(L, 1)};
  lua_pushboolean(L, relay_command(core_host(L)->relay, &command) == 0);
  return 1;
}

// channel_find(name): the number, and the peer that serves it (0: the script does); nil
// without a server
static int core_channel_find(lua_State *L) {
  uint32_t peer;
  uint16_t channel = relay_find_channel(core_host(L)->relay, core_text(L, 1), &peer);
  if (channel == 0) return 0;
  lua_pushinteger(L, channel);
  lua_pushnumber(L, peer);
  return 2;
}

const luaL_Reg core_channel_functions[] = {{"channel_open", core_channel_open},
                                           {"channel_close", core_channel_close},
                                           {"channel_find", core_channel_find},
                                           {NULL, NULL}};
