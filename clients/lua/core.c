// Clients as userdata: creates and frees them, runs them and answers queries. Opens the
// module.
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define HANDLE "perigee.client.core.client"

Handle *core_handle(lua_State *L, int index) {
  return luaL_checkudata(L, index, HANDLE);
}

PerigeeClient *core_client(lua_State *L, int index) {
  const Handle *handle = core_handle(L, index);
  luaL_argcheck(L, handle->client != NULL, index, "the client has been freed");
  return handle->client;
}

static PerigeeClient *client_of_kind(lua_State *L, int index, int is_bare) {
  PerigeeClient *client = core_client(L, index);
  luaL_argcheck(L, core_handle(L, index)->is_bare == is_bare, index,
                is_bare ? "the client has sockets" : "the client has no sockets");
  return client;
}

PerigeeClient *core_driven(lua_State *L, int index) {
  return client_of_kind(L, index, 0);
}

PerigeeClient *core_bare(lua_State *L, int index) {
  return client_of_kind(L, index, 1);
}

int core_result(lua_State *L, int code) {
  if (code < 0) {
    lua_pushnil(L);
    lua_pushstring(L, perigee_code_name(code));
    return 2;
  }
  if (code > 0)
    lua_pushinteger(L, code);
  else
    lua_pushboolean(L, 1);
  return 1;
}

static uint32_t to_milliseconds(lua_Number seconds) {
  if (!(seconds > 0.001)) return 1;
  if (!(seconds < INT32_MAX / 1000)) return INT32_MAX;
  uint32_t whole = (uint32_t)(seconds * 1000);
  return whole + (whole < seconds * 1000);
}

uint32_t core_milliseconds(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? 0 : to_milliseconds(luaL_checknumber(L, index));
}

uint32_t core_number(lua_State *L, int index, uint32_t most) {
  lua_Number number = luaL_checknumber(L, index);
  luaL_argcheck(L, number >= 0 && number <= most, index, "the number is out of range");
  return (uint32_t)number;
}

const char *core_name(lua_State *L, int index) {
  size_t size;
  const char *name = luaL_checklstring(L, index, &size);
  return strlen(name) == size ? name : "";
}

// --- Beginning and end ---

static const char *text_field(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  return lua_isnil(L, -1) ? NULL : core_name(L, -1);  // the Lua stack keeps the text
}

static uint32_t time_field(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  uint32_t milliseconds =
      lua_isnil(L, -1) ? 0 : to_milliseconds(luaL_checknumber(L, -1));
  lua_pop(L, 1);
  return milliseconds;
}

static int is_false(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int result = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
  lua_pop(L, 1);
  return result;
}

static PerigeeTransport transport_field(lua_State *L, int index) {
  static const char *const NAMES[] = {"tcp", "both", "udp", NULL};
  lua_getfield(L, index, "transport");
  return (PerigeeTransport)luaL_checkoption(L, -1, "tcp", NAMES);
}

// Reads the fields name, token, hash (16 hexadecimal digits), transport ("tcp", "both",
// "udp"), timeout, first, max, patience (seconds), reconnect and rejoin (false: off).
PerigeeOptions core_options(lua_State *L, int index) {
  PerigeeOptions options;
  perigee_options_init(&options);
  luaL_checktype(L, index, LUA_TTABLE);
  options.name = text_field(L, index, "name");
  options.token = text_field(L, index, "token");
  options.sign_in = text_field(L, index, "sign_in");
  const char *hash = text_field(L, index, "hash");
  options.protocol_hash = hash ? strtoull(hash, NULL, 16) : 0;
  options.transport = transport_field(L, index);
  options.timeout_ms = time_field(L, index, "timeout");
  options.reconnect_first_ms = time_field(L, index, "first");
  options.reconnect_max_ms = time_field(L, index, "max");
  options.reconnect_for_ms = time_field(L, index, "patience");
  options.reconnect = !is_false(L, index, "reconnect");
  options.rejoin = !is_false(L, index, "rejoin");
  return options;
}

Handle *core_new_handle(lua_State *L, int is_bare) {
  Handle *handle = lua_newuserdata(L, sizeof *handle);
  *handle = (Handle){.is_bare = is_bare};
  luaL_getmetatable(L, HANDLE);
  lua_setmetatable(L, -2);
  return handle;
}

// connect(address, options): returns a client that begins to connect; or nil and the
// name of a code
static int connect(lua_State *L) {
  const char *address = luaL_checkstring(L, 1);
  PerigeeOptions options = core_options(L, 2);
  Handle *handle = core_new_handle(L, 0);
  int code;
  handle->client = perigee_connect(address, &options, &code);
  return handle->client ? 1 : core_result(L, code);
}

static int client_close(lua_State *L) {
  perigee_close(core_client(L, 1));
  return 0;
}

static int client_free(lua_State *L) {
  Handle *handle = core_handle(L, 1);
  PerigeeClient *client = handle->client;
  handle->client = NULL;
  perigee_free(client);
  return 0;
}

// --- The loop ---

// poll(): does all due work without waiting; returns whether events wait
static int client_poll(lua_State *L) {
  lua_pushboolean(L, perigee_poll(core_driven(L, 1), 0));
  return 1;
}

static int client_next_event(lua_State *L) {
  PerigeeClient *client = core_client(L, 1);
  const PerigeeEvent *event = perigee_next_event(client);
  if (!event) return 0;
  core_push_event(L, event);
  return 1;
}

// --- Queries ---

static void set_number(lua_State *L, const char *name, lua_Number number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

// info(): returns a table of the session's properties
static int client_info(lua_State *L) {
  const PerigeeClient *client = core_client(L, 1);
  PerigeeStats stats;
  perigee_stats(client, &stats);
  lua_newtable(L);
  set_number(L, "ping_interval", stats.ping_interval_ms / 1e3);
  set_number(L, "id", perigee_peer_id(client));
  set_text(L, "name", perigee_name(client));
  set_text(L, "session", perigee_session(client));
  set_number(L, "max_payload", perigee_max_payload(client));
  set_number(L, "tick_rate", perigee_tick_rate(client));
  set_number(L, "server_time", (lua_Number)perigee_server_time_us(client) / 1e6);
  return 1;
}

// members(room): returns a table of the names of the other members by peer id. It may
// include changes whose events come later.
static int client_members(lua_State *L) {
  const PerigeeClient *client = core_client(L, 1);
  uint32_t room = core_number(L, 2, UINT32_MAX);
  uint32_t count = perigee_member_count(client, room);
  lua_newtable(L);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t peer = perigee_member(client, room, i);
    const char *name = perigee_member_name(client, room, peer);
    lua_pushnumber(L, peer);
    lua_pushstring(L, name ? name : "");
    lua_rawset(L, -3);
  }
  return 1;
}

// udp_stats(): returns a table of figures about datagrams; nil without datagrams
static int client_udp_stats(lua_State *L) {
  PerigeeStats stats;
  perigee_stats(core_client(L, 1), &stats);
  if (!stats.has_datagrams) return 0;
  lua_newtable(L);
  set_number(L, "rtt", (lua_Number)stats.rtt_newest_us / 1e6);
  set_number(L, "rtt_smooth", (lua_Number)stats.rtt_us / 1e6);
  set_number(L, "sent", (lua_Number)stats.datagrams_sent);
  set_number(L, "received", (lua_Number)stats.datagrams_received);
  set_number(L, "acknowledged", (lua_Number)stats.datagrams_acknowledged);
  set_number(L, "lost", (lua_Number)stats.datagrams_lost);
  set_number(L, "packets_sent", (lua_Number)stats.packets_sent);
  set_number(L, "packets_received", (lua_Number)stats.packets_received);
  return 1;
}

static int now(lua_State *L) {
  lua_pushnumber(L, (lua_Number)perigee_clock_us() / 1e6);
  return 1;
}

int luaopen_perigee_client_core(lua_State *L) {
  static const luaL_Reg METHODS[] = {{"close", client_close},
                                     {"free", client_free},
                                     {"poll", client_poll},
                                     {"next_event", client_next_event},
                                     {"info", client_info},
                                     {"udp_stats", client_udp_stats},
                                     {"__gc", client_free},
                                     {"members", client_members},
                                     {NULL, NULL}};
  static const luaL_Reg FUNCTIONS[] = {
      {"connect", connect}, {"now", now}, {NULL, NULL}};
  luaL_newmetatable(L, HANDLE);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_register(L, NULL, METHODS);
  core_add_calls(L);
  core_add_lockstep(L);
  lua_newtable(L);
  luaL_register(L, NULL, FUNCTIONS);
  core_add_wait(L);
  core_add_bare(L);
  return 1;
}
