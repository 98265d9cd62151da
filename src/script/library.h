// Loads the product's Lua modules from the binary or, for its developers, from a
// folder.
#pragma once

#include <lua.h>
#include <stddef.h>

/// Pushes the compiled module `name`, such as "perigee.host", and returns true. If that
/// fails, pushes an error text and returns false. `lua_path` is a folder with
/// perigee/*.lua; NULL: the binary. May raise a Lua error.
int library_load(lua_State *L, const char *name, const char *lua_path);

/// One Lua file. Its chunk name is "@lua/" followed by `name`.
typedef struct BundleFile {
  const char *name;  // relative to lua/: "perigee/init.lua"
  const char *text;  // the source, and a NUL that `size` does not count
  size_t size;
} BundleFile;

/// All files under lua/perigee, ended by an entry whose name is NULL.
/// scripts/bundle.cmake generates it.
extern const BundleFile bundle_files[];
