// The C library's allocator, with a count of live allocations. Its functions never
// return NULL.
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Number of live allocations of the whole process, because all threads share the heap.
static _Atomic size_t live;

void *mem_check(void *memory, size_t size) {
  if (memory) return memory;
  fprintf(stderr, "perigee: out of memory (%zu bytes wanted)\n", size);
  abort();
}

// Avoids malloc(0), which may return NULL and would look like exhausted memory.
static size_t at_least_one(size_t size) { return size ? size : 1; }

void *mem_alloc(size_t size) {
  live++;
  return mem_check(malloc(at_least_one(size)), size);
}

void *mem_zalloc(size_t size) {
  live++;
  return mem_check(calloc(1, at_least_one(size)), size);
}

void *mem_grow(void *memory, size_t size) {
  if (!memory) return mem_alloc(size);
  return mem_check(realloc(memory, at_least_one(size)), size);
}

char *mem_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(mem_alloc(size), text, size);
}

void mem_free(void *memory) {
  if (!memory) return;
  live--;
  free(memory);
}

size_t mem_live(void) { return live; }
