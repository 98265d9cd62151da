// See store.h. An export has one JSON object in each line. The object is a document
//
//   {"collection":"players","id":"ann","value":{...},"schema":1,"version":7}
//
// or an entry of a leaderboard, in the order of ranks, so that an import ranks ties
// alike:
//
//   {"board":"weekly","order":"high","period":2900,"id":"ann","score":5,"data":{...}}
#include "app/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/place.h"
#include "store/sqlite_file.h"
#include "wire/json.h"

enum {
  SCAN_ROWS = 1000,
  SQL_MS = 600000,  // longest run of a statement of an export
};

void store_place(char *path, size_t size, const char *game, const char *place) {
  size_t folder = game == NULL ? 0 : strlen(game);
  if (folder > 4 && strcmp(game + folder - 4, ".lua") == 0)
    while (folder > 0 && game[folder - 1] != '/') folder--;
  bool is_whole = place[0] == '/' || strncmp(place, "postgres", 8) == 0;
  if (is_whole || folder == 0)
    snprintf(path, size, "%s", place);
  else
    snprintf(path, size, "%.*s%s%s", (int)folder, game,
             game[folder - 1] == '/' ? "" : "/", place);
}

// Returns whether a file is the store itself, and reports that. Such a file cannot
// receive a copy of the store.
static bool is_store(const char *place, const char *path) {
  struct stat store, file;
  bool is_it = stat(place, &store) == 0 && stat(path, &file) == 0 &&
               store.st_dev == file.st_dev && store.st_ino == file.st_ino;
  if (is_it) fprintf(stderr, "perigee: %s is the store itself\n", path);
  return is_it;
}

// --- Export ---

typedef struct Export {
  FILE *out;
  const char *name;  // name of the collection
  Buf line;
  Buf last;  // id of the last document
  uint32_t rows;
  Progress progress;
} Export;

static void put_line(Export *export) {
  buf_u8(&export->line, '\n');
  fwrite(export->line.data, 1, export->line.size, export->out);
  export->line.size = 0;
  progress_add(&export->progress);
}

static bool on_row(void *data, const BackendRow *row) {
  Export *export = data;
  Buf *line = &export->line;
  buf_printf(line, "{\"collection\":\"%s\",\"id\":", export->name);
  json_put_text(line, row->id);
  buf_append(line, ",\"value\":", 9);
  buf_append(line, row->document.value.bytes, row->document.value.size);
  buf_printf(line, ",\"schema\":%u,\"version\":%lld}", row->document.schema,
             (long long)row->document.version);
  put_line(export);
  export->last.size = 0;
  buf_append(&export->last, row->id.bytes, row->id.size);
  export->rows++;
  return ferror(export->out) == 0;
}

static bool export_collection(Place *place, Export *export, uint32_t index) {
  export->name = place->collections.names[index].text;
  export->last.size = 0;
  do {
    StoreScan scan = {index,
                      UINT32_MAX,
                      SCAN_ROWS,
                      {(const char *)export->last.data, (uint32_t) export->last.size}};
    export->rows = 0;
    if (place->ops->scan(place->backend, &scan, on_row, export, &place->fault))
      return false;
  } while (export->rows == SCAN_ROWS && ferror(export->out) == 0);
  return true;
}

static bool query(Place *place, const char *sql, Buf *rows) {
  const StoreSql statement = {.text = text_from(sql), .deadline_ms = SQL_MS};
  rows->size = 0;
  return place->ops->sql(place->backend, &statement, rows, &place->fault) == STORE_OK;
}

// Writes a page of entries. Returns their number; -1 after a failure.
static int export_entries(Place *place, Export *export, bool is_low, int64_t offset) {
  Buf rows = {0}, sql = {0}, data = {0};
  Text row;
  int count = 0;
  buf_printf(&sql, "SELECT period, id, key, data FROM ");
  buf_printf(&sql,
             place->ops == &backend_postgres ? "perigee_entries WHERE board = '%s'"
                                             : "\"perigee_board_%s\"",
             export->name);
  buf_printf(&sql, " ORDER BY period, key, sequence LIMIT %d OFFSET %lld", SCAN_ROWS,
             (long long)offset);
  bool is_ok = query(place, (const char *)sql.data, &rows);
  Text list = {(const char *)rows.data, (uint32_t)rows.size};
  for (uint32_t at = 0; is_ok && json_next(list, &at, NULL, &row); count++) {
    Buf *line = &export->line;
    double key = object_number(row, "key");
    Text id = json_find(row, "id"), text = object_text(row, "data", &data);
    buf_printf(line, "{\"board\":\"%s\",\"order\":\"%s\",\"period\":%.0f,\"id\":",
               export->name, is_low ? "low" : "high", object_number(row, "period"));
    buf_append(line, id.bytes, id.size);
    buf_printf(line, ",\"score\":%.17g", is_low ? key : 0 - key);
    if (text.size > 0) buf_printf(line, ",\"data\":%s", text.bytes);
    buf_u8(line, '}');
    put_line(export);
  }
  buf_deinit(&data);
  buf_deinit(&rows);
  buf_deinit(&sql);
  return is_ok ? count : -1;
}

static bool export_boards(Place *place, Export *export) {
  Buf rows = {0}, name = {0};
  Text row;
  bool is_ok =
      query(place,
            place->ops == &backend_postgres
                ? "SELECT table_name AS name FROM information_schema.tables"
                  " WHERE table_name = 'perigee_boards'"
                : "SELECT name FROM sqlite_schema WHERE name = 'perigee_boards'",
            &rows);
  if (!is_ok || rows.size <= 2) {
    buf_deinit(&rows);
    return is_ok;
  }
  is_ok = query(place, "SELECT name, is_low FROM perigee_boards ORDER BY name", &rows);
  Text list = {(const char *)rows.data, (uint32_t)rows.size};
  for (uint32_t at = 0; is_ok && json_next(list, &at, NULL, &row);) {
    Text low = json_find(row, "is_low");
    bool is_low = low.size > 0 && (*low.bytes == '1' || *low.bytes == 't');
    int count = SCAN_ROWS;
    export->name = object_text(row, "name", &name).bytes;
    for (int64_t offset = 0; count == SCAN_ROWS; offset += count)
      count = export_entries(place, export, is_low, offset);
    is_ok = count >= 0;
  }
  buf_deinit(&rows);
  buf_deinit(&name);
  return is_ok;
}

// Opens a file for writing. A plain file has a temporary name until it is complete; a
// pipe or a device is written directly.
static FILE *open_file(const char *path, char *unfinished) {
  struct stat file;
  bool is_plain = stat(path, &file) != 0 || S_ISREG(file.st_mode);
  snprintf(unfinished, PATH_MAX, "%s%s", path, is_plain ? ".tmp" : "");
  return fopen(unfinished, "w");
}

static bool end_file(FILE *file, const char *unfinished, const char *path, bool is_ok) {
  bool is_plain = strcmp(unfinished, path) != 0;
  bool is_written = fflush(file) == 0 && (!is_plain || fsync(fileno(file)) == 0);
  is_written = fclose(file) == 0 && is_written;
  if (is_ok && is_written && is_plain) is_written = rename(unfinished, path) == 0;
  if (is_ok && !is_written) place_fail("write", path);
  if (is_plain && !(is_ok && is_written)) unlink(unfinished);
  return is_ok && is_written;
}

static bool export_all(Place *place, Export *export) {
  bool is_ok = place_list(place);
  // Begins a transaction on SQLite, so that the export shows one moment. An export of
  // PostgreSQL shows each page as it is when it is read.
  if (is_ok && place->ops == &backend_sqlite)
    is_ok = place->ops->begin(place->backend, &place->fault) == STORE_OK;
  for (uint32_t i = 0; is_ok && i < place->collections.count; i++)
    is_ok = export_collection(place, export, i);
  return is_ok && export_boards(place, export);
}

int store_export(const char *from, const char *path) {
  Place place;
  char unfinished[PATH_MAX];
  if (is_store(from, path)) return EXIT_FAILURE;
  if (!place_open(&place, from, BACKEND_READ)) return place_close(&place);
  Export export = {.out = open_file(path, unfinished), .progress.what = "exported"};
  if (export.out == NULL) {
    place_close(&place);
    return place_fail("write", path);
  }
  bool is_ok = export_all(&place, &export);
  is_ok = end_file(export.out, unfinished, path, is_ok);
  buf_deinit(&export.line);
  buf_deinit(&export.last);
  int code = place_close(&place);
  return is_ok ? code : EXIT_FAILURE;
}

// --- Backup and check ---

int store_backup(const char *from, const char *path) {
  StoreFault fault = {0};
  if (backend_of(from) == &backend_postgres)
    return place_report("a store in PostgreSQL is backed up with pg_dump");
  if (is_store(from, path)) return EXIT_FAILURE;
  if (sqlite_file_backup(from, path, &fault) != STORE_OK)
    return place_report(fault.text);
  return EXIT_SUCCESS;
}

static void on_finding(void *data, const char *text) {
  bool *is_found = data;
  *is_found = true;
  printf("%s\n", text);
}

int store_check(const char *place) {
  StoreFault fault = {0};
  bool is_found = false;
  if (backend_of(place) == &backend_postgres)
    return place_report("PostgreSQL checks its own files (pg_amcheck)");
  if (sqlite_file_check(place, on_finding, &is_found, &fault) != STORE_OK)
    return place_report(fault.text);
  if (!is_found) puts("The store is sound.");
  return is_found ? EXIT_FAILURE : EXIT_SUCCESS;
}
