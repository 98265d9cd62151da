// The clock of the drivers in C and Lua. It replaces the clock of the C library, so
// that a story can let time pass at once.
#pragma once

/// Lets that number of seconds pass.
void clock_pass(double seconds);
