// The client for browsers as text: clients/js/perigee.js and what lies beside it, compiled
// into the binary by scripts/embed.cmake.
#pragma once

#include <stddef.h>

/// /perigee.js: the text and a NUL that the size does not count; empty where the sources
/// came without it.
extern const char web_script[];
extern const size_t web_script_size;

/// The same of /lockstep.js.
extern const char web_lockstep[];
extern const size_t web_lockstep_size;
