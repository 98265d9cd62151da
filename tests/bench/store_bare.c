// The SQLite C API at the work of the store, in a transaction of GROUP writes, or as
// reads of one document each. Prints microseconds of processor time per call.
//   bench_store_bare put FILE COUNT
//   bench_store_bare get FILE COUNT FIRST     a file that the store has made
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program.h"

// The same values as in games/store/game.lua.
enum {
  GROUP = 200,
  PLAYERS = 10000,
  DOCUMENTS = 1000000,
  STEP = 611953,
  WARM_UP = 20000
};

static sqlite3 *db;

static double cpu_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void must(int result) {
  if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW)
    fail("%s", sqlite3_errmsg(db));
}

static void run(const char *sql) { must(sqlite3_exec(db, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
  return statement;
}

static void bind_id(sqlite3_stmt *statement, uint64_t number) {
  static char id[16];
  int size = snprintf(id, sizeof id, "p%u", (unsigned)number);
  sqlite3_bind_text(statement, 1, id, size, SQLITE_STATIC);
}

static void step(sqlite3_stmt *statement) {
  must(sqlite3_step(statement));
  must(sqlite3_reset(statement));
}

static double put(uint64_t count) {
  run("CREATE TABLE IF NOT EXISTS players (id TEXT PRIMARY KEY NOT NULL, value TEXT "
      "NOT NULL,"
      " version INTEGER NOT NULL, schema INTEGER NOT NULL, updated_at INTEGER NOT "
      "NULL) STRICT");
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  sqlite3_stmt *write = prepare(
      "INSERT INTO players (id, value, version, schema, updated_at)"
      " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET"
      " value = ?2, version = ?3, schema = ?4, updated_at = ?5 WHERE schema <= ?4");
  double start = cpu_us();
  for (uint64_t i = 1; i <= count; i++) {
    char json[64];
    int size =
        snprintf(json, sizeof json, "{\"coins\":%u,\"name\":\"ada\"}", (unsigned)i);
    if (i % GROUP == 1) step(begin);
    bind_id(write, i * 7919 % PLAYERS);
    sqlite3_bind_text(write, 2, json, size, SQLITE_STATIC);
    sqlite3_bind_int64(write, 3, (int64_t)i);
    sqlite3_bind_int64(write, 4, 1);
    sqlite3_bind_int64(write, 5, time(NULL));
    step(write);
    if (i % GROUP == 0) step(commit);
  }
  return (cpu_us() - start) / (double)count;
}

static void read_one(sqlite3_stmt *read, uint64_t number) {
  static char value[256];
  bind_id(read, number * STEP % DOCUMENTS);
  if (sqlite3_step(read) != SQLITE_ROW) fail("a document is missing");
  memcpy(value, sqlite3_column_text(read, 0), (size_t)sqlite3_column_bytes(read, 0));
  sqlite3_column_int64(read, 1);
  sqlite3_column_int64(read, 2);
  must(sqlite3_reset(read));
}

static double get(uint64_t count, uint64_t first) {
  sqlite3_stmt *read =
      prepare("SELECT value, version, schema FROM million WHERE id = ?1");
  for (uint64_t i = 1; i <= WARM_UP; i++) read_one(read, first + count + i);
  double start = cpu_us();
  for (uint64_t i = 1; i <= count; i++) read_one(read, first + i);
  return (cpu_us() - start) / (double)count;
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: bench_store_bare put|get FILE COUNT [FIRST]");
  uint64_t count = strtoull(argv[3], NULL, 10);
  must(sqlite3_open(argv[2], &db));
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = "
      "-16384");
  double us = strcmp(argv[1], "put") == 0 ? put(count)
                                          : get(count, strtoull(argv[4], NULL, 10));
  printf("%.3f\n", us);
  return 0;
}
