// See sqlite_file.h.
//
// The lock is on a separate file. Closing a descriptor of the database itself would
// drop SQLite's own locks in this process.
#include "store/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite.h"

enum {
  APPLICATION_ID = 0x50524749,  // "PRGI", which marks the file as one of this server
  FORMAT = 1,                   // format in the file's user_version
  OPEN_BUSY_MS = 2000,          // wait for a lock of another program at the start
};

// Checks the application id and the format, so that files of other programs and of
// later versions are refused before anything changes.
static StoreCode check_owner(sqlite3 *db, const char *path, BackendUse use,
                             StoreFault *fault) {
  int64_t application, format, tables;
  if (sqlite_read_number(db, "PRAGMA application_id", 0, &application, fault) ||
      sqlite_read_number(db, "PRAGMA user_version", 0, &format, fault) ||
      sqlite_read_number(db, "SELECT count(*) FROM sqlite_schema", 0, &tables, fault)) {
    bool is_other = sqlite3_errcode(db) == SQLITE_NOTADB;
    return is_other ? store_fault(fault, STORE_DAMAGED,
                                  "%s is no database, or is damaged", path)
                    : fault->code;
  }
  if (tables == 0 && application == 0 && use == BACKEND_SERVE) return STORE_OK;
  if (application != APPLICATION_ID)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "%s belongs to another program; set `store` to another file",
                       path);
  if (format > FORMAT)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "%s was written by a later version of perigee", path);
  return STORE_OK;
}

// Locks `PATH-lock`. SQLite resolves symbolic links in the name of the database.
// Therefore all paths of a database lead to the same lock.
static StoreCode lock_file(SqliteFile *file, const char *path, StoreFault *fault) {
  char lock[PATH_MAX];
  snprintf(lock, sizeof lock, "%s-lock", sqlite3_db_filename(file->db, "main"));
  file->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file->lock < 0)
    return store_fault(fault, STORE_UNAVAILABLE, "cannot create %s: %s", lock,
                       strerror(errno));
  if (flock(file->lock, LOCK_EX | LOCK_NB) == 0) return STORE_OK;
  return store_fault(fault, STORE_BUSY, "another process serves %s", path);
}

static StoreCode set_up(SqliteFile *file, const char *path, BackendUse use,
                        StoreFault *fault) {
  sqlite3 *db = file->db;
  char sql[SQLITE_SQL_SIZE];
  sqlite3_busy_timeout(db, OPEN_BUSY_MS);
  sqlite3_extended_result_codes(db, 1);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  if (check_owner(db, path, use, fault)) return fault->code;
  if (use == BACKEND_READ) return sqlite_run_text(db, "PRAGMA query_only = ON", fault);
  if (lock_file(file, path, fault)) return fault->code;
  snprintf(sql, sizeof sql,
           "PRAGMA application_id = %d; PRAGMA user_version = %d;"
           "CREATE TABLE IF NOT EXISTS perigee_store (version INTEGER NOT NULL) STRICT;"
           "INSERT INTO perigee_store SELECT 0"
           " WHERE NOT EXISTS (SELECT 1 FROM perigee_store); COMMIT",
           APPLICATION_ID, FORMAT);
  // Switches memory mapping off, because the server would crash if another program cut
  // the file.
  const char *pragmas =
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;"
      "PRAGMA cache_size = -16384; PRAGMA mmap_size = 0; BEGIN IMMEDIATE";
  if (sqlite_run_text(db, pragmas, fault)) return fault->code;
  return sqlite_run_text(db, sql, fault);
}

// Creates the folder of the file if it does not exist.
static StoreCode make_folder(const char *path, StoreFault *fault) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return STORE_OK;
  snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  if (mkdir(folder, 0755) == 0 || errno == EEXIST) return STORE_OK;
  return store_fault(fault, STORE_UNAVAILABLE, "cannot create the folder %s: %s",
                     folder, strerror(errno));
}

StoreCode sqlite_file_open(SqliteFile *file, const char *path, BackendUse use,
                           StoreFault *fault) {
  *file = (SqliteFile){.lock = -1};
  bool is_served = use == BACKEND_SERVE;
  int flags = is_served ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                        // A reader also opens the file for writing, because a WAL
                        // requires that.
                        : SQLITE_OPEN_READWRITE;
  if (is_served && make_folder(path, fault)) return fault->code;
  if (!is_served && access(path, F_OK) != 0)
    return store_fault(fault, STORE_UNAVAILABLE, "cannot open %s: %s", path,
                       strerror(errno));
  // Creates the file so that only its owner may read it: it has hashes of passwords,
  // and the key of tokens. SQLite gives the files beside it the same mode.
  int made = is_served ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (made >= 0) close(made);
  int result = sqlite3_open_v2(path, &file->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (result != SQLITE_OK)
    return store_fault(fault, sqlite_code(result), "cannot open %s: %s", path,
                       sqlite3_errmsg(file->db));
  return set_up(file, path, use, fault);
}

void sqlite_file_close(SqliteFile *file) {
  sqlite3_close(file->db);
  if (file->lock >= 0) close(file->lock);
  *file = (SqliteFile){.lock = -1};
}

// --- Check ---

static StoreCode check_pages(sqlite3 *db, SqliteFinding *on_finding, void *data,
                             StoreFault *fault) {
  sqlite3_stmt *statement;
  if (sqlite_prepare(db, "PRAGMA integrity_check", &statement, fault))
    return fault->code;
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    if (strcmp(text, "ok") != 0) on_finding(data, text);
  }
  if (result != SQLITE_DONE) on_finding(data, sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  return STORE_OK;
}

static void check_values(sqlite3 *db, const char *table, SqliteFinding *on_finding,
                         void *data) {
  char sql[SQLITE_SQL_SIZE], text[SQLITE_SQL_SIZE];
  sqlite3_stmt *statement;
  StoreFault fault;
  snprintf(sql, sizeof sql, "SELECT id FROM \"%s\" WHERE NOT json_valid(value)", table);
  if (sqlite_prepare(db, sql, &statement, &fault) != STORE_OK) {
    on_finding(data, fault.text);
    return;
  }
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    snprintf(text, sizeof text, "%s: the value of \"%s\" is not JSON", table,
             (const char *)sqlite3_column_text(statement, 0));
    on_finding(data, text);
  }
  if (result != SQLITE_DONE) on_finding(data, sqlite3_errmsg(db));
  sqlite3_finalize(statement);
}

static StoreCode check_collections(sqlite3 *db, SqliteFinding *on_finding, void *data,
                                   StoreFault *fault) {
  sqlite3_stmt *statement;
  if (sqlite_prepare(db, SQLITE_COLLECTIONS, &statement, fault)) return fault->code;
  while (sqlite3_step(statement) == SQLITE_ROW)
    check_values(db, (const char *)sqlite3_column_text(statement, 0), on_finding, data);
  sqlite3_finalize(statement);
  return STORE_OK;
}

StoreCode sqlite_file_check(const char *path, SqliteFinding *on_finding, void *data,
                            StoreFault *fault) {
  SqliteFile file;
  StoreCode code = sqlite_file_open(&file, path, BACKEND_READ, fault);
  if (code == STORE_OK) code = check_pages(file.db, on_finding, data, fault);
  if (code == STORE_OK) code = check_collections(file.db, on_finding, data, fault);
  sqlite_file_close(&file);
  return code;
}

// --- Backup ---

// Copies the state that one reading transaction sees. SQLite counts the copy as a
// write.
static StoreCode copy_to(sqlite3 *from, const char *path, StoreFault *fault) {
  sqlite3_stmt *statement;
  if (sqlite_run_text(from, "PRAGMA query_only = OFF", fault)) return fault->code;
  if (sqlite_prepare(from, "VACUUM INTO ?1", &statement, fault)) return fault->code;
  sqlite_bind(statement, 1, text_from(path));
  StoreCode code = sqlite_run(from, statement, fault);
  sqlite3_finalize(statement);
  return code;
}

static StoreCode sync_and_rename(const char *path, const char *target,
                                 StoreFault *fault) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  bool is_ok = file >= 0 && fsync(file) == 0 && rename(path, target) == 0;
  if (!is_ok)
    store_fault(fault, STORE_UNAVAILABLE, "cannot write %s: %s", target,
                strerror(errno));
  if (file >= 0) close(file);
  return is_ok ? STORE_OK : fault->code;
}

StoreCode sqlite_file_backup(const char *path, const char *target, StoreFault *fault) {
  SqliteFile file;
  char unfinished[PATH_MAX], journal[PATH_MAX];
  snprintf(unfinished, sizeof unfinished, "%s.tmp", target);
  snprintf(journal, sizeof journal, "%s.tmp-journal", target);
  StoreCode code = sqlite_file_open(&file, path, BACKEND_READ, fault);
  if (code == STORE_OK) {
    unlink(unfinished);
    code = copy_to(file.db, unfinished, fault);
    if (code == STORE_OK) code = sync_and_rename(unfinished, target, fault);
    if (code != STORE_OK) unlink(unfinished);
    unlink(journal);  // SQLite leaves it when the disk is full
  }
  sqlite_file_close(&file);
  return code;
}
