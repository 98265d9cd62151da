// A unit: checks and writes that take effect together or not at all. The writes of a
// handler up to its next wait form a unit, and so do those of a transaction. All checks
// precede all writes, in any order of the steps.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  STORE_ID_MAX = 255,         // bytes of a document's key
  STORE_VALUE_MAX = 1 << 20,  // bytes of a document's JSON
  // Limit of the bytes of a step's value; a room's image is Base64.
  STORE_STEP_MAX = 2 << 20
};

typedef enum StoreStepType {
  STORE_PUT,     // writes `value`
  STORE_DELETE,  // deletes the document, if it exists
  // Requires that the document has `version`; 0: that it does not exist.
  STORE_CHECK,
  // `value` is a query (store_query_write), whose find must have `version`.
  STORE_CHECK_FOUND,
  STORE_SCORE,         // submits `score` for `id` to a leaderboard; `value` is its data
  STORE_REMOVE_SCORE,  // removes the entry `id` of a leaderboard if it exists
} StoreStepType;

typedef struct StoreStep {
  uint8_t type;         // StoreStepType
  uint32_t collection;  // index (see BackendOps.define), or for scores that of a board
  uint32_t schema;      // schema of a put
  // Version of a check or of a found document; for a board, the period.
  int64_t version;
  double score;  // score; finite
  Text id;
  Text value;
} StoreStep;

/// Steps, one behind the other in one buffer.
typedef Buf StoreUnit;

/// Appends a step with copies of its texts.
void unit_push(StoreUnit *unit, const StoreStep *step);

/// Reads the step at `*at` (start at 0) and advances `*at`; returns false at the end.
/// Texts are valid until the next push.
bool unit_next(const StoreUnit *unit, size_t *at, StoreStep *step);
