// Functions of the system for programs that load a server, or that measure the network
// to it.
#pragma once

#include <stdint.h>

/// Ends the program with its name and a message.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

uint64_t clock_ns(void);

/// Raises the limit of open sockets as far as possible.
void raise_open_files(void);
