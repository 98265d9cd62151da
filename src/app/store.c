// See store.h. An export has one JSON object in each line. The object is a document
//
//   {"collection":"players","id":"ann","value":{...},"schema":1,"version":7}
//
// or an entry of a leaderboard, in the order of ranks, so that an import ranks ties
// alike:
//
//   {"board":"weekly","order":"high","period":2900,"id":"ann","score":5,"data":{...}}
#define _GNU_SOURCE  // getline, strdup
#include "app/store.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/sqlite_file.h"
#include "wire/json.h"

enum {
  SCAN_ROWS = 1000,
  OF_A_COMMIT = 1000,  // lines that one transaction imports
  SQL_MS = 600000,     // longest run of a statement of an export
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

typedef struct Names {
  char **names;  // owned
  uint32_t count, capacity;
} Names;

// An open store.
typedef struct Place {
  const BackendOps *ops;
  Backend *backend;
  StoreFault fault;
  Names collections;  // a collection's index is its position
  Names boards;
} Place;

static int fail(const char *text) {
  fprintf(stderr, "perigee: %s\n", text);
  return EXIT_FAILURE;
}

static bool open_place(Place *place, const char *path, BackendUse use) {
  *place = (Place){.ops = backend_of(path)};
  place->backend = place->ops->open(path, use, &place->fault);
  return place->backend != NULL;
}

static void names_free(Names *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->names[i]);
  mem_free(names->names);
}

// Returns the exit code.
static int close_place(Place *place) {
  names_free(&place->collections);
  names_free(&place->boards);
  if (place->backend != NULL) place->ops->close(place->backend);
  return place->fault.code == STORE_OK ? EXIT_SUCCESS : fail(place->fault.text);
}

// Returns the position of a name, or the number of names if it is missing.
static uint32_t names_find(const Names *names, const char *name) {
  uint32_t at = 0;
  while (at < names->count && strcmp(names->names[at], name) != 0) at++;
  return at;
}

static void names_add(Names *names, const char *name) {
  if (names->count == names->capacity)
    names->capacity = array_grow(&names->names, names->capacity, sizeof(char *), 8);
  names->names[names->count++] = strdup(name);
}

static void on_collection(void *data, const StoreCollection *collection) {
  Place *place = data;
  names_add(&place->collections, collection->name);
  if (place->fault.code == STORE_OK)
    place->ops->define(place->backend, place->collections.count - 1, collection,
                       &place->fault);
}

static bool list(Place *place) {
  StoreFault fault;
  if (place->ops->list(place->backend, on_collection, place, &fault) != STORE_OK)
    place->fault = fault;
  return place->fault.code == STORE_OK;
}

// --- Export ---

typedef struct Export {
  FILE *out;
  const char *name;  // name of the collection
  Buf line;
  Buf last;  // id of the last document
  uint32_t rows;
} Export;

static void put_line(Export *export) {
  buf_u8(&export->line, '\n');
  fwrite(export->line.data, 1, export->line.size, export->out);
  export->line.size = 0;
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
  return true;
}

static bool export_collection(Place *place, Export *export, uint32_t index) {
  export->name = place->collections.names[index];
  export->last.size = 0;
  do {
    StoreScan scan = {index,
                      UINT32_MAX,
                      SCAN_ROWS,
                      {(const char *)export->last.data, (uint32_t) export->last.size}};
    export->rows = 0;
    if (place->ops->scan(place->backend, &scan, on_row, export, &place->fault))
      return false;
  } while (export->rows == SCAN_ROWS);
  return true;
}

static double find_number(Text object, const char *key) {
  Text value = json_find(object, key);
  return value.size > 0 ? strtod(value.bytes, NULL) : 0;
}

// Appends the string of a key and a NUL. Returns the string; empty if the value is not
// a string.
static Text find_text(Text object, const char *key, Buf *buf) {
  buf->size = 0;
  json_read_text(json_find(object, key), buf);
  buf_u8(buf, 0);
  return (Text){(const char *)buf->data, (uint32_t)buf->size - 1};
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
    double key = find_number(row, "key");
    Text id = json_find(row, "id"), text = find_text(row, "data", &data);
    buf_printf(line, "{\"board\":\"%s\",\"order\":\"%s\",\"period\":%.0f,\"id\":",
               export->name, is_low ? "low" : "high", find_number(row, "period"));
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
    export->name = find_text(row, "name", &name).bytes;
    for (int64_t offset = 0; count == SCAN_ROWS; offset += count)
      count = export_entries(place, export, is_low, offset);
    is_ok = count >= 0;
  }
  buf_deinit(&rows);
  buf_deinit(&name);
  return is_ok;
}

static bool end_file(FILE *file, const char *path) {
  bool is_ok = ferror(file) == 0;
  if (fclose(file) == 0 && is_ok) return true;
  fprintf(stderr, "perigee: cannot write %s: %s\n", path, strerror(errno));
  return false;
}

int store_export(const char *from, const char *path) {
  Place place;
  if (!open_place(&place, from, BACKEND_READ)) return close_place(&place);
  Export export = {.out = fopen(path, "w")};
  if (export.out == NULL) {
    store_fault(&place.fault, STORE_UNAVAILABLE, "cannot write %s: %s", path,
                strerror(errno));
    return close_place(&place);
  }
  bool is_ok = list(&place);
  for (uint32_t i = 0; is_ok && i < place.collections.count; i++)
    is_ok = export_collection(&place, &export, i);
  if (is_ok) export_boards(&place, &export);
  buf_deinit(&export.line);
  buf_deinit(&export.last);
  bool is_written = end_file(export.out, path);
  int code = close_place(&place);
  return is_written ? code : EXIT_FAILURE;
}

// --- Import ---

typedef struct Import {
  Place place;
  StoreUnit unit;
  Buf name, id;
} Import;

// Imported scores replace existing ones.
static uint32_t board_of(Import *import, const char *name, bool is_low) {
  Place *place = &import->place;
  uint32_t index = names_find(&place->boards, name);
  if (index < place->boards.count) return index;
  names_add(&place->boards, name);
  place->ops->define_board(place->backend, index,
                           &(Board){.name = name, .is_low = is_low, .keep = BOARD_LAST},
                           &place->fault);
  return index;
}

static bool is_number(Text value) {
  return value.size > 0 &&
         (*value.bytes == '-' || (*value.bytes >= '0' && *value.bytes <= '9'));
}

// Reads a whole number. If the key is missing, `*number` does not change.
static bool find_whole(Text object, const char *key, double min, double max,
                       double *number) {
  Text value = json_find(object, key);
  if (value.size > 0 && !is_number(value)) return false;
  if (value.size > 0) *number = strtod(value.bytes, NULL);
  return *number >= min && *number <= max && *number == floor(*number);
}

static bool read_document(Text line, StoreStep *step) {
  double schema = 1;
  if (!find_whole(line, "schema", 1, INT32_MAX, &schema)) return false;
  step->schema = (uint32_t)schema;
  step->value = json_find(line, "value");
  return step->value.size > 0 && step->value.size <= STORE_STEP_MAX;
}

static bool read_score(Text line, StoreStep *step) {
  static const double MOST = 0x1p53;
  double period = 0;
  if (!find_whole(line, "period", -MOST, MOST, &period) ||
      !is_number(json_find(line, "score")))
    return false;
  step->version = (int64_t)period;
  step->score = find_number(line, "score");
  step->value = json_find(line, "data");
  return isfinite(step->score) && step->value.size <= BOARD_DATA_MAX &&
         (step->value.size == 0 || *step->value.bytes == '{');
}

// Makes the step of a line, and defines its collection if it does not exist. Returns
// false if the line does not belong to an export.
static bool read_line(Import *import, Text line, StoreStep *step) {
  if (!json_is_value(line) || *json_trim(line).bytes != '{') return false;
  bool is_document = find_text(line, "collection", &import->name).size > 0;
  if (!is_document && find_text(line, "board", &import->name).size == 0) return false;
  *step = (StoreStep){.id = find_text(line, "id", &import->id)};
  const char *name = (const char *)import->name.data;
  if (step->id.size == 0 || step->id.size > STORE_ID_MAX ||
      memchr(step->id.bytes, '\0', step->id.size) != NULL || !store_is_name(name))
    return false;
  if (is_document) {
    Place *place = &import->place;
    step->type = STORE_PUT;
    step->collection = names_find(&place->collections, name);
    if (step->collection == place->collections.count)
      on_collection(place, &(StoreCollection){.name = name});
    return read_document(line, step);
  }
  Text order = json_find(line, "order");
  step->type = STORE_SCORE;
  step->collection = board_of(import, name, order.size > 1 && order.bytes[1] == 'l');
  return read_score(line, step);
}

static bool write_unit(Import *import) {
  Place *place = &import->place;
  int64_t version;
  if (import->unit.size > 0) {
    if (place->ops->begin(place->backend, &place->fault)) return false;
    if (place->ops->apply(place->backend, &import->unit, &version, &place->fault) ||
        place->ops->commit(place->backend, &place->fault))
      return false;
  }
  import->unit.size = 0;
  return true;
}

static bool read_lines(Import *import, FILE *in, const char *path) {
  char *text = NULL;
  size_t capacity = 0;
  uint64_t number = 0;
  bool is_ok = true;
  for (ssize_t size; is_ok && (size = getline(&text, &capacity, in)) > 0;) {
    StoreStep step;
    Text line = json_trim((Text){text, (uint32_t)size});
    number++;
    if (line.size == 0) continue;
    if (!read_line(import, line, &step)) {
      store_fault(&import->place.fault, STORE_INVALID,
                  "%s:%llu: not a line of `perigee store export`", path,
                  (unsigned long long)number);
      is_ok = false;
    } else if (import->place.fault.code != STORE_OK) {
      is_ok = false;
    } else {
      unit_push(&import->unit, &step);
      if (number % OF_A_COMMIT == 0) is_ok = write_unit(import);
    }
  }
  free(text);
  return is_ok && write_unit(import);
}

int store_import(const char *into, const char *path) {
  Import import = {0};
  FILE *in = fopen(path, "r");
  if (in == NULL) {
    fprintf(stderr, "perigee: cannot read %s: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
  }
  if (open_place(&import.place, into, BACKEND_SERVE) && list(&import.place) &&
      !read_lines(&import, in, path))
    import.place.ops->rollback(import.place.backend);
  fclose(in);
  buf_deinit(&import.unit);
  buf_deinit(&import.name);
  buf_deinit(&import.id);
  return close_place(&import.place);
}

// --- Backup and check ---

int store_backup(const char *from, const char *path) {
  StoreFault fault = {0};
  if (backend_of(from) == &backend_postgres)
    return fail("a store in PostgreSQL is backed up with pg_dump");
  if (sqlite_file_backup(from, path, &fault) != STORE_OK) return fail(fault.text);
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
    return fail("PostgreSQL checks its own files (pg_amcheck)");
  if (sqlite_file_check(place, on_finding, &is_found, &fault) != STORE_OK)
    return fail(fault.text);
  if (!is_found) puts("The store is sound.");
  return is_found ? EXIT_FAILURE : EXIT_SUCCESS;
}
