// See parse.h.
#include "script/guard/parse.h"

#include <lauxlib.h>
#include <string.h>

#include "net/net.h"

typedef struct Source {
  const char *path;
  Text text;
  size_t at;        // bytes supplied to the parser
  uint64_t end_us;  // time after which the parser gets no more bytes
  bool is_late;     // the parser was stopped at end_us
  const atomic_bool *is_unwanted;
} Source;

static const char *read_piece(lua_State *L, void *data, size_t *size) {
  Source *source = data;
  (void)L;
  size_t left = source->text.size - source->at;
  bool is_unwanted = source->is_unwanted != NULL && atomic_load(source->is_unwanted);
  if (left > 0 && net_real_us() > source->end_us) source->is_late = true;
  if (left == 0 || is_unwanted || source->is_late) return NULL;
  *size = left < PARSE_PIECE ? left : PARSE_PIECE;
  const char *piece = source->text.bytes + source->at;
  source->at += *size;
  return piece;
}

static void push_late(lua_State *L, const Source *source) {
  int line = 1;
  for (size_t i = 0; i < source->at; i++) line += source->text.bytes[i] == '\n';
  lua_pushfstring(
      L,
      "%s:%d: parsing this file took longer than %d s up to here; write "
      "long chains of operators or `elseif` as tables or several statements",
      source->path, line, PARSE_US / 1000000);
}

static bool push_refusal(lua_State *L, const char *path, Text text) {
  if (text.size > 0 && text.bytes[0] == LUA_SIGNATURE[0])
    lua_pushfstring(L, "%s: this is bytecode; games are loaded from source", path);
  else if (text.size > PARSE_SIZE_MAX)
    lua_pushfstring(L, "%s: " PARSE_TOO_LARGE_TEXT, path);
  else
    return false;
  return true;
}

bool parse_text(lua_State *L, const char *path, Text text,
                const atomic_bool *is_unwanted) {
  if (push_refusal(L, path, text)) return false;
  Source source = {.path = path,
                   .text = text,
                   .end_us = net_real_us() + PARSE_US,
                   .is_unwanted = is_unwanted};
  const char *chunk = lua_pushfstring(L, "@%s", path);
  int status = lua_loadx(L, read_piece, &source, chunk, "t");
  lua_remove(L, -2);
  bool is_whole = source.at == text.size;  // the bytes supplied so far may be a valid
                                           // program, too
  if (is_whole || (status != 0 && !source.is_late)) return status == 0;
  lua_pop(L, 1);
  if (source.is_late)
    push_late(L, &source);
  else
    lua_pushfstring(L, "%s: the parsing of this file was cancelled", path);
  return false;
}

// --- Bytecode ---

typedef struct Task {
  const char *path;
  Text text;
  const atomic_bool *is_unwanted;
  Buf *code;
  bool is_good;
} Task;

static int write_code(lua_State *L, const void *bytes, size_t size, void *data) {
  (void)L;
  buf_append(data, bytes, size);
  return 0;
}

static int run_task(lua_State *L) {
  Task *task = lua_touserdata(L, 1);
  task->is_good = parse_text(L, task->path, task->text, task->is_unwanted);
  if (task->is_good) return lua_dump(L, write_code, task->code);
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  buf_append(task->code, text, size);
  return 0;
}

bool parse_to_code(const char *path, Text text, const atomic_bool *is_unwanted,
                   Buf *code) {
  static const char NO_MEMORY[] = ": not enough memory to parse this file";
  Task task = {path, text, is_unwanted, code, false};
  lua_State *L = luaL_newstate();
  bool is_done = L != NULL && lua_cpcall(L, run_task, &task) == 0;
  if (L != NULL) lua_close(L);
  if (is_done) return task.is_good;
  code->size = 0;
  buf_append(code, path, strlen(path));
  buf_append(code, NO_MEMORY, sizeof NO_MEMORY - 1);
  return false;
}

bool parse_load(lua_State *L, const char *path, const Buf *code) {
  return luaL_loadbufferx(L, (const char *)code->data, code->size, path, "b") == 0;
}
