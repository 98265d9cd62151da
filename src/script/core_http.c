// perigee.core: what tools that ask by way of the admin listener need: answers, reloads,
// programs that are run for them.
#include <lauxlib.h>
#include <stdio.h>

#include "net/admin.h"
#include "script/core.h"
#include "script/reload.h"

enum { TOKEN_BYTES = 24 };

static Text check_text(lua_State *L, int at) {
  size_t size;
  const char *bytes = luaL_checklstring(L, at, &size);
  return (Text){.bytes = bytes, .size = (uint32_t)size};
}

static int queue(lua_State *L, AnswerPart part, int status, Text fields, Text body) {
  Command command = {.type = COMMAND_ANSWER,
                     .id = core_id(L, 1),
                     .flags = (uint8_t)part,
                     .code = (uint32_t)status,
                     .name = fields,
                     .body = body};
  lua_pushboolean(L, relay_command(core_host(L)->relay, &command) == 0);
  return 1;
}

// answer(conn, status, fields, body): all of it; fields are "Name: value\r\n" each
static int core_answer(lua_State *L) {
  return queue(L, ANSWER_WHOLE, luaL_checkint(L, 2), check_text(L, 3),
               check_text(L, 4));
}

// answer_open(conn, fields, body): a stream, and its beginning
static int core_answer_open(lua_State *L) {
  return queue(L, ANSWER_OPEN, 200, check_text(L, 2), check_text(L, 3));
}

// answer_more(conn, body)
static int core_answer_more(lua_State *L) {
  return queue(L, ANSWER_MORE, 0, (Text){"", 0}, check_text(L, 2));
}

// answer_last(conn, body)
static int core_answer_last(lua_State *L) {
  return queue(L, ANSWER_LAST, 0, (Text){"", 0}, check_text(L, 2));
}

// token(): 48 hexadecimal digits that nobody can guess
static int core_token(lua_State *L) {
  uint8_t bytes[TOKEN_BYTES];
  char digits[2 * TOKEN_BYTES + 1];
  net_random(core_host(L)->net, bytes, sizeof bytes);
  for (size_t i = 0; i < TOKEN_BYTES; i++) sprintf(digits + 2 * i, "%02x", bytes[i]);
  lua_pushstring(L, digits);
  return 1;
}

// reload(): asks for a reload; `reloaded` tells how it went
static int core_reload(lua_State *L) {
  Event event = {.type = EVENT_RELOAD, .b = RELOAD_ASKED};
  relay_push(core_host(L)->relay, &event);
  return 0;
}

// forget(): takes back what the running handler has asked for so far
static int core_forget(lua_State *L) {
  const Host *host = core_host(L);
  relay_forget(host->relay, host->mark);
  return 0;
}

// child(token, arguments): runs this program with arguments, a NUL after each; `child`
// tells how it ended
static int core_child(lua_State *L) {
  Command command = {
      .type = COMMAND_CHILD, .id = core_id(L, 1), .body = check_text(L, 2)};
  lua_pushboolean(L, relay_command(core_host(L)->relay, &command) == 0);
  return 1;
}

// product_version(): of the server
static int core_product_version(lua_State *L) {
  lua_pushliteral(L, PERIGEE_VERSION);
  return 1;
}

// may_write(): whether tools of the host's own may change something
static int core_may_write(lua_State *L) {
  lua_pushboolean(L, core_host(L)->budget.limits.may_write);
  return 1;
}

// mcp_tools(): which tools may be used: names separated by commas; see permit.lua
static int core_mcp_tools(lua_State *L) {
  lua_pushstring(L, core_host(L)->budget.limits.mcp_tools);
  return 1;
}

const luaL_Reg core_http_functions[] = {{"answer", core_answer},
                                        {"answer_open", core_answer_open},
                                        {"answer_more", core_answer_more},
                                        {"answer_last", core_answer_last},
                                        {"token", core_token},
                                        {"reload", core_reload},
                                        {"forget", core_forget},
                                        {"child", core_child},
                                        {"may_write", core_may_write},
                                        {"mcp_tools", core_mcp_tools},
                                        {"product_version", core_product_version},
                                        {NULL, NULL}};
