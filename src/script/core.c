// Creates the table perigee.core: the functions of the core_*.c files, and the
// constants that Lua shares with C.
#include "script/core.h"

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "script/guard/trace.h"
#include "script/reload.h"
#include "wire/code.h"

typedef struct Constant {
  const char *name;
  int value;
} Constant;

static const Constant HOOKS[] = {
#define X(constant, bit, name) {name, constant},
    HOOK_MAP(X)
#undef X
        {NULL, 0}};

static const Constant EVENTS[] = {
#define X(constant, name) {name, constant},
    EVENT_MAP(X) SEAM_EVENT_MAP(X) ENTRY_MAP(X)
#undef X
        {NULL, 0}};

static const Constant RELOAD_INPUTS[] = {
#define X(constant, name) {name, constant},
    RELOAD_MAP(X)
#undef X
        {NULL, 0}};

static const Constant CODES[] = {
#define X(constant, number, name) {name, constant},
    CODE_MAP(X)
#undef X
        {NULL, 0}};

static const Constant PRIORITIES[] = {{"critical", PRIORITY_CRITICAL},
                                      {"high", PRIORITY_HIGH},
                                      {"normal", PRIORITY_NORMAL},
                                      {"low", PRIORITY_LOW},
                                      {NULL, 0}};

static const Constant FLAGS[] = {{"reliable", PACKET_RELIABLE},
                                 {"request", PACKET_REQUEST},
                                 {"response", PACKET_RESPONSE},
                                 {NULL, 0}};

// Flags of bots: the handlers of their brains, and `fills`.
static const Constant BOT_FLAGS[] = {{"on_tick", BOT_TICKS},
                                     {"on_message", BOT_MESSAGES},
                                     {"on_broadcast", BOT_BROADCASTS},
                                     {"on_packet", BOT_PACKETS},
                                     {"fills", BOT_FILLS},
                                     {NULL, 0}};

static const Constant TARGETS[] = {
    {"peer", TARGET_PEER}, {"room", TARGET_ROOM}, {"all", TARGET_ALL}, {NULL, 0}};

static const Constant CHANNELS[] = {{"control", CHANNEL_CONTROL},
                                    {"message", CHANNEL_MESSAGE},
                                    {"served_first", CHANNEL_SERVED_FIRST},
                                    {"plugin_first", CHANNEL_PLUGIN_FIRST},
                                    {"served_last", CHANNEL_PLUGIN_LAST},
                                    {"last", UINT16_MAX},
                                    {NULL, 0}};

static const Constant STORE_STEPS[] = {{"put", STORE_PUT},
                                       {"delete", STORE_DELETE},
                                       {"check", STORE_CHECK},
                                       {"check_found", STORE_CHECK_FOUND},
                                       {NULL, 0}};

static const Constant BOARD[] = {{"data_max", BOARD_DATA_MAX},
                                 {"rows_max", BOARD_ROWS_MAX},
                                 {"past", BOARD_PAST},
                                 {NULL, 0}};

static const Constant LEVELS[] = {{"debug", LOG_DEBUG},
                                  {"info", LOG_INFO},
                                  {"warn", LOG_WARN},
                                  {"error", LOG_ERROR},
                                  {NULL, 0}};

Host *core_host(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

uint32_t core_id(lua_State *L, int at) {
  lua_Number id = luaL_checknumber(L, at);
  luaL_argcheck(L, id >= 0 && id <= UINT32_MAX, at, "not an id");
  return (uint32_t)id;
}

void core_set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

void core_set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

void core_set_switch(lua_State *L, const char *name, bool is_on) {
  lua_pushboolean(L, is_on);
  lua_setfield(L, -2, name);
}

int core_fail(lua_State *L, const char *message, const char *code) {
  lua_pushnil(L);
  lua_pushstring(L, message);
  lua_pushstring(L, code);
  return 3;
}

// Raises an error that contains a limit, so that a handler that ignores results also
// ends.
static int raise_limit(lua_State *L, const char *format, uint64_t limit_bytes) {
  trace_push_where(L);
  lua_pushfstring(L, format, (double)limit_bytes / (1 << 20));
  lua_concat(L, 2);
  return lua_error(L);
}

static int push_result(lua_State *L, int result, const char *gone, Code code) {
  switch (result) {
    case 0:
      lua_pushboolean(L, 1);
      return 1;
    case ERR_NOT_FOUND:
      return core_fail(L, gone, code_name(code));
    case ERR_TOO_LARGE:
      return core_fail(L, "larger than max_payload", code_name(CODE_PAYLOAD_TOO_LARGE));
    case ERR_VACANT:
      return core_fail(L, "nobody serves this channel",
                       code_name(CODE_CHANNEL_NOT_FOUND));
    case ERR_EXISTS:
      return core_fail(L, "already in the room", code_name(CODE_ALREADY_IN_ROOM));
    case ERR_FULL:
      return core_fail(L, "the room is full", code_name(CODE_ROOM_FULL));
    case ERR_DELIVERY:
      return raise_limit(L,
                         "what the handler sends comes to more than delivery_limit (%f "
                         "MiB for all who get it)",
                         relay_delivery_limit(core_host(L)->relay));
    case ERR_COMMANDS:
      return raise_limit(L,
                         "the handler's messages and other commands come to more than "
                         "%f MiB",
                         RELAY_COMMANDS_BYTES);
    default:
      return core_fail(L, err_text(result), code_name(CODE_INTERNAL));
  }
}

int core_peer_result(lua_State *L, int result) {
  return push_result(L, result, "the peer is gone", CODE_CLOSED);
}

int core_room_result(lua_State *L, int result) {
  return push_result(L, result, "there is no such room", CODE_NO_SUCH_ROOM);
}

static void set_functions(lua_State *L, Host *host, const luaL_Reg *functions) {
  for (; functions->name != NULL; functions++) {
    lua_pushlightuserdata(L, host);
    lua_pushcclosure(L, functions->func, 1);
    lua_setfield(L, -2, functions->name);
  }
}

static void set_constants(lua_State *L, const char *name, const Constant *constants) {
  lua_newtable(L);
  for (; constants->name != NULL; constants++)
    core_set_number(L, constants->name, constants->value);
  lua_setfield(L, -2, name);
}

// Sets a table that maps numbers to names.
static void set_names(lua_State *L, const char *name, const Constant *constants) {
  lua_newtable(L);
  for (; constants->name != NULL; constants++) {
    lua_pushstring(L, constants->name);
    lua_rawseti(L, -2, constants->value);
  }
  lua_setfield(L, -2, name);
}

void core_push(lua_State *L, Host *host) {
  lua_newtable(L);
  set_functions(L, host, core_send_functions);
  set_functions(L, host, core_parse_functions);
  set_functions(L, host, core_bytes_functions);
  set_functions(L, host, core_account_functions);
  set_functions(L, host, core_fetch_functions);
  set_functions(L, host, core_store_functions);
  set_functions(L, host, core_board_functions);
  set_functions(L, host, core_reload_functions);
  set_functions(L, host, core_peer_functions);
  set_functions(L, host, core_room_functions);
  set_functions(L, host, core_bot_functions);
  set_functions(L, host, core_time_functions);
  set_functions(L, host, core_http_functions);
  set_functions(L, host, core_game_functions);
  set_functions(L, host, core_keep_functions);
  set_functions(L, host, core_deadline_functions);
  set_functions(L, host, core_lpeg_functions);
  set_functions(L, host, core_string_functions);
  set_functions(L, host, core_table_functions);
  set_functions(L, host, core_order_functions);
  set_functions(L, host, core_world_functions);
  set_functions(L, host, core_console_functions);
  set_constants(L, "hooks", HOOKS);
  set_constants(L, "events", EVENTS);
  set_constants(L, "codes", CODES);
  set_constants(L, "priorities", PRIORITIES);
  set_constants(L, "flags", FLAGS);
  set_constants(L, "bot_flags", BOT_FLAGS);
  set_constants(L, "targets", TARGETS);
  set_constants(L, "channels", CHANNELS);
  set_constants(L, "store_steps", STORE_STEPS);
  set_constants(L, "board", BOARD);
  set_constants(L, "levels", LEVELS);
  set_names(L, "code_names", CODES);
  set_names(L, "reload_inputs", RELOAD_INPUTS);
  core_set_text(L, "name_rule", TEXT_NAME_RULE);
  core_set_text(L, "peer_name_rule", TEXT_PEER_NAME_RULE);
  core_set_number(L, "text_max", DEADLINE_TEXT_MAX);
  core_set_switch(L, "is_simulated", net_is_simulated(host->net));
  core_set_switch(L, "is_shuffled", host->options.is_shuffled);
}
