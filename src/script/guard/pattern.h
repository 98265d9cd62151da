// Lua's patterns, matched in steps that are counted: every so many, the caller is asked
// whether to go on. Written from the reference manual; results and messages are those of
// LuaJIT's library, with two differences. No match recurses, so no pattern and no
// subject takes C stack; and a match holds the limit below on choices it may come back
// to, a little over what LuaJIT allows.
//
// A pattern ends at its first zero byte, as it does there; `%z` matches one.
//
// Takes no memory, and keeps no more than the pointers it is given: `go_on` may leave by
// longjmp.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PATTERN_CAPTURES_MAX = 32,
  PATTERN_CHOICES_MAX = 256,  // LuaJIT: 200 levels, which captures use up as well
  PATTERN_STEPS = 16384,      // between two questions; one takes 5 ns at most
};

typedef enum PatternResult {
  PATTERN_STOPPED = -2,  // `go_on` said no
  PATTERN_WRONG = -1,    // `error` says what is wrong with the pattern
  PATTERN_NONE = 0,
  PATTERN_FOUND = 1,
} PatternResult;

typedef struct PatternCapture {
  const char *from;
  const char *to;    // when closed
  bool is_position;  // `()`: where it is, and no text
} PatternCapture;

typedef struct Pattern {
  const char *text, *text_end;
  const char *subject, *subject_end;
  bool (*go_on)(void *data, uint32_t steps);
  void *data;

  // The match that was found: subject from..to.
  const char *from, *to;
  uint32_t capture_count;
  uint32_t closed;  // a bit for each capture
  PatternCapture captures[PATTERN_CAPTURES_MAX];

  const char *error;
  uint32_t steps;  // that `go_on` has not been told of
} Pattern;

/// The texts are the caller's and stay where they are while the pattern is used.
void pattern_init(Pattern *pattern, const char *text, size_t text_size,
                  const char *subject, size_t subject_size);

/// Takes `^` off the front: whether there was one. Otherwise it is a plain character.
bool pattern_take_anchor(Pattern *pattern);

/// Matches at `at` and nowhere else.
PatternResult pattern_match(Pattern *pattern, const char *at);

/// The first match at `at` or after it.
PatternResult pattern_search(Pattern *pattern, const char *at);
