// Finds the cost of a handler in a small list. Tries the last found cost first, because
// events of one kind often follow each other.
#include "script/cost.h"

#include "base/mem.h"

enum {
  SUB_BITS = 3,
  SUBS = 1 << SUB_BITS,  // buckets between two powers of two
  LOG_US = 60000000,
};

void costs_clear(Costs *costs) {
  for (uint32_t i = 0; i < costs->count; i++) mem_free(costs->slots[i]);
  costs->count = 0;
  costs->last = NULL;
}

static bool is_same(const CostKey *a, const CostKey *b) {
  return a->function == b->function && a->message == b->message && a->line == b->line;
}

// Returns the key of a new cost. This is `key`, unless a limit is reached. Then it is
// the common key of all further messages of the function, or of all further handlers.
static CostKey overflow_key(const Costs *costs, const CostKey *key) {
  uint32_t names = 0;
  for (uint32_t i = 0; i < costs->count && key->message != NULL; i++)
    if (costs->slots[i]->key.function == key->function) names++;
  if (costs->count >= COST_HANDLERS - 1) return (CostKey){0};
  if (names >= COST_NAMES) return (CostKey){.function = key->function};
  return *key;
}

static Cost *search(const Costs *costs, const CostKey *key) {
  for (uint32_t i = 0; i < costs->count; i++)
    if (is_same(&costs->slots[i]->key, key)) return costs->slots[i];
  return NULL;
}

Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new) {
  *is_new = false;
  if (costs->last != NULL && is_same(&costs->last->key, key)) return costs->last;
  Cost *cost = search(costs, key);
  if (cost == NULL) {
    CostKey used = overflow_key(costs, key);
    cost = search(costs, &used);
    if (cost == NULL) {
      cost = costs->slots[costs->count++] = mem_zalloc(sizeof *cost);
      cost->key = used;
      *is_new = true;
    }
  }
  costs->last = cost;
  return cost;
}

// Returns the bucket of a time. Each time below SUBS has its own bucket.
static uint32_t bucket_of(uint64_t us) {
  if (us < SUBS) return (uint32_t)us;
  uint32_t shift = 63 - (uint32_t)__builtin_clzll(us) - SUB_BITS;
  uint32_t bucket = (shift + 1) * SUBS + (uint32_t)(us >> shift) - SUBS;
  return bucket < COST_BUCKETS ? bucket : COST_BUCKETS - 1;
}

// Returns the longest time that belongs to a bucket.
static uint64_t bucket_end(uint32_t bucket) {
  if (bucket < SUBS) return bucket;
  uint32_t shift = bucket / SUBS - 1;
  return ((uint64_t)(bucket % SUBS + SUBS + 1) << shift) - 1;
}

void cost_add(Cost *cost, uint64_t us) {
  cost->calls++;
  cost->total_us += us;
  if (us > cost->worst_us) cost->worst_us = us;
  cost->buckets[bucket_of(us)]++;
}

CostsDue costs_due(Costs *costs, uint64_t now_us, bool is_slow) {
  if (costs->logged_us == 0) costs->logged_us = now_us;
  costs->was_slow |= is_slow;
  if (now_us - costs->logged_us < LOG_US) return COSTS_NOT_DUE;
  CostsDue due = costs->was_slow ? COSTS_DUE_SLOW : COSTS_DUE;
  costs->logged_us = now_us;
  costs->was_slow = false;
  return due;
}

uint64_t cost_p99(const Cost *cost) {
  uint64_t wanted = cost->calls - cost->calls / 100, seen = 0;
  for (uint32_t i = 0; i < COST_BUCKETS; i++) {
    seen += cost->buckets[i];
    if (seen < wanted || seen == 0) continue;
    if (i == COST_BUCKETS - 1) break;
    return bucket_end(i) < cost->worst_us ? bucket_end(i) : cost->worst_us;
  }
  return cost->worst_us;
}

size_t costs_slowest(const Costs *costs, const Cost **out, size_t size) {
  size_t count = 0;
  for (uint32_t i = 0; i < costs->count; i++) {
    const Cost *cost = costs->slots[i];
    size_t at = count < size ? count++ : size;
    if (at == size && (size == 0 || out[size - 1]->worst_us >= cost->worst_us))
      continue;
    if (at == size) at = size - 1;
    for (; at > 0 && out[at - 1]->worst_us < cost->worst_us; at--)
      out[at] = out[at - 1];
    out[at] = cost;
  }
  return count;
}
