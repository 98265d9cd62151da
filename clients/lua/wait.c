// A loop over many clients: waits for all of them, and for a descriptor of the caller.
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define LOOP "perigee.client.core.loop"

// A loop. Its environment table has the userdata of its clients as keys, so that the
// garbage collector keeps them.
typedef struct Loop {
  Handle **handles;         // handles of the clients; `client` of a freed one is NULL
  PerigeeClient **clients;  // during a wait: the clients that are not freed
  size_t count;
  size_t capacity;
} Loop;

static Loop *check_loop(lua_State *L) { return luaL_checkudata(L, 1, LOOP); }

static void *grow(lua_State *L, void *list, size_t size) {
  void *grown = realloc(list, size);
  if (!grown) luaL_error(L, "out of memory");
  return grown;
}

static size_t find_handle(const Loop *loop, const Handle *handle) {
  size_t i = 0;
  while (i < loop->count && loop->handles[i] != handle) i++;
  return i;
}

// Adds the client at index 2 to the environment of the loop, or removes it.
static void keep_client(lua_State *L, int is_kept) {
  lua_getfenv(L, 1);
  lua_pushvalue(L, 2);
  if (is_kept)
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
  lua_rawset(L, -3);
}

// add(client): returns the key that wait reports for the client
static int loop_add(lua_State *L) {
  Loop *loop = check_loop(L);
  PerigeeClient *client = core_driven(L, 2);
  Handle *handle = core_handle(L, 2);
  if (loop->count == loop->capacity) {
    size_t capacity = loop->capacity == 0 ? 8 : 2 * loop->capacity;
    loop->handles = grow(L, loop->handles, capacity * sizeof *loop->handles);
    loop->clients = grow(L, loop->clients, capacity * sizeof *loop->clients);
    loop->capacity = capacity;
  }
  keep_client(L, 1);
  if (find_handle(loop, handle) == loop->count) loop->handles[loop->count++] = handle;
  lua_pushlightuserdata(L, client);
  return 1;
}

// remove(client): returns the key of the client; nil if the loop does not have it
static int loop_remove(lua_State *L) {
  Loop *loop = check_loop(L);
  const Handle *handle = core_handle(L, 2);
  size_t i = find_handle(loop, handle);
  if (i == loop->count) return 0;
  loop->handles[i] = loop->handles[--loop->count];
  keep_client(L, 0);
  lua_pushlightuserdata(L, handle->client);
  return 1;
}

static int milliseconds(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return -1;
  lua_Number seconds = luaL_checknumber(L, index);
  if (!(seconds > 0)) return 0;
  return seconds < INT32_MAX / 1000 ? (int)(seconds * 1000) + 1 : INT32_MAX;
}

// wait(seconds, fd): drives all clients. Waits until a client has events or the
// descriptor `fd` can be read (nil: no descriptor). Waits at most `seconds` (nil: no
// limit). Returns a list of the keys of clients with events.
static int loop_wait(lua_State *L) {
  const Loop *loop = check_loop(L);
  int timeout_ms = milliseconds(L, 2);
  PerigeeFd fd = {.fd = (int)luaL_optinteger(L, 3, -1), .wants_read = 1};
  size_t count = 0;
  for (size_t i = 0; i < loop->count; i++) {
    PerigeeClient *client = loop->handles[i]->client;
    if (client) loop->clients[count++] = client;
  }
  size_t ready = perigee_poll_all(loop->clients, count, &fd, fd.fd >= 0, timeout_ms);
  lua_createtable(L, (int)ready, 0);
  for (size_t i = 0; i < ready; i++) {
    lua_pushlightuserdata(L, loop->clients[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static int loop_free(lua_State *L) {
  Loop *loop = check_loop(L);
  free(loop->handles);
  free(loop->clients);
  *loop = (Loop){0};
  return 0;
}

// loop(): returns a new loop
static int new_loop(lua_State *L) {
  Loop *loop = lua_newuserdata(L, sizeof *loop);
  *loop = (Loop){0};
  lua_newtable(L);
  lua_setfenv(L, -2);
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
