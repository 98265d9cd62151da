// SQLite and memory agree: random units, finds, counts and pages have the same results
// on both.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/found.h"

enum {
  STEPS = 1000,
  IDS = 40,
  FOLDER_SIZE = 64,
  PATH_SIZE = 128,
  TEXT_SIZE = 160,
  BACK_ENDS = 2,
  SEED = 4242
};

static const StoreCollection PLAYERS = {.name = "players", .indexes = {"a", "b"}};
static const char *const VALUES[] = {
    "1",    "2",     "-3",    "2.5",    "1e300",       "0.1",    "9007199254740992",
    "\"\"", "\"x\"", "\"y\"", "\"xy\"", "\"\\u00e9\"", "\"10\"", "\"2\"",
    "true", "false", "null",  "{}",     "[1]",         "-0.0",   "0"};

typedef struct World {
  const BackendOps *ops[BACK_ENDS];
  Backend *backends[BACK_ENDS];
  int64_t versions[BACK_ENDS][IDS];  // versions of the applied units
} World;

static uint32_t below(uint32_t limit) { return (uint32_t)rand() % limit; }

static const char *any_value(void) {
  return VALUES[below(sizeof VALUES / sizeof *VALUES)];
}

// Applies a random unit of up to three steps; its checks are sometimes wrong.
static void apply_unit(World *world) {
  char texts[3][TEXT_SIZE], ids[3][8];
  StoreCode codes[BACK_ENDS];
  uint32_t count = 1 + below(3), types[3], numbers[3];
  bool is_stale = below(4) == 0;
  for (uint32_t i = 0; i < count; i++) {
    types[i] = below(3);
    numbers[i] = below(IDS);
    snprintf(ids[i], sizeof ids[i], "p%u", numbers[i]);
    snprintf(texts[i], TEXT_SIZE,
             below(5) == 0 ? "{\"c\":%s,\"b\":%s}" : "{\"a\":%s,\"b\":%s}", any_value(),
             any_value());
  }
  for (int k = 0; k < BACK_ENDS; k++) {
    StoreUnit unit = {0};
    StoreFault fault = {0};
    int64_t version;
    for (uint32_t i = 0; i < count; i++)
      unit_push(&unit,
                &(StoreStep){.type = (uint8_t)types[i],
                             .version = world->versions[k][numbers[i]] + is_stale,
                             .id = text_from(ids[i]),
                             .value = text_from(texts[i])});
    codes[k] = world->ops[k]->apply(world->backends[k], &unit, &version, &fault);
    for (uint32_t i = 0; codes[k] == STORE_OK && i < count; i++)
      if (types[i] != STORE_CHECK)
        world->versions[k][numbers[i]] = types[i] == STORE_PUT ? version : 0;
    buf_deinit(&unit);
  }
  assert_int_equal(codes[0], codes[1]);
}

static StoreValue any_bound(Buf *text) {
  text->size = 0;
  char json[TEXT_SIZE];
  StoreValue value;
  do {
    snprintf(json, sizeof json, "{\"a\":%s}", any_value());
    value = store_field(text_from(json), "a", text);
  } while (value.type == STORE_NONE);
  return value;
}

// Compares a page of both back ends; returns its cursor.
static Text find(World *world, const StoreQuery *query, Request *requests[BACK_ENDS]) {
  for (int k = 0; k < BACK_ENDS; k++) {
    requests[k] = mem_zalloc(sizeof **requests);
    request_set_query(requests[k], query);
    assert_int_equal(found_find(world->ops[k], world->backends[k], requests[k]),
                     STORE_OK);
  }
  const StoreAnswer *one = &requests[0]->answer, *other = &requests[1]->answer;
  StoreStep left, right;
  size_t at = 0, other_at = 0;
  while (unit_next(&one->found, &at, &left)) {
    assert_true(unit_next(&other->found, &other_at, &right));
    assert_true(text_equals(left.id, right.id));
    assert_true(text_equals(left.value, right.value));
  }
  assert_int_equal(other_at, other->found.size);
  assert_int_equal(one->count, other->count);
  assert_true(text_equals(one->cursor, other->cursor));
  return one->cursor;
}

static void read_pages(World *world) {
  Buf texts[2] = {0}, cursor = {0};
  StoreQuery query = {.order = (int32_t)below(5) - 2, .limit = 1 + below(IDS)};
  query.count = below(3);
  for (uint32_t i = 0; i < query.count; i++)
    query.conditions[i] =
        (StoreCondition){below(2), (uint8_t)below(5), any_bound(&texts[i])};
  query.is_count = below(4) == 0;
  bool goes_on = true;
  for (int page = 0; goes_on && page < IDS; page++) {
    Request *requests[BACK_ENDS];
    Text next = find(world, &query, requests);
    cursor.size = 0;
    buf_append(&cursor, next.bytes, next.size);
    query.after = (Text){(const char *)cursor.data, (uint32_t)cursor.size};
    for (int k = 0; k < BACK_ENDS; k++) store_request_free(requests[k]);
    goes_on = query.after.size > 0;
  }
  for (int i = 0; i < 2; i++) buf_deinit(&texts[i]);
  buf_deinit(&cursor);
}

static void transact(World *world) {
  StoreFault fault;
  bool is_kept = below(4) != 0;
  int64_t before[BACK_ENDS][IDS];
  memcpy(before, world->versions, sizeof before);
  for (int k = 0; k < BACK_ENDS; k++) world->ops[k]->begin(world->backends[k], &fault);
  for (uint32_t i = below(4); i > 0; i--) apply_unit(world);
  if (below(2) == 0) read_pages(world);
  for (int k = 0; k < BACK_ENDS; k++) {
    if (is_kept)
      world->ops[k]->commit(world->backends[k], &fault);
    else
      world->ops[k]->rollback(world->backends[k]);
  }
  if (!is_kept) memcpy(world->versions, before, sizeof before);
}

static void test_back_ends_agree(void **state) {
  (void)state;
  World world = {.ops = {&backend_sqlite, &backend_memory}};
  char folder[FOLDER_SIZE] = "/tmp/perigee-test-XXXXXX", path[PATH_SIZE];
  char command[PATH_SIZE];
  StoreFault fault;
  srand(SEED);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/game.db", folder);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  for (int k = 0; k < BACK_ENDS; k++) {
    world.backends[k] = world.ops[k]->open(path, BACKEND_SERVE, &fault);
    world.ops[k]->define(world.backends[k], 0, &PLAYERS, &fault);
  }
  for (int i = 0; i < STEPS; i++) {
    if (below(3) == 0)
      transact(&world);
    else
      read_pages(&world);
  }
  for (int k = 0; k < BACK_ENDS; k++) world.ops[k]->close(world.backends[k]);
  assert_int_equal(system(command), 0);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_back_ends_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
