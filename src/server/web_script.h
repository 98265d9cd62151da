// The browser client as text: clients/js/perigee.js and the files beside it.
// scripts/embed.cmake compiles them into the binary.
#pragma once

#include <stddef.h>

/// Text of /perigee.js with a NUL, which the size does not count. Empty if the sources
/// lack the file.
extern const char web_script[];
extern const size_t web_script_size;

/// Text of /lockstep.js, in the same form as web_script.
extern const char web_lockstep[];
extern const size_t web_lockstep_size;
