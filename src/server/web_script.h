// The client for browsers as text: clients/js/perigee.js and the files beside it, which
// scripts/embed.cmake compiles into the binary.
#pragma once

#include <stddef.h>

/// /perigee.js: its text with a NUL, which the size does not count; empty where the sources
/// lack it.
extern const char web_script[];
extern const size_t web_script_size;

/// The same of /lockstep.js.
extern const char web_lockstep[];
extern const size_t web_lockstep_size;
