// The cache of documents: its hash table against a plain array, in random order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/cache.h"

enum {
  COLLECTIONS = 3,
  IDS = 400,
  STEPS = 60000,
  UNITS = 8,  // units that are not on disk yet
  UNIT_STEPS = 3,
  VALUE_SIZE = 64,
  ID_SIZE = 16,
  ROOMY = 1 << 20,  // bytes; all documents fit in
};

typedef struct Document {
  int64_t version;  // 0: not in the cache
  uint32_t writes;  // number of unfinished units that write it, by step
  char value[VALUE_SIZE];
} Document;

typedef struct World {
  Cache *cache;
  Document documents[COLLECTIONS][IDS];
  StoreUnit units[UNITS];  // empty: unused
  int64_t version;
} World;

static int set_up(void **state) {
  World *world = mem_zalloc(sizeof *world);
  *state = world;
  world->cache = cache_new(ROOMY);
  return 0;
}

static int tear_down(void **state) {
  World *world = *state;
  cache_free(world->cache);
  for (int i = 0; i < UNITS; i++) buf_deinit(&world->units[i]);
  mem_free(world);
  assert_int_equal(mem_live(), 0);
  return 0;
}

static Text id_of(uint32_t n) {
  static char id[ID_SIZE];
  snprintf(id, sizeof id, "p%u", n);
  return text_from(id);
}

static uint32_t draw(uint32_t limit) { return (uint32_t)rand() % limit; }

static void read_into_cache(World *world, uint32_t collection, uint32_t n) {
  Document *document = &world->documents[collection][n];
  char value[VALUE_SIZE];
  snprintf(value, sizeof value, "\"%u of %u at %lld\"", n, collection,
           (long long)++world->version);
  cache_put(world->cache, collection, id_of(n),
            &(StoreDocument){world->version, 1, text_from(value)});
  if (document->version != 0 || document->writes > 0) return;
  document->version = world->version;
  strcpy(document->value, value);
}

static Document *document_of(World *world, const StoreStep *step) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < step->id.size; i++)
    n = n * 10 + (uint32_t)(step->id.bytes[i] - '0');
  return &world->documents[step->collection][n];
}

static void begin_unit(World *world, StoreUnit *unit) {
  for (uint32_t i = draw(UNIT_STEPS); i < UNIT_STEPS; i++) {
    char value[VALUE_SIZE];
    snprintf(value, sizeof value, "\"written %u\"", draw(1000));
    StoreStep step = {.type = (uint8_t)(draw(4) > 0 ? STORE_PUT : STORE_DELETE),
                      .collection = draw(COLLECTIONS),
                      .schema = 1,
                      .id = id_of(draw(IDS))};
    if (step.type == STORE_PUT) step.value = text_from(value);
    unit_push(unit, &step);
    Document *document = document_of(world, &step);
    document->version = 0;
    document->writes++;
  }
  cache_begin(world->cache, unit);
}

static void end_unit(World *world, StoreUnit *unit, bool is_good) {
  int64_t version = is_good ? ++world->version : 0;
  cache_end(world->cache, unit, version);
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    Document *document = document_of(world, &step);
    if (--document->writes > 0 || version == 0 || step.type != STORE_PUT) continue;
    document->version = version;
    memcpy(document->value, step.value.bytes, step.value.size);
    document->value[step.value.size] = '\0';
  }
  unit->size = 0;
}

static void assert_cached(World *world, uint32_t collection, uint32_t n) {
  const Document *expected = &world->documents[collection][n];
  StoreDocument document;
  bool is_cached = cache_get(world->cache, collection, id_of(n), &document);
  assert_int_equal(is_cached, expected->version != 0);
  if (!is_cached) return;
  assert_int_equal(document.version, expected->version);
  assert_int_equal(document.value.size, strlen(expected->value));
  assert_memory_equal(document.value.bytes, expected->value, document.value.size);
}

static void test_has_what_a_plain_array_has(void **state) {
  World *world = *state;
  srand(1);
  for (int i = 0; i < STEPS; i++) {
    StoreUnit *unit = &world->units[draw(UNITS)];
    uint32_t collection = draw(COLLECTIONS), n = draw(IDS);
    if (draw(2) == 0)
      read_into_cache(world, collection, n);
    else if (unit->size == 0)
      begin_unit(world, unit);
    else
      end_unit(world, unit, draw(3) > 0);
    assert_cached(world, draw(COLLECTIONS), draw(IDS));
  }
  for (uint32_t collection = 0; collection < COLLECTIONS; collection++)
    for (uint32_t n = 0; n < IDS; n++) assert_cached(world, collection, n);
}

static uint32_t count_cached(Cache *cache, uint32_t ids) {
  StoreDocument document;
  uint32_t count = 0;
  for (uint32_t n = 0; n < ids; n++) count += cache_get(cache, 0, id_of(n), &document);
  return count;
}

static void test_stays_within_its_limit(void **state) {
  (void)state;
  enum { LIMIT = 100000, MANY = 20000 };
  Cache *cache = cache_new(LIMIT);
  for (uint32_t n = 0; n < MANY; n++)
    cache_put(cache, 0, id_of(n), &(StoreDocument){n + 1, 1, text_from("\"value\"")});
  uint32_t count = count_cached(cache, MANY);
  assert_in_range(count, LIMIT / 200, LIMIT / 50);
  StoreDocument document;
  assert_true(cache_get(cache, 0, id_of(MANY - count), &document));
  assert_false(cache_get(cache, 0, id_of(MANY - count - 1), &document));
  cache_free(cache);
}

static void test_a_document_over_the_limit_stays_out(void **state) {
  (void)state;
  enum { LIMIT = 2000 };
  char value[LIMIT + 1];
  StoreDocument document;
  memset(value, '1', sizeof value);
  Cache *cache = cache_new(LIMIT);
  cache_put(cache, 0, text_from("a"), &(StoreDocument){1, 1, {value, sizeof value}});
  assert_false(cache_get(cache, 0, text_from("a"), &document));
  cache_put(cache, 0, text_from("a"), &(StoreDocument){1, 1, {value, 10}});
  assert_true(cache_get(cache, 0, text_from("a"), &document));
  cache_free(cache);
}

static void test_a_document_that_does_not_exist_stays_out(void **state) {
  World *world = *state;
  StoreDocument document = {0};
  cache_put(world->cache, 0, text_from("a"), &document);
  assert_false(cache_get(world->cache, 0, text_from("a"), &document));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_has_what_a_plain_array_has),
      TEST(test_stays_within_its_limit),
      TEST(test_a_document_over_the_limit_stays_out),
      TEST(test_a_document_that_does_not_exist_stays_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
