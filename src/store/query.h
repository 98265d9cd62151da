// A find or a count as data: conditions over indexed fields, an order, and a cursor.
//
// A condition matches only values of its own type. If a field orders the documents,
// numbers come before strings (by bytes), and strings before booleans. Documents
// without the field come last in both directions. Among equal values, the ids have the
// direction of the order.
#pragma once

#include "store/fault.h"
#include "store/unit.h"

enum {
  STORE_CONDITIONS_MAX = 16,
  STORE_LIMIT_MAX = 1000,    // limit of the documents of one find
  STORE_ROWS_MAX = 10000,    // limit of the rows of perigee.store.sql
  STORE_FOUND_MAX = 8 << 20  // limit of the bytes of a find or of perigee.store.sql
};

/// Types of values, in the order in which a field with values of several types sorts
/// documents.
typedef enum StoreValueType {
  STORE_NUMBER,
  STORE_TEXT,
  STORE_BOOLEAN,
  STORE_NONE,  // the document lacks the field; as an argument of SQL: NULL
} StoreValueType;

typedef struct StoreValue {
  uint8_t type;   // StoreValueType
  double number;  // value of a number; 0 or 1 for a boolean
  Text text;
} StoreValue;

typedef enum StoreOp { STORE_EQ, STORE_LT, STORE_LE, STORE_GT, STORE_GE } StoreOp;

typedef struct StoreCondition {
  uint32_t field;    // index into StoreCollection.indexes
  uint8_t op;        // StoreOp
  StoreValue value;  // value, whose type is not STORE_NONE
} StoreCondition;

typedef struct StoreQuery {
  uint32_t collection;
  uint32_t count;  // number of conditions, which must all hold
  StoreCondition conditions[STORE_CONDITIONS_MAX];
  int32_t order;   // field + 1; negative: descending; 0: by id
  uint32_t limit;  // at most STORE_LIMIT_MAX
  // Cursor of an earlier find with the same conditions and order; empty: none.
  Text after;
  bool is_count;
  // Writes that the find sees as written; NULL: none. Not encoded.
  const StoreUnit *writes;
} StoreQuery;

/// Appends the query as bytes, for a STORE_CHECK_FOUND.
void store_query_write(const StoreQuery *query, Buf *bytes);

/// Reads the bytes of store_query_write. Texts point into `bytes`. Returns false if the
/// bytes are malformed.
bool store_query_read(Text bytes, StoreQuery *query);

/// Returns whether a collection or an indexed field may have this name: at most 48
/// letters, digits and _.
bool store_is_name(const char *name);

/// A position among ordered documents.
typedef struct StorePosition {
  StoreValue value;  // value of the field by which the query orders
  Text id;           // id; empty: the position before all documents
} StorePosition;

typedef struct BackendRow BackendRow;

/// Replaces the content of `cursor` by a cursor for the documents behind `row`. A
/// cursor is a text without special characters.
void store_cursor_write(const StoreQuery *query, const BackendRow *row, Buf *cursor);

/// Reads the query's cursor. Texts point into `bytes`, which is overwritten. If it is
/// not a cursor of a query with the same conditions and order, sets a fault.
StoreCode store_cursor_read(const StoreQuery *query, Buf *bytes,
                            StorePosition *position, StoreFault *fault);

/// Reads a field at the top level of a document; a decoded text is appended to `bytes`.
/// Lists, objects, null and missing fields give STORE_NONE.
StoreValue store_field(Text json, const char *field, Buf *bytes);

/// Compares values in the order of documents; returns a negative number, 0, or a
/// positive number.
int store_compare(const StoreValue *a, const StoreValue *b);

/// Returns whether a document's value satisfies a condition.
bool store_satisfies(const StoreCondition *condition, const StoreValue *value);
