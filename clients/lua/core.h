// The Lua module perigee.client.core: libperigee (include/perigee.h) for Lua 5.1 and LuaJIT. The
// Lua face over it is lua/perigee/client.lua. A call that libperigee refuses returns nil and the
// name of its code; a bad argument raises an error before anything is allocated.
#pragma once

#include <lauxlib.h>
#include <lua.h>

#include "module.h"
#include "perigee.h"

/// A client's userdata; `client` is NULL after `free`.
typedef struct Handle {
  PerigeeClient *client;
  int is_bare;  // 1: without sockets
} Handle;

/// Returns the userdata at this index of the stack; raises an error for anything else.
Handle *core_handle(lua_State *L, int index);

/// Returns the client at this index of the stack; raises an error for anything else. core_driven
/// accepts only a client with sockets, core_bare only one without.
PerigeeClient *core_client(lua_State *L, int index);
PerigeeClient *core_driven(lua_State *L, int index);
PerigeeClient *core_bare(lua_State *L, int index);

/// Pushes a request, or true for 0, or nil and the name of a negative code. Returns how many
/// values.
int core_result(lua_State *L, int code);

/// Returns milliseconds for the seconds at this index: 0 where there are none.
uint32_t core_milliseconds(lua_State *L, int index);

/// Returns an integer from 0 to `most` at this index; raises an error for anything else.
uint32_t core_number(lua_State *L, int index, uint32_t most);

/// Returns the name at this index; "", which libperigee refuses, for one with a NUL.
const char *core_name(lua_State *L, int index);

/// Pushes an event as a table, with a field `type`.
void core_push_event(lua_State *L, const PerigeeClient *client,
                     const PerigeeEvent *event);

/// Adds the calls of rooms and messages, and those of lockstep, to the table of methods on top of
/// the stack.
void core_add_calls(lua_State *L);
void core_add_lockstep(lua_State *L);

/// Reads the options of a client from the table at index 1 or 2; their texts live as long as the
/// stack does.
PerigeeOptions core_options(lua_State *L, int index);

/// Pushes a client's userdata, which has no client yet.
Handle *core_new_handle(lua_State *L, int is_bare);

/// Adds loop() to the module on top of the stack; and new(), for clients without sockets, with
/// their methods to the table of methods below it.
void core_add_wait(lua_State *L);
void core_add_bare(lua_State *L);
