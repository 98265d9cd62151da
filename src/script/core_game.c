// perigee.core: functions for loading the game: configuration, room kinds and files.
// Also texts and figures.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/admin.h"
#include "script/core.h"
#include "script/figures.h"
#include "script/guard/parse.h"

enum { WORDS_MAX = 256 };  // most words that are compared; further words are ignored

static int core_config_begin(lua_State *L) {
  const Host *host = core_host(L);
  host->events->config_begin(host->events_data);
  return 0;
}

// Joins the strings of the list at `at` in the scratch buffer; returns NULL if an item
// is not a string.
static const char *join_texts(lua_State *L, Buf *scratch, int at) {
  scratch->size = 0;
  int count = (int)lua_objlen(L, at);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, at, i);
    if (lua_type(L, -1) != LUA_TSTRING) return NULL;
    Text text = core_text(L, -1);
    if (i > 1) buf_u8(scratch, ',');
    buf_append(scratch, text.bytes, text.size);
    lua_pop(L, 1);
  }
  buf_u8(scratch, 0);
  return (const char *)scratch->data;
}

static ScriptValue read_value(lua_State *L, Host *host, int at) {
  const char *texts;
  switch (lua_type(L, at)) {
    case LUA_TSTRING:
      return (ScriptValue){.type = SCRIPT_TEXT, .text = lua_tostring(L, at)};
    case LUA_TNUMBER:
      return (ScriptValue){.type = SCRIPT_NUMBER, .number = lua_tonumber(L, at)};
    case LUA_TBOOLEAN:
      return (ScriptValue){.type = SCRIPT_SWITCH, .number = lua_toboolean(L, at)};
    case LUA_TTABLE:
      texts = join_texts(L, &host->scratch, at);
      if (texts != NULL) return (ScriptValue){.type = SCRIPT_TEXTS, .text = texts};
      return (ScriptValue){.type = SCRIPT_OTHER, .text = "a table"};
    default:
      return (ScriptValue){
          .type = SCRIPT_OTHER,
          .text = lua_pushfstring(L, "a %s", lua_typename(L, lua_type(L, at)))};
  }
}

// config_set(key, value): returns nil, or an error text
static int core_config_set(lua_State *L) {
  Host *host = core_host(L);
  const char *key = luaL_checkstring(L, 1);
  ScriptValue value = read_value(L, host, 2);
  const char *wrong = host->events->config_set(host->events_data, key, &value);
  if (wrong == NULL) return 0;
  lua_pushstring(L, wrong);
  return 1;
}

// config_protocol(): returns the setting `protocol` with the entries of game.config
static int core_config_protocol(lua_State *L) {
  const Host *host = core_host(L);
  lua_pushstring(L, host->events->config_protocol(host->events_data));
  return 1;
}

static int core_config_take(lua_State *L) {
  const Host *host = core_host(L);
  host->events->config_take(host->events_data);
  return 0;
}

static int core_kinds_begin(lua_State *L) {
  relay_kinds_begin(core_host(L)->relay, core_id(L, 1));
  return 0;
}

// kind_set(name, hooks, settings): declares a room kind
static int core_kind_set(lua_State *L) {
  RoomKind kind = core_room_settings(L, 3).values;
  kind.hooks = core_id(L, 2);
  lua_getfield(L, 3, "auto_create");
  lua_getfield(L, 3, "resume");
  lua_getfield(L, 3, "tick_rate");
  kind.auto_create = lua_toboolean(L, -3);
  kind.loses_lost = lua_isboolean(L, -2) && !lua_toboolean(L, -2);
  kind.tick_rate = luaL_optnumber(L, -1, 0);
  lua_getfield(L, 3, "durable");
  kind.is_durable = lua_toboolean(L, -1);
  relay_kind_set(core_host(L)->relay, core_text(L, 1), &kind);
  return 0;
}

static int core_kinds_end(lua_State *L) {
  relay_kinds_end(core_host(L)->relay);
  return 0;
}

// files(paths): sets the files of the game
static int core_files(lua_State *L) {
  Host *host = core_host(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  for (size_t i = 0; i < host->file_count; i++) mem_free(host->files[i]);
  host->file_count = 0;
  size_t count = lua_objlen(L, 1);
  host->files = mem_grow(host->files, (count + 1) * sizeof *host->files);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 1, (int)i + 1);
    const char *path = lua_tostring(L, -1);
    if (path != NULL) host->files[host->file_count++] = mem_strdup(path);
    lua_pop(L, 1);
  }
  host->files[host->file_count] = NULL;
  return 0;
}

// read_file(path): returns the text, or nil and an error text
static int core_read_file(lua_State *L) {
  Host *host = core_host(L);
  host->scratch.size = 0;
  const ScriptOptions *options = &host->options;
  const char *path = luaL_checkstring(L, 1);
  int err = options->read == NULL ? file_read(path, &host->scratch)
                                  : options->read(options->data, path, &host->scratch);
  if (err == 0 && host->scratch.size > PARSE_SIZE_MAX) err = -EFBIG;
  if (err == 0) {
    lua_pushlstring(L, (const char *)host->scratch.data, host->scratch.size);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, err == -EINVAL  ? "not a regular file"
                      : err == -EFBIG ? PARSE_TOO_LARGE_TEXT
                                      : err_text(err));
  }
  buf_deinit(&host->scratch);
  return err == 0 ? 1 : 2;
}

// env(name): returns the value of an environment variable, or nil if it is not set
static int core_env(lua_State *L) {
  const ScriptOptions *options = &core_host(L)->options;
  const char *name = luaL_checkstring(L, 1);
  const char *value =
      options->env == NULL ? getenv(name) : options->env(options->data, name);
  if (value == NULL) return 0;
  lua_pushstring(L, value);
  return 1;
}

// file_signature(path): returns a text that changes when the file is written or
// replaced; "" for a missing file. file_is_being_written(path): returns whether a
// process has the file open for writing. The files of a game that is not on the disk
// never change.
static int core_file_signature(lua_State *L) {
  char signature[FILE_SIGNATURE_SIZE] = "";
  const char *path = luaL_checkstring(L, 1);
  if (core_host(L)->options.read == NULL) file_signature(path, signature);
  lua_pushstring(L, signature);
  return 1;
}

static int core_file_is_being_written(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  lua_pushboolean(L, core_host(L)->options.read == NULL && file_is_being_written(path));
  return 1;
}

// make_folder(path): creates a folder, whose parent must exist; returns whether the
// folder exists now
static int core_make_folder(lua_State *L) {
  bool is_there = mkdir(luaL_checkstring(L, 1), 0777) == 0 || errno == EEXIST;
  lua_pushboolean(L, is_there);
  return 1;
}

// hash(texts): returns the hash of a list of texts, in 16 hexadecimal digits
static int core_hash(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  uint64_t key[2] = {0};  // key[0]: hash of the texts so far; key[1]: always 0
  int count = (int)lua_objlen(L, 1);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    Text text = core_text(L, -1);
    key[0] = hash_bytes(key, text.bytes, text.size);
    lua_pop(L, 1);
  }
  char digits[17];
  snprintf(digits, sizeof digits, "%016" PRIx64, key[0]);
  lua_pushstring(L, digits);
  return 1;
}

// set_schema(hashes, module): sets the JavaScript module, and the protocol hashes of
// supported clients (16 hexadecimal digits each, the newest first)
static int core_set_schema(lua_State *L) {
  const Host *host = core_host(L);
  uint64_t hashes[SESSION_HASHES];
  luaL_checktype(L, 1, LUA_TTABLE);
  int count = (int)lua_objlen(L, 1);
  if (count > SESSION_HASHES) count = SESSION_HASHES;
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    hashes[i] = strtoull(luaL_checkstring(L, -1), NULL, 16);
    lua_pop(L, 1);
  }
  ScriptSchema schema = {hashes, (uint32_t)count, core_text(L, 2)};
  host->events->schema(host->events_data, &schema);
  return 0;
}

// limits(): returns the settings that the Lua half applies:
//  drops_invalid: a peer whose messages do not fit the schema stays connected
//  may_break_schema: a reload may change messages that clients know
//  is_watched: the game is reloaded when a file changes
//  rollback_errors: errors of a new version that roll it back; 0: any number is allowed
//  may_write: MCP tools of the host may change the server
//  shows_source: MCP may show the game's files, by the setting or because requests have
//    tokens
//  http_hosts: hosts to which the game may send requests, separated by commas; see
//    api/http.lua
//  http_max_bytes: most bytes of the body of an answer of these hosts
//  has_accounts: clients can sign in; needs_account: only these may connect
//  accounts_per_minute: new accounts that one network may make in a minute; 0: no limit
//  account_token_days: days that a token of an account is valid
//  mcp_tools: names of usable MCP tools, separated by commas; see permit.lua
//  max_payload: limit of a packet's payload in bytes
static int core_limits(lua_State *L) {
  const Host *host = core_host(L);
  const ScriptLimits *limits = &host->deadline.limits;
  lua_createtable(L, 0, 14);
  core_set_switch(L, "drops_invalid", limits->drops_invalid);
  core_set_switch(L, "may_break_schema", limits->may_break_schema);
  core_set_switch(L, "is_watched", limits->is_watched);
  core_set_number(L, "rollback_errors", limits->rollback_errors);
  core_set_switch(L, "may_write", limits->may_write);
  core_set_switch(L, "shows_source",
                  limits->shows_source || net_admin_has_token(host->net));
  core_set_text(L, "http_hosts", limits->http_hosts);
  core_set_number(L, "http_max_bytes", (lua_Number)limits->http_max_bytes);
  core_set_switch(L, "has_accounts", limits->has_accounts);
  core_set_switch(L, "needs_account", limits->needs_account);
  core_set_number(L, "accounts_per_minute", limits->accounts_per_minute);
  core_set_number(L, "account_token_days", limits->account_token_days);
  core_set_text(L, "mcp_tools", limits->mcp_tools);
  core_set_number(L, "max_payload", relay_limits(host->relay)->max_payload);
  return 1;
}

// knows_schema(hash): returns whether any peer has the schema of that protocol hash
static int core_knows_schema(lua_State *L) {
  uint64_t hash = strtoull(luaL_checkstring(L, 1), NULL, 16);
  lua_pushboolean(L, session_knows_schema(relay_session(core_host(L)->relay), hash));
  return 1;
}

int core_nearest(lua_State *L) {
  const char *words[WORDS_MAX + 1];
  const char *word = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  int count = (int)lua_objlen(L, 2);
  if (count > WORDS_MAX) count = WORDS_MAX;
  luaL_checkstack(L, count, NULL);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 2, i + 1);
    words[i] = luaL_checkstring(L, -1);
  }
  words[count] = NULL;
  lua_pushstring(L, text_nearest(word, words));
  return 1;
}

int core_list(lua_State *L) {
  DIR *folder = opendir(luaL_checkstring(L, 1));
  if (folder == NULL) {
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
  }
  lua_newtable(L);
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++count);
  }
  closedir(folder);
  return 1;
}

static int core_is_utf8(lua_State *L) {
  Text text = core_text(L, 1);
  lua_pushboolean(L, text_is_utf8(text.bytes, text.size));
  return 1;
}

// json_count(text): returns an upper bound of the number of values in JSON
static int core_json_count(lua_State *L) {
  Text text = core_text(L, 1);
  lua_pushnumber(L, (lua_Number)text_json_count(text.bytes, text.size));
  return 1;
}

// has_stack(): returns whether coroutines may nest deeper
static int core_has_stack(lua_State *L) {
  lua_pushboolean(L, host_has_stack_for_coroutine(core_host(L)));
  return 1;
}

static void set_figures(lua_State *L, const Figure *figures, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    core_set_number(L, figures[i].name, figures[i].value);
}

void core_push_stats(lua_State *L, const Host *host) {
  Figure figures[FIGURES_MAX];
  lua_createtable(L, 0, FIGURES_MAX);
  set_figures(L, figures, figures_of_server(host, figures));
  lua_createtable(L, 0, FIGURES_MAX);
  set_figures(L, figures, figures_of_udp(host, figures));
  lua_setfield(L, -2, "udp");
  lua_createtable(L, 0, FIGURES_MAX);
  set_figures(L, figures, figures_of_store(host, figures));
  lua_setfield(L, -2, "store");
}

static int core_stats(lua_State *L) {
  core_push_stats(L, core_host(L));
  return 1;
}

// set_queues(json): sets the figures of the game's queues; see figures_of_queues
static int core_set_queues(lua_State *L) {
  Buf *queues = &core_host(L)->queues;
  Text json = core_text(L, 1);
  queues->size = 0;
  buf_append(queues, json.bytes, json.size);
  return 0;
}

// is_name(text): returns whether a room, a channel or a fault may have this name
static int core_is_name(lua_State *L) {
  Text text = core_text(L, 1);
  lua_pushboolean(L, text_is_name(text.bytes, text.size));
  return 1;
}

const luaL_Reg core_game_functions[] = {
    {"config_begin", core_config_begin},
    {"config_set", core_config_set},
    {"config_protocol", core_config_protocol},
    {"config_take", core_config_take},
    {"kinds_begin", core_kinds_begin},
    {"kind_set", core_kind_set},
    {"kinds_end", core_kinds_end},
    {"files", core_files},
    {"nearest", core_nearest},
    {"list", core_list},
    {"is_name", core_is_name},
    {"is_utf8", core_is_utf8},
    {"json_count", core_json_count},
    {"has_stack", core_has_stack},
    {"read_file", core_read_file},
    {"env", core_env},
    {"file_signature", core_file_signature},
    {"file_is_being_written", core_file_is_being_written},
    {"make_folder", core_make_folder},
    {"hash", core_hash},
    {"set_schema", core_set_schema},
    {"limits", core_limits},
    {"knows_schema", core_knows_schema},
    {"stats", core_stats},
    {"set_queues", core_set_queues},
    {NULL, NULL}};
