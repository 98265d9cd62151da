// See place.h.
#define _GNU_SOURCE  // strdup
#include "app/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "wire/json.h"

int place_report(const char *text) {
  fprintf(stderr, "perigee: %s\n", text);
  return EXIT_FAILURE;
}

int place_fail(const char *what, const char *path) {
  fprintf(stderr, "perigee: cannot %s %s: %s\n", what, path, strerror(errno));
  return EXIT_FAILURE;
}

bool place_open(Place *place, const char *path, BackendUse use) {
  *place = (Place){.ops = backend_of(path)};
  place->backend = place->ops->open(path, use, &place->fault);
  return place->backend != NULL;
}

static void names_free(PlaceNames *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->names[i].text);
  mem_free(names->names);
}

int place_close(Place *place) {
  names_free(&place->collections);
  names_free(&place->boards);
  if (place->backend != NULL) place->ops->close(place->backend);
  return place->fault.code == STORE_OK ? EXIT_SUCCESS : place_report(place->fault.text);
}

uint32_t place_name(PlaceNames *names, const char *text, bool is_low) {
  uint32_t at = 0;
  while (at < names->count && strcmp(names->names[at].text, text) != 0) at++;
  if (at < names->count) return at;
  if (at == names->capacity)
    names->capacity = array_grow(&names->names, at, sizeof(PlaceName), 8);
  names->names[names->count++] = (PlaceName){strdup(text), is_low};
  return at;
}

void place_define(void *data, const StoreCollection *collection) {
  Place *place = data;
  uint32_t index = place_name(&place->collections, collection->name, false);
  if (place->fault.code == STORE_OK)
    place->ops->define(place->backend, index, collection, &place->fault);
}

bool place_list(Place *place) {
  StoreFault fault;
  if (place->ops->list(place->backend, place_define, place, &fault) != STORE_OK)
    place->fault = fault;
  return place->fault.code == STORE_OK;
}

// --- Lines ---

double object_number(Text object, const char *key) {
  Text value = json_find(object, key);
  return value.size > 0 ? strtod(value.bytes, NULL) : 0;
}

Text object_text(Text object, const char *key, Buf *buf) {
  buf->size = 0;
  json_read_text(json_find(object, key), buf);
  buf_u8(buf, 0);
  return (Text){(const char *)buf->data, (uint32_t)buf->size - 1};
}

void progress_add(Progress *progress) {
  enum { BETWEEN_LOOKS = 256 };  // lines
  if (++progress->lines % BETWEEN_LOOKS != 0) return;
  time_t now = time(NULL);
  if (progress->reported == 0) progress->reported = now + 1;
  if (now <= progress->reported) return;
  progress->reported = now;
  fprintf(stderr, "perigee: %s %llu lines\n", progress->what,
          (unsigned long long)progress->lines);
}
