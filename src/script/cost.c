// Finds the cost of a handler by a hash of its key. Tries the last found cost first,
// because events of one kind often follow each other.
#include "script/cost.h"

#include <string.h>

#include "base/mem.h"

enum { LOG_US = 60000000 };

void costs_clear(Costs *costs) {
  for (uint32_t i = 0; i < costs->count; i++) mem_free(costs->slots[i]);
  memset(costs->index, 0, sizeof costs->index);
  costs->count = 0;
  costs->last = NULL;
}

static bool is_same(const CostKey *a, const CostKey *b) {
  return a->function == b->function && a->message == b->message && a->line == b->line;
}

// Returns the place of a key in the index, or the free place where it belongs.
static uint16_t *place_of(Costs *costs, const CostKey *key) {
  uint64_t hash = (uint64_t)(uintptr_t)key->function * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (uint64_t)(uintptr_t)key->message ^ key->line) * 0x9e3779b97f4a7c15u;
  for (uint64_t at = hash >> 48;; at++) {
    uint16_t *place = &costs->index[at % COST_INDEX];
    if (*place == 0 || is_same(&costs->slots[*place - 1]->key, key)) return place;
  }
}

// Returns the key of a new cost. This is `key`, unless a limit is reached. Then it is
// the common key of all further messages of the function, or of all further handlers.
static CostKey overflow_key(Costs *costs, const CostKey *key) {
  uint32_t names = 0;
  CostKey all = {.function = key->function};
  uint16_t shared = *place_of(costs, &all);
  if (key->message != NULL && shared != 0 && costs->slots[shared - 1]->is_shared)
    return all;
  if (costs->count >= COST_HANDLERS - 1) return (CostKey){0};
  for (uint32_t i = 0; i < costs->count && key->message != NULL; i++)
    if (costs->slots[i]->key.function == key->function) names++;
  return names >= COST_NAMES ? all : *key;
}

Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new) {
  *is_new = false;
  if (costs->last != NULL && is_same(&costs->last->key, key)) return costs->last;
  uint16_t *place = place_of(costs, key);
  if (*place == 0) {
    CostKey used = overflow_key(costs, key);
    place = place_of(costs, &used);
    if (*place == 0) {
      Cost *cost = costs->slots[costs->count++] = mem_zalloc(sizeof *cost);
      *place = (uint16_t)costs->count;
      cost->key = used;
      cost->is_shared = key->message != NULL && used.message == NULL;
      *is_new = true;
    }
  }
  costs->last = costs->slots[*place - 1];
  return costs->last;
}

void cost_add(Cost *cost, uint64_t us) {
  histogram_add(&cost->times, us);
  if (us > cost->worst_us) cost->worst_us = us;
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
  uint64_t p99 = histogram_p99(&cost->times);
  return p99 < cost->worst_us ? p99 : cost->worst_us;
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

void costs_sum(const Costs *costs, CostSums *sums) {
  for (uint32_t i = 0; i < costs->count; i++) {
    const Cost *cost = costs->slots[i];
    uint32_t number = labels_number(&sums->names, cost->name, strlen(cost->name));
    if (number >= sums->count) {
      sums->items = mem_grow(sums->items, (number + 1) * sizeof *sums->items);
      memset(sums->items + sums->count, 0,
             (number + 1 - sums->count) * sizeof *sums->items);
      sums->count = number + 1;
    }
    CostSum *sum = &sums->items[number];
    histogram_merge(&sum->times, &cost->times);
    if (cost->worst_us > sum->worst_us) sum->worst_us = cost->worst_us;
    sum->failures += cost->failures;
  }
}

void cost_sums_deinit(CostSums *sums) {
  labels_deinit(&sums->names);
  mem_free(sums->items);
}
