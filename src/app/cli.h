// The command line: finds the command, reads its flags, runs it.
#pragma once

/// Runs the command of the arguments. Returns the exit code: 0 for success, 1 if the
/// game or the run failed, 2 for wrong usage.
int cli_main(int argc, char **argv);
