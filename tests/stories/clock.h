// The clock of the drivers in C and Lua, which takes the place of the C library's: a story lets time pass at once.
#pragma once

/// Lets so many seconds pass.
void clock_pass(double seconds);
