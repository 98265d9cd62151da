// An open store for an export or an import, and the functions that both share.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "store/backend.h"

typedef struct PlaceName {
  char *text;   // owned
  bool is_low;  // whether the lowest score of a board ranks first
} PlaceName;

typedef struct PlaceNames {
  PlaceName *names;  // owned
  uint32_t count, capacity;
} PlaceNames;

/// An open store.
typedef struct Place {
  const BackendOps *ops;
  Backend *backend;
  StoreFault fault;
  PlaceNames collections;  // a collection's index is its position
  PlaceNames boards;
} Place;

/// Print a sentence, or why a file cannot be read or written (`what`). Both return the
/// exit code.
int place_report(const char *text);
int place_fail(const char *what, const char *path);

/// Opens a place. Returns false after a failure; place_close reports it.
bool place_open(Place *place, const char *path, BackendUse use);

/// Closes a place, also one that could not be opened. Prints its fault. Returns the exit
/// code.
int place_close(Place *place);

/// Defines the collections that exist.
bool place_list(Place *place);

/// Defines a collection. `data` is the Place.
void place_define(void *data, const StoreCollection *collection);

/// Returns the position of a name, which it adds if necessary.
uint32_t place_name(PlaceNames *names, const char *text, bool is_low);

/// Returns the number under a key of a JSON object; 0 if it has none.
double object_number(Text object, const char *key);

/// Replaces `buf` by the string of a key. Returns it, with a NUL behind it; empty if it is
/// no string.
Text object_text(Text object, const char *key, Buf *buf);

/// Reports each second how far an export or import is.
typedef struct Progress {
  const char *what;
  uint64_t lines;
  time_t reported;  // time of the last report, or of the start
} Progress;

/// Counts a line.
void progress_add(Progress *progress);
