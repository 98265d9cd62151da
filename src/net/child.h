// A program that is run beside the loop: what it prints is collected, and how it ended is
// told. For tools of this program's own; nobody else's words get into its command line.
#pragma once

#include "net/net.h"

enum {
  CHILD_MAX = 2,                 // at a time
  CHILD_OUTPUT_MAX = 256 << 10,  // bytes of its output that are kept, the first ones
  CHILD_TIMEOUT_MS = 60000,      // then it is killed
};

/// `status`: its exit code, or a negated signal. The text is valid during the call.
typedef void ChildEnd(void *data, uint32_t token, int status, const char *text,
                      size_t size);

/// Runs this program itself with `arguments` (without its name; ended by NULL). Returns 0,
/// or an error, and then `on_end` is not called: ERR_FULL when CHILD_MAX run already.
int child_start(Net *net, const char *const *arguments, ChildEnd *on_end, void *data,
                uint32_t token);

/// Kills those that run; nobody is told of their ends any more.
void child_stop_all(Net *net);
