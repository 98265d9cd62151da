// perigee.core: functions for requests of the admin listener: answers, child processes,
// files.
#include <lauxlib.h>
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "net/admin.h"
#include "script/core.h"
#include "wire/code.h"
#include "wire/ignore.h"

enum { TOKEN_BYTES = 24 };

static int queue(lua_State *L, const Command *command) {
  lua_pushboolean(L, relay_command(core_host(L)->relay, command) == 0);
  return 1;
}

static int answer(lua_State *L, AnswerPart part, int status, Text fields, Text body) {
  Command command = {.type = COMMAND_ANSWER,
                     .id = core_id(L, 1),
                     .flags = (uint8_t)part,
                     .code = (uint32_t)status,
                     .name = fields,
                     .body = body};
  return queue(L, &command);
}

// answer(conn, status, fields, body): sends a whole answer; each field is "Name:
// value\r\n"
static int core_answer(lua_State *L) {
  return answer(L, ANSWER_WHOLE, luaL_checkint(L, 2), core_text(L, 3), core_text(L, 4));
}

// answer_open(conn, fields, body): begins a stream with `body`
static int core_answer_open(lua_State *L) {
  return answer(L, ANSWER_OPEN, 200, core_text(L, 2), core_text(L, 3));
}

// answer_more(conn, body): sends more of a stream
static int core_answer_more(lua_State *L) {
  return answer(L, ANSWER_MORE, 0, (Text){"", 0}, core_text(L, 2));
}

// answer_last(conn, body): ends a stream
static int core_answer_last(lua_State *L) {
  return answer(L, ANSWER_LAST, 0, (Text){"", 0}, core_text(L, 2));
}

// token(): returns 48 random hexadecimal digits
static int core_token(lua_State *L) {
  uint8_t bytes[TOKEN_BYTES];
  char digits[2 * TOKEN_BYTES + 1];
  net_random(core_host(L)->net, bytes, sizeof bytes);
  for (size_t i = 0; i < TOKEN_BYTES; i++) sprintf(digits + 2 * i, "%02x", bytes[i]);
  lua_pushstring(L, digits);
  return 1;
}

// child(token, arguments, input): runs this program. A NUL follows each argument;
// `input` is the standard input. The event `child` reports the end of the program.
static int core_child(lua_State *L) {
  Command command = {.type = COMMAND_CHILD,
                     .id = core_id(L, 1),
                     .name = core_text(L, 2),
                     .body = core_text(L, 3)};
  return queue(L, &command);
}

// stop(reason): stops the server when the handler has ended
static int core_stop(lua_State *L) {
  Command command = {.type = COMMAND_STOP, .body = core_text(L, 1)};
  return queue(L, &command);
}

// product_version(): returns the version of the server
static int core_product_version(lua_State *L) {
  lua_pushliteral(L, PERIGEE_VERSION);
  return 1;
}

// hidden_files(folder, paths): returns a table of path -> whether the file is hidden;
// or nil and an error text if the rules cannot be read
static int core_hidden_files(lua_State *L) {
  Host *host = core_host(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  const char *place = lua_pushfstring(L, "%s" IGNORE_FILE, luaL_checkstring(L, 1));
  host->scratch.size = 0;
  int err = file_read_if_any(place, &host->scratch);
  if (err != 0) {
    buf_deinit(&host->scratch);
    return core_fail(L, err_text(err), code_name(CODE_INTERNAL));
  }
  Text rules = {(const char *)host->scratch.data, (uint32_t)host->scratch.size};
  lua_newtable(L);
  int count = (int)lua_objlen(L, 2);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    lua_pushboolean(L, ignore_has(rules, luaL_checkstring(L, -1)));
    lua_rawset(L, -3);
  }
  buf_deinit(&host->scratch);
  return 1;
}

const luaL_Reg core_http_functions[] = {{"answer", core_answer},
                                        {"answer_open", core_answer_open},
                                        {"answer_more", core_answer_more},
                                        {"answer_last", core_answer_last},
                                        {"token", core_token},
                                        {"child", core_child},
                                        {"stop", core_stop},
                                        {"hidden_files", core_hidden_files},
                                        {"product_version", core_product_version},
                                        {NULL, NULL}};
