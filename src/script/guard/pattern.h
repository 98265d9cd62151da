// Matches Lua's patterns and counts the steps. After every PATTERN_STEPS it calls
// `go_on`, which decides whether to continue. Results and messages equal the results
// and messages of LuaJIT's library. Two things differ: a match does not recurse, so it
// needs little of the C stack; and the limit of choices is slightly above LuaJIT's
// limit.
//
// A pattern ends at its first zero byte, as in LuaJIT; `%z` matches one.
//
// Allocates no memory, so `go_on` may leave by longjmp.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PATTERN_CAPTURES_MAX = 32,
  PATTERN_CHOICES_MAX = 256,  // limit of choices; LuaJIT allows 200 levels of choices
                              // and captures together
  PATTERN_STEPS = 16384,  // steps between two calls of `go_on`; a step takes at most 5
                          // ns
};

typedef enum PatternResult {
  PATTERN_STOPPED = -2,  // `go_on` returned false
  PATTERN_WRONG = -1,    // the pattern is invalid; see `error`
  PATTERN_NONE = 0,
  PATTERN_FOUND = 1,
} PatternResult;

typedef struct PatternCapture {
  const char *from;
  const char *to;    // end of the text, if the capture is closed
  bool is_position;  // whether it is `()`, which captures a position
} PatternCapture;

typedef struct Pattern {
  const char *text, *text_end;
  const char *subject, *subject_end;
  bool (*go_on)(void *data, uint32_t steps);
  void *data;

  // Bounds of the match in the subject.
  const char *from, *to;
  uint32_t capture_count;
  uint32_t closed;  // closed captures, one bit for each
  PatternCapture captures[PATTERN_CAPTURES_MAX];

  const char *error;
  uint32_t steps;  // steps not yet reported to `go_on`
} Pattern;

/// Initializes a match. The caller owns both texts, which must stay valid.
void pattern_init(Pattern *pattern, const char *text, size_t text_size,
                  const char *subject, size_t subject_size);

/// Skips a leading `^` and returns whether one existed. Without this call, `^` is an
/// ordinary character.
bool pattern_take_anchor(Pattern *pattern);

/// Tries to match at `at` only.
PatternResult pattern_match(Pattern *pattern, const char *at);

/// Finds the first match at `at` or behind it.
PatternResult pattern_search(Pattern *pattern, const char *at);
