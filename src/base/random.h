// Randomness from the kernel.
#pragma once

#include <stddef.h>

/// Fills `size` bytes from getrandom(2); aborts where the kernel has none.
void random_bytes(void *bytes, size_t size);
