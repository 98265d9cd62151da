// Allocation that never returns NULL: exhaustion aborts with a message, so no caller writes a
// branch that no test can take. Sizes that a peer can influence are checked before they get here.
#pragma once

#include <stddef.h>

/// Returns `size` bytes, not cleared.
void *mem_alloc(size_t size);

/// Returns `size` bytes of zeros.
void *mem_zalloc(size_t size);

/// Resizes `memory` (or NULL), and returns it; the old pointer is invalid.
void *mem_grow(void *memory, size_t size);

/// Returns a copy of the C string `text`.
char *mem_strdup(const char *text);

/// Returns `memory`, `size` bytes of another allocator, uncounted; aborts if it is NULL.
void *mem_check(void *memory, size_t size);

/// Frees memory that the functions above allocated. NULL is allowed.
void mem_free(void *memory);

/// Returns the number of allocations that are not freed: zero at a clean exit.
size_t mem_live(void);
