// SQLite on a disk that fails: no acknowledged write is lost, other failures are
// reported, and the store works again when the disk does. A copy of the files simulates
// a crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "faulty_vfs.h"
#include "store/sqlite_file.h"
#include "store/store.h"

enum {
  FOLDER_SIZE = 64,
  PATH_SIZE = 128,
  COMMAND_SIZE = 512,
  TEXT_SIZE = 4096,
  TIMEOUT_MS = 10000,
  DOCUMENTS = 200,
  PAGE = 4096
};

static const StoreCollection PLAYERS = {.name = "players"};

typedef struct World {
  char folder[FOLDER_SIZE];
  char path[PATH_SIZE];
  Store *store;
  uint64_t now_ms;
  char answers[TEXT_SIZE];
  char reason[TEXT_SIZE];
  uint32_t findings;
} World;

static void on_end(void *data, const StoreAnswer *answer, const StoreUnit *unit) {
  (void)unit;
  World *world = data;
  size_t size = strlen(world->answers);
  snprintf(world->answers + size, TEXT_SIZE - size, "%u:%s%.*s ", answer->token,
           store_code_name(answer->fault.code), (int)answer->document.value.size,
           answer->document.value.bytes);
  if (answer->fault.code != STORE_OK)
    snprintf(world->reason, TEXT_SIZE, "%s", answer->fault.text);
}

static void open_store(World *world, const char *path) {
  StoreFault fault;
  const StoreOptions options = {.ops = &backend_sqlite,
                                .place = path,
                                .timeout_ms = TIMEOUT_MS,
                                .on_end = on_end,
                                .data = world};
  world->store = store_open(NULL, &options, &fault);
  assert_non_null(world->store);
  store_define(world->store, 0, 0, &PLAYERS);
}

// Lets time pass; returns the answers since the last call.
static const char *after(World *world, uint64_t ms) {
  static char answers[TEXT_SIZE];
  uint64_t end_ms = world->now_ms + ms;
  uint64_t next_ms = store_serve(world->store, world->now_ms);
  while (next_ms <= end_ms) {
    world->now_ms = next_ms;
    next_ms = store_serve(world->store, world->now_ms);
  }
  world->now_ms = end_ms;
  snprintf(answers, sizeof answers, "%s", world->answers);
  world->answers[0] = '\0';
  return answers;
}

static int set_up(void **state) {
  World *world = mem_zalloc(sizeof *world);
  *state = world;
  faulty_vfs_start();
  log_set_level(LOG_OFF);
  snprintf(world->folder, sizeof world->folder, "/tmp/perigee-test-XXXXXX");
  assert_non_null(mkdtemp(world->folder));
  snprintf(world->path, sizeof world->path, "%s/data/game.db", world->folder);
  open_store(world, world->path);
  return 0;
}

static int tear_down(void **state) {
  World *world = *state;
  faulty_vfs_mend();
  store_close(world->store);
  char command[COMMAND_SIZE];
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
  mem_free(world);
  assert_int_equal(mem_live(), 0);
  return 0;
}

static void put(World *world, uint32_t token, const char *id, const char *value) {
  const StoreStep step = {
      .type = STORE_PUT, .id = text_from(id), .value = text_from(value)};
  assert_int_equal(store_step(world->store, &step), STORE_OK);
  store_end_unit(world->store, token);
}

static void get(World *world, uint32_t token, const char *id) {
  store_get(world->store, token, 0, text_from(id));
}

// Replaces the store by one on a copy of its files, as they are after a crash.
static void crash(World *world) {
  char command[COMMAND_SIZE], path[PATH_SIZE];
  static int copies;
  snprintf(path, sizeof path, "%s/copy%d", world->folder, ++copies);
  snprintf(command, sizeof command, "cp -r '%s/data' '%s'", world->folder, path);
  assert_int_equal(system(command), 0);
  faulty_vfs_mend();
  store_close(world->store);
  strcat(path, "/game.db");
  open_store(world, path);
  after(world, 0);
}

static void on_finding(void *data, const char *text) {
  World *world = data;
  world->findings++;
  snprintf(world->reason, TEXT_SIZE, "%s", text);
}

static uint32_t findings(World *world, const char *path) {
  StoreFault fault;
  world->findings = 0;
  assert_int_equal(sqlite_file_check(path, on_finding, world, &fault), STORE_OK);
  return world->findings;
}

static void test_a_full_disk_is_reported(void **state) {
  World *world = *state;
  put(world, 1, "ada", "1");
  assert_string_equal(after(world, 0), "1: ");
  faulty.is_full = true;
  put(world, 0, "bob", "2");
  put(world, 2, "cid", "3");
  assert_string_equal(after(world, 0), "0:Unavailable 2:Unavailable ");
  assert_non_null(strstr(world->reason, "full"));
  get(world, 3, "ada");
  get(world, 4, "cid");
  assert_string_equal(after(world, 0), "3:1 4: ");
  faulty_vfs_mend();
  put(world, 5, "bob", "4");
  assert_string_equal(after(world, 0), "5: ");
  crash(world);
  get(world, 6, "ada");
  get(world, 7, "bob");
  get(world, 8, "cid");
  assert_string_equal(after(world, 0), "6:1 7:4 8: ");
}

static void test_a_unit_is_written_after_a_failed_sync(void **state) {
  World *world = *state;
  put(world, 1, "ada", "1");
  after(world, 0);
  faulty.failing_syncs = 2;  // one of the commit, one of the first attempt to settle it
  put(world, 0, "bob", "2");
  put(world, 2, "cid", "3");
  assert_string_equal(after(world, 0), "");
  assert_string_equal(after(world, 1000), "2: ");
  crash(world);
  get(world, 3, "ada");
  get(world, 4, "bob");
  get(world, 5, "cid");
  assert_string_equal(after(world, 0), "3:1 4:2 5:3 ");
}

static void test_a_commit_with_a_failed_sync_does_not_come_back(void **state) {
  World *world = *state;
  StoreStep check = {.type = STORE_CHECK, .id = text_from("cid"), .version = 77};
  put(world, 1, "ada", "1");
  after(world, 0);
  faulty.failing_syncs = 1;
  put(world, 2, "ada", "2");
  store_step(world->store, &check);
  put(world, 3, "bob", "3");
  assert_string_equal(after(world, 1000), "2: 3:Conflict ");
  crash(world);
  get(world, 4, "ada");
  get(world, 5, "bob");
  assert_string_equal(after(world, 0), "4:2 5: ");
}

static void test_syncs_that_keep_failing_are_reported(void **state) {
  World *world = *state;
  put(world, 1, "ada", "1");
  after(world, 0);
  faulty.failing_syncs = -1;
  put(world, 2, "bob", "2");
  assert_string_equal(after(world, TIMEOUT_MS + 2000), "2:Unavailable ");
  faulty_vfs_mend();
  put(world, 3, "cid", "3");
  assert_string_equal(after(world, 2000), "3: ");
  crash(world);
  get(world, 4, "ada");
  get(world, 5, "cid");
  assert_string_equal(after(world, 0), "4:1 5:3 ");
}

static void test_every_commit_is_synced(void **state) {
  World *world = *state;
  after(world, 0);
  for (int i = 0; i < 5; i++) {
    int syncs = faulty.syncs;
    put(world, 1, "ada", "1");
    assert_string_equal(after(world, 0), "1: ");
    assert_true(faulty.syncs > syncs);
  }
}

// Overwrites one page that contains documents; other pages stay as they are.
static void damage(const char *path) {
  FILE *file = fopen(path, "r+");
  fseek(file, 0, SEEK_END);
  long pages = ftell(file) / PAGE;
  fseek(file, pages / 2 * PAGE, SEEK_SET);
  for (int i = 0; i < PAGE; i++) fputc('x', file);
  fclose(file);
}

static void test_a_damaged_page_leaves_the_others(void **state) {
  World *world = *state;
  char id[32], value[TEXT_SIZE / 2] = "\"";
  memset(value + 1, 'v', sizeof value - 3);
  strcat(value, "\"");
  for (uint32_t i = 0; i < DOCUMENTS; i++) {
    snprintf(id, sizeof id, "p%u", i);
    put(world, 1, id, value);
    after(world, 0);
  }
  store_close(world->store);
  assert_int_equal(findings(world, world->path), 0);
  damage(world->path);
  assert_true(findings(world, world->path) > 0);
  open_store(world, world->path);
  uint32_t good = 0, damaged = 0;
  for (uint32_t i = 0; i < DOCUMENTS; i++) {
    snprintf(id, sizeof id, "p%u", i);
    get(world, 1, id);
    const char *answer = after(world, 0);
    if (strcmp(answer, "1:Unavailable ") == 0)
      damaged++;
    else if (strlen(answer) > strlen(value))
      good++;
  }
  assert_true(damaged > 0);
  assert_int_equal(good + damaged, DOCUMENTS);
  assert_true(good > DOCUMENTS / 2);
  assert_non_null(strstr(world->reason, "perigee store check"));
  put(world, 2, "new", "1");
  assert_string_equal(after(world, 0), "2: ");
}

static void test_a_lock_of_another_program_delays(void **state) {
  World *world = *state;
  sqlite3 *db;
  after(world, 0);
  assert_int_equal(sqlite3_open(world->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  put(world, 1, "ada", "1");
  get(world, 2, "ada");
  assert_string_equal(after(world, 0), "");
  sqlite3_close(db);
  assert_string_equal(after(world, 1000), "2:1 1: ");
}

static void test_one_process_serves_a_file(void **state) {
  World *world = *state;
  StoreFault fault;
  char link[PATH_SIZE];
  snprintf(link, sizeof link, "%s/link.db", world->folder);
  assert_int_equal(symlink(world->path, link), 0);
  const char *paths[] = {world->path, link};
  for (int i = 0; i < 2; i++) {
    assert_null(backend_sqlite.open(paths[i], BACKEND_SERVE, &fault));
    assert_non_null(strstr(fault.text, "another process serves"));
  }
  after(world, 0);  // makes the collection
  Backend *reader = backend_sqlite.open(world->path, BACKEND_READ, &fault);
  assert_non_null(reader);
  assert_int_equal(backend_sqlite.define(reader, 0, &PLAYERS, &fault), STORE_OK);
  assert_int_equal(backend_sqlite.begin(reader, &fault), STORE_OK);
  int64_t version;
  StoreUnit unit = {0};
  unit_push(
      &unit,
      &(StoreStep){.type = STORE_PUT, .id = text_from("ada"), .value = text_from("1")});
  assert_int_not_equal(backend_sqlite.apply(reader, &unit, &version, &fault), STORE_OK);
  buf_deinit(&unit);
  backend_sqlite.close(reader);
}

static void test_a_file_that_is_gone_takes_no_writes(void **state) {
  World *world = *state;
  char away[PATH_SIZE];
  snprintf(away, sizeof away, "%s/away.db", world->folder);
  put(world, 1, "ann", "1");
  get(world, 2, "ann");
  assert_string_equal(after(world, 100), "2:1 1: ");
  assert_int_equal(rename(world->path, away), 0);
  put(world, 3, "ann", "2");
  get(world, 4, "ann");
  assert_string_equal(after(world, 100), "4:2 3:Unavailable ");
  assert_non_null(strstr(world->reason, "deleted, moved or replaced"));
  assert_int_equal(rename(away, world->path), 0);
  put(world, 5, "ann", "3");
  assert_string_equal(after(world, 100), "5: ");
}

static void test_a_folder_that_takes_no_files(void **state) {
  (void)state;
  StoreFault fault;
  assert_null(backend_sqlite.open("/proc/game.db", BACKEND_SERVE, &fault));
  assert_non_null(strstr(fault.text, "/proc/game.db"));
  assert_null(backend_sqlite.open("/proc/data/game.db", BACKEND_SERVE, &fault));
  assert_non_null(strstr(fault.text, "cannot create the folder /proc/data"));
}

static void test_a_backup_while_the_store_is_open(void **state) {
  World *world = *state;
  StoreFault fault;
  char copy[PATH_SIZE + 8], unfinished[PATH_SIZE + 16];
  snprintf(copy, sizeof copy, "%s/backup.db", world->folder);
  snprintf(unfinished, sizeof unfinished, "%s.tmp", copy);
  put(world, 1, "ada", "1");
  after(world, 0);
  assert_int_equal(sqlite_file_backup(world->path, copy, &fault), STORE_OK);
  put(world, 2, "ada", "2");
  assert_string_equal(after(world, 0), "2: ");
  assert_int_equal(sqlite_file_backup(world->path, copy, &fault), STORE_OK);
  assert_int_not_equal(access(unfinished, F_OK), 0);
  assert_int_equal(findings(world, copy), 0);
  store_close(world->store);
  open_store(world, copy);
  get(world, 3, "ada");
  assert_string_equal(after(world, 0), "3:2 ");
  faulty.is_full = true;
  assert_int_not_equal(sqlite_file_backup(world->path, copy, &fault), STORE_OK);
  assert_int_not_equal(access(unfinished, F_OK), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_a_full_disk_is_reported),
      TEST(test_a_unit_is_written_after_a_failed_sync),
      TEST(test_a_commit_with_a_failed_sync_does_not_come_back),
      TEST(test_syncs_that_keep_failing_are_reported),
      TEST(test_every_commit_is_synced),
      TEST(test_a_damaged_page_leaves_the_others),
      TEST(test_a_lock_of_another_program_delays),
      TEST(test_one_process_serves_a_file),
      TEST(test_a_file_that_is_gone_takes_no_writes),
      TEST(test_a_folder_that_takes_no_files),
      TEST(test_a_backup_while_the_store_is_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
