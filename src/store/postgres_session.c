// The connection and the transactions of PostgreSQL. See postgres.h.
//
// All transactions are SERIALIZABLE, even those without checks, because PostgreSQL
// detects conflicts only among such transactions.
#include "store/postgres.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/clock.h"

enum {
  TIMEOUT_MS = 10000,
  VERSIONS = 1000,  // versions that are reserved at once
  // Age after which other servers delete a row: 30 days.
  WRITER_MAX_MS = 24 * 3600 * 1000
};

// --- The connection ---

// Registers a writer and prepares the statements.
static StoreCode begin_session(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  if (backend->use == BACKEND_SERVE) {
    PqResult *row;
    if (pg_ask(link,
               "INSERT INTO perigee_writers (writer, number, seen_at)"
               " VALUES (gen_random_uuid(), 0, now()) RETURNING writer",
               NULL, &row, fault) != STORE_OK)
      return fault->code;
    snprintf(backend->writer, sizeof backend->writer, "%s",
             link->pq->getvalue(row, 0, 0));
    link->pq->clear(row);
    backend->number = 0;
    backend->writer_ms = store_clock_ms();
  }
  postgres_prepare(backend);
  return pg_sync(link, NULL, fault);
}

StoreCode postgres_ensure(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  bool is_stale = backend->use == BACKEND_SERVE &&
                  store_clock_ms() > backend->writer_ms + WRITER_MAX_MS;
  if (pg_is_connected(link) && !is_stale) return STORE_OK;
  StoreCode code = pg_connect(link, fault);
  if (code == STORE_OK && begin_session(backend, fault) == STORE_OK) return STORE_OK;
  if (link->connection != NULL) pg_fail(link, fault);
  fault->code = STORE_BUSY;
  return fault->code;
}

StoreCode postgres_sync(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  link->pq->clear(backend->rows);
  backend->rows = NULL;
  StoreCode code = pg_sync(link, &backend->rows, fault);
  if (code == STORE_OK) return STORE_OK;
  if (link->connection == NULL) code = fault->code = STORE_BUSY;
  if (!backend->is_open) return code;
  // Makes the store repeat the units, because an earlier unit of the transaction may be
  // the one that has failed.
  bool is_vague = code != STORE_BUSY && code != STORE_CONFLICT && backend->units > 1;
  if (is_vague) code = fault->code = STORE_AGAIN;
  backend->is_broken = true;
  backend->broken = *fault;
  return code;
}

// Waits before another attempt of `open`. Returns false if the attempt would be too
// late.
static bool wait_for_retry(const Backend *backend, uint64_t end_ms) {
  const Pg *link = &backend->link;
  uint64_t now = store_clock_ms();
  if (link->is_permanent || link->retry_ms >= end_ms) return false;
  struct pollfd wake = {.fd = link->wake, .events = POLLIN};
  if (link->retry_ms > now) poll(&wake, 1, (int)(link->retry_ms - now));
  return true;
}

void postgres_close(Backend *backend) {
  Pg *link = &backend->link;
  if (backend->use == BACKEND_SERVE && link->connection != NULL &&
      backend->writer[0] != '\0') {
    StoreFault ignored;
    PgParams params = {0};
    pg_text(&params, text_from(backend->writer));
    pg_ask(link, "DELETE FROM perigee_writers WHERE writer = $1::text::uuid", &params,
           NULL, &ignored);
  }
  if (link->pq != NULL) link->pq->clear(backend->rows);
  pg_deinit(link);
  postgres_free_tables(backend);
  buf_deinit(&backend->sql);
  mem_free(backend);
}

// Opens the back end. Also waits for a PostgreSQL that is starting at the same time.
Backend *postgres_open(const char *place, BackendUse use, StoreFault *fault) {
  Backend *backend = mem_zalloc(sizeof *backend);
  backend->use = use;
  backend->link.is_reader = use == BACKEND_READ;
  backend->link.timeout_ms = TIMEOUT_MS;
  uint64_t end_ms = use == BACKEND_SERVE ? store_clock_ms() + TIMEOUT_MS : 0;
  StoreCode code = pg_init(&backend->link, place, fault);
  if (code == STORE_OK) {
    do code = pg_connect(&backend->link, fault);
    while (code != STORE_OK && wait_for_retry(backend, end_ms));
  }
  if (code == STORE_OK) code = postgres_set_up(backend, fault);
  if (code == STORE_OK) code = begin_session(backend, fault);
  if (code == STORE_OK) return backend;
  postgres_close(backend);
  return NULL;
}

// --- Transactions ---

StoreCode postgres_begin(Backend *backend, StoreFault *fault) {
  if (postgres_ensure(backend, fault) != STORE_OK) return fault->code;
  pg_run_prepared(&backend->link, "begin", NULL);
  backend->is_open = true;
  backend->is_broken = false;
  backend->units = 0;
  return STORE_OK;
}

// Rolls the transaction back. Syncs first, because PostgreSQL skips all statements
// between a failed one and the next synchronisation point.
void postgres_rollback(Backend *backend) {
  StoreFault ignored;
  if (!backend->is_open) return;
  backend->is_open = false;
  if (backend->link.connection == NULL) return;
  pg_sync(&backend->link, NULL, &ignored);
  pg_run_prepared(&backend->link, "rollback", NULL);
  pg_sync(&backend->link, NULL, &ignored);
}

// Commits the transaction. Returns STORE_UNKNOWN if the connection is lost before the
// answer, because the commit may have happened.
StoreCode postgres_commit(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  PgParams params = {0};
  if (backend->is_broken) {
    *fault = backend->broken;
    return fault->code;
  }
  backend->number++;
  backend->writer_ms = store_clock_ms();
  pg_text(&params, text_from(backend->writer));
  pg_number(&params, backend->number);
  pg_run_prepared(link, "write", &params);
  pg_run_prepared(link, "commit", NULL);
  StoreCode code = postgres_sync(backend, fault);
  if (code == STORE_OK) {
    backend->is_open = false;
  } else if (code == STORE_BUSY) {
    backend->is_open = false;
    memcpy(backend->unsettled_writer, backend->writer, WRITER_SIZE);
    backend->unsettled_number = backend->number;
    code = fault->code = STORE_UNKNOWN;
    // Ends the connection, so that the next one becomes another writer, because the row
    // of this writer is missing.
  } else if (code == STORE_CONFLICT) {
    pg_lose(link, fault);
    code = fault->code = STORE_BUSY;
  }
  return code;
}

// Finds out whether the last commit has happened. The UPDATE waits for a transaction
// that PostgreSQL is still carrying out. It also makes a transaction fail that
// PostgreSQL has not begun yet.
StoreCode postgres_settle(Backend *backend, bool *has_happened, StoreFault *fault) {
  PgParams params = {0};
  if (postgres_ensure(backend, fault) != STORE_OK) return fault->code;
  pg_text(&params, text_from(backend->unsettled_writer));
  pg_run(&backend->link,
         "UPDATE perigee_writers SET is_over = true WHERE writer = $1::text::uuid"
         " RETURNING number",
         &params);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  *has_happened =
      backend->link.pq->ntuples(backend->rows) == 1 &&
      pg_field_number(&backend->link, backend->rows, 0, 0) == backend->unsettled_number;
  return STORE_OK;
}

// --- Writes ---

StoreCode postgres_next_version(Backend *backend, int64_t *version, StoreFault *fault) {
  if (backend->version == backend->version_end) {
    pg_run_prepared(&backend->link, "version", NULL);
    if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
    backend->version = pg_field_number(&backend->link, backend->rows, 0, 0);
    backend->version_end = backend->version + VERSIONS;
  }
  *version = backend->version++;
  return STORE_OK;
}

static void send_write(Backend *backend, const StoreStep *step, int64_t version) {
  char name[STATEMENT_NAME_SIZE];
  PgParams params = {0};
  pg_text(&params, step->id);
  if (step->type == STORE_PUT) {
    pg_text(&params, step->value);
    pg_number(&params, version);
    pg_number(&params, step->schema);
  }
  char kind = step->type == STORE_PUT ? 'p' : 'd';
  pg_run_prepared(&backend->link, postgres_statement(name, kind, step->collection),
                  &params);
}

void postgres_send_writes(Backend *backend, const StoreUnit *unit, int64_t version) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    switch ((StoreStepType)step.type) {
      case STORE_PUT:
      case STORE_DELETE:
        send_write(backend, &step, version);
        break;
      case STORE_SCORE:
      case STORE_REMOVE_SCORE:
        postgres_send_score(backend, &step);
        break;
      case STORE_CHECK:
      case STORE_CHECK_FOUND:
        break;
    }
  }
}

// --- Reads ---

StoreCode postgres_begin_read(Backend *backend, StoreFault *fault) {
  if (!backend->is_open) return postgres_ensure(backend, fault);
  if (!backend->is_broken) return STORE_OK;
  *fault = backend->broken;
  return fault->code;
}
