// A set of names in byte order, each with a value. It is a skip list, so adding,
// removing and finding take logarithmic time. The heights of the nodes are derived from
// a hash under a random key, so that nobody can choose names that make the list slow.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SORTED_LEVELS = 10 };

typedef struct SortedNode {
  const char *name;  // not owned
  uint32_t size;     // bytes of `name`
  uint32_t levels;   // number of entries of `next`
  void *value;
  struct SortedNode *next[];  // next[0] is the next node in the set
} SortedNode;

typedef struct Sorted {
  SortedNode *first[SORTED_LEVELS];
  uint64_t key[2];
} Sorted;

/// Makes an empty set.
void sorted_init(Sorted *sorted);

/// Frees the set, not its values.
void sorted_deinit(Sorted *sorted);

/// Adds a name that is not in the set. Does not copy the name.
void sorted_add(Sorted *sorted, const char *name, size_t size, void *value);

/// Removes a name that is in the set.
void sorted_remove(Sorted *sorted, const char *name, size_t size);

/// Returns a negative number, 0, or a positive number if the node is before, at, or
/// behind a name.
int sorted_compare(const SortedNode *node, const char *name, size_t size);

/// Returns the first node whose name is not before the given one, or NULL.
const SortedNode *sorted_from(const Sorted *sorted, const char *name, size_t size);

/// Returns the first node whose name is behind the given one, or NULL.
const SortedNode *sorted_after(const Sorted *sorted, const char *name, size_t size);
