// The table of the back end PostgreSQL, and its units. See postgres.h.
#include "store/postgres.h"
#include "store/found.h"

// --- Units ---

static bool has_checks(const StoreUnit *unit) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);)
    if (step.type == STORE_CHECK || step.type == STORE_CHECK_FOUND) return true;
  return false;
}

// Sends the checks of versions. Then carries out the checks of finds, which wait for
// PostgreSQL.
static StoreCode check(Backend *backend, const StoreUnit *unit, StoreFault *fault) {
  StoreStep step;
  char name[STATEMENT_NAME_SIZE];
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    PgParams params = {0};
    if (step.type != STORE_CHECK) continue;
    pg_text(&params, step.id);
    pg_number(&params, step.version);
    pg_run_prepared(&backend->link, postgres_statement(name, 'c', step.collection),
                    &params);
  }
  for (size_t at = 0; unit_next(unit, &at, &step);)
    if (step.type == STORE_CHECK_FOUND &&
        found_check(&backend_postgres, backend, &step, fault) != STORE_OK)
      return fault->code;
  return STORE_OK;
}

// Undoes a unit that has failed for its own reason, so that the rest of the transaction
// stays.
static StoreCode undo(Backend *backend, StoreFault *fault) {
  bool is_own =
      !backend->is_broken || (fault->code != STORE_BUSY && fault->code != STORE_AGAIN);
  if (!is_own) return fault->code;
  backend->is_broken = false;
  backend->units--;
  pg_run_prepared(&backend->link, "undo", NULL);
  return fault->code;
}

static StoreCode apply(Backend *backend, const StoreUnit *unit, int64_t *version,
                       StoreFault *fault) {
  if (backend->is_broken) {
    *fault = backend->broken;
    return fault->code;
  }
  if (postgres_next_version(backend, version, fault) != STORE_OK) return fault->code;
  backend->units++;
  if (!has_checks(unit)) {
    postgres_send_writes(backend, unit, *version);
    return STORE_OK;
  }
  pg_run_prepared(&backend->link, "savepoint", NULL);
  if (check(backend, unit, fault) != STORE_OK) return undo(backend, fault);
  postgres_send_writes(backend, unit, *version);
  pg_run_prepared(&backend->link, "release", NULL);
  return postgres_sync(backend, fault) == STORE_OK ? STORE_OK : undo(backend, fault);
}

// --- Reads ---

static StoreCode get(Backend *backend, uint32_t collection, Text id,
                     StoreDocument *document, StoreFault *fault) {
  const Pg *link = &backend->link;
  char name[STATEMENT_NAME_SIZE];
  PgParams params = {0};
  *document = (StoreDocument){0};
  if (postgres_begin_read(backend, fault) != STORE_OK) return fault->code;
  pg_text(&params, id);
  pg_run_prepared(&backend->link, postgres_statement(name, 'g', collection), &params);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  if (link->pq->ntuples(backend->rows) == 0) return STORE_OK;
  *document = (StoreDocument){
      .version = pg_field_number(link, backend->rows, 0, 1),
      .schema = (uint32_t)pg_field_number(link, backend->rows, 0, 2),
      .value = pg_field(link, backend->rows, 0, 0),
  };
  return STORE_OK;
}

static void set_timeout(Backend *backend, uint32_t timeout_ms) {
  pg_set_timeout(&backend->link, timeout_ms);
}

static void interrupt(Backend *backend, uint64_t end_ms) {
  pg_interrupt(&backend->link, end_ms);
}

const BackendOps backend_postgres = {
    .is_shared = true,
    .open = postgres_open,
    .close = postgres_close,
    .set_timeout = set_timeout,
    .interrupt = interrupt,
    .define = postgres_define,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .settle = postgres_settle,
    .apply = apply,
    .get = get,
    .find = postgres_find,
    .count = postgres_count,
    .scan = postgres_scan,
    .define_board = postgres_define_board,
    .read_board = postgres_read_board,
    .list = postgres_list,
    .sql = postgres_sql,
};
