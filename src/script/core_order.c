// perigee.core: the keys of a table in one order, which is the same in each process.
// The order of lua_next is not, because LuaJIT hashes strings with a random seed, and
// other objects by their addresses. See lua/perigee/host/order.lua.
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "script/core.h"
#include "script/guard/deadline.h"

enum {
  KEYS_SMALL = 64,  // keys that are sorted on the stacks of C and Lua
  PREFIX = 8,       // bytes of a string in its rank
  RUN = 8,          // keys that are sorted by insertion
};

// Kinds of keys, in their order.
enum KeyKind { KEY_NUMBER, KEY_TEXT, KEY_BOOLEAN, KEY_OBJECT };

typedef struct TableKey {
  uint64_t rank;  // position within the kind, of texts by their first bytes
  const char *text;
  uint32_t size;
  uint32_t index : 30;  // place in the order of lua_next, from 1 on
  uint32_t kind : 2;
} TableKey;

// Stack indexes. The keys follow, or a list of them is at AT_KEYS.
enum { AT_TABLE = 1, AT_RANKS, AT_KEYS, AT_NEW, AT_MEMORY };

static int compare(const void *left, const void *right) {
  const TableKey *a = left, *b = right;
  if (a->kind != b->kind) return (int)a->kind - (int)b->kind;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->kind != KEY_TEXT) return 0;
  uint32_t size = a->size < b->size ? a->size : b->size;
  int order = 0;
  if (size > PREFIX) order = memcmp(a->text + PREFIX, b->text + PREFIX, size - PREFIX);
  return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static uint64_t read_four(const char *text) {
  uint32_t bytes;
  memcpy(&bytes, text, sizeof bytes);
  return __builtin_bswap32(bytes);  // little-endian, as schemas require
}

// Returns the first bytes as a number, which has the same order.
static uint64_t rank_text(const char *text, size_t size) {
  enum { HALF = PREFIX / 2, HALF_BITS = HALF * CHAR_BIT };
  if (size >= PREFIX) return read_four(text) << HALF_BITS | read_four(text + HALF);
  if (size >= HALF) {  // the last four bytes, without those that the first four contain
    uint64_t rest = read_four(text + size - HALF) << (PREFIX - size) * CHAR_BIT;
    return read_four(text) << HALF_BITS | (uint32_t)rest;
  }
  uint64_t rank = 0;
  for (size_t i = 0; i < size; i++)
    rank |= (uint64_t)(uint8_t)text[i] << (PREFIX - 1 - i) * CHAR_BIT;
  return rank;
}

// Reads the key on top of the stack. An object without a rank gets 0.
static TableKey read_key(lua_State *L, uint32_t index) {
  TableKey key = {.index = index};
  lua_Number number;
  size_t size;
  switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
      number = lua_tonumber(L, -1);
      memcpy(&key.rank, &number, sizeof key.rank);  // bits that have the same order
      key.rank = number < 0 ? ~key.rank : key.rank | 1ULL << 63;
      break;
    case LUA_TSTRING:
      key.kind = KEY_TEXT;
      key.text = lua_tolstring(L, -1, &size);
      key.size = (uint32_t)size;
      key.rank = rank_text(key.text, size);
      break;
    case LUA_TBOOLEAN:
      key.kind = KEY_BOOLEAN;
      key.rank = (uint64_t)lua_toboolean(L, -1);
      break;
    default:
      key.kind = KEY_OBJECT;
      lua_pushvalue(L, -1);
      lua_rawget(L, AT_RANKS);
      key.rank = (uint64_t)lua_tonumber(L, -1);
      lua_pop(L, 1);
  }
  return key;
}

typedef struct Scan {
  TableKey small[KEYS_SMALL], *keys;
  uint32_t count, capacity;
  int new_count;   // values in the list at AT_NEW, which have no rank
  bool is_sorted;  // the keys are numbers, and in order
} Scan;

// Doubles the memory for keys. Moves the keys on the stack into a list.
static void grow(lua_State *L, Scan *scan) {
  scan->capacity *= 2;
  TableKey *keys = lua_newuserdata(L, scan->capacity * sizeof *keys);
  memcpy(keys, scan->keys, scan->count * sizeof *keys);
  scan->keys = keys;
  lua_replace(L, AT_MEMORY);
  if (lua_istable(L, AT_KEYS)) return;
  lua_createtable(L, (int)scan->capacity, 0);
  for (int i = (int)scan->count; i > 0; i--) {
    lua_pushvalue(L, AT_MEMORY + i);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, AT_KEYS);
}

// Reads all keys. Those of a small table stay on the stack, behind AT_MEMORY.
static void scan_keys(lua_State *L, Host *host, Scan *scan) {
  lua_pushnil(L);
  while (lua_next(L, AT_TABLE)) {
    lua_pop(L, 1);
    if (scan->count == scan->capacity) {
      deadline_charge(host, L, scan->count);
      grow(L, scan);
    }
    TableKey *key = &scan->keys[scan->count++];
    *key = read_key(L, scan->count);
    scan->is_sorted = scan->is_sorted && key->kind == KEY_NUMBER &&
                      (scan->count == 1 || key->rank > key[-1].rank);
    if (key->kind == KEY_OBJECT && key->rank == 0) {
      lua_pushvalue(L, -1);
      lua_rawseti(L, AT_NEW, ++scan->new_count);
    }
    lua_pushvalue(L, -1);
    if (scan->keys != scan->small) lua_rawseti(L, AT_KEYS, (int)scan->count);
  }
}

// Sorts the keys of a small table: runs, then merges of two runs each. qsort takes
// twice as long.
static void sort_small(TableKey *keys, uint32_t count) {
  TableKey spare[KEYS_SMALL], *from = keys, *to = spare;
  for (uint32_t i = 1; i < count; i++) {
    TableKey key = keys[i];
    uint32_t at = i;
    for (; at % RUN > 0 && compare(&key, &keys[at - 1]) < 0; at--)
      keys[at] = keys[at - 1];
    keys[at] = key;
  }
  for (uint32_t size = RUN; size < count; size *= 2) {
    for (uint32_t begin = 0; begin < count; begin += 2 * size) {
      uint32_t left = begin, half = begin + size < count ? begin + size : count;
      uint32_t right = half, end = begin + 2 * size < count ? begin + 2 * size : count;
      for (uint32_t at = begin; at < end; at++) {
        bool is_left =
            right == end || (left < half && compare(&from[right], &from[left]) >= 0);
        to[at] = from[is_left ? left++ : right++];
      }
    }
    TableKey *other = from;
    from = to;
    to = other;
  }
  if (from != keys) memcpy(keys, from, count * sizeof *keys);
}

// Pushes a list of the keys in their order.
static void push_sorted(lua_State *L, Scan *scan) {
  bool is_small = scan->keys == scan->small;
  if (is_small)
    sort_small(scan->keys, scan->count);
  else
    qsort(scan->keys, scan->count, sizeof *scan->keys, compare);
  lua_createtable(L, (int)scan->count, 0);
  for (uint32_t i = 0; i < scan->count; i++) {
    int index = (int)scan->keys[i].index;
    if (is_small)
      lua_pushvalue(L, AT_MEMORY + index);
    else
      lua_rawgeti(L, AT_KEYS, index);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

// ordered_keys(table, ranks): returns the keys of a table in order: numbers, strings,
// booleans, and other values by their ranks. Returns nothing if `next` has that order,
// and nil and a list of values that need a rank if there are such.
static int ordered_keys(lua_State *L) {
  luaL_checktype(L, AT_TABLE, LUA_TTABLE);
  luaL_checktype(L, AT_RANKS, LUA_TTABLE);
  lua_settop(L, AT_MEMORY);
  lua_newtable(L);
  lua_replace(L, AT_NEW);
  luaL_checkstack(L, KEYS_SMALL + LUA_MINSTACK, NULL);
  Scan scan;  // without its array, which need not be cleared
  scan.keys = scan.small;
  scan.count = 0;
  scan.capacity = KEYS_SMALL;
  scan.new_count = 0;
  scan.is_sorted = true;
  scan_keys(L, core_host(L), &scan);
  if (scan.new_count > 0) {
    lua_pushnil(L);
    lua_pushvalue(L, AT_NEW);
    return 2;
  }
  if (scan.is_sorted || scan.count == 1) return 0;
  deadline_charge(core_host(L), L, 2 * scan.count);
  push_sorted(L, &scan);
  return 1;
}

const luaL_Reg core_order_functions[] = {{"ordered_keys", ordered_keys}, {NULL, NULL}};
