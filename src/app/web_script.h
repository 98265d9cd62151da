// The client for browsers, /perigee.js, as text: clients/js/perigee.js, compiled into the
// binary by scripts/embed.cmake.
#pragma once

#include <stddef.h>

/// The text and a NUL that `web_script_size` does not count; empty where the sources came
/// without it.
extern const char web_script[];
extern const size_t web_script_size;
