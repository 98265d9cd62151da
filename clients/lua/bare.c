// Clients without sockets (perigee.h, "Without sockets"): the program carries their
// bytes and datagrams. It passes the time in seconds of any clock that never goes back.
#include "core.h"

static uint64_t time_at(lua_State *L, int index) {
  lua_Number seconds = luaL_checknumber(L, index);
  luaL_argcheck(L, seconds >= 0 && seconds < 1e12, index, "a time is from 0 up");
  return (uint64_t)(seconds * 1e6 + 0.5);
}

// new(options, now): returns a client; or nil and the name of a code
static int new_client(lua_State *L) {
  PerigeeOptions options = core_options(L, 1);
  uint64_t now_us = time_at(L, 2);
  Handle *handle = core_new_handle(L, 1);
  int code;
  handle->client = perigee_new(&options, now_us, &code);
  return handle->client ? 1 : core_result(L, code);
}

// connection(): returns the number of the connection that the client wants or has; 0 if
// it wants none
static int connection(lua_State *L) {
  lua_pushnumber(L, perigee_connection(core_bare(L, 1)));
  return 1;
}

// opened(now): reports that the connection is open
static int opened(lua_State *L) {
  perigee_connection_opened(core_bare(L, 1), time_at(L, 2));
  return 0;
}

// ended(code, text, now): reports the end of the connection
static int ended(lua_State *L) {
  PerigeeClient *client = core_bare(L, 1);
  int code = (int)luaL_checkinteger(L, 2);
  const char *text = luaL_checkstring(L, 3);
  perigee_connection_ended(client, code, text, time_at(L, 4));
  return 0;
}

// receive(bytes, now): handles received bytes
static int receive(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  perigee_receive(core_bare(L, 1), bytes, size, time_at(L, 3));
  return 0;
}

// output(now): returns the bytes to send, which then count as sent
static int output(lua_State *L) {
  size_t size;
  PerigeeClient *client = core_bare(L, 1);
  const uint8_t *bytes = perigee_output(client, &size, time_at(L, 2));
  lua_pushlstring(L, bytes ? (const char *)bytes : "", size);
  perigee_sent(client, size);
  return 1;
}

// receive_datagram(bytes, now): handles a received datagram
static int receive_datagram(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  perigee_receive_datagram(core_bare(L, 1), bytes, size, time_at(L, 3));
  return 0;
}

// next_datagram(now): returns the next datagram and the server's port for it (0: the
// port of the server's address); nil if none is due
static int next_datagram(lua_State *L) {
  char bytes[PERIGEE_DATAGRAM_MAX];
  uint16_t port = 0;
  size_t size = perigee_next_datagram(core_bare(L, 1), bytes, &port, time_at(L, 2));
  if (size == 0) return 0;
  lua_pushlstring(L, bytes, size);
  lua_pushinteger(L, port);
  return 2;
}

// advance(now): does all due work
static int advance(lua_State *L) {
  perigee_advance(core_bare(L, 1), time_at(L, 2));
  return 0;
}

// due(): returns the time of the next advance; nil: never
static int due(lua_State *L) {
  uint64_t due_us = perigee_due_us(core_bare(L, 1));
  if (due_us == UINT64_MAX) return 0;
  lua_pushnumber(L, (lua_Number)due_us / 1e6);
  return 1;
}

void core_add_bare(lua_State *L) {
  static const luaL_Reg METHODS[] = {{"connection", connection},
                                     {"opened", opened},
                                     {"ended", ended},
                                     {"receive", receive},
                                     {"output", output},
                                     {"receive_datagram", receive_datagram},
                                     {"next_datagram", next_datagram},
                                     {"advance", advance},
                                     {"due", due},
                                     {NULL, NULL}};
  lua_pushcfunction(L, new_client);
  lua_setfield(L, -2, "new");
  lua_pushvalue(L, -2);
  luaL_register(L, NULL, METHODS);
  lua_pop(L, 1);
}
