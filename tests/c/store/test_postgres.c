// Failures of PostgreSQL: it refuses connections, starts late, restarts, stops
// answering, and its answers are lost. No acknowledged write is missing, and none is
// written twice.
#include "../os/loop_world.h"
#include "cutting_proxy.h"
#include "os/worker.h"
#include "store/store.h"

enum {
  ANSWERS_MAX = 8,
  DELAY_MS = 5,
  TIMEOUT_MS = 5000,
  SHORT_MS = 300,
  STOP_MS = 1000,
  VALUE_SIZE = 64
};

static const BackendOps *const OPS = &backend_postgres;
static const StoreCollection PLAYERS = {.name = "players", .indexes = {"rating"}};
static PostgresWorld postgres;

// --- Back ends ---

static Backend *open_backend(const char *place) {
  StoreFault fault;
  Backend *backend = OPS->open(place, BACKEND_SERVE, &fault);
  if (backend == NULL) fail_msg("%s", fault.text);
  assert_int_equal(OPS->define(backend, 0, &PLAYERS, &fault), STORE_OK);
  return backend;
}

static void assert_refused(const char *user, const char *rest, const char *reason) {
  char place[POSTGRES_PLACE_SIZE];
  StoreFault fault;
  postgres_world_place(&postgres, place, user, rest);
  assert_null(OPS->open(place, BACKEND_SERVE, &fault));
  if (strstr(fault.text, reason) == NULL) fail_msg("%s", fault.text);
  assert_null(strstr(fault.text, "s3cret"));
  assert_null(strchr(fault.text, '\n'));
}

static void test_refusals_come_at_once_and_without_the_password(void **state) {
  (void)state;
  postgres_world_run(&postgres, "CREATE ROLE locked LOGIN PASSWORD 'right'");
  postgres_world_run(&postgres, "CREATE ROLE guest LOGIN");
  assert_refused("locked:s3cret", "", "password authentication failed");
  assert_refused("locked", "", "no password supplied");
  assert_refused("perigee", "&dbname=nowhere", "database \"nowhere\" does not exist");
  assert_refused("locked:s3cret%zz", "", "is no URL of PostgreSQL");
  assert_refused("guest", "", "permission denied for schema public");
}

static StoreCode apply(Backend *backend, const StoreStep *steps, int count) {
  StoreUnit unit = {0};
  StoreFault fault;
  int64_t version;
  for (int i = 0; i < count; i++) unit_push(&unit, &steps[i]);
  StoreCode code = OPS->apply(backend, &unit, &version, &fault);
  buf_deinit(&unit);
  return code;
}

static void test_of_two_servers_one_repeats_its_transaction(void **state) {
  (void)state;
  char place[POSTGRES_PLACE_SIZE];
  StoreFault fault;
  postgres_world_store(&postgres, place);
  Backend *a = open_backend(place), *b = open_backend(place);
  const StoreStep put = {
      .type = STORE_PUT, .id = text_from("ada"), .value = text_from("1")};
  assert_int_equal(OPS->begin(a, &fault), STORE_OK);
  assert_int_equal(OPS->begin(b, &fault), STORE_OK);
  StoreDocument document;
  OPS->get(b, 0, text_from("ada"), &document, &fault);
  assert_int_equal(apply(a, &put, 1), STORE_OK);
  assert_int_equal(OPS->commit(a, &fault), STORE_OK);
  assert_int_equal(apply(b, &put, 1), STORE_OK);
  assert_int_equal(OPS->commit(b, &fault), STORE_AGAIN);
  OPS->rollback(b);
  const StoreStep steps[] = {{.type = STORE_CHECK, .id = text_from("ada")}, put};
  assert_int_equal(OPS->begin(b, &fault), STORE_OK);
  assert_int_equal(apply(b, steps, 2), STORE_CONFLICT);
  assert_int_equal(apply(b, &put, 1), STORE_OK);
  assert_int_equal(OPS->commit(b, &fault), STORE_OK);
  OPS->close(a);
  OPS->close(b);
}

static void assert_sql(Backend *reader, const char *text, StoreValue value,
                       StoreCode code, const char *rows) {
  Buf out = {0};
  StoreFault fault = {0};
  const StoreSql sql = {.text = text_from(text),
                        .arguments = &value,
                        .count = strchr(text, '?') != NULL,
                        .deadline_ms = SHORT_MS};
  StoreCode found = OPS->sql(reader, &sql, &out, &fault);
  if (found != code) fail_msg("%s: %s", text, fault.text);
  buf_u8(&out, 0);
  if (code == STORE_OK) assert_string_equal((const char *)out.data, rows);
  buf_deinit(&out);
}

static void test_sql_only_reads(void **state) {
  (void)state;
  char place[POSTGRES_PLACE_SIZE];
  StoreFault fault;
  postgres_world_store(&postgres, place);
  Backend *writer = open_backend(place);
  const StoreStep put = {.type = STORE_PUT,
                         .id = text_from("a\"da"),
                         .value = text_from("{\"rating\": 1200.5}")};
  OPS->begin(writer, &fault);
  apply(writer, &put, 1);
  OPS->commit(writer, &fault);
  Backend *reader = OPS->open(place, BACKEND_READ, &fault);
  assert_non_null(reader);
  const StoreValue rating = {.type = STORE_NUMBER, .number = 1200.5};
  const StoreValue name = {.type = STORE_TEXT, .text = text_from("a\"da")};
  assert_sql(
      reader, "SELECT id, i_rating_n, '?' AS q FROM players WHERE i_rating_n = ?",
      rating, STORE_OK, "[{\"id\":\"a\\\"da\",\"i_rating_n\":1200.5,\"q\":\"?\"}]");
  assert_sql(reader, "SELECT true AS t, NULL AS n FROM players /* ? */ WHERE id = ?",
             name, STORE_OK, "[{\"t\":true,\"n\":null}]");
  assert_sql(reader, "DELETE FROM players", rating, STORE_INVALID, "");
  assert_sql(reader, "SELECT nextval('perigee_version')", rating, STORE_INVALID, "");
  assert_sql(reader, "SELECT 1; SELECT 2", rating, STORE_INVALID, "");
  assert_sql(reader, "SELECT generate_series(1, 20000)", rating, STORE_TOO_LARGE, "");
  assert_sql(reader, "SELECT pg_sleep(10)", rating, STORE_LATE, "");
  assert_sql(reader, "SELECT pg_sleep(0.01) FROM generate_series(1, 9000)", rating,
             STORE_LATE, "");
  assert_sql(reader, "SELECT count(*) AS c FROM players", rating, STORE_OK,
             "[{\"c\":1}]");
  OPS->close(reader);
  OPS->close(writer);
}

static void *open_and_close(void *place) {
  OPS->close(open_backend(place));
  return NULL;
}

static void test_servers_may_start_at_the_same_time(void **state) {
  (void)state;
  enum { SERVERS = 4 };
  char place[POSTGRES_PLACE_SIZE];
  pthread_t threads[SERVERS];
  postgres_world_store(&postgres, place);
  for (int i = 0; i < SERVERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, place), 0);
  for (int i = 0; i < SERVERS; i++) pthread_join(threads[i], NULL);
}

static void test_waits_for_a_server_that_starts(void **state) {
  (void)state;
  char place[POSTGRES_PLACE_SIZE];
  postgres_world_store(&postgres, place);
  postgres_world_stop(&postgres);
  postgres_world_spawn(&postgres);
  OPS->close(open_backend(place));
}

// --- Stores ---

typedef struct World {
  LoopWorld loop;
  CuttingProxy proxy;
  char place[POSTGRES_PLACE_SIZE];
  Store *store;
  uint32_t count;     // number of answers
  uint32_t expected;  // number of answers that has_answers waits for
  uint32_t failures;  // number of answers with a fault
  struct {
    StoreCode code;
    char value[VALUE_SIZE];
    int64_t version;
  } answers[ANSWERS_MAX];  // by token
} World;

static void on_end(void *data, const StoreAnswer *answer, const StoreUnit *unit) {
  (void)unit;
  World *world = data;
  assert_in_range(answer->token, 1, ANSWERS_MAX - 1);
  world->answers[answer->token].code = answer->fault.code;
  world->answers[answer->token].version = answer->version;
  snprintf(world->answers[answer->token].value, VALUE_SIZE, "%.*s",
           (int)answer->document.value.size,
           answer->document.value.size > 0 ? answer->document.value.bytes : "");
  if (answer->fault.code != STORE_OK) world->failures++;
  world->count++;
}

static bool has_answers(void *data) {
  const World *world = data;
  return world->count >= world->expected;
}

static void await(World *world, uint32_t count) {
  world->expected += count;
  store_post(world->store);
  assert_true(loop_world_wait(&world->loop, has_answers, world));
}

static void set_up(World *world, uint32_t timeout_ms) {
  StoreFault fault;
  char rest[64];
  *world = (World){0};
  loop_world_init(&world->loop);
  postgres_world_store(&postgres, world->place);
  cutting_proxy_init(&world->proxy, &postgres);
  snprintf(rest, sizeof rest, "&options=-csearch_path%%3Dstore%d", postgres.schemas);
  snprintf(world->place, sizeof world->place,
           "postgres://perigee@/postgres?host=%.80s%s", world->proxy.folder, rest);
  world->store = store_open(world->loop.loop,
                            &(StoreOptions){.ops = OPS,
                                            .place = world->place,
                                            .delay_ms = DELAY_MS,
                                            .timeout_ms = timeout_ms,
                                            .stop_ms = STOP_MS,
                                            .on_end = on_end,
                                            .data = world},
                            &fault);
  assert_non_null(world->store);
  store_define(world->store, 1, 0, &PLAYERS);
  await(world, 1);
  assert_int_equal(world->answers[1].code, STORE_OK);
}

static void tear_down(World *world) {
  store_close(world->store);
  workers_end(world->loop.loop);
  cutting_proxy_deinit(&world->proxy);
  loop_world_deinit(&world->loop);
}

// Writes a document that must not exist.
static void create(World *world, uint32_t token, const char *id, const char *value) {
  store_step(world->store, &(StoreStep){.type = STORE_CHECK, .id = text_from(id)});
  store_step(
      world->store,
      &(StoreStep){.type = STORE_PUT, .id = text_from(id), .value = text_from(value)});
  store_end_unit(world->store, token);
}

static void assert_value(World *world, const char *id, const char *value) {
  store_get(world->store, 2, 0, text_from(id));
  await(world, 1);
  assert_int_equal(world->answers[2].code, STORE_OK);
  assert_string_equal(world->answers[2].value, value);
}

static void test_goes_on_after_a_restart(void **state) {
  (void)state;
  World world;
  set_up(&world, TIMEOUT_MS);
  create(&world, 3, "ada", "1");
  await(&world, 1);
  postgres_world_stop(&postgres);
  create(&world, 4, "bob", "2");
  store_get(world.store, 5, 0, text_from("ada"));
  store_post(world.store);
  postgres_world_start(&postgres);
  await(&world, 2);
  assert_int_equal(world.answers[3].code, STORE_OK);
  assert_int_equal(world.answers[4].code, STORE_OK);
  assert_string_equal(world.answers[5].value, "1");
  assert_value(&world, "bob", "2");
  tear_down(&world);
}

// The answer to COMMIT is lost. If the store wrote the document again, it would have
// another version.
static void test_a_commit_whose_answer_is_lost_counts_once(void **state) {
  (void)state;
  World world;
  char sql[256];
  set_up(&world, TIMEOUT_MS);
  create(&world, 3, "bob", "1");
  await(&world, 1);
  world.proxy.mode = PROXY_NO_ANSWERS;
  store_step(world.store, &(StoreStep){.type = STORE_PUT,
                                       .id = text_from("ada"),
                                       .value = text_from("{\"rating\": 1}")});
  store_end_unit(world.store, 3);
  store_post(world.store);
  for (int i = 0; i < POSTGRES_WAITS; i++) {
    snprintf(sql, sizeof sql,
             "CREATE TABLE store%d.seen AS SELECT 1 / count(*), max(version) AS version"
             " FROM store%d.players WHERE id = 'ada'",
             postgres.schemas, postgres.schemas);
    if (postgres_world_try(&postgres, sql)) break;
    usleep(POSTGRES_WAIT_US);
  }
  world.proxy.mode = PROXY_CUT;
  loop_world_run(&world.loop, 50);
  world.proxy.mode = PROXY_PASS;
  await(&world, 1);
  assert_int_equal(world.answers[3].code, STORE_OK);
  snprintf(sql, sizeof sql,
           "SELECT 1 / count(*) FROM store%d.players JOIN store%d.seen USING (version)",
           postgres.schemas, postgres.schemas);
  postgres_world_run(&postgres, sql);
  tear_down(&world);
}

static void test_a_transaction_that_is_cut_off_is_repeated(void **state) {
  (void)state;
  World world;
  set_up(&world, TIMEOUT_MS);
  world.proxy.mode = PROXY_SILENT;
  create(&world, 3, "ada", "1");
  store_post(world.store);
  loop_world_run(&world.loop, 50);
  world.proxy.mode = PROXY_CUT;
  loop_world_run(&world.loop, 50);
  world.proxy.mode = PROXY_PASS;
  await(&world, 1);
  assert_int_equal(world.answers[3].code, STORE_OK);
  assert_value(&world, "ada", "1");
  tear_down(&world);
}

// The test creates each document once, so a second write of it would be a conflict.
static void test_a_line_that_is_cut_often_loses_nothing(void **state) {
  (void)state;
  enum { ROUNDS = 8, CREATED = 20, ID_SIZE = 16 };
  World world;
  char id[ID_SIZE], sql[128];
  set_up(&world, TIMEOUT_MS);
  for (uint32_t i = 0; i < ROUNDS * CREATED; i++) {
    snprintf(id, sizeof id, "id%u", i);
    create(&world, 3, id, "1");
    world.expected++;
    store_post(world.store);
    if (i % CREATED != CREATED - 1) continue;
    loop_world_run(&world.loop, i % 7);
    world.proxy.mode = PROXY_NO_ANSWERS;
    loop_world_run(&world.loop, i % 11);
    world.proxy.mode = PROXY_CUT;
    loop_world_run(&world.loop, TURN_MS);
    world.proxy.mode = PROXY_PASS;
    assert_true(loop_world_wait(&world.loop, has_answers, &world));
  }
  assert_int_equal(world.failures, 0);
  snprintf(sql, sizeof sql, "SELECT 1 / (count(*) = %d)::int FROM store%d.players",
           ROUNDS * CREATED, postgres.schemas);
  postgres_world_run(&postgres, sql);
  tear_down(&world);
}

// PostgreSQL reports the failure of a write only to a connection that waits for it.
static void test_a_write_that_fails_takes_no_other_with_it(void **state) {
  (void)state;
  World world;
  char text[10000] = "{\"rating\": \"";
  uint64_t random = 1;
  for (size_t at = strlen(text); at < sizeof text - 3; at++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    // Random, so that it does not compress well.
    text[at] = (char)('a' + (random >> 33) % 26);
  }
  memcpy(text + sizeof text - 3, "\"}", 3);
  set_up(&world, TIMEOUT_MS);
  create(&world, 3, "ada", "1");
  const char *const ids[] = {"bob", "cid", "dan"};
  for (uint32_t i = 0; i < 3; i++) {
    store_step(world.store, &(StoreStep){.type = STORE_PUT,
                                         .id = text_from(ids[i]),
                                         .value = text_from(i == 1 ? text : "2")});
    store_end_unit(world.store, 4 + i);
  }
  store_get(world.store, 7, 0, text_from("dan"));
  await(&world, 5);
  assert_int_equal(world.answers[3].code, STORE_OK);
  assert_int_equal(world.answers[4].code, STORE_OK);
  assert_int_equal(world.answers[5].code, STORE_TOO_LARGE);
  assert_int_equal(world.answers[6].code, STORE_OK);
  assert_string_equal(world.answers[7].value, "2");
  assert_value(&world, "ada", "1");
  assert_value(&world, "cid", "");
  tear_down(&world);
}

static void test_calls_fail_after_the_timeout(void **state) {
  (void)state;
  World world;
  set_up(&world, SHORT_MS);
  world.proxy.mode = PROXY_CUT;
  loop_world_run(&world.loop, 20);
  create(&world, 3, "ada", "1");
  store_get(world.store, 4, 0, text_from("ada"));
  await(&world, 2);
  assert_string_equal(store_code_name(world.answers[3].code), "Unavailable");
  assert_string_equal(store_code_name(world.answers[4].code), "Unavailable");
  world.proxy.mode = PROXY_PASS;
  for (int i = 0; i < POSTGRES_WAITS && world.answers[4].code != STORE_OK; i++) {
    store_get(world.store, 4, 0, text_from("ada"));
    await(&world, 1);
  }
  assert_value(&world, "ada", "");
  tear_down(&world);
}

static void test_ends_while_postgres_is_silent(void **state) {
  (void)state;
  World world;
  set_up(&world, 10 * TIMEOUT_MS);
  world.proxy.mode = PROXY_SILENT;
  create(&world, 3, "ada", "1");
  store_post(world.store);
  loop_world_run(&world.loop, 20);
  uint64_t start_us = uv_hrtime() / 1000;
  assert_false(store_close(world.store));
  uint64_t took_ms = (uv_hrtime() / 1000 - start_us) / 1000;
  assert_true(took_ms >= STOP_MS - 100 && took_ms < STOP_MS + TIMEOUT_MS);
  world.store = NULL;
  tear_down(&world);
}

static int start(void **state) {
  (void)state;
  postgres_world_init(&postgres);
  return 0;
}

static int stop(void **state) {
  (void)state;
  postgres_world_deinit(&postgres);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals_come_at_once_and_without_the_password),
      cmocka_unit_test(test_of_two_servers_one_repeats_its_transaction),
      cmocka_unit_test(test_sql_only_reads),
      cmocka_unit_test(test_servers_may_start_at_the_same_time),
      cmocka_unit_test(test_waits_for_a_server_that_starts),
      cmocka_unit_test(test_goes_on_after_a_restart),
      cmocka_unit_test(test_a_commit_whose_answer_is_lost_counts_once),
      cmocka_unit_test(test_a_transaction_that_is_cut_off_is_repeated),
      cmocka_unit_test(test_a_line_that_is_cut_often_loses_nothing),
      cmocka_unit_test(test_a_write_that_fails_takes_no_other_with_it),
      cmocka_unit_test(test_calls_fail_after_the_timeout),
      cmocka_unit_test(test_ends_while_postgres_is_silent),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
