// The connection to PostgreSQL. It sends statements without waiting (pipeline mode),
// reads their results up to a synchronisation point, and connects again after a loss.
// It gives the connection up after any failure that is not PostgreSQL's answer to a
// statement.
//
// The link never waits longer than its limit for the next bytes of PostgreSQL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/fault.h"
#include "store/pq.h"
#include "wire/reader.h"

enum { PG_PARAMS_MAX = 64, PG_NUMBER_SIZE = 32 };

/// Parameters of a statement. Their texts must live until the statement is sent.
typedef struct PgParams {
  const char *values[PG_PARAMS_MAX];
  int sizes[PG_PARAMS_MAX];
  int formats[PG_PARAMS_MAX];  // 0: text, 1: binary
  char numbers[PG_PARAMS_MAX][PG_NUMBER_SIZE];
  int count;
} PgParams;

typedef struct Pg {
  const Pq *pq;
  // Place; owned; may contain a password, so messages never show it.
  char *place;
  PqConnection *connection;  // connection; NULL: lost
  int wake;                  // eventfd; readable after pg_interrupt
  _Atomic uint64_t end_ms;   // time at which all waits end, monotonic; UINT64_MAX: none
  bool is_reader;            // read-only connection
  uint32_t timeout_ms;       // longest silence of PostgreSQL
  uint32_t backoff_ms;       // time between the last two attempts to connect
  uint64_t retry_ms;         // earliest time of the next attempt, monotonic
  StoreFault lost;           // reason why the connection is lost
  bool is_permanent;         // the failure to connect is permanent, see is_permanent
} Pg;

/// Loads libpq and checks the place; does not connect.
StoreCode pg_init(Pg *link, const char *place, StoreFault *fault);
void pg_deinit(Pg *link);

/// Makes all waits of the link end at `end_ms` at the latest. Callable from any thread.
void pg_interrupt(Pg *link, uint64_t end_ms);

/// Sets the limit of PostgreSQL's silence.
void pg_set_timeout(Pg *link, uint32_t timeout_ms);

/// Returns whether the link is connected, as far as this process knows.
bool pg_is_connected(Pg *link);

/// Connects, unless the pause after the last attempt is not over.
StoreCode pg_connect(Pg *link, StoreFault *fault);

/// Ends the connection because of the fault. pg_connect may follow at once.
void pg_lose(Pg *link, const StoreFault *fault);

/// Ends the connection if it exists. pg_connect must then wait for the pause.
void pg_fail(Pg *link, const StoreFault *fault);

/// Adds a parameter.
void pg_text(PgParams *params, Text text);
void pg_number(PgParams *params, int64_t number);
void pg_double(PgParams *params, double number);

/// Adds a text, whose type PostgreSQL infers. NULL: an SQL NULL.
void pg_c_text(PgParams *params, const char *text);

/// Send a statement without waiting; pg_sync returns their failures. `params` may be
/// NULL.
void pg_prepare(Pg *link, const char *name, const char *sql);
void pg_run_prepared(Pg *link, const char *name, const PgParams *params);
void pg_run(Pg *link, const char *sql, const PgParams *params);

/// Waits for all statements since the last call, and returns the first failure. After a
/// failed statement, PostgreSQL skips the others. Sets `*rows` (may be NULL) to the
/// last result with rows, which the caller clears. If the connection is lost, returns
/// STORE_UNAVAILABLE, and `connection` is NULL.
StoreCode pg_sync(Pg *link, PqResult **rows, StoreFault *fault);

/// Runs a statement with pg_run, then waits with pg_sync.
StoreCode pg_ask(Pg *link, const char *sql, const PgParams *params, PqResult **rows,
                 StoreFault *fault);

/// Returns a field of a row; valid until the result is cleared.
Text pg_field(const Pg *link, const PqResult *rows, int row, int field);
int64_t pg_field_number(const Pg *link, const PqResult *rows, int row, int field);
