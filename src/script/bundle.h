// The Lua half of Perigee, compiled into the binary as source text. scripts/bundle.cmake
// generates the table at build time from every file under lua/perigee, sorted by name.
#pragma once

#include <stddef.h>

/// One Lua file. Its chunk name is "@lua/" followed by `name`.
typedef struct BundleFile {
  const char *name;  // relative to lua/: "perigee/init.lua"
  const char *text;  // the source, and a NUL that `size` does not count
  size_t size;
} BundleFile;

/// All files, ended by an entry whose name is NULL.
extern const BundleFile bundle_files[];
