// Wrong usage of the command line, and flags that several commands have.
#pragma once

#include <stdbool.h>

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/// Prints an error that refers to the help of `command` (NULL: of all commands). Returns
/// EXIT_USAGE.
__attribute__((format(printf, 2, 3))) int usage_fail(const char *command,
                                                     const char *format, ...);

/// Reads a flag with a number, such as `--port N` or `--port=N`, at `*at`. Returns false
/// if the argument at `*at` is not that flag. Sets `*number` to -1 if the number is
/// missing, malformed, or outside of `least` to `most`.
bool usage_read_number(const char *flag, char **arguments, int *at, int least, int most,
                       int *number);
