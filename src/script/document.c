#include "script/document.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "wire/json.h"

enum {
  DEPTH_MAX = JSON_DEPTH_MAX - 1,  // leaves one level to the line of an export
  DEEP_SHOWN = 4,                  // steps of a path that is too deep to be shown whole
  STACK_NEEDED = 8,
  DIGITS_MIN = 15  // significant digits of the first attempt to write a number
};

static const lua_Number WHOLE_END = 1e15;  // the first whole number of 16 digits

typedef struct Writer {
  lua_State *L;
  Buf *out;
  size_t most;
  int depth;
  int keys[DEPTH_MAX];  // stack indexes of the keys on the path
} Writer;

static bool write_value(Writer *writer, int at);

// --- Faults ---

static bool is_word(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    bool is_letter = (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z';
    bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (!is_letter && text[i] != '_' && !(is_digit && i > 0)) return false;
  }
  return size > 0;
}

// Adds a key to a path in the style of Lua: .name, [3] or ["two words"].
static void add_step(luaL_Buffer *path, lua_State *L, int key) {
  enum { KEY_SHOWN = 40 };
  char number[32];
  size_t size;
  if (lua_type(L, key) != LUA_TSTRING) {
    snprintf(number, sizeof number, "[%.14g]", lua_tonumber(L, key));
    luaL_addstring(path, number);
    return;
  }
  const char *text = lua_tolstring(L, key, &size);
  bool is_field = is_word(text, size);
  luaL_addstring(path, is_field ? "." : "[\"");
  luaL_addlstring(path, text, size < KEY_SHOWN ? size : KEY_SHOWN);
  luaL_addstring(path, is_field ? "" : "\"]");
}

// Pushes the place of the value that is being written, and `what`.
static bool fail(Writer *writer, const char *what) {
  lua_State *L = writer->L;
  luaL_Buffer text;
  luaL_checkstack(L, LUA_MINSTACK, "the value");
  luaL_buffinit(L, &text);
  luaL_addstring(&text, "value");
  bool is_deep = writer->depth == DEPTH_MAX;
  int shown = is_deep ? DEEP_SHOWN : writer->depth;
  for (int i = 0; i < shown; i++) add_step(&text, L, writer->keys[i]);
  if (is_deep) luaL_addstring(&text, "...");
  luaL_addstring(&text, " ");
  luaL_addstring(&text, what);
  luaL_pushresult(&text);
  return false;
}

// --- Scalars ---

static bool write_string(Writer *writer, int at) {
  static const char HEX[] = "0123456789abcdef";
  size_t size, from = 0;
  const char *text = lua_tolstring(writer->L, at, &size);
  Buf *out = writer->out;
  if (size > writer->most || out->size > writer->most) {
    out->size = writer->most + 1;
    return fail(writer, "is too large");
  }
  if (!text_is_utf8(text, size)) return fail(writer, "is not UTF-8");
  buf_u8(out, '"');
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    if (c == 0) return fail(writer, "contains a byte 0, which the store cannot keep");
    buf_append(out, text + from, i - from);
    from = i + 1;
    if (c < 0x20) {
      char escaped[6] = {'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]};
      buf_append(out, escaped, sizeof escaped);
    } else {
      buf_u8(out, '\\');
      buf_u8(out, c);
    }
  }
  buf_append(out, text + from, size - from);
  buf_u8(out, '"');
  return true;
}

// Writes what "%.15g" does, in a fraction of its time.
static void write_whole(Buf *out, int64_t number) {
  char text[DIGITS_MIN + 1];
  size_t at = sizeof text;
  uint64_t rest = (uint64_t)(number < 0 ? -number : number);
  do text[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0) text[--at] = '-';
  buf_append(out, text + at, sizeof text - at);
}

// Writes the shortest text of 15 to 17 digits that is read as the same number. -0
// becomes 0, because PostgreSQL does not keep the sign.
static bool write_number(Writer *writer, int at) {
  lua_Number number = lua_tonumber(writer->L, at);
  char text[32];
  if (!isfinite(number)) return fail(writer, "is NaN or infinite");
  if (fabs(number) < WHOLE_END && number == floor(number)) {
    write_whole(writer->out, (int64_t)number);
    return true;
  }
  for (int digits = DIGITS_MIN; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, number);
    if (strtod(text, NULL) == number) break;
  }
  buf_append(writer->out, text, strlen(text));
  return true;
}

// --- Tables ---

// The keys of a table, by type.
typedef struct Keys {
  uint32_t strings, others;  // number of keys
  lua_Number last;           // largest whole number
  bool is_list;              // all other keys are whole numbers from 1 on
} Keys;

static Keys look_at_keys(lua_State *L, int at) {
  Keys keys = {.is_list = true};
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      keys.strings++;
      continue;
    }
    lua_Number key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
    keys.others++;
    if (key < 1 || key != floor(key)) keys.is_list = false;
    if (key > keys.last) keys.last = key;
  }
  return keys;
}

static bool write_list(Writer *writer, int at, uint32_t count) {
  lua_State *L = writer->L;
  buf_u8(writer->out, '[');
  for (uint32_t i = 1; i <= count; i++) {
    if (i > 1) buf_u8(writer->out, ',');
    lua_pushnumber(L, i);
    writer->keys[writer->depth - 1] = lua_gettop(L);
    lua_rawgeti(L, at, (int)i);
    if (!write_value(writer, lua_gettop(L))) return false;
    lua_pop(L, 2);
  }
  buf_u8(writer->out, ']');
  return true;
}

static bool write_object(Writer *writer, int at) {
  lua_State *L = writer->L;
  bool is_first = true;
  buf_u8(writer->out, '{');
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1), is_first = false) {
    int key = lua_gettop(L) - 1;
    writer->keys[writer->depth - 1] = key;
    if (!is_first) buf_u8(writer->out, ',');
    if (!write_string(writer, key)) return false;
    buf_u8(writer->out, ':');
    if (!write_value(writer, key + 1)) return false;
  }
  buf_u8(writer->out, '}');
  return true;
}

// Returns whether the value is an object of the library, such as a peer.
static bool is_object(lua_State *L, int at) {
  if (!lua_getmetatable(L, at)) return false;
  lua_pushliteral(L, "__metatable");
  lua_rawget(L, -2);
  bool is_it = lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 2);
  return is_it;
}

static bool write_table(Writer *writer, int at) {
  lua_State *L = writer->L;
  if (is_object(L, at))
    return fail(writer, "is an object of the server; store its id or its name");
  if (writer->depth == DEPTH_MAX || !lua_checkstack(L, STACK_NEEDED))
    return fail(writer, "is nested too deep, or contains itself");
  Keys keys = look_at_keys(L, at);
  if (keys.others > 0 && keys.strings > 0)
    return fail(writer, "has keys of a list and names; JSON has one or the other");
  if (keys.others > 0 && (!keys.is_list || keys.last > keys.others))
    return fail(writer,
                "has keys that are no names and no list 1, 2, ...; use tostring(id)");
  writer->depth++;
  if (!(keys.others > 0 ? write_list(writer, at, keys.others)
                        : write_object(writer, at)))
    return false;
  writer->depth--;
  return true;
}

static bool write_value(Writer *writer, int at) {
  char what[64];
  int type = lua_type(writer->L, at);
  if (writer->out->size > writer->most) return fail(writer, "is too large");
  switch (type) {
    case LUA_TBOOLEAN:
      buf_append(writer->out, lua_toboolean(writer->L, at) ? "true" : "false",
                 lua_toboolean(writer->L, at) ? 4 : 5);
      return true;
    case LUA_TNUMBER:
      return write_number(writer, at);
    case LUA_TSTRING:
      return write_string(writer, at);
    case LUA_TTABLE:
      return write_table(writer, at);
    default:
      snprintf(what, sizeof what, "is %s%s, which JSON cannot express",
               type == LUA_TNIL ? "" : "a ", lua_typename(writer->L, type));
      return fail(writer, what);
  }
}

bool document_write(lua_State *L, int at, Buf *out, size_t most) {
  Writer writer = {.L = L, .out = out, .most = out->size + most};
  int top = lua_gettop(L);
  if (write_value(&writer, at) && out->size <= writer.most) return true;
  if (lua_gettop(L) == top) fail(&writer, "is too large");
  if (lua_gettop(L) > top + 1) lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return false;
}
