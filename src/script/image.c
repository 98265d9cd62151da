// See image.h. While an image is written or read, a Lua table contains all tables so
// far by number. While it is written, the table also contains their numbers by table.
#include "script/image.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "wire/reader.h"

enum {
  FORMAT = 1,
  STACK_NEEDED = 12,
  TABLES_FIRST = 256,       // number of tables for which an image takes memory at once
  INTEGER_LIMIT = 1 << 30,  // smaller whole numbers are written as varints
  VARINT_BYTES = 5,
};

typedef enum Tag {
  TAG_END,  // end of a table's entries
  TAG_NIL,  // nil, which only the root can be
  TAG_FALSE,
  TAG_TRUE,
  TAG_INTEGER,  // followed by a zigzag varint
  TAG_NUMBER,   // followed by the 8 bytes of the double
  TAG_TEXT,     // followed by a varint with the size, and the bytes
  TAG_TABLE,    // a new table; it gets the next number
  TAG_SAME,     // followed by a varint with the number of an earlier table
  TAG_OBJECT,   // like TAG_TEXT; the text of `name` for an object
} Tag;

// --- Writing ---

typedef struct Taker {
  lua_State *L;
  Buf *image;
  size_t end;       // size of `image` that must not be exceeded
  int name;         // stack index of the function that names objects
  int met;          // stack index: table by number and number by table
  uint32_t tables;  // tables met so far
} Taker;

static void put_varint(Buf *image, uint32_t value) {
  for (; value >= 0x80; value >>= 7) buf_u8(image, (uint8_t)(value | 0x80));
  buf_u8(image, (uint8_t)value);
}

static void take_number(Buf *image, double number) {
  int32_t whole =
      number > -INTEGER_LIMIT && number < INTEGER_LIMIT ? (int32_t)number : 0;
  if (whole == number && (whole != 0 || !signbit(number))) {
    buf_u8(image, TAG_INTEGER);
    put_varint(image, (uint32_t)whole << 1 ^ (whole < 0 ? UINT32_MAX : 0));
    return;
  }
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  buf_u8(image, TAG_NUMBER);
  buf_u64(image, bits);
}

static ImageResult take_text(Taker *taker, Tag tag, int at) {
  size_t size;
  const char *text = lua_tolstring(taker->L, at, &size);
  if (size > IMAGE_MAX) return IMAGE_TOO_LARGE;
  buf_u8(taker->image, (uint8_t)tag);
  put_varint(taker->image, (uint32_t)size);
  buf_append(taker->image, text, size);
  return IMAGE_TAKEN;
}

static ImageResult take_object(Taker *taker, int at) {
  lua_State *L = taker->L;
  lua_pushvalue(L, taker->name);
  lua_pushvalue(L, at);
  lua_call(L, 1, 1);
  ImageResult result = lua_type(L, -1) == LUA_TSTRING
                           ? take_text(taker, TAG_OBJECT, lua_gettop(L))
                           : IMAGE_NO_DATA;
  lua_pop(L, 1);
  return result;
}

static ImageResult take_table(Taker *taker, int at) {
  lua_State *L = taker->L;
  if (lua_getmetatable(L, at)) {
    lua_pop(L, 1);
    return take_object(taker, at);
  }
  lua_pushvalue(L, at);
  lua_rawget(L, taker->met);
  uint32_t number = (uint32_t)lua_tonumber(L, -1);
  lua_pop(L, 1);
  if (number > 0) {
    buf_u8(taker->image, TAG_SAME);
    put_varint(taker->image, number);
    return IMAGE_TAKEN;
  }
  buf_u8(taker->image, TAG_TABLE);
  lua_pushvalue(L, at);
  lua_rawseti(L, taker->met, (int)++taker->tables);
  lua_pushvalue(L, at);
  lua_pushnumber(L, taker->tables);
  lua_rawset(L, taker->met);
  return IMAGE_TAKEN;
}

static ImageResult take_value(Taker *taker, int at) {
  lua_State *L = taker->L;
  if (taker->image->size > taker->end) return IMAGE_TOO_LARGE;
  switch (lua_type(L, at)) {
    case LUA_TNIL:
      buf_u8(taker->image, TAG_NIL);
      return IMAGE_TAKEN;
    case LUA_TBOOLEAN:
      buf_u8(taker->image, lua_toboolean(L, at) ? TAG_TRUE : TAG_FALSE);
      return IMAGE_TAKEN;
    case LUA_TNUMBER:
      take_number(taker->image, lua_tonumber(L, at));
      return IMAGE_TAKEN;
    case LUA_TSTRING:
      return take_text(taker, TAG_TEXT, at);
    case LUA_TTABLE:
      return take_table(taker, at);
    default:
      return IMAGE_NO_DATA;
  }
}

// Writes the entries of the table on top of the stack, and pops it.
static ImageResult take_entries(Taker *taker) {
  lua_State *L = taker->L;
  int table = lua_gettop(L);
  ImageResult result = IMAGE_TAKEN;
  lua_pushnil(L);
  while (result == IMAGE_TAKEN && lua_next(L, table)) {
    result = take_value(taker, table + 1);
    if (result == IMAGE_TAKEN) result = take_value(taker, table + 2);
    lua_settop(L, table + 1);
  }
  lua_settop(L, table - 1);
  buf_u8(taker->image, TAG_END);
  return result;
}

ImageResult image_take(lua_State *L, int at, int name, Buf *image) {
  luaL_checkstack(L, STACK_NEEDED, "image");
  lua_createtable(L, TABLES_FIRST, TABLES_FIRST);
  Taker taker = {L, image, image->size + IMAGE_MAX, name, lua_gettop(L), 0};
  buf_u8(image, FORMAT);
  ImageResult result = take_value(&taker, at);
  for (uint32_t i = 1; result == IMAGE_TAKEN && i <= taker.tables; i++) {
    lua_rawgeti(L, taker.met, (int)i);
    result = take_entries(&taker);
  }
  lua_settop(L, taker.met - 1);
  if (result == IMAGE_TAKEN && image->size > taker.end) return IMAGE_TOO_LARGE;
  return result;
}

// --- Reading ---

typedef struct Source {
  lua_State *L;
  Reader reader;
  int find;         // stack index of the function that finds objects
  int met;          // stack index: table by number
  uint32_t tables;  // tables met so far
} Source;

static uint32_t get_varint(Reader *reader) {
  uint32_t value = 0;
  for (int i = 0; i < VARINT_BYTES; i++) {
    uint8_t byte = reader_u8(reader);
    value |= (uint32_t)(byte & 0x7f) << 7 * i;
    if (byte < 0x80) return value;
  }
  reader->failed = true;
  return 0;
}

static void push_number(Source *source) {
  uint64_t bits = reader_u64(&source->reader);
  double number;
  memcpy(&number, &bits, sizeof number);
  // LuaJIT represents other types as NaNs, so a NaN from outside must become the
  // standard one.
  lua_pushnumber(source->L, isnan(number) ? (double)NAN : number);
}

static void push_text(Source *source) {
  uint32_t size = get_varint(&source->reader);
  const uint8_t *bytes = reader_bytes(&source->reader, size);
  lua_pushlstring(source->L, bytes ? (const char *)bytes : "", bytes ? size : 0);
}

static void push_same(Source *source) {
  uint32_t number = get_varint(&source->reader);
  if (number == 0 || number > source->tables) {
    source->reader.failed = true;
    number = 0;
  }
  lua_rawgeti(source->L, source->met, (int)number);
}

// Pushes a value.
static void push_value(Source *source, uint8_t tag) {
  lua_State *L = source->L;
  switch (tag) {
    case TAG_FALSE:
    case TAG_TRUE:
      lua_pushboolean(L, tag == TAG_TRUE);
      break;
    case TAG_INTEGER: {
      uint32_t bits = get_varint(&source->reader);
      lua_pushnumber(L, (int32_t)(bits >> 1) ^ -(int32_t)(bits & 1));
      break;
    }
    case TAG_NUMBER:
      push_number(source);
      break;
    case TAG_TEXT:
      push_text(source);
      break;
    case TAG_TABLE:
      lua_newtable(L);
      lua_pushvalue(L, -1);
      lua_rawseti(L, source->met, (int)++source->tables);
      break;
    case TAG_SAME:
      push_same(source);
      break;
    case TAG_OBJECT:
      lua_pushvalue(L, source->find);
      push_text(source);
      lua_call(L, 1, 1);
      break;
    default:
      source->reader.failed = true;
      lua_pushnil(L);
  }
}

// Reads the entries of the table on top of the stack, and pops it.
static void read_entries(Source *source) {
  lua_State *L = source->L;
  int table = lua_gettop(L);
  for (uint8_t tag; (tag = reader_u8(&source->reader)) != TAG_END;) {
    push_value(source, tag);
    push_value(source, reader_u8(&source->reader));
    bool is_key =
        lua_type(L, table + 1) != LUA_TNUMBER || !isnan(lua_tonumber(L, table + 1));
    if (source->reader.failed || !is_key) {
      source->reader.failed = true;
      break;
    }
    if (!lua_isnil(L, table + 1)) lua_rawset(L, table);
    lua_settop(L, table);
  }
  lua_settop(L, table - 1);
}

bool image_read(lua_State *L, int find, const void *bytes, size_t size) {
  if (size > IMAGE_MAX) return false;
  luaL_checkstack(L, STACK_NEEDED, "image");
  lua_newtable(L);
  Source source = {L, reader_of(bytes, size), find, lua_gettop(L), 0};
  source.reader.failed = reader_u8(&source.reader) != FORMAT;
  uint8_t tag = reader_u8(&source.reader);
  if (tag == TAG_NIL)
    lua_pushnil(L);
  else
    push_value(&source, tag);
  for (uint32_t i = 1; i <= source.tables && !source.reader.failed; i++) {
    lua_rawgeti(L, source.met, (int)i);
    read_entries(&source);
  }
  bool is_good = reader_is_done(&source.reader);
  lua_remove(L, source.met);
  if (!is_good) lua_pop(L, 1);
  return is_good;
}
