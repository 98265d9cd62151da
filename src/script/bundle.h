// The Lua half of Perigee, compiled into the binary as source text. The table is
// generated at build time by scripts/bundle.cmake from every file under lua/perigee,
// sorted by name.
#pragma once

#include <stddef.h>

/// One Lua file. Its chunk name is "@lua/" followed by `name`.
typedef struct BundleFile {
  const char *name;  // relative to lua/: "perigee/init.lua"
  const char *text;  // the source, and a NUL that `size` does not count
  size_t size;
} BundleFile;

/// Every file; the last entry's name is NULL.
extern const BundleFile bundle_files[];
