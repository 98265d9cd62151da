// Allocation that never returns NULL. If memory is exhausted, the process aborts with a
// message, so callers need no error branch, which no test could reach. Callers must
// check a size that a peer can influence before they allocate.
#pragma once

#include <stddef.h>

/// Returns `size` bytes, which are not cleared.
void *mem_alloc(size_t size);

/// Returns `size` bytes of zeros.
void *mem_zalloc(size_t size);

/// Resizes `memory` (may be NULL) and returns it. The old pointer is invalid
/// afterwards.
void *mem_grow(void *memory, size_t size);

/// Returns a copy of the C string `text`.
char *mem_strdup(const char *text);

/// Returns `memory`, which another allocator has returned for `size` bytes; aborts if
/// it is NULL. Does not count it.
void *mem_check(void *memory, size_t size);

/// Frees memory that the functions above allocated. NULL is allowed.
void mem_free(void *memory);

/// Returns the number of live allocations, which is zero at a clean exit.
size_t mem_live(void);
