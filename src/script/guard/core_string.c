// perigee.core: string.find, match, gmatch and gsub for lua/perigee/guard/library.lua.
// They behave like LuaJIT's functions, and charge their work to the running handler.
// Scripts call them without a wrapper, so that error messages name the right function.
#define _GNU_SOURCE  // memmem
#include <lauxlib.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "script/core.h"
#include "script/guard/deadline.h"
#include "script/guard/pattern.h"

enum {
  PREFIX_MAX = 1024,     // most bytes of the wanted text that memmem searches for
  SEARCH_MAX = 1 << 16,  // bytes that one memmem searches through, in 0.3 ms at most
  CALL_STEPS = 10,       // steps charged for a call of the script's function, and for a
                         // capture's string
  COPY_SHIFT = 4,        // bytes copied in one step, as a power of two
};

// Data of on_steps: the Lua call whose deadline includes the steps of a match.
typedef struct Charge {
  Host *host;
  lua_State *L;
} Charge;

static bool on_steps(void *data, uint32_t steps) {
  const Charge *charge = data;
  deadline_charge(charge->host, charge->L, steps);
  return true;
}

// Returns the number at `at` as an integer within +-2^53, or `otherwise` if the
// argument is missing. NaN becomes the minimum.
static int64_t whole_or(lua_State *L, int at, int64_t otherwise) {
  if (lua_gettop(L) < at) return otherwise;
  double number = luaL_optnumber(L, at, (lua_Number)otherwise);
  if (isnan(number) || number < -0x1p53) return -(INT64_C(1) << 53);
  return number > 0x1p53 ? INT64_C(1) << 53 : (int64_t)number;
}

// Reads the subject at `at` and the pattern at the next index.
static void read_texts(lua_State *L, int at, Pattern *pattern, Charge *charge) {
  size_t subject_size, text_size;
  const char *subject = luaL_checklstring(L, at, &subject_size);
  const char *text = luaL_checklstring(L, at + 1, &text_size);
  pattern_init(pattern, text, text_size, subject, subject_size);
  *charge = (Charge){.host = core_host(L), .L = L};
  pattern->go_on = on_steps;
  pattern->data = charge;
  pattern->steps = CALL_STEPS + (uint32_t)(text_size >> COPY_SHIFT);
}

static bool is_found(lua_State *L, const Pattern *pattern, PatternResult result) {
  if (result == PATTERN_WRONG) luaL_error(L, "%s", pattern->error);
  return result == PATTERN_FOUND;
}

static void push_capture(lua_State *L, const Pattern *pattern, uint32_t index) {
  const PatternCapture *capture = &pattern->captures[index];
  if ((pattern->closed >> index & 1) == 0) luaL_error(L, "unfinished capture");
  if (capture->is_position)
    lua_pushinteger(L, capture->from - pattern->subject + 1);
  else
    lua_pushlstring(L, capture->from, (size_t)(capture->to - capture->from));
}

static void push_whole(lua_State *L, const Pattern *pattern) {
  lua_pushlstring(L, pattern->from, (size_t)(pattern->to - pattern->from));
}

// Pushes all captures; returns their number.
static int push_captures(lua_State *L, Pattern *pattern) {
  uint32_t count = pattern->capture_count;
  luaL_checkstack(L, (int)count + 1, "too many captures");
  for (uint32_t i = 0; i < count; i++) push_capture(L, pattern, i);
  size_t size = (size_t)(pattern->to - pattern->from);
  pattern->steps += CALL_STEPS * (count + 1) + (uint32_t)(size >> COPY_SHIFT);
  return (int)count;
}

// Pushes all captures, or the whole match if the pattern has none; returns their
// number.
static int push_values(lua_State *L, Pattern *pattern) {
  int count = push_captures(L, pattern);
  if (count > 0) return count;
  push_whole(L, pattern);
  return 1;
}

static void settle(Pattern *pattern) {
  uint32_t steps = pattern->steps;
  pattern->steps = 0;
  on_steps(pattern->data, steps);
}

// --- find, match ---

static bool is_plain(const char *text, size_t size) {
  static const bool is_special[256] = {
      ['^'] = true, ['$'] = true, ['*'] = true, ['+'] = true, ['?'] = true,
      ['.'] = true, ['('] = true, ['['] = true, ['%'] = true, ['-'] = true};
  for (size_t i = 0; i < size; i++)
    if (is_special[(uint8_t)text[i]]) return false;
  return true;
}

// Searches for `part` in slices of the subject, so that the time can be charged. If
// `part` is long, memmem finds its beginning, and memcmp compares the rest.
static const char *search_plain(Pattern *pattern, const char *at, const char *part,
                                size_t size) {
  const char *end = pattern->subject_end;
  size_t prefix = size < PREFIX_MAX ? size : PREFIX_MAX;
  while ((size_t)(end - at) >= size) {
    size_t left = (size_t)(end - at) - (size - prefix);
    size_t slice = left < SEARCH_MAX ? left : SEARCH_MAX;
    const char *found = memmem(at, slice, part, prefix);
    const char *searched = found != NULL ? found : at + slice - prefix + 1;
    pattern->steps += 1 + (uint32_t)(searched - at) / 2;
    if (found != NULL) {
      if (memcmp(found + prefix, part + prefix, size - prefix) == 0) return found;
      pattern->steps += (uint32_t)(size >> COPY_SHIFT);
      searched++;
    }
    at = searched;
    if (pattern->steps >= PATTERN_STEPS) settle(pattern);
  }
  return NULL;
}

static int find_plain(lua_State *L, Pattern *pattern, const char *at) {
  size_t size;
  const char *part = lua_tolstring(L, 2, &size);
  const char *found = search_plain(pattern, at, part, size);
  settle(pattern);
  if (found == NULL) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, found - pattern->subject + 1);
  lua_pushinteger(L, found - pattern->subject + (ptrdiff_t)size);
  return 2;
}

static const char *read_start(lua_State *L, const Pattern *pattern) {
  int64_t size = pattern->subject_end - pattern->subject;
  int64_t start = whole_or(L, 3, 1);
  start += start < 0 ? size : -1;
  if (start < 0) start = 0;
  return pattern->subject + (start < size ? start : size);
}

static bool search(lua_State *L, Pattern *pattern, const char *at) {
  bool is_anchored = pattern_take_anchor(pattern);
  PatternResult result =
      is_anchored ? pattern_match(pattern, at) : pattern_search(pattern, at);
  if (is_found(L, pattern, result)) return true;
  settle(pattern);
  return false;
}

// find(text, pattern, from, is_plain): see string.find
static int text_find(lua_State *L) {
  Pattern pattern;
  Charge charge;
  read_texts(L, 1, &pattern, &charge);
  const char *at = read_start(L, &pattern);
  size_t size;
  const char *text = lua_tolstring(L, 2, &size);
  if (lua_toboolean(L, 4) || is_plain(text, size)) return find_plain(L, &pattern, at);
  if (!search(L, &pattern, at)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, pattern.from - pattern.subject + 1);
  lua_pushinteger(L, pattern.to - pattern.subject);
  int count = push_captures(L, &pattern) + 2;
  settle(&pattern);
  return count;
}

// match(text, pattern, from): see string.match
static int text_match(lua_State *L) {
  Pattern pattern;
  Charge charge;
  read_texts(L, 1, &pattern, &charge);
  if (!search(L, &pattern, read_start(L, &pattern))) {
    lua_pushnil(L);
    return 1;
  }
  int count = push_values(L, &pattern);
  settle(&pattern);
  return count;
}

// --- gmatch ---

enum {
  GMATCH_SUBJECT = 1,
  GMATCH_PATTERN,
  GMATCH_AT
};  // indexes of the iterator's
    // state

// gmatch_next(state): returns the captures of the next match, or nothing
static int text_gmatch_next(lua_State *L) {
  Pattern pattern;
  Charge charge;
  lua_settop(L, 1);
  lua_rawgeti(L, 1, GMATCH_AT);
  lua_rawgeti(L, 1, GMATCH_SUBJECT);
  lua_rawgeti(L, 1, GMATCH_PATTERN);
  read_texts(L, 3, &pattern, &charge);
  lua_Integer at = lua_tointeger(L, 2);
  if (at > pattern.subject_end - pattern.subject) return 0;
  PatternResult result = pattern_search(&pattern, pattern.subject + at);
  bool found = is_found(L, &pattern, result);
  if (found) {
    bool is_empty = pattern.to == pattern.from;
    lua_pushinteger(L, pattern.to - pattern.subject + (is_empty ? 1 : 0));
    lua_rawseti(L, 1, GMATCH_AT);
  }
  int count = found ? push_values(L, &pattern) : 0;
  settle(&pattern);
  return count;
}

// --- gsub ---

enum {
  GSUB_VALUE = 3,  // stack indexes
  GSUB_SLOT = 5,
  RESULT_SMALL = 512,  // bytes of a result without an allocation
};

// The result has at most DEADLINE_TEXT_MAX bytes, in the struct or in a userdata at
// GSUB_SLOT, so that an error leaks nothing. luaL_Buffer has no limit, and leaves
// partial strings on the stack.
typedef struct Substitution {
  lua_State *L;
  Pattern pattern;
  Charge charge;
  const char *kept;  // start of the part of the subject that is not in the result yet
  char *data;
  size_t size, capacity;
  char small[RESULT_SMALL];
} Substitution;

static void grow(Substitution *sub, size_t needed) {
  if (needed > DEADLINE_TEXT_MAX)
    luaL_error(sub->L,
               "string.gsub: the result would have %f bytes or more; %d is the most",
               (double)needed, DEADLINE_TEXT_MAX);
  size_t capacity = sub->capacity * 2;
  if (capacity < needed) capacity = needed;
  char *data = lua_newuserdata(sub->L, capacity);
  if (sub->size > 0) memcpy(data, sub->data, sub->size);
  lua_replace(sub->L, GSUB_SLOT);  // Lua may free the old bytes now
  sub->data = data;
  sub->capacity = capacity;
}

static void add(Substitution *sub, const char *from, size_t size) {
  sub->pattern.steps += 1 + (uint32_t)(size >> COPY_SHIFT);
  if (sub->capacity - sub->size < size) grow(sub, sub->size + size);
  if (size > 0) memcpy(sub->data + sub->size, from, size);
  sub->size += size;
}

// Adds the text between the last replaced match and this one.
static void add_kept(Substitution *sub) {
  add(sub, sub->kept, (size_t)(sub->pattern.from - sub->kept));
  sub->kept = sub->pattern.to;
}

// Adds the text of %0 to %9 in a replacement.
static void add_reference(Substitution *sub, char digit) {
  const Pattern *pattern = &sub->pattern;
  uint32_t count = pattern->capture_count;
  if (digit == '0' || (digit == '1' && count == 0)) {
    add(sub, pattern->from, (size_t)(pattern->to - pattern->from));
    return;
  }
  uint32_t index = (uint32_t)(digit - '1');
  if (index >= count) luaL_error(sub->L, "invalid capture index");
  if ((pattern->closed >> index & 1) == 0) luaL_error(sub->L, "unfinished capture");
  const PatternCapture *capture = &pattern->captures[index];
  if (capture->is_position) {
    char number[24];
    int size = snprintf(number, sizeof number, "%td",
                        (ptrdiff_t)(capture->from - pattern->subject + 1));
    add(sub, number, (size_t)size);
  } else {
    add(sub, capture->from, (size_t)(capture->to - capture->from));
  }
}

// Adds the replacement text. `%` before a digit adds a capture. `%` before another
// character adds that character. `%` at the end adds a zero byte.
static void add_template(Substitution *sub) {
  size_t size;
  const char *at = lua_tolstring(sub->L, GSUB_VALUE, &size);
  const char *end = at + size;
  add_kept(sub);
  while (at < end) {
    const char *escape = memchr(at, '%', (size_t)(end - at));
    if (escape == NULL) escape = end;
    add(sub, at, (size_t)(escape - at));
    if (escape == end) return;
    char letter = escape + 1 < end ? escape[1] : '\0';
    if (letter >= '0' && letter <= '9')
      add_reference(sub, letter);
    else
      add(sub, &letter, 1);
    at = escape + 2;
  }
}

// Pushes the result of the script's function or table for the match.
static void push_replacement(Substitution *sub) {
  lua_State *L = sub->L;
  if (lua_istable(L, GSUB_VALUE)) {
    if (sub->pattern.capture_count > 0)
      push_capture(L, &sub->pattern, 0);
    else
      push_whole(L, &sub->pattern);
    lua_gettable(L, GSUB_VALUE);
    sub->pattern.steps += CALL_STEPS;
    return;
  }
  lua_pushvalue(L, GSUB_VALUE);
  lua_call(L, push_values(L, &sub->pattern), 1);
}

static void replace(Substitution *sub) {
  lua_State *L = sub->L;
  if (lua_isstring(L, GSUB_VALUE)) {
    add_template(sub);
    return;
  }
  push_replacement(sub);
  if (lua_toboolean(L, -1)) {
    if (!lua_isstring(L, -1))
      luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    size_t size;
    const char *text = lua_tolstring(L, -1, &size);
    add_kept(sub);
    add(sub, text, size);
  }
  lua_pop(L, 1);
}

// Replaces up to `most` matches; returns their number.
static int64_t replace_all(Substitution *sub, int64_t most) {
  Pattern *pattern = &sub->pattern;
  const char *at = pattern->subject;
  bool is_anchored = pattern_take_anchor(pattern);
  int64_t count = 0;
  while (count < most) {
    PatternResult result =
        is_anchored ? pattern_match(pattern, at) : pattern_search(pattern, at);
    if (!is_found(sub->L, pattern, result)) break;
    count++;
    at = pattern->to;
    if (pattern->from == pattern->to) at++;
    replace(sub);
    if (is_anchored || at > pattern->subject_end) break;
  }
  return count;
}

// Returns the limit of replacements. Checks the type of the replacement only after
// reading this argument, as LuaJIT does.
static int64_t read_most(lua_State *L, const Pattern *pattern) {
  int64_t most = whole_or(L, 4, pattern->subject_end - pattern->subject + 1);
  switch (lua_type(L, GSUB_VALUE)) {
    case LUA_TFUNCTION:
    case LUA_TTABLE:
      if (!host_has_stack(core_host(L))) luaL_error(L, "stack overflow");
      return most;
    case LUA_TSTRING:
    case LUA_TNUMBER:
      return most;
    default:
      luaL_argerror(L, GSUB_VALUE, "string/function/table expected");
      return 0;
  }
}

// gsub(text, pattern, replacement, most): see string.gsub
static int text_gsub(lua_State *L) {
  Substitution sub;
  sub.L = L;
  read_texts(L, 1, &sub.pattern, &sub.charge);
  int64_t most = read_most(L, &sub.pattern);
  lua_settop(L, GSUB_SLOT);
  sub.kept = sub.pattern.subject;
  sub.data = sub.small;
  sub.size = 0;
  sub.capacity = sizeof sub.small;
  int64_t count = replace_all(&sub, most);
  if (sub.kept == sub.pattern.subject && sub.size == 0) {
    lua_pushvalue(L, 1);
  } else {
    add(&sub, sub.kept, (size_t)(sub.pattern.subject_end - sub.kept));
    lua_pushlstring(L, sub.data, sub.size);
    sub.pattern.steps += (uint32_t)(sub.size >> COPY_SHIFT);
  }
  settle(&sub.pattern);
  lua_pushinteger(L, (lua_Integer)count);
  return 2;
}

const luaL_Reg core_string_functions[] = {{"text_find", text_find},
                                          {"text_match", text_match},
                                          {"text_gmatch_next", text_gmatch_next},
                                          {"text_gsub", text_gsub},
                                          {NULL, NULL}};
