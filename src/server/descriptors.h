// Compares max_clients with the limit of file descriptors (RLIMIT_NOFILE).
#pragma once

#include <stdint.h>

enum {
  DESCRIPTORS_OWN = 32,       // that a server needs besides its connections, at most
  DESCRIPTORS_OF_THREAD = 8,  // that it needs for each of io_threads, at most
};

/// Opens /dev/null for those of 0, 1 and 2 that are closed, because otherwise a connection
/// gets the number and with it all output.
void descriptors_fill(void);

/// Raises the soft limit to the hard one.
void descriptors_raise(void);

/// Logs a warning when the limit allows fewer than `max_clients` connections.
void descriptors_check(uint32_t max_clients, uint32_t io_threads);
