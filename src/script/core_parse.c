// perigee.core: parsing the game's files.
#include "script/core.h"
#include "script/guard/deadline.h"
#include "script/parser.h"

enum {
  LOAD_WAIT_US = 10000000
};  // longer than PARSE_US, so that the parser first stops by itself

// Returns the file with its path at `at` and its text at the next index. The result is
// valid while path and text are on the stack.
static ParseFile check_file(lua_State *L, int at) {
  size_t size;
  ParseFile file = {.path = luaL_checkstring(L, at)};
  file.text.bytes = luaL_checklstring(L, at + 1, &size);
  file.text.size = (uint32_t)size;
  return file;
}

// parse_ahead(texts): makes a thread parse files (path -> text), and cancels the files
// of the last call. Returns whether all files have been parsed. If not, the input
// `again` follows.
static int core_parse_ahead(lua_State *L) {
  Host *host = core_host(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  size_t count = 0, at = 0;
  for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) count++;
  ParseFile *files = lua_newuserdata(L, (count + 1) * sizeof *files);
  for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1))
    files[at++] = check_file(L, -2);
  lua_pushboolean(L, parser_want(&host->parser, files, count));
  return 1;
}

// Returns the microseconds that are left for the running handler.
static uint64_t left_us(const Host *host) {
  const Deadline *deadline = &host->deadline;
  uint64_t used_us = deadline_clock_us() - deadline->started_us;
  uint64_t allowed_us = deadline->limits.handler_us;
  return used_us < allowed_us ? allowed_us - used_us : 0;
}

// parse(path, text, environment, when): returns the function; or nil and an error text;
// or nothing if the file has not been parsed. `when` is "ahead" (use the result of
// parse_ahead), "load" (parse at the start, before clients connect) or "now" (parse
// within the time that is left for the running handler).
static int core_parse(lua_State *L) {
  static const char *const WHEN[] = {"ahead", "load", "now", NULL};
  Host *host = core_host(L);
  ParseFile file = check_file(L, 1);
  int when = luaL_checkoption(L, 4, NULL, WHEN);
  ParseOutcome outcome = when == 0
                             ? parser_take(&host->parser, L, &file)
                             : parser_wait(&host->parser, L, &file,
                                           when == 1 ? LOAD_WAIT_US : left_us(host));
  switch (outcome) {
    case PARSE_DONE:
      lua_pushvalue(L, 3);
      lua_setfenv(L, -2);
      return 1;
    case PARSE_FAILED:
      lua_pushnil(L);
      lua_insert(L, -2);
      return 2;
    default:
      return 0;
  }
}

const luaL_Reg core_parse_functions[] = {
    {"parse_ahead", core_parse_ahead}, {"parse", core_parse}, {NULL, NULL}};
