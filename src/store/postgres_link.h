// The connection to PostgreSQL: it sends statements without waiting (pipeline mode), reads
// their results up to a synchronisation point, and connects again after a loss. It is lost
// as soon as anything fails that is no answer of PostgreSQL to a statement.
//
// The link never waits longer than its limit without hearing from PostgreSQL, and not at
// all once it has been interrupted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/fault.h"
#include "store/pq.h"
#include "wire/reader.h"

enum { LINK_PARAMS_MAX = 64, LINK_NUMBER_SIZE = 32 };

/// Parameters of a statement. Their texts must live until the statement is sent.
typedef struct LinkParams {
  const char *values[LINK_PARAMS_MAX];
  int sizes[LINK_PARAMS_MAX];
  int formats[LINK_PARAMS_MAX];  // 0: text, 1: binary
  char numbers[LINK_PARAMS_MAX][LINK_NUMBER_SIZE];
  int count;
} LinkParams;

typedef struct PostgresLink {
  const Pq *pq;
  char *place;               // owned; may contain a password, so it is never reported
  PqConnection *connection;  // NULL: lost
  int wake;                  // eventfd; readable after link_interrupt
  bool is_reader;            // changes nothing
  uint32_t timeout_ms;       // longest silence of PostgreSQL
  uint32_t backoff_ms;       // time between the last two attempts to connect
  uint64_t retry_ms;         // earliest time of the next attempt, monotonic
  StoreFault lost;           // why the connection is lost
  bool is_permanent;         // the failure to connect will not pass by itself
} PostgresLink;

/// Loads libpq and checks the place; does not connect.
StoreCode link_init(PostgresLink *link, const char *place, StoreFault *fault);
void link_deinit(PostgresLink *link);

/// Makes every wait of the link fail, now and later. Callable from any thread.
void link_interrupt(PostgresLink *link);

/// Returns whether the link is connected, as far as this process knows.
bool link_is_connected(PostgresLink *link);

/// Connects, unless the backoff says that it is too early.
StoreCode link_connect(PostgresLink *link, StoreFault *fault);

/// Ends the connection, because of the fault. The next link_connect may follow at once.
void link_lose(PostgresLink *link, const StoreFault *fault);

/// Ends the connection if it exists, and makes the next link_connect wait for the backoff.
void link_fail(PostgresLink *link, const StoreFault *fault);

/// Adds a parameter.
void link_text(LinkParams *params, Text text);
void link_number(LinkParams *params, int64_t number);
void link_double(LinkParams *params, double number);

/// Adds a text whose type PostgreSQL infers; NULL: none.
void link_c_text(LinkParams *params, const char *text);

/// The following send a statement without waiting; failures are those of link_sync.
/// `params` NULL: none.
void link_prepare(PostgresLink *link, const char *name, const char *sql);
void link_run_prepared(PostgresLink *link, const char *name, const LinkParams *params);
void link_run(PostgresLink *link, const char *sql, const LinkParams *params);

/// Waits for all statements since the last call, and returns the first failure. After a
/// failed statement, PostgreSQL skips the others. `*rows` (NULL: not needed) is the last
/// result with rows; the caller clears it. STORE_UNAVAILABLE with `connection` NULL: lost.
StoreCode link_sync(PostgresLink *link, PqResult **rows, StoreFault *fault);

/// link_run and link_sync.
StoreCode link_ask(PostgresLink *link, const char *sql, const LinkParams *params,
                   PqResult **rows, StoreFault *fault);

/// Returns a field of a row; valid until the result is cleared.
Text link_field(const PostgresLink *link, const PqResult *rows, int row, int field);
int64_t link_field_number(const PostgresLink *link, const PqResult *rows, int row,
                          int field);
