// The processor time of a server's threads, from /proc; exact while they wait.
#pragma once

#include <stdint.h>

enum { CPU_THREADS_MAX = 64 };

typedef struct CpuTimes {
  int pid;  // that of the first thread, too
  uint32_t count;
  struct {
    int id;
    uint64_t ns;
  } threads[CPU_THREADS_MAX];
} CpuTimes;

typedef struct CpuUse {
  uint64_t all_ns;    // of all threads
  uint64_t first_ns;  // of the first one, in which scripts run
  uint64_t
      busiest_ns;  // of the one that ran most: it is busy when the server can no more
} CpuUse;

/// Ends the program when there is no such process.
CpuTimes cpu_times(int pid);

/// Returns the processor time used since `before`.
CpuUse cpu_used(const CpuTimes *before);
