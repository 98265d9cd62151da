// The module perigee.tool: functions for tools that Lua's libraries lack.
#define _GNU_SOURCE  // program_invocation_name
#include "script/tool_modules.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "script/core.h"
#include "script/guard/parse.h"
#include "script/library.h"

// kind(path): returns "file", "folder" or "other"; nil if the path does not exist
static int tool_kind(lua_State *L) {
  struct stat info;
  if (stat(luaL_checkstring(L, 1), &info) != 0) return 0;
  lua_pushstring(L, S_ISREG(info.st_mode)   ? "file"
                    : S_ISDIR(info.st_mode) ? "folder"
                                            : "other");
  return 1;
}

// make_folder(path): returns true, or nil and an error text. The parent must exist.
static int tool_make_folder(lua_State *L) {
  if (mkdir(luaL_checkstring(L, 1), 0777) == 0) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, strerror(errno));
  return 2;
}

// bundled(prefix): returns a table name -> text of the bundle's files whose names begin
// with `prefix`
static int tool_bundled(lua_State *L) {
  size_t size;
  const char *prefix = luaL_checklstring(L, 1, &size);
  lua_newtable(L);
  for (const BundleFile *entry = bundle_files; entry->name != NULL; entry++) {
    if (strncmp(entry->name, prefix, size) != 0) continue;
    lua_pushlstring(L, entry->text, entry->size);
    lua_setfield(L, -2, entry->name);
  }
  return 1;
}

// parse(path, text): parses a game's file with the limits of a server. Returns its
// function, or nil and an error text.
static int tool_parse(lua_State *L) {
  size_t size;
  const char *path = luaL_checkstring(L, 1);
  Text text = {.bytes = luaL_checklstring(L, 2, &size)};
  text.size = (uint32_t)size;
  if (parse_text(L, path, text, NULL)) return 1;
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

// signature(path): returns a text that changes when the file is written or replaced; ""
// for a missing file
static int tool_signature(lua_State *L) {
  char signature[FILE_SIGNATURE_SIZE];
  file_signature(luaL_checkstring(L, 1), signature);
  lua_pushstring(L, signature);
  return 1;
}

int tool_module_open(lua_State *L) {
  static const luaL_Reg FUNCTIONS[] = {{"kind", tool_kind},
                                       {"list", core_list},
                                       {"make_folder", tool_make_folder},
                                       {"bundled", tool_bundled},
                                       {"signature", tool_signature},
                                       {"nearest", core_nearest},
                                       {"parse", tool_parse},
                                       {NULL, NULL}};
  lua_newtable(L);
  luaL_register(L, NULL, FUNCTIONS);
  lua_pushstring(L, program_invocation_name);
  lua_setfield(L, -2, "program");
  return 1;
}
