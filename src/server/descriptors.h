// Compares max_clients with the limit of file descriptors (RLIMIT_NOFILE).
#pragma once

#include <stdint.h>

enum {
  DESCRIPTORS_OWN = 32,  // most descriptors that a server needs besides its connections
  DESCRIPTORS_OF_THREAD = 8,  // most descriptors that it needs for each io thread
};

/// Opens /dev/null for each closed descriptor of 0, 1 and 2. Otherwise a connection
/// could get the number of a closed descriptor, and receive all output.
void descriptors_fill(void);

/// Raises the soft limit to the hard limit.
void descriptors_raise(void);

/// Logs a warning if the limit allows fewer than `max_clients` connections.
void descriptors_check(uint32_t max_clients, uint32_t io_threads);
