// See sorted.h.
#include "base/sorted.h"

#include <sodium.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void sorted_init(Sorted *sorted) {
  *sorted = (Sorted){0};
  randombytes_buf(sorted->key, sizeof sorted->key);
}

void sorted_deinit(Sorted *sorted) {
  for (SortedNode *node = sorted->first[0]; node;) {
    SortedNode *next = node->next[0];
    mem_free(node);
    node = next;
  }
  memset(sorted->first, 0, sizeof sorted->first);
}

int sorted_compare(const SortedNode *node, const char *name, size_t size) {
  size_t shared = node->size < size ? node->size : size;
  int order = shared > 0 ? memcmp(node->name, name, shared) : 0;
  if (order != 0) return order;
  return node->size < size ? -1 : node->size > size;
}

// Sets ahead[level], for each level, to the link to the first node of the level that is
// not before the name.
static void find(Sorted *sorted, const char *name, size_t size,
                 SortedNode **ahead[SORTED_LEVELS]) {
  SortedNode **links = sorted->first;
  for (int level = SORTED_LEVELS; level-- > 0;) {
    while (links[level] && sorted_compare(links[level], name, size) < 0)
      links = links[level]->next;
    ahead[level] = &links[level];
  }
}

// Returns the number of levels of a node. On average, each level contains a quarter of
// the nodes of the level below.
static uint32_t levels_of(const Sorted *sorted, const char *name, size_t size) {
  uint64_t bits = hash_bytes(sorted->key, name, size);
  uint32_t levels = 1;
  for (; levels < SORTED_LEVELS && (bits & 3) == 0; bits >>= 2) levels++;
  return levels;
}

void sorted_add(Sorted *sorted, const char *name, size_t size, void *value) {
  SortedNode **ahead[SORTED_LEVELS];
  find(sorted, name, size, ahead);
  uint32_t levels = levels_of(sorted, name, size);
  SortedNode *node = mem_alloc(sizeof *node + levels * sizeof *node->next);
  *node = (SortedNode){
      .name = name, .size = (uint32_t)size, .levels = levels, .value = value};
  for (uint32_t level = 0; level < levels; level++) {
    node->next[level] = *ahead[level];
    *ahead[level] = node;
  }
}

void sorted_remove(Sorted *sorted, const char *name, size_t size) {
  SortedNode **ahead[SORTED_LEVELS];
  find(sorted, name, size, ahead);
  SortedNode *node = *ahead[0];
  for (uint32_t level = 0; level < node->levels; level++)
    *ahead[level] = node->next[level];
  mem_free(node);
}

const SortedNode *sorted_from(const Sorted *sorted, const char *name, size_t size) {
  SortedNode *const *links = sorted->first;
  for (int level = SORTED_LEVELS; level-- > 0;)
    while (links[level] && sorted_compare(links[level], name, size) < 0)
      links = links[level]->next;
  return links[0];
}

const SortedNode *sorted_after(const Sorted *sorted, const char *name, size_t size) {
  const SortedNode *node = sorted_from(sorted, name, size);
  return node && sorted_compare(node, name, size) == 0 ? node->next[0] : node;
}
