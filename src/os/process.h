// Reads the kernel's figures of this process.
#pragma once

#include <stdint.h>

typedef struct ProcessFigures {
  double cpu_s;      // processor time of all threads
  double started_s;  // start of the process, in seconds since 1970; 0: unknown
  uint64_t resident_bytes, virtual_bytes;
  uint64_t descriptors;      // open descriptors
  uint64_t descriptors_max;  // limit of open descriptors
} ProcessFigures;

ProcessFigures process_figures(void);

/// Returns only cpu_s, which costs one call of the kernel.
double process_cpu_s(void);
