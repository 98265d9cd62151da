// perigee.core: the store. The Lua half checks names, keys and options. These functions
// check everything on which the store's thread relies.
#include "base/text.h"
#include "script/core.h"
#include "script/document.h"
#include "script/guard/deadline.h"
#include "script/store.h"
#include "script/transaction.h"

enum { STEPS_PER_BYTE = 1 };

// store_place(): returns the setting `store` with the entries of game.config so far; ""
// for none
static int core_store_place(lua_State *L) {
  const Host *host = core_host(L);
  lua_pushstring(L, host->events->config_store(host->events_data).place);
  return 1;
}

// store_has_accounts(): returns whether clients can sign in, by the settings with the
// entries of game.config so far
static int core_store_has_accounts(lua_State *L) {
  const Host *host = core_host(L);
  lua_pushboolean(L, host->events->config_store(host->events_data).has_accounts);
  return 1;
}

// store_timeout(): returns the seconds that a call waits for the store
static int core_store_timeout(lua_State *L) {
  const Host *host = core_host(L);
  lua_pushnumber(L, host->events->config_store(host->events_data).timeout_ms / 1000.0);
  return 1;
}

// store_open(place): opens the store, unless it is open. Returns nil, or an error text.
static int core_store_open(lua_State *L) {
  const char *problem = host_store_open(core_host(L), luaL_checkstring(L, 1));
  lua_pushstring(L, problem);
  return 1;
}

// store_define(token, index, name, fields): creates a collection with the number
// `index`
static int core_store_define(lua_State *L) {
  const Host *host = core_host(L);
  StoreCollection collection = {.name = luaL_checkstring(L, 3)};
  int count = (int)lua_objlen(L, 4);
  luaL_argcheck(L, count <= STORE_INDEXES_MAX, 4, "too many fields");
  luaL_checkstack(L, count, "fields");
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 4, i + 1);
    collection.indexes[i] = luaL_checkstring(L, -1);
  }
  if (host->store != NULL)
    store_define(host->store, core_id(L, 1), core_id(L, 2), &collection);
  return 0;
}

// Charges the work on the JSON in the scratch buffer, and frees the buffer if it has
// become large.
static void end_json(Host *host, lua_State *L) {
  uint32_t steps = (uint32_t)host->scratch.size * STEPS_PER_BYTE;
  buf_trim(&host->scratch);
  deadline_charge(host, L, steps);
}

// Writes the JSON of a document into the scratch buffer. Returns 0; or, after a failure,
// 3, and pushes nil, an error text, and the code TooLarge if that is the reason.
static int write_json(Host *host, lua_State *L, int at, Text *json) {
  Buf *out = &host->scratch;
  luaL_checkany(L, at);
  out->size = 0;
  bool is_good = document_write(L, at, out, STORE_VALUE_MAX);
  *json = (Text){(const char *)out->data, (uint32_t)out->size};
  if (is_good) return 0;
  lua_pushnil(L);
  lua_insert(L, -2);
  lua_pushstring(
      L, json->size > STORE_VALUE_MAX ? store_code_name(STORE_TOO_LARGE) : NULL);
  end_json(host, L);
  return 3;
}

// store_json(value): returns the JSON of a document; or nil, an error text, and the
// code TooLarge if that is the reason
static int core_store_json(lua_State *L) {
  Host *host = core_host(L);
  Text json;
  int failed = write_json(host, L, 1, &json);
  if (failed > 0) return failed;
  lua_pushlstring(L, json.bytes, json.size);
  end_json(host, L);
  return 1;
}

static bool is_key(Text id) {
  return id.size > 0 && id.size <= STORE_ID_MAX &&
         memchr(id.bytes, 0, id.size) == NULL && text_is_utf8(id.bytes, id.size);
}

// store_is_key(id): returns whether a value can be the key of a document
static int core_store_is_key(lua_State *L) {
  lua_pushboolean(L, lua_type(L, 1) == LUA_TSTRING && is_key(core_text(L, 1)));
  return 1;
}

static StoreStep read_step(lua_State *L) {
  StoreStep step = {.type = (uint8_t)luaL_checkinteger(L, 1),
                    .collection = core_id(L, 2),
                    .id = core_text(L, 3),
                    .schema = (uint32_t)luaL_optinteger(L, 5, 0),
                    .version = (int64_t)luaL_optnumber(L, 6, 0)};
  if (!lua_isnoneornil(L, 4)) step.value = core_text(L, 4);
  luaL_argcheck(L, step.type <= STORE_CHECK_FOUND, 1, "not a step");
  luaL_argcheck(L, step.type != STORE_PUT || step.value.size > 0, 4, "no value");
  luaL_argcheck(L, step.type == STORE_CHECK_FOUND || is_key(step.id), 3, "not a key");
  return step;
}

int core_store_write(lua_State *L, const StoreStep *step) {
  const Host *host = core_host(L);
  StoreCode code = STORE_UNAVAILABLE;
  if (host->store != NULL) code = store_step(host->store, step);
  if (code == STORE_SLOW)
    return core_fail(L, "the store is too slow", store_code_name(code));
  if (code != STORE_OK)
    return core_fail(L, "the store is closed", store_code_name(code));
  lua_pushboolean(L, 1);
  return 1;
}

// store_step(type, index, id, json, schema, version): adds a write of the running
// handler. Returns true, or nil, message, code.
static int core_store_step(lua_State *L) {
  StoreStep step = read_step(L);
  return core_store_write(L, &step);
}

// store_put(index, id, value, schema): adds a put of the running handler. Returns true;
// nil, message, code; or nil and an error text if JSON cannot express the value.
static int core_store_put(lua_State *L) {
  Host *host = core_host(L);
  StoreStep step = {.type = STORE_PUT,
                    .collection = core_id(L, 1),
                    .id = core_text(L, 2),
                    .schema = core_id(L, 4)};
  luaL_argcheck(L, is_key(step.id), 2, "not a key");
  int failed = write_json(host, L, 3, &step.value);
  if (failed > 0) return failed;
  int count = core_store_write(L, &step);
  end_json(host, L);
  return count;
}

// store_begin_unit(): begins the unit of a request, which is separate from the
// handler's own unit
static int core_store_begin_unit(lua_State *L) {
  core_host(L)->unit.size = 0;
  return 0;
}

// store_unit_step(type, index, id, json, schema, version): adds a step to that unit
static int core_store_unit_step(lua_State *L) {
  StoreStep step = read_step(L);
  unit_push(&core_host(L)->unit, &step);
  return 0;
}

int core_store_request(lua_State *L, Command command) {
  command.type = COMMAND_STORE;
  command.id = core_id(L, 1);
  int err = relay_command(core_host(L)->relay, &command);
  if (err != 0) return core_fail(L, "it is too large", "TooLarge");
  lua_pushboolean(L, 1);
  return 1;
}

// store_end_unit(token): ends that unit. The store gets it when the handler ends or
// waits. Returns true, or nil, message, code.
static int core_store_end_unit(lua_State *L) {
  Buf *unit = &core_host(L)->unit;
  int count = core_store_request(
      L, (Command){.flags = STORE_REQUEST_UNIT,
                   .body = {(const char *)unit->data, (uint32_t)unit->size}});
  unit->size = 0;
  buf_trim(unit);
  return count;
}

// store_get(token, index, id): requests a document. The store gets the request when the
// handler waits.
static int core_store_get(lua_State *L) {
  return core_store_request(L, (Command){.flags = STORE_REQUEST_GET,
                                         .room = core_id(L, 2),
                                         .name = core_text(L, 3)});
}

// store_cached(index, id): returns the JSON of a document ("" for none), its version
// and its schema; nothing if the cache does not have it
static int core_store_cached(lua_State *L) {
  const Host *host = core_host(L);
  StoreDocument document = {0};
  if (host->store == NULL ||
      !store_cached(host->store, core_id(L, 1), core_text(L, 2), &document))
    return 0;
  lua_pushlstring(L, document.value.size > 0 ? document.value.bytes : "",
                  document.value.size);
  lua_pushnumber(L, (lua_Number)document.version);
  lua_pushnumber(L, document.schema);
  return 3;
}

// store_flush(token): requests an answer when all writes so far are on disk
static int core_store_flush(lua_State *L) {
  return core_store_request(L, (Command){.flags = STORE_REQUEST_FLUSH});
}

// --- Finding ---

static StoreValue value_at(lua_State *L, int at) {
  switch (lua_type(L, at)) {
    case LUA_TNUMBER:
      return (StoreValue){.type = STORE_NUMBER, .number = lua_tonumber(L, at)};
    case LUA_TBOOLEAN:
      return (StoreValue){.type = STORE_BOOLEAN, .number = lua_toboolean(L, at)};
    case LUA_TSTRING:
      return (StoreValue){.type = STORE_TEXT, .text = core_text(L, at)};
    default:
      return (StoreValue){.type = STORE_NONE};
  }
}

// Reads the list { field, op, value, field, op, value, ... } at `at`. Leaves the values
// on the stack, because texts point to them.
static void read_conditions(lua_State *L, int at, StoreQuery *query) {
  enum { PARTS = 3 };
  query->count = (uint32_t)lua_objlen(L, at) / PARTS;
  luaL_argcheck(L, query->count <= STORE_CONDITIONS_MAX, at, "too many conditions");
  luaL_checkstack(L, STORE_CONDITIONS_MAX + PARTS, "conditions");
  for (uint32_t i = 0; i < query->count; i++) {
    StoreCondition *condition = &query->conditions[i];
    lua_rawgeti(L, at, (int)i * PARTS + 1);
    lua_rawgeti(L, at, (int)i * PARTS + 2);
    condition->field = (uint32_t)lua_tointeger(L, -2);
    condition->op = (uint8_t)lua_tointeger(L, -1);
    lua_pop(L, 2);
    lua_rawgeti(L, at, (int)i * PARTS + 3);
    condition->value = value_at(L, -1);
  }
}

// store_query(index, conditions, order, limit, after, is_count): returns the bytes of a
// query; see query.h
static int core_store_query(lua_State *L) {
  Buf *bytes = &core_host(L)->scratch;
  StoreQuery query = {.collection = core_id(L, 1),
                      .order = (int32_t)luaL_checkinteger(L, 3),
                      .limit = (uint32_t)luaL_checkinteger(L, 4),
                      .after = core_text(L, 5),
                      .is_count = lua_toboolean(L, 6)};
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, query.limit <= STORE_LIMIT_MAX, 4, "too many documents");
  read_conditions(L, 2, &query);
  bytes->size = 0;
  store_query_write(&query, bytes);
  lua_pushlstring(L, (const char *)bytes->data, bytes->size);
  return 1;
}

// store_find(token, query): requests the result of a query. The query sees the steps of
// store_unit_step as if they were written.
static int core_store_find(lua_State *L) {
  Buf *unit = &core_host(L)->unit;
  int count = core_store_request(
      L, (Command){.flags = STORE_REQUEST_FIND,
                   .body = core_text(L, 2),
                   .packed = {(const char *)unit->data, (uint32_t)unit->size}});
  unit->size = 0;
  buf_trim(unit);
  return count;
}

// store_sql(token, statement, arguments, count): requests the rows of a statement,
// which may run for 20 times the time of a handler
static int core_store_sql(lua_State *L) {
  enum { HANDLERS = 20 };
  Host *host = core_host(L);
  Buf *bytes = &host->scratch;
  int count = (int)luaL_checkinteger(L, 4);
  luaL_argcheck(L, count <= STORE_SQL_ARGUMENTS_MAX, 4, "too many arguments");
  bytes->size = 0;
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 3, i);
    StoreValue value = value_at(L, -1);
    buf_append(bytes, &value, sizeof value);
    buf_append(bytes, value.text.bytes, value.text.size);
    lua_pop(L, 1);
  }
  uint64_t ms = HANDLERS * host->deadline.limits.handler_us / 1000;
  return core_store_request(
      L, (Command){.flags = STORE_REQUEST_SQL,
                   .name = core_text(L, 2),
                   .body = {(const char *)bytes->data, (uint32_t)bytes->size},
                   .code = (uint32_t)ms});
}

// store_scan(token, index, schema, after): requests documents with schemas below
// `schema`, in the order of ids
static int core_store_scan(lua_State *L) {
  return core_store_request(L, (Command){.flags = STORE_REQUEST_SCAN,
                                         .room = core_id(L, 2),
                                         .code = core_id(L, 3),
                                         .name = core_text(L, 4)});
}

// store_found(bytes): converts the documents of an answer to a list of id, JSON,
// version, schema, id, and so on
static int core_store_found(lua_State *L) {
  Text bytes = core_text(L, 1);
  const StoreUnit found = {.data = (uint8_t *)bytes.bytes, .size = bytes.size};
  StoreStep step;
  int count = 0;
  lua_newtable(L);
  for (size_t at = 0; unit_next(&found, &at, &step);) {
    lua_pushlstring(L, step.id.bytes, step.id.size);
    lua_rawseti(L, -2, ++count);
    lua_pushlstring(L, step.value.bytes, step.value.size);
    lua_rawseti(L, -2, ++count);
    lua_pushnumber(L, (lua_Number)step.version);
    lua_rawseti(L, -2, ++count);
    lua_pushnumber(L, step.schema);
    lua_rawseti(L, -2, ++count);
  }
  deadline_charge(core_host(L), L, bytes.size);
  return 1;
}

// --- Transactions ---

// store_stash(): sets the handler's commands aside; returns the id of the stash
static int core_store_stash(lua_State *L) {
  uint32_t id = transaction_stash(core_host(L));
  if (id == 0) return luaL_error(L, "there are too many transactions");
  lua_pushnumber(L, id);
  return 1;
}

// store_unstash(id): makes the commands of a stash those of the handler
static int core_store_unstash(lua_State *L) {
  transaction_unstash(core_host(L), core_id(L, 1));
  return 0;
}

// store_drop(id): discards the commands of a stash, if it exists
static int core_store_drop(lua_State *L) {
  transaction_drop(core_host(L), core_id(L, 1));
  return 0;
}

const luaL_Reg core_store_functions[] = {
    {"store_query", core_store_query},
    {"store_find", core_store_find},
    {"store_scan", core_store_scan},
    {"store_cached", core_store_cached},
    {"store_sql", core_store_sql},
    {"store_found", core_store_found},
    {"store_stash", core_store_stash},
    {"store_unstash", core_store_unstash},
    {"store_drop", core_store_drop},
    {"store_place", core_store_place},
    {"store_has_accounts", core_store_has_accounts},
    {"store_timeout", core_store_timeout},
    {"store_open", core_store_open},
    {"store_define", core_store_define},
    {"store_json", core_store_json},
    {"store_is_key", core_store_is_key},
    {"store_put", core_store_put},
    {"store_step", core_store_step},
    {"store_begin_unit", core_store_begin_unit},
    {"store_unit_step", core_store_unit_step},
    {"store_end_unit", core_store_end_unit},
    {"store_get", core_store_get},
    {"store_flush", core_store_flush},
    {NULL, NULL}};
