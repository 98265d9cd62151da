// The processor time of a server's threads, from /proc. It is exact while the threads
// wait.
#pragma once

#include <stdint.h>

enum { CPU_THREADS_MAX = 64 };

typedef struct CpuTimes {
  int pid;  // process, and id of its first thread
  uint32_t count;
  struct {
    int id;
    uint64_t ns;
  } threads[CPU_THREADS_MAX];
} CpuTimes;

typedef struct CpuUse {
  uint64_t all_ns;      // time of all threads
  uint64_t first_ns;    // time of the first thread, in which scripts run
  uint64_t busiest_ns;  // time of the busiest thread, which limits the server
} CpuUse;

/// Returns the times so far. Ends the program if the process does not exist.
CpuTimes cpu_times(int pid);

/// Returns the processor time used since `before`.
CpuUse cpu_used(const CpuTimes *before);
