// Any pattern on any subject: a match lies inside the subject. After a limited number
// of steps, the result exists or the matcher asks whether to continue. The first line
// of the input is the pattern.
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "script/guard/pattern.h"

enum { QUESTIONS_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Counts all steps. No item of such inputs takes more than a few steps.
static bool go_on(void *data, uint32_t steps) {
  uint32_t *questions = data;
  assert(steps >= PATTERN_STEPS && steps < 2 * PATTERN_STEPS);
  return ++*questions < QUESTIONS_MAX;
}

static void check_inside(const Pattern *pattern) {
  assert(pattern->subject <= pattern->from && pattern->from <= pattern->to);
  assert(pattern->to <= pattern->subject_end);
  assert(pattern->capture_count <= PATTERN_CAPTURES_MAX);
  for (uint32_t i = 0; i < pattern->capture_count; i++) {
    const PatternCapture *capture = &pattern->captures[i];
    if ((pattern->closed >> i & 1) == 0) continue;
    assert(pattern->from <= capture->from && capture->from <= capture->to);
    assert(capture->to <= pattern->to);
  }
}

static PatternResult check(const char *text, size_t text_size, const char *subject,
                           size_t size, bool everywhere) {
  Pattern pattern;
  uint32_t questions = 0;
  pattern_init(&pattern, text, text_size, subject, size);
  pattern.go_on = go_on;
  pattern.data = &questions;
  bool is_anchored = pattern_take_anchor(&pattern);
  PatternResult result = everywhere && !is_anchored
                             ? pattern_search(&pattern, pattern.subject)
                             : pattern_match(&pattern, pattern.subject);
  assert((result == PATTERN_STOPPED) == (questions == QUESTIONS_MAX));
  if (result == PATTERN_FOUND) check_inside(&pattern);
  if (result == PATTERN_WRONG) assert(pattern.error != NULL);
  return result;
}

// Returns a copy in memory of exactly its size, for ASan.
static char *copy(const uint8_t *bytes, size_t size) {
  char *out = malloc(size > 0 ? size : 1);
  if (size > 0) memcpy(out, bytes, size);
  return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
  size_t text_size = end != NULL ? (size_t)(end - data) : size;
  size_t skipped = end != NULL ? text_size + 1 : size;
  char *text = copy(data, text_size);
  char *subject = copy(data + skipped, size - skipped);
  PatternResult here = check(text, text_size, subject, size - skipped, false);
  PatternResult found = check(text, text_size, subject, size - skipped, true);
  if (here == PATTERN_FOUND) assert(found == PATTERN_FOUND);
  free(text);
  free(subject);
  return 0;
}
