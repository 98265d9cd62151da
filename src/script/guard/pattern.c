// The matcher. A pattern is a sequence of items, and a match passes each item once.
// Therefore the sets of open and closed captures at an item depend only on the item. If
// an item can match in several ways, a Choice stores the remaining ways. A dead end
// returns to the last Choice. Each repeated item has at most one Choice.
//
// An item is parsed each time it is reached. That costs about as much as a lookup, and
// reports errors at the same moment as Lua.
#include "script/guard/pattern.h"

#include <string.h>

typedef enum UnitType { UNIT_BYTE, UNIT_ANY, UNIT_CLASS, UNIT_SET } UnitType;

// A set of ASCII bytes, with one bit for each. No class contains other bytes.
typedef struct Class {
  uint32_t bits[4];
} Class;

// A part of a pattern that matches exactly one byte of the subject.
typedef struct Unit {
  UnitType type;
  uint8_t byte;
  bool is_negated;
  const Class *class;
  const char *set, *set_end;  // text between the brackets of a set
  uint32_t cost;              // steps to compare the unit with a byte
} Unit;

// The remaining ways to match the item before `rest`. They use fewer bytes, down to
// `limit`. If `limit` is NULL, they use one more byte of `unit`.
typedef struct Choice {
  const char *at;
  const char *rest;
  const char *limit;
  const char *unit;
  uint32_t capture_count;
  uint32_t closed;
} Choice;

typedef struct Run {
  Pattern *pattern;
  const char *at;    // position in the subject
  const char *item;  // position in the pattern
  uint32_t choice_count;
  Choice *choices;  // PATTERN_CHOICES_MAX choices, not initialized
} Run;

// The result of an item. All values but GO_ON equal values of PatternResult.
typedef enum Outcome {
  STOPPED = PATTERN_STOPPED,
  WRONG = PATTERN_WRONG,
  DEAD_END = PATTERN_NONE,
  FOUND = PATTERN_FOUND,
  GO_ON,
} Outcome;

enum {
  SLICE_STEPS = 4096
};  // steps between two charges while one unit matches many
    // bytes

static const Class ALPHA = {{0, 0, 0x07fffffe, 0x07fffffe}};
static const Class CONTROL = {{0xffffffff, 0, 0, 0x80000000}};
static const Class DIGIT = {{0, 0x03ff0000, 0, 0}};
static const Class GRAPH = {{0, 0xfffffffe, 0xffffffff, 0x7fffffff}};
static const Class LOWER = {{0, 0, 0, 0x07fffffe}};
static const Class PUNCT = {{0, 0xfc00fffe, 0xf8000001, 0x78000001}};
static const Class SPACE = {{0x00003e00, 0x00000001, 0, 0}};
static const Class UPPER = {{0, 0, 0x07fffffe, 0}};
static const Class ALNUM = {{0, 0x03ff0000, 0x07fffffe, 0x07fffffe}};
static const Class HEX = {{0, 0x03ff0000, 0x0000007e, 0x0000007e}};
static const Class ZERO = {{0x00000001, 0, 0, 0}};

static const Class *const CLASSES[26] = {
    ['a' - 'a'] = &ALPHA, ['c' - 'a'] = &CONTROL, ['d' - 'a'] = &DIGIT,
    ['g' - 'a'] = &GRAPH, ['l' - 'a'] = &LOWER,   ['p' - 'a'] = &PUNCT,
    ['s' - 'a'] = &SPACE, ['u' - 'a'] = &UPPER,   ['w' - 'a'] = &ALNUM,
    ['x' - 'a'] = &HEX,   ['z' - 'a'] = &ZERO,
};

void pattern_init(Pattern *pattern, const char *text, size_t text_size,
                  const char *subject, size_t subject_size) {
  pattern->text = text;
  pattern->text_end = text + strnlen(text, text_size);
  pattern->subject = subject;
  pattern->subject_end = subject + subject_size;
  pattern->go_on = NULL;
  pattern->data = NULL;
  pattern->error = NULL;
  pattern->steps = 0;
}

bool pattern_take_anchor(Pattern *pattern) {
  if (pattern->text == pattern->text_end || *pattern->text != '^') return false;
  pattern->text++;
  return true;
}

// --- Steps ---

static inline bool spend(Pattern *pattern, uint32_t steps) {
  pattern->steps += steps;
  if (pattern->steps < PATTERN_STEPS) return true;
  steps = pattern->steps;
  pattern->steps = 0;
  return pattern->go_on == NULL || pattern->go_on(pattern->data, steps);
}

// --- One byte ---

static const Class *class_of(uint8_t letter) {
  uint8_t at = (uint8_t)((letter | 0x20) - 'a');
  return at < 26 ? CLASSES[at] : NULL;
}

static bool is_upper(uint8_t letter) { return letter >= 'A' && letter <= 'Z'; }

static inline bool class_has(const Class *class, uint8_t byte) {
  return byte < 128 && (class->bits[byte >> 5] >> (byte & 31) & 1) != 0;
}

// Returns whether the class of a letter behind `%` contains the byte.
static bool escape_has(uint8_t letter, uint8_t byte) {
  const Class *class = class_of(letter);
  return class ? class_has(class, byte) != is_upper(letter) : letter == byte;
}

// Returns whether a set contains the byte. As in Lua, the set `[+-%%]` also contains
// `]`, because the range ends at the first `%`, and the second `%` escapes the bracket.
static bool set_has(const Unit *unit, uint8_t byte) {
  for (const char *at = unit->set; at < unit->set_end; at++) {
    uint8_t first = (uint8_t)*at;
    if (first == '%') {
      if (escape_has((uint8_t) * ++at, byte)) return true;
    } else if (unit->set_end - at > 2 && at[1] == '-') {
      at += 2;
      if (first <= byte && byte <= (uint8_t)*at) return true;
    } else if (first == byte) {
      return true;
    }
  }
  return false;
}

static inline bool unit_has(const Unit *unit, uint8_t byte) {
  switch (unit->type) {
    case UNIT_BYTE:
      return byte == unit->byte;
    case UNIT_ANY:
      return true;
    case UNIT_CLASS:
      return class_has(unit->class, byte) != unit->is_negated;
    case UNIT_SET:
      return set_has(unit, byte) != unit->is_negated;
  }
  return false;
}

// --- Parsing the pattern ---

static const char *wrong(Pattern *pattern, const char *error) {
  pattern->error = error;
  return NULL;
}

// Parses a set; `at` is behind the opening bracket. The first character is never the
// closing bracket.
static const char *read_set(Pattern *pattern, const char *at, Unit *unit) {
  const char *end = pattern->text_end;
  unit->type = UNIT_SET;
  unit->is_negated = at < end && *at == '^';
  if (unit->is_negated) at++;
  unit->set = at;
  do {
    if (at < end && *at == '%') at++;
    if (at < end) at++;
    if (at >= end) return wrong(pattern, "malformed pattern (missing ']')");
  } while (*at != ']');
  unit->set_end = at;
  unit->cost = 1 + (uint32_t)(at - unit->set) / 4;
  return at + 1;
}

static const char *read_escape(Pattern *pattern, const char *at, Unit *unit) {
  if (at == pattern->text_end)
    return wrong(pattern, "malformed pattern (ends with '%')");
  uint8_t letter = (uint8_t)*at;
  unit->class = class_of(letter);
  unit->type = unit->class != NULL ? UNIT_CLASS : UNIT_BYTE;
  unit->is_negated = is_upper(letter);
  unit->byte = letter;
  return at + 1;
}

// Parses the unit at `at`, which is not the end. Returns the position behind it; NULL
// on an error.
static inline const char *read_unit(Pattern *pattern, const char *at, Unit *unit) {
  unit->cost = 1;
  switch (*at) {
    case '.':
      unit->type = UNIT_ANY;
      return at + 1;
    case '%':
      return read_escape(pattern, at + 1, unit);
    case '[':
      return read_set(pattern, at + 1, unit);
    default:
      unit->type = UNIT_BYTE;
      unit->byte = (uint8_t)*at;
      return at + 1;
  }
}

static inline char byte_at(const Pattern *pattern, const char *at) {
  return at < pattern->text_end ? *at : '\0';
}

// --- Many bytes ---

// Returns the first byte from `at` on for which unit_has differs from `wanted`, or NULL
// if `go_on` stops the match.
static const char *pass_slices(Pattern *pattern, const Unit *unit, const char *at,
                               bool wanted) {
  size_t slice = unit->cost < SLICE_STEPS ? SLICE_STEPS / unit->cost : 1;
  for (;;) {
    size_t left = (size_t)(pattern->subject_end - at);
    const char *end = at + (left < slice ? left : slice);
    const char *from = at;
    while (at < end && unit_has(unit, (uint8_t)*at) == wanted) at++;
    if (!spend(pattern, (uint32_t)(at - from + 1) * unit->cost)) return NULL;
    if (at < end || at == pattern->subject_end) return at;
  }
}

static const char *skip_to(Pattern *pattern, const Unit *unit, const char *at) {
  if (unit->type != UNIT_BYTE) return pass_slices(pattern, unit, at, false);
  size_t left = (size_t)(pattern->subject_end - at);
  const char *found = left > 0 ? memchr(at, unit->byte, left) : NULL;
  if (found == NULL) found = pattern->subject_end;
  return spend(pattern, 1 + (uint32_t)(found - at) / 64) ? found : NULL;
}

// --- Choices ---

static Outcome fail(Run *run, const char *error) {
  wrong(run->pattern, error);
  return WRONG;
}

static Outcome choose_later(Run *run, Choice choice) {
  if (run->choice_count == PATTERN_CHOICES_MAX) return fail(run, "pattern too complex");
  choice.capture_count = run->pattern->capture_count;
  choice.closed = run->pattern->closed;
  run->choices[run->choice_count++] = choice;
  return GO_ON;
}

// Extends the last choice, which belongs to an item with `-`, by one byte.
static Outcome lengthen(Run *run, Choice *choice) {
  Pattern *pattern = run->pattern;
  Unit unit;
  read_unit(pattern, choice->unit, &unit);
  if (!spend(pattern, unit.cost)) return STOPPED;
  if (choice->at == pattern->subject_end || !unit_has(&unit, (uint8_t)*choice->at)) {
    run->choice_count--;
    return DEAD_END;
  }
  run->at = ++choice->at;
  return GO_ON;
}

// Returns to the last choice that is not a dead end.
static Outcome come_back(Run *run) {
  Outcome outcome = DEAD_END;
  while (outcome == DEAD_END && run->choice_count > 0) {
    Choice *choice = &run->choices[run->choice_count - 1];
    run->item = choice->rest;
    run->pattern->capture_count = choice->capture_count;
    run->pattern->closed = choice->closed;
    if (choice->limit == NULL) {
      outcome = lengthen(run, choice);
    } else {
      run->at = --choice->at;
      if (choice->at == choice->limit) run->choice_count--;
      outcome = GO_ON;
    }
  }
  return outcome;
}

// --- Items ---

static Outcome match_as_many(Run *run, const Unit *unit, const char *rest,
                             const char *limit) {
  Pattern *pattern = run->pattern;
  const char *at = unit->type == UNIT_ANY ? pattern->subject_end
                                          : pass_slices(pattern, unit, limit, true);
  if (at == NULL) return STOPPED;
  run->at = at;
  run->item = rest;
  if (at == limit) return GO_ON;
  return choose_later(run, (Choice){.at = at, .limit = limit, .rest = rest});
}

static Outcome match_unit(Run *run) {
  Pattern *pattern = run->pattern;
  const char *at = run->at, *item = run->item;
  Unit unit;
  const char *rest = read_unit(pattern, item, &unit);
  if (rest == NULL) return WRONG;
  char repeat = byte_at(pattern, rest);
  if (repeat == '*') return match_as_many(run, &unit, rest + 1, at);
  if (repeat == '-') {
    run->item = rest + 1;
    return choose_later(run, (Choice){.at = at, .rest = rest + 1, .unit = item});
  }
  pattern->steps += unit.cost;  // charged at the next item
  bool fits = at < pattern->subject_end && unit_has(&unit, (uint8_t)*at);
  if (repeat == '?') {
    run->item = rest + 1;
    if (!fits) return GO_ON;
    run->at = at + 1;
    return choose_later(run, (Choice){.at = at + 1, .limit = at, .rest = rest + 1});
  }
  if (!fits) return DEAD_END;
  if (repeat == '+') return match_as_many(run, &unit, rest + 1, at + 1);
  run->at = at + 1;
  run->item = rest;
  return GO_ON;
}

static Outcome open_capture(Run *run) {
  Pattern *pattern = run->pattern;
  if (pattern->capture_count == PATTERN_CAPTURES_MAX)
    return fail(run, "too many captures");
  uint32_t index = pattern->capture_count++;
  PatternCapture *capture = &pattern->captures[index];
  capture->from = capture->to = run->at;
  capture->is_position = byte_at(pattern, run->item + 1) == ')';
  if (capture->is_position) pattern->closed |= 1u << index;
  run->item += capture->is_position ? 2 : 1;
  return GO_ON;
}

static Outcome close_capture(Run *run) {
  Pattern *pattern = run->pattern;
  for (uint32_t index = pattern->capture_count; index-- > 0;) {
    if ((pattern->closed >> index & 1) != 0) continue;
    pattern->closed |= 1u << index;
    pattern->captures[index].to = run->at;
    run->item++;
    return GO_ON;
  }
  return fail(run, "invalid pattern capture");
}

// Matches %1 to %9: the text of an earlier capture. A position capture never matches.
static Outcome match_again(Run *run) {
  Pattern *pattern = run->pattern;
  uint32_t index = (uint32_t)(run->item[1] - '1');
  if (index >= pattern->capture_count || (pattern->closed >> index & 1) == 0)
    return fail(run, "invalid capture index");
  const PatternCapture *capture = &pattern->captures[index];
  size_t size = (size_t)(capture->to - capture->from);
  if (capture->is_position) return DEAD_END;
  if ((size_t)(pattern->subject_end - run->at) < size) return DEAD_END;
  if (!spend(pattern, 1 + (uint32_t)(size / 32))) return STOPPED;
  if (size > 0 && memcmp(capture->from, run->at, size) != 0) return DEAD_END;
  run->at += size;
  run->item += 2;
  return GO_ON;
}

// Matches %bxy.
static Outcome match_balanced(Run *run) {
  Pattern *pattern = run->pattern;
  if (pattern->text_end - run->item < 4) return fail(run, "unbalanced pattern");
  char open = run->item[2], close = run->item[3];
  const char *at = run->at, *end = pattern->subject_end;
  if (at == end || *at != open) return DEAD_END;
  size_t depth = 1;
  while (++at < end) {
    if (!spend(pattern, 1)) return STOPPED;
    if (*at == close) {
      if (--depth > 0) continue;
      run->at = at + 1;
      run->item += 4;
      return GO_ON;
    }
    if (*at == open) depth++;
  }
  return DEAD_END;
}

// Matches %f[set]: the change from a byte outside the set to a byte inside. Both ends
// of the subject count as zero bytes.
static Outcome match_frontier(Run *run) {
  Pattern *pattern = run->pattern;
  const char *at = run->at;
  if (byte_at(pattern, run->item + 2) != '[')
    return fail(run, "missing '[' after '%f' in pattern");
  Unit unit;
  const char *rest = read_set(pattern, run->item + 3, &unit);
  if (rest == NULL) return WRONG;
  pattern->steps += 2 * unit.cost;
  char before = at == pattern->subject ? '\0' : at[-1];
  char after = at == pattern->subject_end ? '\0' : *at;
  if (set_has(&unit, (uint8_t)before) != unit.is_negated) return DEAD_END;
  if (set_has(&unit, (uint8_t)after) == unit.is_negated) return DEAD_END;
  run->item = rest;
  return GO_ON;
}

static inline Outcome match_item(Run *run) {
  const Pattern *pattern = run->pattern;
  switch (*run->item) {
    case '(':
      return open_capture(run);
    case ')':
      return close_capture(run);
    case '$':
      if (run->item + 1 < pattern->text_end) return match_unit(run);
      if (run->at != pattern->subject_end) return DEAD_END;
      run->item++;
      return GO_ON;
    case '%': {
      char letter = byte_at(pattern, run->item + 1);
      if (letter == 'b') return match_balanced(run);
      if (letter == 'f') return match_frontier(run);
      if (letter >= '0' && letter <= '9') return match_again(run);
      return match_unit(run);
    }
    default:
      return match_unit(run);
  }
}

static PatternResult match_at(Run *run, const char *at) {
  Pattern *pattern = run->pattern;
  run->at = at;
  run->item = pattern->text;
  run->choice_count = 0;
  pattern->capture_count = 0;
  pattern->closed = 0;
  for (;;) {
    if (!spend(pattern, 1)) return PATTERN_STOPPED;
    if (run->item == pattern->text_end) break;
    Outcome outcome = match_item(run);
    if (outcome == DEAD_END) outcome = come_back(run);
    if (outcome != GO_ON) return (PatternResult)outcome;
  }
  pattern->from = at;
  pattern->to = run->at;
  return PATTERN_FOUND;
}

PatternResult pattern_match(Pattern *pattern, const char *at) {
  Choice choices[PATTERN_CHOICES_MAX];
  Run run = {.pattern = pattern, .choices = choices};
  return match_at(&run, at);
}

// --- Searching ---

// Reads the unit whose bytes begin each match, and returns true, so that the search can
// skip other bytes. Returns false if no such unit exists.
static bool read_lead(Pattern *pattern, Unit *unit) {
  const char *at = pattern->text;
  if (at < pattern->text_end && *at == '(') at++;
  if (at == pattern->text_end || *at == '(' || *at == ')') return false;
  if (*at == '$' && at + 1 == pattern->text_end) return false;
  if (*at == '%') {
    char letter = byte_at(pattern, at + 1);
    if (letter == 'b' || letter == 'f' || (letter >= '0' && letter <= '9'))
      return false;
  }
  const char *rest = read_unit(pattern, at, unit);
  if (rest == NULL || unit->type == UNIT_ANY) return false;
  char repeat = byte_at(pattern, rest);
  return repeat != '*' && repeat != '?' && repeat != '-';
}

PatternResult pattern_search(Pattern *pattern, const char *at) {
  Choice choices[PATTERN_CHOICES_MAX];
  Run run = {.pattern = pattern, .choices = choices};
  Unit lead;
  bool has_lead = read_lead(pattern, &lead);
  for (;; at++) {
    if (has_lead) {
      at = skip_to(pattern, &lead, at);
      if (at == NULL) return PATTERN_STOPPED;
      if (at == pattern->subject_end) return PATTERN_NONE;
    }
    PatternResult result = match_at(&run, at);
    if (result != PATTERN_NONE || at == pattern->subject_end) return result;
  }
}
