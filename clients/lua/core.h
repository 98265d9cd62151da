// The Lua module perigee.client.core: libperigee (include/perigee.h) for Lua 5.1 and
// LuaJIT. lua/perigee/client.lua is the API for programs. A call that libperigee
// refuses returns nil and the name of its code. A wrong argument raises an error before
// anything is allocated.
#pragma once

#include <lauxlib.h>
#include <lua.h>

#include "module.h"
#include "perigee.h"

/// The userdata of a client; `client` is NULL after `free`.
typedef struct Handle {
  PerigeeClient *client;
  int is_bare;  // 1: the client has no sockets
} Handle;

/// Returns the userdata at this stack index; raises an error for any other value.
Handle *core_handle(lua_State *L, int index);

/// Return the client at this stack index; raise an error for any other value.
/// core_driven accepts only a client with sockets, core_bare only one without.
PerigeeClient *core_client(lua_State *L, int index);
PerigeeClient *core_driven(lua_State *L, int index);
PerigeeClient *core_bare(lua_State *L, int index);

/// Pushes the result of a call: the number of a request, true for 0, or nil and the
/// name of a negative code. Returns the number of pushed values.
int core_result(lua_State *L, int code);

/// Returns the seconds at this index as milliseconds; 0 for nil.
uint32_t core_milliseconds(lua_State *L, int index);

/// Returns an integer from 0 to `most` at this index; raises an error for any other
/// value.
uint32_t core_number(lua_State *L, int index, uint32_t most);

/// Returns the name at this index. A name with a NUL becomes "", which libperigee
/// refuses.
const char *core_name(lua_State *L, int index);

/// Pushes an event as a table, with a field `type`.
void core_push_event(lua_State *L, const PerigeeEvent *event);

/// Add functions to the table of methods on top of the stack. core_add_calls adds the
/// calls of calls.c, core_add_lockstep adds the calls of lockstep.c.
void core_add_calls(lua_State *L);
void core_add_lockstep(lua_State *L);

/// Reads the options of a client from the table at index 1 or 2. Their texts are valid
/// as long as the Lua stack keeps them.
PerigeeOptions core_options(lua_State *L, int index);

/// Pushes a client's userdata, which has no client yet.
Handle *core_new_handle(lua_State *L, int is_bare);

/// Add functions to the module on top of the stack. core_add_wait adds loop().
/// core_add_bare adds new(), and adds the methods of clients without sockets to the
/// table of methods, which is below the module on the stack.
void core_add_wait(lua_State *L);
void core_add_bare(lua_State *L);
