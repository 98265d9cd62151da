// A unit: the checks and writes that take effect together or not at all. The writes of a
// handler up to a wait are one unit, and so are those of a transaction. All checks come
// before all writes, whatever the order of the steps.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  STORE_ID_MAX = 255,         // bytes of a document's key
  STORE_VALUE_MAX = 1 << 20,  // bytes of a document's JSON
  STORE_STEP_MAX = 2 << 20    // bytes of the value of a step; a room's image is Base64
};

typedef enum StoreStepType {
  STORE_PUT,          // writes `value`
  STORE_DELETE,       // deletes the document, if it exists
  STORE_CHECK,        // the document must have `version`; 0: it must not exist
  STORE_CHECK_FOUND,  // `value`: a query (store_query_write), whose find must give `version`
  STORE_SCORE,        // submits `score` for `id` to a leaderboard; `value`: its data
  STORE_REMOVE_SCORE,  // removes the entry `id` of a leaderboard, if it exists
} StoreStepType;

typedef struct StoreStep {
  uint8_t type;         // StoreStepType
  uint32_t collection;  // index, see BackendOps.define; of a score: see define_board
  uint32_t schema;      // of a put
  int64_t version;      // of a check; of a document that was found; a board's period
  double score;         // of a score; finite
  Text id;
  Text value;
} StoreStep;

/// Steps in one run of memory.
typedef Buf StoreUnit;

/// Appends a step with copies of its texts.
void unit_push(StoreUnit *unit, const StoreStep *step);

/// Reads the step at `*at` (start at 0) and advances `*at`; returns false at the end.
/// Texts are valid until the next push.
bool unit_next(const StoreUnit *unit, size_t *at, StoreStep *step);
