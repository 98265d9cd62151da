// Runs a program beside the loop: writes its input, collects its output, and reports
// how it ended. Only for this program's own tools: no peer's text gets into the command
// line.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

typedef struct Loop Loop;

enum {
  CHILD_MAX = 3,                 // children at a time
  CHILD_OUTPUT_MAX = 256 << 10,  // first bytes of its output, which are kept
};

/// `status`: its exit code, or a negated signal. The text is valid during the call.
typedef void ChildEnd(void *data, uint32_t token, int status, const char *text,
                      size_t size);

typedef struct ChildStart {
  const char *const *arguments;  // without the program's name; ended by NULL
  Text input;                    // standard input; copied
  uint32_t timeout_ms;           // time after which the program is killed
  ChildEnd *on_end;
  void *data;  // for on_end, as is the token
  uint32_t token;
} ChildStart;

/// Allows child_start, because this process is `perigee`.
void child_allow(Loop *loop);

/// Runs this program itself. Returns 0, or an error, and then `on_end` is not called:
/// ERR_FULL when CHILD_MAX run already, -ENOENT without child_allow.
int child_start(Loop *loop, const ChildStart *start);

/// Kills running children; their on_end is not called.
void child_stop_all(Loop *loop);
