// perigee.core: requests over HTTP to other servers.
#include "script/core.h"
#include "script/guard/deadline.h"

// fetch(token, head, body, timeout_ms): starts a request; see FetchStart for the head.
// The body may be nil. The event `fetch` reports the end, unless the timeout passes
// before.
static int core_fetch(lua_State *L) {
  bool has_body = !lua_isnil(L, 3);
  Command command = {.type = COMMAND_FETCH,
                     .id = core_id(L, 1),
                     .name = core_text(L, 2),
                     .flags = has_body,
                     .code = (uint32_t)luaL_checkinteger(L, 4)};
  if (has_body) command.body = core_text(L, 3);
  relay_command(core_host(L)->relay, &command);
  return 0;
}

// fetch_take(token): returns the status, the head and the body of an answer. Lua may
// raise an error here, so `scratch` owns the answer.
static int core_fetch_take(lua_State *L) {
  Host *host = core_host(L);
  FetchAnswer answer = {0};
  fetcher_take(host->fetcher, core_id(L, 1), &answer);
  buf_deinit(&host->scratch);
  host->scratch = answer.bytes;
  deadline_charge(host, L, (uint32_t)host->scratch.size);
  const char *bytes = (const char *)host->scratch.data;
  lua_pushinteger(L, (lua_Integer)answer.status);
  lua_pushlstring(L, bytes, answer.head_size);
  lua_pushlstring(L, bytes + answer.head_size, host->scratch.size - answer.head_size);
  buf_deinit(&host->scratch);
  return 3;
}

const luaL_Reg core_fetch_functions[] = {
    {"fetch", core_fetch}, {"fetch_take", core_fetch_take}, {NULL, NULL}};
