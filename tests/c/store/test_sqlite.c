// The back end SQLite: units take effect together or not at all, versions never return,
// and only files of this server are opened.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "store/backend.h"

enum { FOLDER_SIZE = 64, PATH_SIZE = 128 };

static const BackendOps *const OPS = &backend_sqlite;
static const StoreCollection PLAYERS = {.name = "players", .indexes = {"rating"}};

typedef struct World {
  char folder[FOLDER_SIZE];
  char path[PATH_SIZE];
  Backend *backend;
  StoreFault fault;
} World;

static void open_store(World *world) {
  world->backend = OPS->open(world->path, BACKEND_SERVE, &world->fault);
  assert_non_null(world->backend);
  assert_int_equal(OPS->define(world->backend, 0, &PLAYERS, &world->fault), STORE_OK);
}

static int set_up(void **state) {
  World *world = mem_zalloc(sizeof *world);
  *state = world;
  snprintf(world->folder, sizeof world->folder, "/tmp/perigee-test-XXXXXX");
  assert_non_null(mkdtemp(world->folder));
  snprintf(world->path, sizeof world->path, "%s/game.db", world->folder);
  return 0;
}

static int tear_down(void **state) {
  World *world = *state;
  if (world->backend != NULL) OPS->close(world->backend);
  char command[PATH_SIZE];
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
  mem_free(world);
  assert_int_equal(mem_live(), 0);
  return 0;
}

static StoreStep put(const char *id, const char *value) {
  return (StoreStep){
      .type = STORE_PUT, .schema = 1, .id = text_from(id), .value = text_from(value)};
}

static StoreStep check(const char *id, int64_t version) {
  return (StoreStep){.type = STORE_CHECK, .version = version, .id = text_from(id)};
}

// Applies a unit of one or two steps within the transaction. Returns its version, or 0 if
// it failed.
static int64_t apply(World *world, StoreStep first, const StoreStep *second) {
  StoreUnit unit = {0};
  unit_push(&unit, &first);
  if (second != NULL) unit_push(&unit, second);
  int64_t version;
  StoreCode code = OPS->apply(world->backend, &unit, &version, &world->fault);
  buf_deinit(&unit);
  return code == STORE_OK ? version : 0;
}

static void begin(World *world) {
  assert_int_equal(OPS->begin(world->backend, &world->fault), STORE_OK);
}

static void commit(World *world) {
  assert_int_equal(OPS->commit(world->backend, &world->fault), STORE_OK);
}

static StoreDocument get(World *world, const char *id) {
  StoreDocument document;
  assert_int_equal(OPS->get(world->backend, 0, text_from(id), &document, &world->fault),
                   STORE_OK);
  return document;
}

static void assert_document(World *world, const char *id, const char *value) {
  StoreDocument document = get(world, id);
  assert_int_equal(document.value.size, strlen(value));
  assert_memory_equal(document.value.bytes, value, strlen(value));
}

static void test_documents_stay_after_a_close(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  int64_t version = apply(world, put("ada", "{\"coins\":5}"), NULL);
  commit(world);
  OPS->close(world->backend);
  open_store(world);
  assert_document(world, "ada", "{\"coins\":5}");
  assert_int_equal(get(world, "ada").version, version);
  assert_int_equal(get(world, "bob").version, 0);
}

static void test_a_transaction_reads_what_it_has_written(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  apply(world, put("ada", "1"), NULL);
  assert_document(world, "ada", "1");
  OPS->rollback(world->backend);
  assert_int_equal(get(world, "ada").version, 0);
}

static void test_a_unit_with_a_conflict_leaves_nothing(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  int64_t version = apply(world, put("ada", "1"), NULL);
  StoreStep wrong = check("ada", version + 1), right = check("ada", version);
  assert_int_equal(apply(world, put("bob", "2"), &wrong), 0);
  assert_int_equal(world->fault.code, STORE_CONFLICT);
  assert_true(apply(world, put("cid", "3"), &right) > version);
  commit(world);
  assert_int_equal(get(world, "bob").version, 0);
  assert_document(world, "cid", "3");
}

static void test_gets_together_see_one_moment(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  apply(world, put("ada", "1"), NULL);
  commit(world);
  sqlite3 *other;
  assert_int_equal(sqlite3_open(world->path, &other), SQLITE_OK);
  OPS->begin_gets(world->backend);
  assert_document(world, "ada", "1");
  assert_int_equal(
      sqlite3_exec(other, "UPDATE players SET value = '2'", NULL, NULL, NULL),
      SQLITE_OK);
  assert_document(world, "ada", "1");
  OPS->end_gets(world->backend);
  assert_document(world, "ada", "2");
  // Afterwards writes are possible, and no log of changes must stay for a reader.
  begin(world);
  apply(world, put("ada", "3"), NULL);
  commit(world);
  int left = -1;
  assert_int_equal(
      sqlite3_wal_checkpoint_v2(other, NULL, SQLITE_CHECKPOINT_TRUNCATE, &left, NULL),
      SQLITE_OK);
  assert_int_equal(left, 0);
  sqlite3_close(other);
}

static void test_versions_never_return(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  int64_t first = apply(world, put("ada", "1"), NULL);
  apply(world, (StoreStep){.type = STORE_DELETE, .id = text_from("ada")}, NULL);
  commit(world);
  OPS->close(world->backend);
  open_store(world);
  begin(world);
  assert_true(apply(world, put("ada", "1"), NULL) > first);
  commit(world);
}

static void test_an_index_can_come_later(void **state) {
  World *world = *state;
  open_store(world);
  begin(world);
  apply(world, put("ada", "{\"rating\":1200,\"guild\":\"owls\"}"), NULL);
  commit(world);
  const StoreCollection both = {.name = "players", .indexes = {"rating", "guild"}};
  assert_int_equal(OPS->define(world->backend, 0, &both, &world->fault), STORE_OK);
  assert_int_equal(OPS->define(world->backend, 0, &both, &world->fault), STORE_OK);
  assert_document(world, "ada", "{\"rating\":1200,\"guild\":\"owls\"}");
  sqlite3 *db;
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_open(world->path, &db), SQLITE_OK);
  const char *sql = "SELECT id FROM players WHERE i_guild = 'owls' AND i_rating = 1200";
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  sqlite3_finalize(statement);
  sqlite3_close(db);
}

static void test_refuses_a_file_of_another_program(void **state) {
  World *world = *state;
  sqlite3 *db;
  assert_int_equal(sqlite3_open(world->path, &db), SQLITE_OK);
  sqlite3_exec(db, "CREATE TABLE theirs (x)", NULL, NULL, NULL);
  sqlite3_close(db);
  assert_null(OPS->open(world->path, BACKEND_SERVE, &world->fault));
  assert_non_null(strstr(world->fault.text, "belongs to another program"));
}

static void test_refuses_a_file_that_is_no_database(void **state) {
  World *world = *state;
  FILE *file = fopen(world->path, "w");
  for (int i = 0; i < PATH_SIZE; i++) fputs("this is a text about games\n", file);
  fclose(file);
  assert_null(OPS->open(world->path, BACKEND_SERVE, &world->fault));
  assert_int_equal(world->fault.code, STORE_DAMAGED);
}

static void test_reports_a_folder_that_does_not_exist(void **state) {
  World *world = *state;
  assert_null(
      OPS->open("/tmp/perigee-no-such-folder/a/game.db", BACKEND_SERVE, &world->fault));
  assert_int_equal(world->fault.code, STORE_UNAVAILABLE);
}

static void test_reports_a_locked_file(void **state) {
  World *world = *state;
  open_store(world);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(world->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(OPS->begin(world->backend, &world->fault), STORE_BUSY);
  sqlite3_close(db);
  begin(world);
  OPS->rollback(world->backend);
}

static void test_keeps_the_largest_value(void **state) {
  World *world = *state;
  open_store(world);
  char *large = mem_alloc(STORE_VALUE_MAX + 1);
  memset(large, '7', STORE_VALUE_MAX);
  large[STORE_VALUE_MAX] = '\0';
  begin(world);
  assert_true(apply(world, put("ada", large), NULL) > 0);
  commit(world);
  assert_document(world, "ada", large);
  mem_free(large);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_documents_stay_after_a_close, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_a_transaction_reads_what_it_has_written,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_unit_with_a_conflict_leaves_nothing,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_gets_together_see_one_moment, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_versions_never_return, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_index_can_come_later, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refuses_a_file_of_another_program, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_refuses_a_file_that_is_no_database, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_reports_a_folder_that_does_not_exist, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_reports_a_locked_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_keeps_the_largest_value, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
