// Runs this program as a child process: writes the child's input, collects its output,
// and reports its end. The command line must not contain text from a peer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

typedef struct Loop Loop;

enum {
  CHILD_MAX = 3,                 // children at a time
  CHILD_OUTPUT_MAX = 256 << 10,  // bytes of a child's output; later bytes are dropped
};

/// Reports the end of a child. `status`: exit code, or negated number of the signal
/// that ended the child. `text`: output of the child, valid during the call.
typedef void ChildEnd(void *data, uint32_t token, int status, const char *text,
                      size_t size);

typedef struct ChildStart {
  const char *const *arguments;  // arguments without the program's name, ended by NULL
  Text input;                    // standard input; copied
  uint32_t timeout_ms;           // time after which the child is killed
  ChildEnd *on_end;
  void *data;  // argument of on_end, like the token
  uint32_t token;
} ChildStart;

/// Allows child_start. Call it only if this process is `perigee`.
void child_allow(Loop *loop);

/// Starts this program as a child. Returns 0 or an error, such as ERR_FULL if CHILD_MAX
/// children are running, or -ENOENT without child_allow. After an error, `on_end` is
/// not called.
int child_start(Loop *loop, const ChildStart *start);

/// Kills all running children, without calling their on_end.
void child_stop_all(Loop *loop);
