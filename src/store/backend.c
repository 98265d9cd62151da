// See backend.h.
#include "store/backend.h"

#include <string.h>

static bool begins_with(const char *text, const char *begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

const BackendOps *backend_of(const char *place) {
  if (strcmp(place, ":memory:") == 0) return &backend_memory;
  bool is_url =
      begins_with(place, "postgres://") || begins_with(place, "postgresql://");
  return is_url ? &backend_postgres : &backend_sqlite;
}
