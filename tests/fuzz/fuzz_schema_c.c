// Any bytes as messages for the C code of `perigee schema --c`. A decoded message
// encodes to the same bytes, any other input is reported as an error, and nothing
// outside of the bytes is accessed. The first byte selects the message. schema_c.lua
// beside this file writes the included code.
#include "recoders.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t output[1 << 16];
  if (size == 0 || size > sizeof output) return 0;
  size_t body = size - 1;
  uint8_t *bytes =
      malloc(body);  // a separate block, so that the sanitizer sees accesses beyond it
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
