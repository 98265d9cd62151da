// The flat table perigee.core: what the Lua half may ask of the server. Each function
// checks its arguments, makes one call into the relay, and pushes the result. Peers,
// rooms and timers are integers; failures that can happen in production are nil,
// message, code.
#pragma once

#include <lauxlib.h>
#include <lua.h>

#include "script/host.h"

/// Pushes the table, with the enums that C owns.
void core_push(lua_State *L, Host *host);

/// The host whose core function runs.
Host *core_host(lua_State *L);

/// The id at argument `at`.
uint32_t core_id(lua_State *L, int at);

/// The text at argument `at`.
static inline Text core_text(lua_State *L, int at) {
  size_t size;
  const char *bytes = luaL_checklstring(L, at, &size);
  return (Text){bytes, (uint32_t)size};
}

/// Set a field of the table on top. A text of NULL sets none.
void core_set_number(lua_State *L, const char *name, double value);
void core_set_text(lua_State *L, const char *name, const char *text);
void core_set_switch(lua_State *L, const char *name, bool is_on);

/// Pushes nil, message and the code's name; returns 3.
int core_fail(lua_State *L, const char *message, const char *code);

/// A lua_CFunction, nearest(word, words): the one of `words` that was meant, or nil. Needs
/// no host.
int core_nearest(lua_State *L);

/// A lua_CFunction, list(path): the names in a folder, in no particular order; nil and
/// what is wrong. Needs no host.
int core_list(lua_State *L);

/// Pushes a table of the server's figures.
void core_push_stats(lua_State *L, const Host *host);

/// Sets the field `udp` of the table on top: the figures of UDP, of all or of one connection
/// that has any.
void core_set_udp_totals(lua_State *L, const Net *net);
void core_set_udp_figures(lua_State *L, const Net *net, ConnId conn);

/// Pushes true, or the failure of a command whose id names a peer or a room.
int core_peer_result(lua_State *L, int result);
int core_room_result(lua_State *L, int result);

// The functions, by file.
extern const luaL_Reg core_send_functions[];
extern const luaL_Reg core_channel_functions[];
extern const luaL_Reg core_parse_functions[];
extern const luaL_Reg core_reload_functions[];
extern const luaL_Reg core_peer_functions[];
extern const luaL_Reg core_room_functions[];
extern const luaL_Reg core_time_functions[];
extern const luaL_Reg core_http_functions[];
extern const luaL_Reg core_game_functions[];
extern const luaL_Reg core_deadline_functions[];
extern const luaL_Reg core_string_functions[];
extern const luaL_Reg core_table_functions[];
extern const luaL_Reg core_world_functions[];
