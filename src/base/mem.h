// Allocation that never returns NULL: exhaustion aborts with a message, so no caller
// writes a branch that no test can take. Sizes that a peer can influence are checked
// before they get here.
#pragma once

#include <stddef.h>

/// `size` bytes, not cleared.
void *mem_alloc(size_t size);

/// `size` bytes of zeros.
void *mem_zalloc(size_t size);

/// `memory` (or NULL) at its new `size`; the old pointer is dead.
void *mem_grow(void *memory, size_t size);

/// A copy of the C string `text`.
char *mem_strdup(const char *text);

/// `memory`, of `size` bytes, that another allocator gave. NULL, for want of it, aborts as
/// in the functions above; nothing is counted.
void *mem_check(void *memory, size_t size);

/// Frees memory that the functions above allocated. NULL is allowed.
void mem_free(void *memory);

/// Allocations made and not yet freed. Zero at a clean exit.
size_t mem_live(void);
