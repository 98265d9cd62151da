// How many connections the limit of file descriptors (RLIMIT_NOFILE) allows.
#pragma once

#include <stdint.h>

enum {
  DESCRIPTORS_OWN = 32,       // what a server needs besides its connections, at most,
  DESCRIPTORS_OF_THREAD = 8,  // and for each of io_threads
};

/// Opens /dev/null for those of 0, 1 and 2 that are closed; else a connection would get
/// the number, and what is printed.
void descriptors_fill(void);

/// Raises the soft limit to the hard one.
void descriptors_raise(void);

/// Warns, with numbers, when fewer than `max_clients` fit.
void descriptors_check(uint32_t max_clients, uint32_t io_threads);
