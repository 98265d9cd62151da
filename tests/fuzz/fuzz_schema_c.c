// Any bytes as messages in the C that `perigee schema --c` makes: what is read would be written so
// again, what is not is told, and nothing outside of the bytes is touched. The first byte says which
// message; schema_c.lua beside this file writes what is included.
#include "recoders.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t output[1 << 16];
  if (size == 0 || size > sizeof output) return 0;
  size_t body = size - 1;
  uint8_t *bytes =
      malloc(body);  // of its own, so that the sanitizer sees what is beyond
  if (body > 0) memcpy(bytes, data + 1, body);
  PerigeeFault fault = {""};
  Recode *recode = recoders[data[0] % (sizeof recoders / sizeof *recoders)];
  int found = recode(bytes, body, output, sizeof output, &fault);
  if (found < 0 && fault.text[0] == '\0') abort();
  if (found >= 0 && ((size_t)found != body || memcmp(output, data + 1, body) != 0)) {
    abort();
  }
  free(bytes);
  return 0;
}
