// The import of `perigee store`; see store.c for its lines. It reads the file twice: it
// checks all lines before it writes them in one transaction.
#define _GNU_SOURCE  // getline
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/place.h"
#include "app/store.h"
#include "base/text.h"
#include "wire/json.h"

enum {
  UNIT_BYTES = 1 << 20,  // bytes of a unit, from which an import writes it
};

typedef struct Import {
  Place place;
  FILE *in;
  const char *path;
  StoreUnit unit;
  Buf name, id;
  bool is_writing;  // whether the lines have been checked
  Progress progress;
} Import;

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
  step->score = object_number(line, "score");
  step->value = json_find(line, "data");
  return isfinite(step->score) && step->value.size <= BOARD_DATA_MAX &&
         (step->value.size == 0 || *step->value.bytes == '{');
}

// Makes the step of a line. Returns false if the line does not belong to an export.
static bool read_line(Import *import, Text line, StoreStep *step) {
  if (!json_is_value(line) || *json_trim(line).bytes != '{') return false;
  bool is_document = object_text(line, "collection", &import->name).size > 0;
  if (!is_document && object_text(line, "board", &import->name).size == 0) return false;
  *step = (StoreStep){.id = object_text(line, "id", &import->id)};
  const char *name = (const char *)import->name.data;
  if (step->id.size == 0 || step->id.size > STORE_ID_MAX ||
      memchr(step->id.bytes, '\0', step->id.size) != NULL || !store_is_name(name))
    return false;
  if (is_document) {
    step->type = STORE_PUT;
    step->collection = place_name(&import->place.collections, name, false);
    return read_document(line, step);
  }
  Text order = json_find(line, "order");
  step->type = STORE_SCORE;
  step->collection =
      place_name(&import->place.boards, name, order.size > 1 && order.bytes[1] == 'l');
  return read_score(line, step);
}

static bool write_unit(Import *import) {
  Place *place = &import->place;
  int64_t version;
  if (import->unit.size > 0 &&
      place->ops->apply(place->backend, &import->unit, &version, &place->fault))
    return false;
  import->unit.size = 0;
  return true;
}

static bool take_line(Import *import, Text line, uint64_t number) {
  StoreStep step;
  progress_add(&import->progress);
  if (line.size == 0) return true;
  if (!read_line(import, line, &step)) {
    store_fault(&import->place.fault, STORE_INVALID,
                "%s:%llu: not a line of `perigee store export`; nothing was imported",
                import->path, (unsigned long long)number);
    return false;
  }
  if (!import->is_writing) return true;
  unit_push(&import->unit, &step);
  return import->unit.size < UNIT_BYTES || write_unit(import);
}

static bool read_lines(Import *import) {
  char *text = NULL;
  size_t capacity = 0;
  bool is_ok = true;
  rewind(import->in);
  import->progress = (Progress){.what = import->is_writing ? "imported" : "checked"};
  for (ssize_t size; is_ok && (size = getline(&text, &capacity, import->in)) > 0;)
    is_ok = take_line(import, json_trim((Text){text, (uint32_t)size}),
                      import->progress.lines + 1);
  if (is_ok && ferror(import->in)) {
    store_fault(&import->place.fault, STORE_UNAVAILABLE, "cannot read %s: %s",
                import->path, strerror(errno));
    is_ok = false;
  }
  free(text);
  return is_ok && write_unit(import);
}

// Creates missing collections and boards. Imported scores replace existing ones.
static bool define(Place *place, uint32_t first_new) {
  for (uint32_t i = first_new; i < place->collections.count; i++)
    place_define(place, &(StoreCollection){.name = place->collections.names[i].text});
  for (uint32_t i = 0; place->fault.code == STORE_OK && i < place->boards.count; i++)
    place->ops->define_board(place->backend, i,
                             &(Board){.name = place->boards.names[i].text,
                                      .is_low = place->boards.names[i].is_low,
                                      .keep = BOARD_LAST},
                             &place->fault);
  return place->fault.code == STORE_OK;
}

static void import_all(Import *import) {
  Place *place = &import->place;
  if (!place_list(place)) return;
  uint32_t known = place->collections.count;
  if (!read_lines(import) || !define(place, known) ||
      place->ops->begin(place->backend, &place->fault))
    return;
  import->is_writing = true;
  if (!read_lines(import) || place->ops->commit(place->backend, &place->fault))
    place->ops->rollback(place->backend);
}

int store_import(const char *into, const char *path) {
  struct stat file;
  Import import = {.in = fopen(path, "r"), .path = path};
  if (import.in == NULL) return place_fail("read", path);
  bool is_file = fstat(fileno(import.in), &file) == 0 && S_ISREG(file.st_mode);
  int code = EXIT_FAILURE;
  if (!is_file) {
    fprintf(stderr, "perigee: cannot read %s: it is not a file\n", path);
  } else {
    if (place_open(&import.place, into, BACKEND_SERVE)) import_all(&import);
    code = place_close(&import.place);
  }
  fclose(import.in);
  buf_deinit(&import.unit);
  buf_deinit(&import.name);
  buf_deinit(&import.id);
  return code;
}
