// Finds modules by name and compiles them. The chunk name is always
// "@lua/perigee/x.lua", so that tracebacks are the same for bundle and folder.
#include "script/library.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { FILE_NAME_SIZE = 128, PATH_SIZE = 4096 };

// A module's text. `owned` contains the text if it comes from a folder.
typedef struct Source {
  const char *text;
  size_t size;
  Buf owned;
} Source;

static bool read_file(const char *folder, const char *file, Source *source) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  if (file_read(path, &source->owned) != 0) return false;
  source->text = (const char *)source->owned.data;
  source->size = source->owned.size;
  return true;
}

static bool read_bundle(const char *file, Source *source) {
  for (const BundleFile *entry = bundle_files; entry->name != NULL; entry++) {
    if (strcmp(entry->name, file) != 0) continue;
    source->text = entry->text;
    source->size = entry->size;
    return true;
  }
  return false;
}

// Writes "perigee.host" as "perigee/host" with `ending`.
static void to_file(char file[FILE_NAME_SIZE], const char *name, const char *ending) {
  snprintf(file, FILE_NAME_SIZE, "%s%s", name, ending);
  size_t size = strlen(name);
  for (size_t i = 0; i < size && file[i] != '\0'; i++)
    if (file[i] == '.') file[i] = '/';
}

int library_load(lua_State *L, const char *name, const char *lua_path) {
  static const char *const ENDINGS[] = {".lua", "/init.lua"};
  for (int i = 0; i < 2; i++) {
    char file[FILE_NAME_SIZE];
    to_file(file, name, ENDINGS[i]);
    const char *chunk = lua_pushfstring(L, "@lua/%s", file);
    Source source = {0};
    bool is_there = lua_path != NULL ? read_file(lua_path, file, &source)
                                     : read_bundle(file, &source);
    if (is_there) {
      int status = luaL_loadbuffer(L, source.text, source.size, chunk);
      buf_deinit(&source.owned);
      lua_remove(L, -2);
      return status == 0;
    }
    lua_pop(L, 1);
  }
  lua_pushfstring(L, "there is no module '%s'", name);
  return 0;
}
