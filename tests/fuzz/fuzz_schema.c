// Any text as a schema, and any bytes as messages of that schema. Each error is
// reported with its place, a decoded message encodes to the same bytes, and nothing
// outside of the bytes is accessed. schema.lua beside this file has the checks. The
// first NUL of the input ends the text.
#include <lauxlib.h>
#include <lualib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/library.h"

enum { COUNTERS = 1 << 15, AT_TRACEBACK = 1, AT_CHECK = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Counts executed lines of Lua for libFuzzer, which does not see their branches.
__attribute__((
    section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static void on_line(lua_State *L, lua_Debug *info) {
  lua_getinfo(L, "S", info);
  uint32_t hash = (uint32_t)info->currentline;
  for (const char *at = info->source; *at != '\0'; at++) {
    hash = (hash ^ (uint8_t)*at) * 0x01000193;  // FNV's prime
  }
  counters[hash % COUNTERS]++;
}

static int search_bundle(lua_State *L) {
  library_load(L, luaL_checkstring(L, 1), NULL);
  return 1;
}

static void fail(lua_State *L) {
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  abort();
}

static lua_State *start(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaders");
  lua_pushcfunction(L, search_bundle);
  lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
  lua_getglobal(L, "debug");
  lua_getfield(L, -1, "traceback");
  lua_replace(L, AT_TRACEBACK);
  lua_settop(L, AT_TRACEBACK);
  if (luaL_loadfile(L, "tests/fuzz/schema.lua") != 0) fail(L);
  if (lua_pcall(L, 0, 1, AT_TRACEBACK) != 0) fail(L);
  lua_sethook(L, on_line, LUA_MASKLINE, 0);
  return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (L == NULL) L = start();
  const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
  size_t text_size = end != NULL ? (size_t)(end - data) : size;
  size_t skipped = end != NULL ? text_size + 1 : size;
  lua_pushvalue(L, AT_CHECK);
  lua_pushlstring(L, (const char *)data, text_size);
  lua_pushlstring(L, (const char *)data + skipped, size - skipped);
  if (lua_pcall(L, 2, 0, AT_TRACEBACK) != 0) fail(L);
  return 0;
}
