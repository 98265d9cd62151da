// All back ends behave alike: units, versions, finds and scans.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "postgres_world.h"
#include "store/found.h"
#include "store/memory.h"

enum {
  FOLDER_SIZE = 64,
  PATH_SIZE = POSTGRES_PLACE_SIZE,
  NAMES_SIZE = 256,
  RATING = 0,
  GUILD = 1
};

static const StoreCollection PLAYERS = {.name = "players",
                                        .indexes = {"rating", "guild"}};
static const BackendOps *const BACK_ENDS[] = {&backend_memory, &backend_sqlite,
                                              &backend_postgres};
static PostgresWorld postgres;

typedef struct World {
  const BackendOps *ops;
  Backend *backend;
  StoreFault fault;
  char names[NAMES_SIZE];  // ids that a find returned, with spaces between them
  Buf cursor;
  uint32_t most;  // number of rows after which on_row stops
  uint32_t rows;
} World;

static void begin(World *world) {
  assert_int_equal(world->ops->begin(world->backend, &world->fault), STORE_OK);
}

static void commit(World *world) {
  assert_int_equal(world->ops->commit(world->backend, &world->fault), STORE_OK);
}

static StoreCode apply_steps(World *world, const StoreStep *steps, int count,
                             int64_t *version) {
  StoreUnit unit = {0};
  for (int i = 0; i < count; i++) unit_push(&unit, &steps[i]);
  world->fault = (StoreFault){0};
  StoreCode code = world->ops->apply(world->backend, &unit, version, &world->fault);
  assert_int_equal(code, world->fault.code);
  buf_deinit(&unit);
  return code;
}

static StoreStep put_step(const char *id, const char *value) {
  return (StoreStep){.type = STORE_PUT, .id = text_from(id), .value = text_from(value)};
}

static int64_t put(World *world, const char *id, const char *value) {
  StoreStep step = put_step(id, value);
  int64_t version;
  assert_int_equal(apply_steps(world, &step, 1, &version), STORE_OK);
  return version;
}

static void fill(World *world) {
  begin(world);
  put(world, "ada", "{\"rating\":1200,\"guild\":\"owls\"}");
  put(world, "bob", "{\"rating\":900.5,\"guild\":\"owls\"}");
  put(world, "cid", "{\"rating\":\"none\",\"guild\":\"rats\"}");
  put(world, "dan", "{\"rating\":true,\"guild\":\"owls\"}");
  put(world, "eve", "{\"rating\":1,\"guild\":\"\"}");
  put(world, "fay", "{\"rating\":{\"a\":1},\"guild\":null}");
  put(world, "gus", "{\"rating\":1200}");
  put(world, "hal", "[1,2]");
  put(world, "ida", "{\"rating\":false,\"guild\":\"o\\u0077ls\"}");
  commit(world);
}

static bool on_row(void *data, const BackendRow *row) {
  World *world = data;
  size_t size = strlen(world->names);
  snprintf(world->names + size, sizeof world->names - size, "%.*s ", (int)row->id.size,
           row->id.bytes);
  world->rows++;
  return world->rows < world->most;
}

static StoreValue number(double value) {
  return (StoreValue){.type = STORE_NUMBER, .number = value};
}

static StoreValue text(const char *value) {
  return (StoreValue){.type = STORE_TEXT, .text = text_from(value)};
}

static StoreValue boolean(bool value) {
  return (StoreValue){.type = STORE_BOOLEAN, .number = value};
}

static void assert_finds(World *world, const StoreQuery *query, const char *names) {
  uint64_t count = 0;
  StoreQuery whole = *query;
  if (whole.limit == 0) whole.limit = STORE_LIMIT_MAX;
  world->names[0] = '\0';
  world->rows = 0;
  world->most = UINT32_MAX;
  assert_int_equal(
      world->ops->find(world->backend, &whole, on_row, world, &world->fault), STORE_OK);
  assert_string_equal(world->names, names);
  if (query->limit != 0 || query->after.size != 0) return;
  assert_int_equal(world->ops->count(world->backend, &whole, &count, &world->fault),
                   STORE_OK);
  assert_int_equal(count, world->rows);
}

static void assert_condition(World *world, uint32_t field, StoreOp op, StoreValue value,
                             const char *names) {
  const StoreQuery query = {.count = 1, .conditions = {{field, (uint8_t)op, value}}};
  assert_finds(world, &query, names);
}

static void check_conditions(World *world) {
  fill(world);
  assert_condition(world, RATING, STORE_EQ, number(1200), "ada gus ");
  assert_condition(world, RATING, STORE_EQ, number(1), "eve ");
  assert_condition(world, RATING, STORE_LT, number(1200), "bob eve ");
  assert_condition(world, RATING, STORE_LE, number(1200), "ada bob eve gus ");
  assert_condition(world, RATING, STORE_GT, number(1), "ada bob gus ");
  assert_condition(world, RATING, STORE_GE, number(900.5), "ada bob gus ");
  assert_condition(world, RATING, STORE_EQ, boolean(true), "dan ");
  assert_condition(world, RATING, STORE_GE, boolean(false), "dan ida ");
  assert_condition(world, RATING, STORE_LT, boolean(true), "ida ");
  assert_condition(world, RATING, STORE_GT, text(""), "cid ");
  assert_condition(world, GUILD, STORE_EQ, text("owls"), "ada bob dan ida ");
  assert_condition(world, GUILD, STORE_LT, text("owls"), "eve ");
  assert_condition(world, GUILD, STORE_LE, text("rats"), "ada bob cid dan eve ida ");
  assert_condition(world, GUILD, STORE_GE, text("p"), "cid ");
  const StoreQuery both = {.count = 2,
                           .conditions = {{GUILD, STORE_EQ, text("owls")},
                                          {RATING, STORE_GE, number(1000)}}};
  assert_finds(world, &both, "ada ");
}

static void check_orders(World *world) {
  fill(world);
  assert_finds(world, &(StoreQuery){0}, "ada bob cid dan eve fay gus hal ida ");
  assert_finds(world, &(StoreQuery){.limit = 2}, "ada bob ");
  assert_finds(world, &(StoreQuery){.order = RATING + 1},
               "eve bob ada gus cid ida dan fay hal ");
  assert_finds(world, &(StoreQuery){.order = -(RATING + 1)},
               "dan ida cid gus ada bob eve hal fay ");
  assert_finds(world, &(StoreQuery){.order = RATING + 1, .limit = 8},
               "eve bob ada gus cid ida dan fay ");
  const StoreQuery owls = {.count = 1,
                           .conditions = {{GUILD, STORE_EQ, text("owls")}},
                           .order = -(RATING + 1)};
  assert_finds(world, &owls, "dan ida ada bob ");
}

// Reads a collection in pages of two.
static void assert_pages(World *world, int32_t order, const char *names) {
  char all[NAMES_SIZE] = "";
  Buf cursor = {0};
  for (bool goes_on = true; goes_on;) {
    Request *request = mem_zalloc(sizeof *request);
    const StoreQuery query = {
        .order = order,
        .limit = 2,
        .after = {(const char *)cursor.data, (uint32_t)cursor.size}};
    request_set_query(request, &query);
    assert_int_equal(found_find(world->ops, world->backend, request), STORE_OK);
    StoreStep step;
    for (size_t at = 0; unit_next(&request->answer.found, &at, &step);) {
      strncat(all, step.id.bytes, step.id.size);
      strcat(all, " ");
    }
    cursor.size = 0;
    buf_append(&cursor, request->answer.cursor.bytes, request->answer.cursor.size);
    goes_on = cursor.size > 0;
    store_request_free(request);
  }
  buf_deinit(&cursor);
  assert_string_equal(all, names);
}

static void check_pages(World *world) {
  fill(world);
  assert_pages(world, 0, "ada bob cid dan eve fay gus hal ida ");
  assert_pages(world, RATING + 1, "eve bob ada gus cid ida dan fay hal ");
  assert_pages(world, -(RATING + 1), "dan ida cid gus ada bob eve hal fay ");
  assert_pages(world, GUILD + 1, "eve ada bob dan ida cid fay gus hal ");
  const StoreQuery wrong = {.limit = 1, .after = text_from("bm9wZQ")};
  assert_int_equal(
      world->ops->find(world->backend, &wrong, on_row, world, &world->fault),
      STORE_INVALID);
}

static void check_own_writes(World *world) {
  fill(world);
  StoreUnit writes = {0};
  const StoreStep wins = put_step("eve", "{\"rating\":5000}"),
                  gone = {.type = STORE_DELETE, .id = text_from("ada")};
  unit_push(&writes, &wins);
  unit_push(&writes, &gone);
  StoreQuery query = {
      .count = 1, .conditions = {{RATING, STORE_GE, number(1200)}}, .writes = &writes};
  assert_finds(world, &query, "eve gus ");
  query.writes = NULL;
  assert_finds(world, &query, "ada gus ");
  begin(world);
  query.writes = &writes;
  assert_finds(world, &query, "eve gus ");
  put(world, "zoe", "{\"rating\":1300}");
  assert_finds(world, &query, "eve gus zoe ");
  world->ops->rollback(world->backend);
  buf_deinit(&writes);
}

// Returns the version of a find of players with at least this rating.
static int64_t version_of(World *world, double rating, Buf *bytes) {
  Request *request = mem_zalloc(sizeof *request);
  const StoreQuery query = {.count = 1,
                            .conditions = {{RATING, STORE_GE, number(rating)}},
                            .limit = STORE_LIMIT_MAX};
  request_set_query(request, &query);
  bytes->size = 0;
  store_query_write(&query, bytes);
  assert_int_equal(found_find(world->ops, world->backend, request), STORE_OK);
  int64_t version = request->answer.version;
  store_request_free(request);
  return version;
}

static void check_found(World *world) {
  Buf bytes = {0};
  int64_t version;
  fill(world);
  StoreStep steps[2] = {put_step("zoe", "{\"rating\":1}"), {.type = STORE_CHECK_FOUND}};
  steps[1].version = version_of(world, 1200, &bytes);
  steps[1].value = (Text){(const char *)bytes.data, (uint32_t)bytes.size};
  begin(world);
  put(world, "eve", "{\"rating\":2}");
  assert_int_equal(apply_steps(world, steps, 2, &version), STORE_OK);
  put(world, "eve", "{\"rating\":2000}");
  assert_int_equal(apply_steps(world, steps, 2, &version), STORE_CONFLICT);
  commit(world);
  buf_deinit(&bytes);
}

static void check_checks_come_first(World *world) {
  int64_t version;
  const StoreStep steps[2] = {put_step("ada", "1"),
                              {.type = STORE_CHECK, .id = text_from("ada")}};
  begin(world);
  assert_int_equal(apply_steps(world, steps, 2, &version), STORE_OK);
  assert_int_equal(apply_steps(world, steps, 2, &version), STORE_CONFLICT);
  commit(world);
}

static void check_later_schema(World *world) {
  int64_t version;
  StoreStep step = put_step("ada", "1");
  StoreDocument document;
  step.schema = 3;
  begin(world);
  assert_int_equal(apply_steps(world, &step, 1, &version), STORE_OK);
  commit(world);
  step.schema = 2;
  begin(world);
  StoreCode code = apply_steps(world, &step, 1, &version);
  if (code == STORE_OK) code = world->ops->commit(world->backend, &world->fault);
  assert_int_equal(code, STORE_NEWER);
  world->ops->rollback(world->backend);
  assert_int_equal(
      world->ops->get(world->backend, 0, text_from("ada"), &document, &world->fault),
      STORE_OK);
  assert_int_equal(document.schema, 3);
}

static void assert_scans(World *world, const char *after, uint32_t schema_below,
                         uint32_t most, const char *names) {
  const StoreScan scan = {
      .schema_below = schema_below, .limit = 3, .after = text_from(after)};
  world->names[0] = '\0';
  world->rows = 0;
  world->most = most;
  assert_int_equal(
      world->ops->scan(world->backend, &scan, on_row, world, &world->fault), STORE_OK);
  assert_string_equal(world->names, names);
}

static void check_scans(World *world) {
  int64_t version;
  StoreStep step = put_step("bob", "1");
  step.schema = 2;
  fill(world);
  begin(world);
  assert_int_equal(apply_steps(world, &step, 1, &version), STORE_OK);
  commit(world);
  assert_scans(world, "", UINT32_MAX, UINT32_MAX, "ada bob cid ");
  assert_scans(world, "cid", UINT32_MAX, UINT32_MAX, "dan eve fay ");
  assert_scans(world, "hal", UINT32_MAX, UINT32_MAX, "ida ");
  assert_scans(world, "", 2, UINT32_MAX, "ada cid dan ");
  assert_scans(world, "", UINT32_MAX, 1, "ada ");
}

static void check_rollback(World *world) {
  fill(world);
  begin(world);
  put(world, "ada", "{\"rating\":1}");
  put(world, "zoe", "{\"rating\":1}");
  const StoreStep gone = {.type = STORE_DELETE, .id = text_from("bob")};
  int64_t version;
  assert_int_equal(apply_steps(world, &gone, 1, &version), STORE_OK);
  world->ops->rollback(world->backend);
  assert_finds(world, &(StoreQuery){.order = -(RATING + 1), .limit = 6},
               "dan ida cid gus ada bob ");
}

static void on_collection(void *data, const StoreCollection *collection) {
  World *world = data;
  size_t size = strlen(world->names);
  snprintf(world->names + size, sizeof world->names - size, "%s:", collection->name);
  for (int i = 0; collection->indexes[i] != NULL; i++) {
    strcat(world->names, collection->indexes[i]);
    strcat(world->names, " ");
  }
}

static void check_list(World *world) {
  const StoreCollection fewer = {.name = "players", .indexes = {"guild"}};
  const StoreCollection others = {.name = "others"};
  world->ops->define(world->backend, 0, &fewer, &world->fault);
  world->ops->define(world->backend, 1, &others, &world->fault);
  world->names[0] = '\0';
  assert_int_equal(
      world->ops->list(world->backend, on_collection, world, &world->fault), STORE_OK);
  assert_non_null(strstr(world->names, "players:guild "));
  assert_null(strstr(world->names, "rating"));
  assert_non_null(strstr(world->names, "others:"));
}

// Runs a check on each back end.
static void check_each(void (*check)(World *world)) {
  for (size_t i = 0; i < sizeof BACK_ENDS / sizeof *BACK_ENDS; i++) {
    World world = {.ops = BACK_ENDS[i]};
    char folder[FOLDER_SIZE] = "/tmp/perigee-test-XXXXXX", path[PATH_SIZE];
    char command[PATH_SIZE];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/game.db", folder);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (world.ops == &backend_postgres) postgres_world_store(&postgres, path);
    world.backend = world.ops->open(path, BACKEND_SERVE, &world.fault);
    assert_non_null(world.backend);
    assert_int_equal(world.ops->define(world.backend, 0, &PLAYERS, &world.fault),
                     STORE_OK);
    check(&world);
    world.ops->close(world.backend);
    assert_int_equal(system(command), 0);
    assert_int_equal(mem_live(), 0);
  }
}

#define CHECK_EACH(name)              \
  static void test_##name(void **s) { \
    (void)s;                          \
    check_each(check_##name);         \
  }
CHECK_EACH(conditions)
CHECK_EACH(orders)
CHECK_EACH(pages)
CHECK_EACH(own_writes)
CHECK_EACH(found)
CHECK_EACH(checks_come_first)
CHECK_EACH(later_schema)
CHECK_EACH(scans)
CHECK_EACH(rollback)
CHECK_EACH(list)

static int set_up(void **state) {
  (void)state;
  postgres_world_init(&postgres);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  postgres_world_deinit(&postgres);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conditions),   cmocka_unit_test(test_orders),
      cmocka_unit_test(test_pages),        cmocka_unit_test(test_own_writes),
      cmocka_unit_test(test_found),        cmocka_unit_test(test_checks_come_first),
      cmocka_unit_test(test_later_schema), cmocka_unit_test(test_scans),
      cmocka_unit_test(test_rollback),     cmocka_unit_test(test_list),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
