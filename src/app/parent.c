// A thin layer over prctl. libuv runs none of our code between fork and exec, so the child
// itself calls this, before anything else.
#include "app/parent.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

// Requests the signal before it looks at the parent, so that it notices a parent that has ended.
bool parent_follow(const char *pid) {
  return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && strtol(pid, NULL, 10) == getppid();
}
