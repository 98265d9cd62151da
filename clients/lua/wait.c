// A loop over many clients: waits for all of them, and for descriptors of the caller.
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define LOOP "perigee.client.core.loop"

typedef struct Loop {
  PerigeeClient **clients;
  size_t count;
  size_t capacity;
} Loop;

static Loop *check_loop(lua_State *L) { return luaL_checkudata(L, 1, LOOP); }

// add(client): returns the key by which wait names it. It has to be removed before it is freed.
static int loop_add(lua_State *L) {
  Loop *loop = check_loop(L);
  PerigeeClient *client = core_driven(L, 2);
  if (loop->count == loop->capacity) {
    size_t capacity = loop->capacity == 0 ? 8 : 2 * loop->capacity;
    PerigeeClient **clients = realloc(loop->clients, capacity * sizeof *clients);
    if (!clients) return luaL_error(L, "out of memory");
    loop->clients = clients;
    loop->capacity = capacity;
  }
  loop->clients[loop->count++] = client;
  lua_pushlightuserdata(L, client);
  return 1;
}

// remove(client)
static int loop_remove(lua_State *L) {
  Loop *loop = check_loop(L);
  const PerigeeClient *client = core_driven(L, 2);
  size_t i = 0;
  while (i < loop->count && loop->clients[i] != client) i++;
  if (i < loop->count) loop->clients[i] = loop->clients[--loop->count];
  return 0;
}

static int milliseconds(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return -1;
  lua_Number seconds = luaL_checknumber(L, index);
  if (!(seconds > 0)) return 0;
  return seconds < INT32_MAX / 1000 ? (int)(seconds * 1000) + 1 : INT32_MAX;
}

// wait(seconds, fd): drives all clients, and waits until one has events or the descriptor (nil:
// none) can be read, but no longer than `seconds` (nil: for ever). Returns a list of the keys of
// clients with events.
static int loop_wait(lua_State *L) {
  const Loop *loop = check_loop(L);
  int timeout_ms = milliseconds(L, 2);
  PerigeeFd fd = {.fd = (int)luaL_optinteger(L, 3, -1), .wants_read = 1};
  size_t ready =
      perigee_poll_all(loop->clients, loop->count, &fd, fd.fd >= 0, timeout_ms);
  lua_createtable(L, (int)ready, 0);
  for (size_t i = 0; i < ready; i++) {
    lua_pushlightuserdata(L, loop->clients[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static int loop_free(lua_State *L) {
  Loop *loop = check_loop(L);
  free(loop->clients);
  *loop = (Loop){0};
  return 0;
}

// loop(): a new one
static int new_loop(lua_State *L) {
  Loop *loop = lua_newuserdata(L, sizeof *loop);
  *loop = (Loop){0};
  luaL_getmetatable(L, LOOP);
  lua_setmetatable(L, -2);
  return 1;
}

void core_add_wait(lua_State *L) {
  static const luaL_Reg METHODS[] = {{"add", loop_add},
                                     {"remove", loop_remove},
                                     {"wait", loop_wait},
                                     {"__gc", loop_free},
                                     {NULL, NULL}};
  luaL_newmetatable(L, LOOP);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_register(L, NULL, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, new_loop);
  lua_setfield(L, -2, "loop");
}
