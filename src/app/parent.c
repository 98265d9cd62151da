// Thin over prctl. What libuv starts runs nothing of ours before exec, so it is the child that asks,
// as the first thing it does.
#include "app/parent.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

// Asked first, looked at afterwards: a parent that ends in between is seen to be another.
bool parent_follow(const char *pid) {
  return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && strtol(pid, NULL, 10) == getppid();
}
