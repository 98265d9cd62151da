// The functions of tool_sim.h for Lua, with integer ids. One userdata owns all servers,
// so that they end with the tool.
#include "script/tool_sim.h"

#include <lauxlib.h>
#include <string.h>

#include "base/slots.h"
#include "net/sim.h"
#include "script/core.h"
#include "script/host.h"
#include "script/store.h"
#include "script/tool_modules.h"
#include "store/memory.h"

typedef struct World {
  const SimOps *ops;
  Slots servers;
} World;

static const char *const LEVELS[] = {"debug", "info", "warn", "error", "off"};
static const char *const ENDINGS[] = {[SIM_ENDED] = "end", [SIM_RESET] = "reset"};

// --- Arguments ---

static World *world_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

static uint32_t read_id(lua_State *L, int at) {
  lua_Number id = luaL_checknumber(L, at);
  luaL_argcheck(L, id >= 1 && id <= UINT32_MAX, at, "not an id");
  return (uint32_t)id;
}

static SimServer *read_server(lua_State *L) {
  uint32_t id = read_id(L, 1);
  SimServer *server = slots_find(&world_of(L)->servers, id);
  if (server == NULL) luaL_error(L, "there is no simulated server %d", (int)id);
  return server;
}

static Net *read_net(lua_State *L) {
  Net *net = world_of(L)->ops->net(read_server(L));
  if (net == NULL) luaL_error(L, "the simulated server does not run");
  return net;
}

static Script *read_script(lua_State *L) {
  read_net(L);
  return world_of(L)->ops->script(read_server(L));
}

static SimId read_client(lua_State *L, const Net *net, int at) {
  SimId id = read_id(L, at);
  if (!net_sim_is_client(net, id))
    luaL_error(L, "there is no simulated client %d", (int)id);
  return id;
}

// --- Servers ---

static void push_lines(lua_State *L, const SimOps *ops, SimServer *server) {
  size_t count;
  const SimLine *lines = ops->log(server, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 3);
    core_set_text(L, "level", LEVELS[lines[i].level]);
    lua_pushlstring(L, lines[i].text, lines[i].size);
    lua_setfield(L, -2, "text");
    core_set_number(L, "at", (lua_Number)(lines[i].at_ms - SIM_START_MS));
    lua_rawseti(L, -2, (int)i + 1);
  }
}

// Returns a server with a loaded game; or pushes nil, the error and the log, and
// returns NULL.
static SimServer *load(lua_State *L, const SimOptions *options) {
  const SimOps *ops = world_of(L)->ops;
  SimServer *server = ops->open(options);
  const char *problem = ops->problem(server);
  if (problem == NULL) return server;
  lua_pushnil(L);
  lua_pushstring(L, problem);
  push_lines(L, ops, server);
  ops->close(server);
  return NULL;
}

// open(options): returns the id; or nil, an error text and the lines of the log
static int sim_open(lua_State *L) {
  SimOptions options = tool_sim_options(L);
  World *world = world_of(L);
  SimServer *server = load(L, &options);
  if (server == NULL) return 3;
  uint32_t id = slots_add(&world->servers, server);
  if (id == 0) {
    world->ops->close(server);
    return luaL_error(L, "there are too many simulated servers");
  }
  world->ops->start(server);
  lua_pushnumber(L, id);
  return 1;
}

// check(options): returns true and nil, or nil and an error text; then the lines of the
// log
static int sim_check(lua_State *L) {
  SimOptions options = tool_sim_options(L);
  SimServer *server = load(L, &options);
  if (server == NULL) return 3;
  lua_pushboolean(L, 1);
  lua_pushnil(L);
  push_lines(L, world_of(L)->ops, server);
  world_of(L)->ops->close(server);
  return 3;
}

static int sim_close(lua_State *L) {
  SimServer *server = read_server(L);
  World *world = world_of(L);
  slots_remove(&world->servers, read_id(L, 1));
  world->ops->close(server);
  return 0;
}

static int sim_stop(lua_State *L) {
  SimServer *server = read_server(L);
  world_of(L)->ops->stop(server);
  return 0;
}

// end(id, is_crash): ends the server, for restart
static int sim_end(lua_State *L) {
  SimServer *server = read_server(L);
  world_of(L)->ops->end(server, lua_toboolean(L, 2));
  return 0;
}

// restart(id, files, ms): starts a server that has ended, at a time. Returns true; or
// nil and an error text: then it has ended again.
static int sim_restart(lua_State *L) {
  SimServer *server = read_server(L);
  const SimOps *ops = world_of(L)->ops;
  lua_Number ms = luaL_checknumber(L, 3);
  size_t count;
  const SimFile *files = tool_sim_files(L, 2, &count);
  ops->restart(server, files, count, (uint64_t)ms + SIM_START_MS);
  const char *problem = ops->problem(server);
  if (problem == NULL) {
    ops->start(server);
    lua_pushboolean(L, 1);
    return 1;
  }
  ops->end(server, true);
  lua_pushnil(L);
  lua_pushstring(L, problem);
  return 2;
}

// reload(id, files): returns the report, or nil and the errors
static int sim_reload(lua_State *L) {
  SimServer *server = read_server(L);
  size_t count;
  const SimFile *files = tool_sim_files(L, 2, &count);
  Buf report = {0};
  bool is_good = world_of(L)->ops->reload(server, files, count, &report);
  if (!is_good) lua_pushnil(L);
  lua_pushlstring(L, (const char *)report.data, report.size);
  buf_deinit(&report);
  return is_good ? 1 : 2;
}

// log(id): returns { { level, text, at }, ... } since the last call
static int sim_log(lua_State *L) {
  SimServer *server = read_server(L);
  push_lines(L, world_of(L)->ops, server);
  return 1;
}

static int sim_stats(lua_State *L) {
  core_push_stats(L, read_script(L));
  return 1;
}

// --- Clients ---

// connect(id, framing, address): returns the client
static int sim_connect(lua_State *L) {
  static const char *const FRAMINGS[] = {
      [FRAMING_PACKETS] = "packets", [FRAMING_LINES] = "lines", NULL};
  Net *net = read_net(L);
  Framing framing = (Framing)luaL_checkoption(L, 2, "packets", FRAMINGS);
  SimId id = net_sim_connect(net, framing, luaL_optstring(L, 3, "127.0.0.1"));
  if (id == 0) return luaL_error(L, "there are too many simulated clients");
  lua_pushnumber(L, id);
  return 1;
}

// write(id, client, bytes): sends bytes from the client
static int sim_write(lua_State *L) {
  Net *net = read_net(L);
  SimId client = read_client(L, net, 2);
  size_t size;
  const char *bytes = luaL_checklstring(L, 3, &size);
  net_sim_write(net, client, bytes, size);
  return 0;
}

// read(id, client): returns bytes, and the state of the connection after them: nil
// (open), "end" or "reset"
static int sim_read(lua_State *L) {
  Net *net = read_net(L);
  SimId client = read_client(L, net, 2);
  size_t size;
  const uint8_t *bytes = net_sim_peek(net, client, &size);
  lua_pushlstring(L, size > 0 ? (const char *)bytes : "", size);
  lua_pushstring(L, ENDINGS[net_sim_take(net, client)]);
  return 2;
}

static int sim_shutdown(lua_State *L) {
  Net *net = read_net(L);
  net_sim_shutdown(net, read_client(L, net, 2));
  return 0;
}

static int sim_reset(lua_State *L) {
  Net *net = read_net(L);
  net_sim_reset(net, read_client(L, net, 2));
  return 0;
}

static int sim_window(lua_State *L) {
  Net *net = read_net(L);
  SimId client = read_client(L, net, 2);
  lua_Number bytes = luaL_checknumber(L, 3);
  luaL_argcheck(L, bytes >= 0 && bytes <= UINT32_MAX, 3, "not a number of bytes");
  net_sim_window(net, client, (size_t)bytes);
  return 0;
}

// --- Time ---

static int sim_now(lua_State *L) {
  lua_pushnumber(L, (lua_Number)(net_now_ms(read_net(L)) - SIM_START_MS));
  return 1;
}

static int sim_due(lua_State *L) {
  uint64_t due_ms = net_sim_due(read_net(L));
  if (due_ms == UINT64_MAX) return 0;
  lua_pushnumber(L, (lua_Number)(due_ms - SIM_START_MS));
  return 1;
}

// iterate(id, ms): runs the server until its clock shows `ms`
static int sim_iterate(lua_State *L) {
  SimServer *server = read_server(L);
  const SimOps *ops = world_of(L)->ops;
  Net *net = read_net(L);
  lua_Number ms = luaL_checknumber(L, 2);
  luaL_argcheck(L, ms >= 0 && ms < 1e15 && ms == (lua_Number)(uint64_t)ms, 2,
                "not a whole number of milliseconds");
  uint64_t now_ms = (uint64_t)ms + SIM_START_MS;
  luaL_argcheck(L, now_ms >= net_now_ms(net), 2, "that time has passed");
  ops->enter(server);
  bool is_done = net_sim_iterate(net, now_ms);
  ops->leave(server);
  if (is_done) return 0;
  return luaL_error(L,
                    "the game never comes to rest: at %f s it sets a timer of 0 "
                    "seconds, or sleeps for as long, again and again",
                    (lua_Number)(now_ms - SIM_START_MS) / 1000);
}

// order(id, clients): sets in which order the server reads the clients' next input
static int sim_order(lua_State *L) {
  Net *net = read_net(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = lua_objlen(L, 2);
  SimId *clients = lua_newuserdata(L, (count + 1) * sizeof *clients);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    clients[i] = read_client(L, net, lua_gettop(L));
    lua_pop(L, 1);
  }
  net_sim_order(net, clients, count);
  return 0;
}

// --- Inspection ---

// Calls the function of perigee.inspect whose name is at index 2 of L. Its arguments
// begin at index 3. Leaves the results on G. Returns NULL, or an error text.
static const char *call_inspect(lua_State *L, lua_State *G, const Host *host) {
  const char *name = lua_tostring(L, 2);
  lua_rawgeti(G, LUA_REGISTRYINDEX, host->inspect);
  lua_pushstring(G, name);
  lua_rawget(G, -2);
  lua_remove(G, 1);
  if (!lua_isfunction(G, 1))
    return lua_pushfstring(G, "perigee.inspect has no function %s", name);
  int count = lua_gettop(L) - 2;
  for (int i = 1; i <= count; i++) {
    const char *problem = copy_value(L, i + 2, G);
    if (problem != NULL)
      return lua_pushfstring(G, "argument %d cannot be copied: %s", i, problem);
  }
  if (lua_pcall(G, count, LUA_MULTRET, 0) == 0) return NULL;
  const char *text = lua_tostring(G, -1);
  return text != NULL ? text : "an error that is not a text";
}

// inspect(id, name, ...): returns the results of a function of perigee.inspect
static int sim_inspect(lua_State *L) {
  SimServer *server = read_server(L);
  const SimOps *ops = world_of(L)->ops;
  luaL_checkstring(L, 2);
  Host *host = read_script(L);
  lua_State *G = host->L;
  if (G == NULL || host->inspect == 0) return luaL_error(L, "the server has no game");
  host->event = (Event){0};
  host->stack = __builtin_frame_address(0);
  ops->enter(server);
  const char *problem = call_inspect(L, G, host);
  ops->leave(server);
  int count = problem == NULL ? lua_gettop(G) : 0;
  lua_settop(L, 0);
  for (int i = 1; i <= count && problem == NULL; i++) problem = copy_value(G, i, L);
  if (problem != NULL) {
    luaL_where(L, 1);
    lua_pushstring(L, problem);
    lua_concat(L, 2);
  }
  lua_settop(G, 0);
  return problem == NULL ? count : lua_error(L);
}

// --- The store ---

static Host *read_store(lua_State *L) {
  Host *host = read_script(L);
  if (host->store == NULL) luaL_error(L, "the game has no store");
  return host;
}

static bool on_document(void *data, const BackendRow *row) {
  lua_State *L = data;
  lua_pushlstring(L, row->id.bytes, row->id.size);
  lua_pushlstring(L, row->document.value.bytes, row->document.value.size);
  lua_rawset(L, -3);
  return true;
}

// documents(id, index): returns the JSON of a collection's documents, by id
static int sim_documents(lua_State *L) {
  const Host *host = read_store(L);
  StoreFault fault;
  StoreScan scan = {.collection = (uint32_t)luaL_checkinteger(L, 2),
                    .schema_below = UINT32_MAX,
                    .limit = UINT32_MAX};
  lua_newtable(L);
  backend_memory.scan(store_backend(host->store), &scan, on_document, L, &fault);
  return 1;
}

// store_put(id, index, key, json): writes a document
static int sim_store_put(lua_State *L) {
  Host *host = read_store(L);
  StoreStep step = {.type = STORE_PUT,
                    .collection = (uint32_t)luaL_checkinteger(L, 2),
                    .schema = (uint32_t)luaL_checkinteger(L, 5),
                    .id = core_text(L, 3),
                    .value = core_text(L, 4)};
  store_step(host->store, &step);
  host_store_end_unit(host);
  host_store_post(host);
  return 0;
}

// store_fails(id, text, calls, times): makes calls of the store fail. Without a text,
// they succeed again.
static int sim_store_fails(lua_State *L) {
  static const char *const CALLS[] = {[MEMORY_ALL] = "all",
                                      [MEMORY_WRITES] = "write",
                                      [MEMORY_COMMITS] = "commit",
                                      [MEMORY_READS] = "read",
                                      NULL};
  const Host *host = read_store(L);
  MemoryFailure failure = {.fault = {.code = STORE_UNAVAILABLE}};
  bool is_off = lua_isnoneornil(L, 2);
  if (!is_off) {
    store_fault(&failure.fault, STORE_UNAVAILABLE, "%s", luaL_checkstring(L, 2));
    failure.calls = (MemoryCalls)luaL_checkoption(L, 3, "all", CALLS);
    failure.times = (uint32_t)luaL_optinteger(L, 4, 0);
  }
  memory_fail(store_backend(host->store), is_off ? NULL : &failure);
  return 0;
}

// --- The module ---

static int collect(lua_State *L) {
  World *world = lua_touserdata(L, 1);
  uint32_t cursor = 0;
  for (SimServer *server; (server = slots_next(&world->servers, &cursor)) != NULL;)
    world->ops->close(server);
  slots_deinit(&world->servers);
  return 0;
}

void tool_sim_push(lua_State *L, const SimOps *ops) {
  static const luaL_Reg FUNCTIONS[] = {{"open", sim_open},
                                       {"check", sim_check},
                                       {"close", sim_close},
                                       {"stop", sim_stop},
                                       {"end", sim_end},
                                       {"restart", sim_restart},
                                       {"reload", sim_reload},
                                       {"log", sim_log},
                                       {"stats", sim_stats},
                                       {"connect", sim_connect},
                                       {"write", sim_write},
                                       {"read", sim_read},
                                       {"shutdown", sim_shutdown},
                                       {"reset", sim_reset},
                                       {"window", sim_window},
                                       {"now", sim_now},
                                       {"due", sim_due},
                                       {"iterate", sim_iterate},
                                       {"order", sim_order},
                                       {"inspect", sim_inspect},
                                       {"documents", sim_documents},
                                       {"store_put", sim_store_put},
                                       {"store_fails", sim_store_fails},
                                       {NULL, NULL}};
  lua_newtable(L);
  World *world = lua_newuserdata(L, sizeof *world);
  *world = (World){.ops = ops};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  for (const luaL_Reg *function = FUNCTIONS; function->name != NULL; function++) {
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, function->func, 1);
    lua_setfield(L, -3, function->name);
  }
  lua_pop(L, 1);
}
