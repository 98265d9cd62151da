// Reads the arguments of `perigee store`, and runs its action.
#pragma once

/// Returns the exit code.
int store_command(char **arguments);
