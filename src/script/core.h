// The flat table perigee.core: the functions of the server that the Lua half calls.
// Each function checks its arguments, makes one call into the relay, and pushes the
// result. Peers, rooms and timers are integers. Failures that occur in production
// return nil, message, code.
#pragma once

#include <lauxlib.h>
#include <lua.h>

#include "script/host.h"

/// Pushes the table, with C's enums as constants.
void core_push(lua_State *L, Host *host);

/// Returns the host of the running core function.
Host *core_host(lua_State *L);

/// Returns the id at argument `at`.
uint32_t core_id(lua_State *L, int at);

/// Returns the text at argument `at`.
static inline Text core_text(lua_State *L, int at) {
  size_t size;
  const char *bytes = luaL_checklstring(L, at, &size);
  return (Text){bytes, (uint32_t)size};
}

/// Set a field of the table on top of the stack. A NULL text sets nothing.
void core_set_number(lua_State *L, const char *name, double value);
void core_set_text(lua_State *L, const char *name, const char *text);
void core_set_switch(lua_State *L, const char *name, bool is_on);

/// Pushes nil, message and the code's name; returns 3.
int core_fail(lua_State *L, const char *message, const char *code);

/// A lua_CFunction, nearest(word, words): returns the word that `word` probably means,
/// or nil. Needs no host.
int core_nearest(lua_State *L);

/// A lua_CFunction, list(path): returns the names in a folder, in no particular order;
/// or nil and an error text. Needs no host.
int core_list(lua_State *L);

/// Pushes a table of the server's figures.
void core_push_stats(lua_State *L, const Host *host);

/// Returns the settings of a room in the table at `at`; no settings if it is nil.
RoomSettings core_room_settings(lua_State *L, int at);

/// Push the results of a command to a peer or a room. These are true, or the results of
/// core_fail. Return the number of results.
int core_peer_result(lua_State *L, int result);
int core_room_result(lua_State *L, int result);

/// Adds a write of the running handler. Returns the number of results: true, or those of
/// core_fail.
int core_store_write(lua_State *L, const StoreStep *step);

/// Queues a COMMAND_STORE, whose token is argument 1. Returns the number of results, as
/// core_store_write.
int core_store_request(lua_State *L, Command command);

// The functions, by file.
extern const luaL_Reg core_send_functions[];
extern const luaL_Reg core_parse_functions[];
extern const luaL_Reg core_bytes_functions[];
extern const luaL_Reg core_account_functions[];
extern const luaL_Reg core_fetch_functions[];
extern const luaL_Reg core_store_functions[];
extern const luaL_Reg core_board_functions[];
extern const luaL_Reg core_reload_functions[];
extern const luaL_Reg core_peer_functions[];
extern const luaL_Reg core_room_functions[];
extern const luaL_Reg core_bot_functions[];
extern const luaL_Reg core_time_functions[];
extern const luaL_Reg core_http_functions[];
extern const luaL_Reg core_game_functions[];
extern const luaL_Reg core_keep_functions[];
extern const luaL_Reg core_deadline_functions[];
extern const luaL_Reg core_lpeg_functions[];
extern const luaL_Reg core_string_functions[];
extern const luaL_Reg core_order_functions[];
extern const luaL_Reg core_table_functions[];
extern const luaL_Reg core_world_functions[];
extern const luaL_Reg core_console_functions[];
