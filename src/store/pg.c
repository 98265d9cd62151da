// See pg.h.
#include "store/pg.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/least.h"
#include "base/mem.h"
#include "store/clock.h"

enum {
  BACKOFF_MS = 100,
  BACKOFF_MAX_MS = 5000,
  SERVER_VERSION_MIN = 130000,  // gen_random_uuid
  SQLSTATE_SIZE = 5,
  SQL_SIZE = 512,
  FOREVER_MS = -1,
};

// --- Faults ---

typedef struct SqlState {
  const char *begin;  // beginning of the SQLSTATE
  StoreCode code;
} SqlState;

// The first row whose `begin` matches the SQLSTATE gives the code.
static const SqlState SQL_STATES[] = {
    {"PGE01", STORE_CONFLICT},  {"PGE02", STORE_NEWER},  {"40001", STORE_AGAIN},
    {"40P01", STORE_AGAIN},     {"53100", STORE_FULL},   {"XX001", STORE_DAMAGED},
    {"XX002", STORE_DAMAGED},   {"54", STORE_TOO_LARGE}, {"57014", STORE_LATE},
    {"22003", STORE_TOO_LARGE}, {"22", STORE_INVALID},   {"25006", STORE_UNAVAILABLE},
    {"42", STORE_INVALID},      {"", STORE_UNAVAILABLE},
};

static StoreCode code_of(const char *sqlstate) {
  const SqlState *row = SQL_STATES;
  while (strncmp(sqlstate, row->begin, strlen(row->begin)) != 0) row++;
  return row->code;
}

// Writes the first line of a message without its SQLSTATE, which PQ_VERBOSE adds.
// Stores the SQLSTATE in `sqlstate` (may be NULL); "" if the message has none.
static void report(StoreFault *fault, StoreCode code, const char *message,
                   char *sqlstate) {
  int size = (int)strcspn(message, "\n");
  int begin = 0, end = 0;  // bounds of the part "57P03: "
  for (int at = 0; end == 0 && at + SQLSTATE_SIZE + 2 <= size; at++) {
    if (at < 3 || memcmp(message + at - 3, ":  ", 3) != 0) continue;
    int state = 0;
    while (state < SQLSTATE_SIZE && (isupper((unsigned char)message[at + state]) ||
                                     isdigit((unsigned char)message[at + state])))
      state++;
    if (state < SQLSTATE_SIZE || message[at + SQLSTATE_SIZE] != ':') continue;
    begin = at;
    end = at + SQLSTATE_SIZE + 2;
  }
  if (sqlstate != NULL)
    snprintf(sqlstate, SQLSTATE_SIZE + 1, "%.*s", end > 0 ? SQLSTATE_SIZE : 0,
             message + begin);
  store_fault(fault, code, "PostgreSQL: %.*s%.*s", begin, message, size - end,
              message + end);
}

static StoreCode fail(const Pg *link, const PqResult *result, StoreFault *fault) {
  const char *sqlstate = link->pq->resultErrorField(result, PQ_SQLSTATE);
  const char *message = link->pq->resultErrorField(result, PQ_MESSAGE);
  StoreCode code = code_of(sqlstate != NULL ? sqlstate : "");
  if (code == STORE_CONFLICT)
    return store_fault(fault, code, "another write came first");
  if (code == STORE_NEWER)
    return store_fault(fault, code, "a later version of the game wrote the document");
  report(fault, code, message != NULL ? message : "no message", NULL);
  return code;
}

// --- Waiting ---

static uint64_t end_of_wait(const Pg *link) {
  return link->timeout_ms == 0 ? UINT64_MAX : store_clock_ms() + link->timeout_ms;
}

// Waits for the socket. If the link must be given up, returns false and sets the fault.
static bool await(Pg *link, short events, uint64_t limit_ms, StoreFault *fault) {
  struct pollfd fds[] = {
      {.fd = link->pq->socket(link->connection), .events = events},
      {.fd = link->wake, .events = POLLIN},
  };
  for (;;) {
    uint64_t now = store_clock_ms(), end_ms = least(limit_ms, link->end_ms);
    bool is_ending = link->end_ms != UINT64_MAX;
    int wait_ms = FOREVER_MS;
    if (end_ms != UINT64_MAX) wait_ms = now < end_ms ? (int)(end_ms - now) : 0;
    int count = poll(fds, is_ending ? 1 : 2, wait_ms);
    if (count > 0 && fds[0].revents != 0) return true;
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (is_ending && store_clock_ms() >= link->end_ms)
      store_fault(fault, STORE_UNAVAILABLE, "PostgreSQL: the server is stopping");
    else
      store_fault(fault, STORE_UNAVAILABLE, "PostgreSQL: no answer within %u ms",
                  link->timeout_ms);
    return false;
  }
}

// Sends the waiting bytes, and reads until a result is complete.
static bool await_result(Pg *link, StoreFault *fault) {
  const Pq *pq = link->pq;
  while (pq->isBusy(link->connection)) {
    int rest = pq->flush(link->connection);
    if (rest < 0) break;
    short events = (short)(POLLIN | (rest > 0 ? POLLOUT : 0));
    if (!await(link, events, end_of_wait(link), fault)) return false;
    if (!pq->consumeInput(link->connection)) break;
  }
  return true;  // libpq reports errors of the connection as results
}

// --- Connecting ---

void pg_lose(Pg *link, const StoreFault *fault) {
  if (fault != &link->lost) link->lost = *fault;
  link->pq->finish(link->connection);
  link->connection = NULL;
}

bool pg_is_connected(Pg *link) {
  const Pq *pq = link->pq;
  if (link->connection == NULL) return false;
  struct pollfd fd = {.fd = pq->socket(link->connection), .events = POLLIN};
  if (poll(&fd, 1, 0) > 0 && !pq->consumeInput(link->connection)) {
    report(&link->lost, STORE_UNAVAILABLE, pq->errorMessage(link->connection), NULL);
    pg_lose(link, &link->lost);
  }
  return link->connection != NULL;
}

static void ignore_notice(void *data, const PqResult *result) {
  (void)data, (void)result;
}

static PqConnection *begin_connection(const Pg *link) {
  char silence[PG_NUMBER_SIZE];
  snprintf(silence, sizeof silence, "%u", link->timeout_ms);
  const char *const names[] = {"fallback_application_name",
                               "target_session_attrs",
                               "gssencmode",
                               "keepalives_idle",
                               "keepalives_interval",
                               "keepalives_count",
                               "tcp_user_timeout",
                               "dbname",
                               "client_encoding",
                               NULL};
  const char *const values[] = {
      "perigee", link->is_reader ? "any" : "read-write", "disable", "10", "5", "3",
      // Place of the user, which overrides the settings before it.
      silence, link->place, "UTF8", NULL};
  return link->pq->connectStartParams(names, values, 1);
}

// Returns whether waiting cannot help: the name or password is wrong, or the database
// is missing. Failures without a SQLSTATE come from the network, and 57P03 means that
// PostgreSQL is still starting.
static bool is_permanent(const Pg *link, const char *sqlstate) {
  return link->pq->connectionNeedsPassword(link->connection) ||
         strncmp(sqlstate, "28", 2) == 0 || strncmp(sqlstate, "3D", 2) == 0 ||
         strncmp(sqlstate, "42", 2) == 0;
}

static bool finish_connection(Pg *link, StoreFault *fault) {
  const Pq *pq = link->pq;
  char sqlstate[SQLSTATE_SIZE + 1];
  uint64_t end_ms = end_of_wait(link);
  int polling = PQ_POLLING_WRITING;
  pq->setErrorVerbosity(link->connection, PQ_VERBOSE);
  pq->setNoticeReceiver(link->connection, ignore_notice, NULL);
  if (pq->status(link->connection) == PQ_CONNECTION_BAD) polling = PQ_POLLING_FAILED;
  while (polling != PQ_POLLING_OK && polling != PQ_POLLING_FAILED) {
    short events = polling == PQ_POLLING_READING ? POLLIN : POLLOUT;
    if (!await(link, events, end_ms, fault)) return false;
    polling = pq->connectPoll(link->connection);
  }
  if (polling == PQ_POLLING_OK) {
    if (pq->serverVersion(link->connection) >= SERVER_VERSION_MIN) return true;
    store_fault(fault, STORE_UNAVAILABLE, "PostgreSQL: the server is older than 13");
    link->is_permanent = true;
    return false;
  }
  report(fault, STORE_UNAVAILABLE, pq->errorMessage(link->connection), sqlstate);
  link->is_permanent = is_permanent(link, sqlstate);
  return false;
}

// Turns sequential scans off, so that PostgreSQL uses an index even for a small table.
// A transaction then conflicts only with transactions that write the same documents.
static bool send_settings(Pg *link, StoreFault *fault) {
  char sql[SQL_SIZE];
  snprintf(sql, sizeof sql,
           "SELECT set_config('statement_timeout', '%u', false),"
           " set_config('idle_in_transaction_session_timeout', '%u', false),"
           " set_config('max_parallel_workers_per_gather', '0', false),"
           " set_config('enable_seqscan', '%s', false),"
           " set_config('default_transaction_read_only', '%s', false),"
           " CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')"
           " THEN set_config('synchronous_commit', 'on', false) END",
           link->timeout_ms, 2 * link->timeout_ms, link->is_reader ? "on" : "off",
           link->is_reader ? "on" : "off");
  return pg_ask(link, sql, NULL, NULL, fault) == STORE_OK;
}

static bool set_up_session(Pg *link, StoreFault *fault) {
  const Pq *pq = link->pq;
  pq->setErrorVerbosity(link->connection, PQ_DEFAULT);
  if (pq->setnonblocking(link->connection, 1) != 0 ||
      !pq->enterPipelineMode(link->connection)) {
    report(fault, STORE_UNAVAILABLE, pq->errorMessage(link->connection), NULL);
    return false;
  }
  return send_settings(link, fault);
}

// Ends the connection and computes the pause. Half of the pause is random, so that the
// servers of a cluster do not all return at the same time.
void pg_fail(Pg *link, const StoreFault *fault) {
  if (link->connection != NULL) pg_lose(link, fault);
  link->backoff_ms = link->backoff_ms == 0 ? BACKOFF_MS : 2 * link->backoff_ms;
  if (link->backoff_ms > BACKOFF_MAX_MS) link->backoff_ms = BACKOFF_MAX_MS;
  uint32_t half = link->backoff_ms / 2;
  link->retry_ms = store_clock_ms() + half + randombytes_uniform(half + 1);
}

StoreCode pg_connect(Pg *link, StoreFault *fault) {
  if (pg_is_connected(link)) return STORE_OK;
  if (store_clock_ms() < link->retry_ms) {
    *fault = link->lost;
    return fault->code;
  }
  link->is_permanent = false;
  link->connection = mem_check(begin_connection(link), sizeof(PqConnection *));
  if (finish_connection(link, fault) && set_up_session(link, fault)) {
    link->backoff_ms = 0;
    link->retry_ms = 0;
    return STORE_OK;
  }
  pg_fail(link, fault);
  return fault->code;
}

// Hides libpq's message, which may contain parts of the place, even its password.
static StoreCode check_place(const Pg *link, StoreFault *fault) {
  char *error = NULL;
  void *options = link->pq->conninfoParse(link->place, &error);
  link->pq->freemem(error);
  link->pq->conninfoFree(options);
  if (options != NULL) return STORE_OK;
  return store_fault(fault, STORE_UNAVAILABLE,
                     "`store` is no URL of PostgreSQL, as postgres://user@host/database"
                     " (write special characters of a password as %%XX)");
}

StoreCode pg_init(Pg *link, const char *place, StoreFault *fault) {
  link->pq = pq_load();
  link->wake = -1;
  link->end_ms = UINT64_MAX;
  if (link->pq == NULL)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "PostgreSQL needs libpq 14 or later; install Debian's package"
                       " libpq5");
  link->place = mem_strdup(place);
  link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (link->wake < 0)
    return store_fault(fault, STORE_UNAVAILABLE, "eventfd: %s", strerror(errno));
  return check_place(link, fault);
}

void pg_deinit(Pg *link) {
  if (link->connection != NULL) link->pq->finish(link->connection);
  if (link->wake >= 0) close(link->wake);
  mem_free(link->place);
}

void pg_interrupt(Pg *link, uint64_t end_ms) {
  link->end_ms = end_ms;
  uint64_t one = 1;
  ssize_t written = write(link->wake, &one, sizeof one);
  (void)written;  // fails only if `wake` is already readable
}

void pg_set_timeout(Pg *link, uint32_t timeout_ms) {
  StoreFault ignored;
  link->timeout_ms = timeout_ms;
  if (link->connection != NULL) send_settings(link, &ignored);
}

// --- Statements ---

static void add_param(PgParams *params, const char *value, int size, int format) {
  params->values[params->count] = value;
  params->sizes[params->count] = size;
  params->formats[params->count++] = format;
}

void pg_text(PgParams *params, Text text) {
  add_param(params, text.size > 0 ? text.bytes : "", (int)text.size, 1);
}

void pg_number(PgParams *params, int64_t number) {
  char *text = params->numbers[params->count];
  snprintf(text, PG_NUMBER_SIZE, "%lld", (long long)number);
  add_param(params, text, 0, 0);
}

void pg_double(PgParams *params, double number) {
  char *text = params->numbers[params->count];
  snprintf(text, PG_NUMBER_SIZE, "%.17g", number);
  add_param(params, text, 0, 0);
}

void pg_c_text(PgParams *params, const char *text) { add_param(params, text, 0, 0); }

static const PgParams NO_PARAMS;

void pg_prepare(Pg *link, const char *name, const char *sql) {
  if (link->connection == NULL) return;
  link->pq->sendPrepare(link->connection, name, sql, 0, NULL);
}

void pg_run_prepared(Pg *link, const char *name, const PgParams *params) {
  if (link->connection == NULL) return;
  if (params == NULL) params = &NO_PARAMS;
  link->pq->sendQueryPrepared(link->connection, name, params->count, params->values,
                              params->sizes, params->formats, 0);
}

void pg_run(Pg *link, const char *sql, const PgParams *params) {
  if (link->connection == NULL) return;
  if (params == NULL) params = &NO_PARAMS;
  link->pq->sendQueryParams(link->connection, sql, params->count, NULL, params->values,
                            params->sizes, params->formats, 0);
}

// Stores the first failure, and the last rows.
static void take(const Pg *link, PqResult *result, PqResult **rows, StoreFault *first) {
  const Pq *pq = link->pq;
  int status = pq->resultStatus(result);
  if (status == PQ_TUPLES_OK && rows != NULL) {
    pq->clear(*rows);
    *rows = result;
    return;
  }
  if (first->code == STORE_OK && status != PQ_TUPLES_OK && status != PQ_COMMAND_OK &&
      status != PQ_PIPELINE_ABORTED)
    fail(link, result, first);
  pq->clear(result);
}

// Reads the results up to the synchronisation point. Returns false if the point does
// not come.
static bool read_results(Pg *link, PqResult **rows, StoreFault *first,
                         StoreFault *fault) {
  const Pq *pq = link->pq;
  // NULL ends each statement; a second NULL means that no result follows.
  for (int ends = 0; ends < 2;) {
    if (!await_result(link, fault)) return false;
    PqResult *result = pq->getResult(link->connection);
    if (result == NULL) {
      ends++;
      continue;
    }
    ends = 0;
    if (pq->resultStatus(result) == PQ_PIPELINE_SYNC) {
      pq->clear(result);
      return true;
    }
    take(link, result, rows, first);
  }
  report(fault, STORE_UNAVAILABLE, pq->errorMessage(link->connection), NULL);
  return false;
}

StoreCode pg_sync(Pg *link, PqResult **rows, StoreFault *fault) {
  StoreFault first = {0};
  if (rows != NULL) *rows = NULL;
  if (link->connection == NULL) {
    *fault = link->lost;
    return fault->code;
  }
  bool is_sent = link->pq->pipelineSync(link->connection);
  if (!is_sent)
    report(fault, STORE_UNAVAILABLE, link->pq->errorMessage(link->connection), NULL);
  bool is_whole = is_sent && read_results(link, rows, &first, fault);
  if (is_whole && first.code == STORE_OK) return STORE_OK;
  if (rows != NULL) {
    link->pq->clear(*rows);
    *rows = NULL;
  }
  if (!is_whole) {
    fault->code = STORE_UNAVAILABLE;
    pg_lose(link, fault);
    return STORE_UNAVAILABLE;
  }
  *fault = first;
  return first.code;
}

StoreCode pg_ask(Pg *link, const char *sql, const PgParams *params, PqResult **rows,
                 StoreFault *fault) {
  pg_run(link, sql, params);
  return pg_sync(link, rows, fault);
}

Text pg_field(const Pg *link, const PqResult *rows, int row, int field) {
  return (Text){link->pq->getvalue(rows, row, field),
                (uint32_t)link->pq->getlength(rows, row, field)};
}

int64_t pg_field_number(const Pg *link, const PqResult *rows, int row, int field) {
  return strtoll(link->pq->getvalue(rows, row, field), NULL, 10);
}
