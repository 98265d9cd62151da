// Matches Lua's patterns in counted steps. Every PATTERN_STEPS it calls `go_on`, which
// decides whether to continue. Results and messages are those of LuaJIT's library, with two
// differences: a match does not recurse, so it needs no C stack; and it has a limit of
// choices, a little over LuaJIT's.
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
  PATTERN_CHOICES_MAX = 256,  // LuaJIT has 200 levels, which captures use, too
  PATTERN_STEPS = 16384,  // steps between two calls of `go_on`; one takes 5 ns at most
};

typedef enum PatternResult {
  PATTERN_STOPPED = -2,  // `go_on` returned false
  PATTERN_WRONG = -1,    // the pattern is invalid; see `error`
  PATTERN_NONE = 0,
  PATTERN_FOUND = 1,
} PatternResult;

typedef struct PatternCapture {
  const char *from;
  const char *to;    // end of the text, when closed
  bool is_position;  // `()`: the capture is a position
} PatternCapture;

typedef struct Pattern {
  const char *text, *text_end;
  const char *subject, *subject_end;
  bool (*go_on)(void *data, uint32_t steps);
  void *data;

  // The match: subject from..to.
  const char *from, *to;
  uint32_t capture_count;
  uint32_t closed;  // a bit for each capture
  PatternCapture captures[PATTERN_CAPTURES_MAX];

  const char *error;
  uint32_t steps;  // steps that `go_on` has not got yet
} Pattern;

/// Initializes a match. The caller owns both texts, which must stay valid.
void pattern_init(Pattern *pattern, const char *text, size_t text_size,
                  const char *subject, size_t subject_size);

/// Skips a leading `^`; returns whether one existed. Without this call it is an ordinary
/// character.
bool pattern_take_anchor(Pattern *pattern);

/// Matches at `at` alone.
PatternResult pattern_match(Pattern *pattern, const char *at);

/// Finds the first match at `at` or behind it.
PatternResult pattern_search(Pattern *pattern, const char *at);
