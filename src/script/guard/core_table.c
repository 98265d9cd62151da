// perigee.core: next for lua/perigee/guard/next_workaround.lua, and table.sort for
// library.lua. The sort charges its work to the running handler.
//
// Its algorithm is a merge sort. Compared with Lua's quicksort, it calls the comparator
// less often, keeps the order of equal values, and always ends after about n log n
// comparisons. A contradictory comparator causes an arbitrary order, but no error. The
// list changes only at the end, so an error in the comparator leaves it unchanged.
#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "script/core.h"
#include "script/guard/deadline.h"

enum {
  CALL_STEPS = 10,      // steps charged for a call of a comparator or a metamethod
  COPY_SHIFT = 4,       // bytes copied or compared in one step, as a power of two
  CHARGE_STEPS = 4096,  // steps that are charged together
  ITEMS_SMALL = 48,     // items sorted without an allocation, including the spare ones
  RUN_MAX = 6,          // most items that are sorted by insertion
};

// A value of the list. The copy of the list on the stack keeps strings alive.
typedef struct Item {
  union {
    double number;
    const char *text;
  } value;
  uint32_t size;   // bytes of the text
  uint32_t index;  // index in the original list
} Item;

typedef struct Sort Sort;

struct Sort {
  lua_State *L;
  Host *host;
  bool (*is_less)(Sort *sort, const Item *a, const Item *b);
  uint32_t steps;
};

// Stack indexes.
enum { SORT_LIST = 1, SORT_COMPARATOR, SORT_COPY, SORT_MEMORY };

static void charge(Sort *sort, uint32_t steps) {
  sort->steps += steps;
  if (sort->steps < CHARGE_STEPS) return;
  deadline_charge(sort->host, sort->L, sort->steps);
  sort->steps = 0;
}

static bool is_less_number(Sort *sort, const Item *a, const Item *b) {
  charge(sort, 1);
  return a->value.number < b->value.number;
}

static bool is_less_text(Sort *sort, const Item *a, const Item *b) {
  uint32_t size = a->size < b->size ? a->size : b->size;
  charge(sort, 1 + (size >> COPY_SHIFT));
  int order = size > 0 ? memcmp(a->value.text, b->value.text, size) : 0;
  return order < 0 || (order == 0 && a->size < b->size);
}

static bool is_less_value(Sort *sort, const Item *a, const Item *b) {
  lua_State *L = sort->L;
  charge(sort, CALL_STEPS);
  lua_rawgeti(L, SORT_COPY, (int)a->index);
  lua_rawgeti(L, SORT_COPY, (int)b->index);
  bool is_less = lua_lessthan(L, -2, -1);
  lua_pop(L, 2);
  return is_less;
}

static bool is_less_called(Sort *sort, const Item *a, const Item *b) {
  lua_State *L = sort->L;
  charge(sort, CALL_STEPS);
  lua_pushvalue(L, SORT_COMPARATOR);
  lua_rawgeti(L, SORT_COPY, (int)a->index);
  lua_rawgeti(L, SORT_COPY, (int)b->index);
  lua_call(L, 2, 1);
  bool is_less = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_less;
}

static void insertion_sort(Sort *sort, Item *items, size_t count) {
  for (size_t i = 1; i < count; i++) {
    Item item = items[i];
    size_t at = i;
    while (at > 0 && sort->is_less(sort, &item, &items[at - 1])) {
      items[at] = items[at - 1];
      at--;
    }
    items[at] = item;
  }
}

// Merges the two sorted halves. Copies the left half to `spare` for that.
static void merge(Sort *sort, Item *items, size_t half, size_t count, Item *spare) {
  memcpy(spare, items, half * sizeof *items);
  size_t left = 0, right = half, at = 0;
  while (left < half && right < count)
    if (sort->is_less(sort, &items[right], &spare[left]))
      items[at++] = items[right++];
    else
      items[at++] = spare[left++];
  memcpy(&items[at], &spare[left], (half - left) * sizeof *items);
}

// Sorts the items. The recursion is as deep as the logarithm of `count`.
static void merge_sort(Sort *sort, Item *items, size_t count, Item *spare) {
  if (count <= RUN_MAX) {
    insertion_sort(sort, items, count);
    return;
  }
  size_t half = count / 2;
  merge_sort(sort, items, half, spare);
  merge_sort(sort, items + half, count - half, spare);
  if (sort->is_less(sort, &items[half], &items[half - 1]))
    merge(sort, items, half, count, spare);
}

// Reads all values. Returns their common type, or LUA_TNONE if they differ in type.
static int read_items(Sort *sort, Item *items, size_t count) {
  lua_State *L = sort->L;
  int common = LUA_TNONE;
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, SORT_LIST, (int)i + 1);
    int type = lua_type(L, -1);
    Item *item = &items[i];
    item->index = (uint32_t)i + 1;
    if (type == LUA_TNUMBER) {
      item->value.number = lua_tonumber(L, -1);
    } else if (type == LUA_TSTRING) {
      size_t size;
      item->value.text = lua_tolstring(L, -1, &size);
      item->size = (uint32_t)size;
    }
    common = i == 0 || type == common ? type : LUA_TNONE;
    lua_pop(L, 1);
    charge(sort, 1);
  }
  return common;
}

static void copy_list(Sort *sort, size_t count) {
  lua_State *L = sort->L;
  lua_createtable(L, (int)count, 0);
  lua_replace(L, SORT_COPY);
  for (int i = 1; i <= (int)count; i++) {
    lua_rawgeti(L, SORT_LIST, i);
    lua_rawseti(L, SORT_COPY, i);
    charge(sort, 2);
  }
}

static void choose_order(Sort *sort, int common) {
  if (!lua_isnil(sort->L, SORT_COMPARATOR))
    sort->is_less = is_less_called;
  else if (common == LUA_TNUMBER)
    sort->is_less = is_less_number;
  else if (common == LUA_TSTRING)
    sort->is_less = is_less_text;
  else
    sort->is_less = is_less_value;
}

static void write_list(Sort *sort, const Item *items, size_t count) {
  lua_State *L = sort->L;
  for (size_t i = 0; i < count; i++) {
    if (sort->is_less == is_less_number)
      lua_pushnumber(L, items[i].value.number);
    else
      lua_rawgeti(L, SORT_COPY, (int)items[i].index);
    lua_rawseti(L, SORT_LIST, (int)i + 1);
    charge(sort, 2);
  }
}

// sort(list, comparator): see table.sort
static int table_sort(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, SORT_MEMORY);
  Sort sort = {.L = L, .host = core_host(L)};
  size_t count = lua_objlen(L, 1);
  if (count < 2) return 0;
  if (!host_has_stack(sort.host)) return luaL_error(L, "stack overflow");
  Item small[ITEMS_SMALL];
  Item *items = small;
  size_t needed = count + count / 2;
  if (needed > ITEMS_SMALL) {
    items = lua_newuserdata(L, needed * sizeof *items);
    lua_replace(L, SORT_MEMORY);
  }
  choose_order(&sort, read_items(&sort, items, count));
  if (sort.is_less != is_less_number) copy_list(&sort, count);
  merge_sort(&sort, items, count, items + count);
  write_list(&sort, items, count);
  deadline_charge(sort.host, L, sort.steps);
  return 0;
}

// table_next(table, key): does what Lua's next does. See next_workaround.lua.
static int table_next(lua_State *L) {
  if (!lua_istable(L, 1))
    return luaL_error(L, "bad argument #1 to 'next' (table expected, got %s)",
                      luaL_typename(L, 1));
  lua_settop(L, 2);
  if (lua_next(L, 1)) return 2;
  lua_pushnil(L);
  return 1;
}

const luaL_Reg core_table_functions[] = {
    {"table_sort", table_sort}, {"table_next", table_next}, {NULL, NULL}};
