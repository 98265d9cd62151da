// Functions of the system for programs that put load on a server, or measure the way to
// one.
#pragma once

#include <stdint.h>

/// Ends the program with a message, after its name.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

uint64_t clock_ns(void);

/// Has the program open as many sockets as it may.
void raise_open_files(void);
