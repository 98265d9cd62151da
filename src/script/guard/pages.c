// See pages.h.
#define _GNU_SOURCE  // mincore
#include "script/guard/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "net/net.h"

enum {
  LOWER = 1 << 20,  // bytes by which the heap must shrink to postpone a round
  // After this number of successive blocks without resident pages, a round continues
  // with smaller blocks. The remaining blocks are probably new, or were dropped before.
  ABSENT_MAX = 64,
};

// Sizes of blocks, the largest first, because large ones cost least for each page.
static const size_t SIZES[] = {256 << 10, 64 << 10, 16 << 10};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

static bool is_resident(void *page, size_t page_size) {
  unsigned char state = 0;
  return mincore(page, page_size, &state) == 0 && (state & 1) != 0;
}

// Drops the whole pages of a block; returns false if the middle of the block was not
// resident.
static bool drop(char *block, size_t size) {
  size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t start = (uintptr_t)block + sizeof(void *), end = (uintptr_t)block + size;
  start = (start + page_size - 1) / page_size * page_size;
  end = end / page_size * page_size;
  if (start >= end) return false;
  char *first = block + (start - (uintptr_t)block);
  size_t middle = (end - start) / 2 / page_size * page_size;
  bool was_resident = is_resident(first + middle, page_size);
  madvise(first, end - start, MADV_DONTNEED);
  return was_resident;
}

static void take_block(Pages *pages, lua_Alloc allocate, void *arena) {
  size_t size = SIZES[pages->step];
  void **block = allocate(arena, NULL, 0, size);
  if (block != NULL) {
    *block = pages->blocks;
    pages->blocks = block;
    pages->absent = drop((char *)block, size) ? 0 : pages->absent + 1;
  }
  if (block != NULL && pages->absent < ABSENT_MAX) return;
  pages->absent = 0;
  pages->step++;
}

static void free_block(Pages *pages, lua_Alloc allocate, void *arena) {
  void **block = pages->blocks;
  pages->blocks = *block;
  allocate(arena, block, 1, 0);
}

static void go_on(Pages *pages, lua_Alloc allocate, void *arena, uint64_t end_us) {
  do {
    if (pages->step < SIZE_COUNT)
      take_block(pages, allocate, arena);
    else if (pages->blocks != NULL)
      free_block(pages, allocate, arena);
    else
      pages->is_running = false;
  } while (pages->is_running && net_real_us() < end_us);
}

// Updates peak_bytes and low_bytes; returns whether a round is due.
static bool is_due(Pages *pages, size_t bytes, uint64_t now_us) {
  if (bytes > pages->peak_bytes) pages->peak_bytes = pages->low_bytes = bytes;
  if (bytes + LOWER < pages->low_bytes) {
    pages->low_bytes = bytes;
    if (pages->due_us < now_us + PAGES_QUIET_US)
      pages->due_us = now_us + PAGES_QUIET_US;
  }
  return pages->peak_bytes - bytes >= PAGES_SHRUNK && now_us >= pages->due_us;
}

void pages_settle(Pages *pages, lua_Alloc allocate, void *arena, size_t bytes,
                  uint64_t now_us) {
  if (!pages->is_running && is_due(pages, bytes, now_us)) {
    *pages = (Pages){.peak_bytes = bytes,
                     .low_bytes = bytes,
                     .due_us = now_us + PAGES_INTERVAL_US,
                     .is_running = true};
  }
  if (pages->is_running) go_on(pages, allocate, arena, now_us + PAGES_SLICE_US);
}

void pages_stop(Pages *pages, lua_Alloc allocate, void *arena) {
  while (pages->blocks != NULL) free_block(pages, allocate, arena);
  pages->is_running = false;
}
