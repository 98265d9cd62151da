// The command line: finds the command, reads its flags, runs it.
#pragma once

/// Runs what the arguments say. Returns the exit code: 0 good, 1 the game or the run
/// failed, 2 wrong usage.
int cli_main(int argc, char **argv);
