// The store's thread: answers come in order and after the commit, a failed handler
// leaves no changes, and a failure of the disk ends only the affected requests.
#include "store/store.h"

#include "../os/loop_world.h"
#include "os/worker.h"

enum {
  ANSWERS_MAX = 8,
  DELAY_MS = 20,
  LONG_MS = 60000,
  VALUE_SIZE = 128,
  SQL_MS = 200
};

typedef struct World {
  LoopWorld loop;
  Store *store;
  uint32_t count;     // number of answers
  uint32_t expected;  // number of answers that has_answers waits for
  struct {
    uint32_t token;
    int64_t version;
    StoreCode code;
    char value[VALUE_SIZE];
  } answers[ANSWERS_MAX];
} World;

static const StoreCollection PLAYERS = {.name = "players"};

static void on_end(void *data, const StoreAnswer *answer, const StoreUnit *unit) {
  (void)unit;
  World *world = data;
  assert_true(world->count < ANSWERS_MAX);
  world->answers[world->count].token = answer->token;
  world->answers[world->count].code = answer->fault.code;
  world->answers[world->count].version =
      answer->version != 0 ? answer->version : answer->document.version;
  if (answer->document.value.size > 0)
    memcpy(world->answers[world->count].value, answer->document.value.bytes,
           answer->document.value.size);
  world->count++;
}

static bool has_answers(void *data) {
  const World *world = data;
  return world->count >= world->expected;
}

static void await(World *world, uint32_t count) {
  world->expected = world->count + count;
  store_post(world->store);
  assert_true(loop_world_wait(&world->loop, has_answers, world));
  assert_int_equal(world->count, world->expected);
}

static void open_store(World *world, uint32_t delay_ms) {
  char path[PATH_SIZE];
  StoreFault fault;
  snprintf(path, sizeof path, "%s/game.db", world->loop.folder);
  StoreOptions options = {.ops = &backend_sqlite,
                          .place = path,
                          .delay_ms = delay_ms,
                          .timeout_ms = LONG_MS,
                          .on_end = on_end,
                          .data = world};
  world->store = store_open(world->loop.loop, &options, &fault);
  assert_non_null(world->store);
  store_define(world->store, 1, 0, &PLAYERS);
  await(world, 1);
  assert_int_equal(world->answers[0].code, STORE_OK);
  memset(world->answers, 0, sizeof world->answers);
  world->count = 0;
}

static void close_store(World *world) {
  store_close(world->store);
  workers_end(world->loop.loop);
}

static void set_up(World *world, uint32_t delay_ms) {
  *world = (World){0};
  loop_world_init(&world->loop);
  open_store(world, delay_ms);
}

static void tear_down(World *world) {
  close_store(world);
  loop_world_deinit(&world->loop);
}

static void sql(World *world, uint32_t token, const char *text, double argument) {
  const StoreValue value = {.type = STORE_NUMBER, .number = argument};
  store_sql(world->store, token,
            &(StoreSql){.text = text_from(text),
                        .arguments = &value,
                        .count = strchr(text, '?') != NULL,
                        .deadline_ms = SQL_MS});
}

static void put(World *world, const char *id, const char *value) {
  StoreStep step = {.type = STORE_PUT, .id = text_from(id), .value = text_from(value)};
  assert_int_equal(store_step(world->store, &step), STORE_OK);
}

static void test_a_get_sees_earlier_writes(void **state) {
  (void)state;
  World world;
  set_up(&world, LONG_MS);
  put(&world, "ada", "5");
  store_end_unit(world.store, 0);
  store_get(world.store, 7, 0, text_from("ada"));
  store_get(world.store, 8, 0, text_from("bob"));
  await(&world, 2);
  assert_int_equal(world.answers[0].token, 7);
  assert_string_equal(world.answers[0].value, "5");
  assert_int_equal(world.answers[1].version, 0);
  tear_down(&world);
}

static void test_a_flush_does_not_wait_for_the_delay(void **state) {
  (void)state;
  World world;
  set_up(&world, LONG_MS);
  put(&world, "ada", "5");
  store_end_unit(world.store, 0);
  store_flush(world.store, 9);
  await(&world, 1);
  assert_int_equal(world.answers[0].token, 9);
  assert_int_equal(world.answers[0].code, STORE_OK);
  tear_down(&world);
}

static void test_a_close_commits(void **state) {
  (void)state;
  World world;
  set_up(&world, LONG_MS);
  put(&world, "ada", "5");
  store_end_unit(world.store, 0);
  close_store(&world);
  open_store(&world, DELAY_MS);
  store_get(world.store, 1, 0, text_from("ada"));
  await(&world, 1);
  assert_string_equal(world.answers[0].value, "5");
  tear_down(&world);
}

static void test_a_failed_handler_leaves_nothing(void **state) {
  (void)state;
  World world;
  set_up(&world, DELAY_MS);
  put(&world, "ada", "1");
  size_t mark = store_mark(world.store);
  put(&world, "bob", "2");
  store_cut(world.store, mark);
  store_end_unit(world.store, 0);
  store_get(world.store, 1, 0, text_from("ada"));
  store_get(world.store, 2, 0, text_from("bob"));
  await(&world, 2);
  assert_string_equal(world.answers[0].value, "1");
  assert_int_equal(world.answers[1].version, 0);
  tear_down(&world);
}

static void test_of_two_writes_with_a_version_one_wins(void **state) {
  (void)state;
  World world;
  set_up(&world, DELAY_MS);
  for (uint32_t token = 1; token <= 2; token++) {
    StoreStep check = {.type = STORE_CHECK, .id = text_from("ada")};
    store_step(world.store, &check);
    put(&world, "ada", token == 1 ? "1" : "2");
    store_end_unit(world.store, token);
  }
  store_get(world.store, 3, 0, text_from("ada"));
  await(&world, 3);  // the get does not wait for the commit
  assert_int_equal(world.answers[0].token, 3);
  assert_string_equal(world.answers[0].value, "1");
  assert_int_equal(world.answers[1].code, STORE_OK);
  assert_int_equal(world.answers[2].code, STORE_CONFLICT);
  tear_down(&world);
}

static void test_too_many_writes_are_refused(void **state) {
  (void)state;
  World world;
  set_up(&world, DELAY_MS);
  for (int i = 0; i < STORE_WRITES_MAX; i++) put(&world, "ada", "1");
  StoreStep step = {.type = STORE_PUT, .id = text_from("ada")};
  assert_int_equal(store_step(world.store, &step), STORE_SLOW);
  store_end_unit(world.store, 4);
  assert_int_equal(store_step(world.store, &step), STORE_SLOW);
  await(&world, 1);
  put(&world, "ada", "2");
  tear_down(&world);
}

static void test_sql_reads_what_was_written(void **state) {
  (void)state;
  World world;
  set_up(&world, LONG_MS);
  put(&world, "ada", "{\"coins\":5}");
  put(&world, "bob", "{\"coins\":7}");
  store_end_unit(world.store, 0);
  sql(&world, 1,
      "SELECT id, value ->> '$.coins' AS coins, NULL AS none FROM players"
      " WHERE value ->> '$.coins' > ? ORDER BY id",
      5);
  sql(&world, 2, "SELECT 0.5 AS half, x'ff00' AS blob, 'a\"b' AS quoted;", 0);
  await(&world, 2);
  assert_string_equal(world.answers[0].value, "[{\"id\":\"bob\",\"coins\":7}]");
  assert_string_equal(world.answers[1].value,
                      "[{\"half\":0.5,\"blob\":\"ff00\",\"quoted\":\"a\\\"b\"}]");
  tear_down(&world);
}

static void assert_sql(const char *text, StoreCode code) {
  World world;
  set_up(&world, DELAY_MS);
  sql(&world, 1, text, 0);
  await(&world, 1);
  assert_int_equal(world.answers[0].code, code);
  tear_down(&world);
}

static void test_sql_only_reads(void **state) {
  (void)state;
  assert_sql("SELECT FROM WHERE", STORE_INVALID);
  assert_sql("DELETE FROM players", STORE_INVALID);
  assert_sql("ATTACH '/tmp/perigee-x.db' AS x", STORE_INVALID);
  assert_sql("PRAGMA query_only = OFF", STORE_INVALID);
  assert_sql("SELECT load_extension('x')", STORE_INVALID);
  assert_sql("SELECT 1; SELECT 2", STORE_INVALID);
  assert_sql("SELECT ?, ?", STORE_INVALID);
  assert_sql(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
      " SELECT i FROM n WHERE i > ?",
      STORE_TOO_LARGE);
  assert_sql(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
      " SELECT count(*) FROM n",
      STORE_LATE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_get_sees_earlier_writes),
      cmocka_unit_test(test_a_flush_does_not_wait_for_the_delay),
      cmocka_unit_test(test_a_close_commits),
      cmocka_unit_test(test_a_failed_handler_leaves_nothing),
      cmocka_unit_test(test_of_two_writes_with_a_version_one_wins),
      cmocka_unit_test(test_too_many_writes_are_refused),
      cmocka_unit_test(test_sql_reads_what_was_written),
      cmocka_unit_test(test_sql_only_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
