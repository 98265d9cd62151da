// The command `perigee profile`.
#pragma once

/// Returns the exit code. `run_test` runs `perigee test` with the remaining arguments.
int profile_command(char **arguments, int (*run_test)(char **arguments));
