// A find or a count as data: conditions over indexed fields, an order, and a cursor.
//
// A condition matches values of its own type only. When documents are ordered by a field,
// numbers come before strings (by bytes) before booleans, and documents without the field
// come last in both directions. Among equal values, ids have the direction of the order.
#pragma once

#include "store/fault.h"
#include "store/unit.h"

enum {
  STORE_CONDITIONS_MAX = 16,
  STORE_LIMIT_MAX = 1000,    // documents that a find gives
  STORE_ROWS_MAX = 10000,    // rows that perigee.store.sql gives
  STORE_FOUND_MAX = 8 << 20  // bytes that a find or perigee.store.sql gives
};

/// The order of the types is that of documents.
typedef enum StoreValueType {
  STORE_NUMBER,
  STORE_TEXT,
  STORE_BOOLEAN,
  STORE_NONE,  // the document does not have the field; an argument of SQL: NULL
} StoreValueType;

typedef struct StoreValue {
  uint8_t type;   // StoreValueType
  double number;  // of a number; of a boolean 0 or 1
  Text text;
} StoreValue;

typedef enum StoreOp { STORE_EQ, STORE_LT, STORE_LE, STORE_GT, STORE_GE } StoreOp;

typedef struct StoreCondition {
  uint32_t field;    // index into StoreCollection.indexes
  uint8_t op;        // StoreOp
  StoreValue value;  // not STORE_NONE
} StoreCondition;

typedef struct StoreQuery {
  uint32_t collection;
  uint32_t count;  // number of conditions, which must all hold
  StoreCondition conditions[STORE_CONDITIONS_MAX];
  int32_t order;   // field + 1; negative: descending; 0: by id
  uint32_t limit;  // at most STORE_LIMIT_MAX
  Text after;  // cursor of an earlier find with the same conditions and order; or empty
  bool is_count;
  const StoreUnit *writes;  // the find sees these as written; NULL: none. Not encoded
} StoreQuery;

/// Appends the query's bytes, for a STORE_CHECK_FOUND.
void store_query_write(const StoreQuery *query, Buf *bytes);

/// Reads what store_query_write has written; texts point into `bytes`. Returns false if the
/// bytes are malformed.
bool store_query_read(Text bytes, StoreQuery *query);

/// Returns whether a collection or an indexed field may have this name: at most 48
/// letters, digits and _.
bool store_is_name(const char *name);

/// A place among the documents that a query orders.
typedef struct StorePosition {
  StoreValue value;  // of the field by which the query orders
  Text id;           // empty: before all documents
} StorePosition;

typedef struct BackendRow BackendRow;

/// Replaces the content of `cursor` with a cursor for the documents behind `row`: text
/// without special characters.
void store_cursor_write(const StoreQuery *query, const BackendRow *row, Buf *cursor);

/// Reads the query's cursor; texts point into `bytes`, which is overwritten. Sets a fault
/// if it is not a cursor of a query with the same conditions and order.
StoreCode store_cursor_read(const StoreQuery *query, Buf *bytes,
                            StorePosition *position, StoreFault *fault);

/// Reads a field at the top level of a document; a decoded text is appended to `bytes`.
/// Lists, objects, null and missing fields are STORE_NONE.
StoreValue store_field(Text json, const char *field, Buf *bytes);

/// Compares values in the order of documents; returns a negative number, 0, or a positive
/// number.
int store_compare(const StoreValue *a, const StoreValue *b);

/// Returns whether a document's value satisfies a condition.
bool store_satisfies(const StoreCondition *condition, const StoreValue *value);
