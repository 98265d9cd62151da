// A store without a thread, on the back end in memory, with failures on request: its
// commits, repetitions, answers and cache.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/memory.h"
#include "store/store.h"

enum { DELAY_MS = 20, TIMEOUT_MS = 10000, TEXT_SIZE = 512, CACHE_SIZE = 2000 };

static const StoreCollection PLAYERS = {.name = "players", .indexes = {"coins"}};

typedef struct World {
  Store *store;
  Backend *backend;
  uint64_t now_ms;
  uint64_t next_ms;
  char answers[TEXT_SIZE];  // "TOKEN:CODE " for each answer, with the value of a get
  char log[TEXT_SIZE];
} World;

static void on_end(void *data, const StoreAnswer *answer, const StoreUnit *unit) {
  (void)unit;
  World *world = data;
  size_t size = strlen(world->answers);
  snprintf(world->answers + size, TEXT_SIZE - size, "%u:%s%.*s ", answer->token,
           store_code_name(answer->fault.code), (int)answer->document.value.size,
           answer->document.value.bytes);
}

static void on_log(void *data, LogLevel level, const char *text, size_t size) {
  (void)level;
  World *world = data;
  const char *end = memchr(text, ' ', size);  // the text has no NUL at its end
  strncat(world->log, text, end ? (size_t)(end - text) : size);
  strcat(world->log, " ");
}

// Calls of the back end: "(" and ")" around gets, "g" for a get, "f" for a find, "b" and
// "c" for the begin and the commit of a transaction.
static char noted_calls[TEXT_SIZE];

static void note(char call) {
  size_t size = strlen(noted_calls);
  assert_true(size + 1 < sizeof noted_calls);
  noted_calls[size] = call;
  noted_calls[size + 1] = '\0';
}

static void begin_gets(Backend *backend) {
  (void)backend;
  note('(');
}

static void end_gets(Backend *backend) {
  (void)backend;
  note(')');
}

static StoreCode noted_get(Backend *backend, uint32_t collection, Text id,
                           StoreDocument *document, StoreFault *fault) {
  note('g');
  return backend_memory.get(backend, collection, id, document, fault);
}

static StoreCode noted_count(Backend *backend, const StoreQuery *query,
                             uint64_t *number, StoreFault *fault) {
  note('f');
  return backend_memory.count(backend, query, number, fault);
}

static StoreCode noted_begin(Backend *backend, StoreFault *fault) {
  note('b');
  return backend_memory.begin(backend, fault);
}

static StoreCode noted_commit(Backend *backend, StoreFault *fault) {
  note('c');
  return backend_memory.commit(backend, fault);
}

static BackendOps noted;  // backend_memory, which notes calls

static void open_store(World *world, Backend *backend) {
  StoreFault fault;
  noted = backend_memory;
  noted.begin_gets = begin_gets;
  noted.end_gets = end_gets;
  noted.get = noted_get;
  noted.count = noted_count;
  noted.begin = noted_begin;
  noted.commit = noted_commit;
  const StoreOptions options = {.ops = &noted,
                                .place = ":memory:",
                                .backend = backend,
                                .delay_ms = DELAY_MS,
                                .timeout_ms = TIMEOUT_MS,
                                .cache_bytes = CACHE_SIZE,
                                .on_end = on_end,
                                .data = world};
  world->store = store_open(NULL, &options, &fault);
  assert_non_null(world->store);
  world->backend = store_backend(world->store);
  store_define(world->store, 0, 0, &PLAYERS);
}

// Lets time pass, with all commits that become due. Returns the answers since the last
// call.
static const char *after(World *world, uint64_t ms) {
  static char answers[TEXT_SIZE];
  uint64_t end_ms = world->now_ms + ms;
  world->next_ms = store_serve(world->store, world->now_ms);
  while (world->next_ms <= end_ms) {
    world->now_ms = world->next_ms;
    world->next_ms = store_serve(world->store, world->now_ms);
    assert_true(world->next_ms > world->now_ms);
  }
  world->now_ms = end_ms;
  snprintf(answers, sizeof answers, "%s", world->answers);
  world->answers[0] = '\0';
  return answers;
}

static int set_up(void **state) {
  World *world = mem_zalloc(sizeof *world);
  *state = world;
  world->now_ms = 1000;
  log_set_sink(on_log, world);
  open_store(world, NULL);
  return 0;
}

static int tear_down(void **state) {
  World *world = *state;
  store_close(world->store);
  mem_free(world);
  log_set_sink(NULL, NULL);
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

static void break_disk(World *world, StoreCode code, MemoryCalls calls,
                       uint32_t times) {
  const MemoryFailure failure = {
      .fault = {code, "on request"}, .calls = calls, .times = times};
  memory_fail(world->backend, &failure);
}

static void test_commits_after_the_delay(void **state) {
  World *world = *state;
  put(world, 0, "ada", "1");
  put(world, 0, "bob", "2");
  get(world, 1, "ada");
  assert_string_equal(after(world, 0), "1:1 ");
  assert_int_equal(world->next_ms, world->now_ms + DELAY_MS);
  assert_int_equal(store_stats(world->store).waiting, 2);
  assert_string_equal(after(world, DELAY_MS), "");
  assert_int_equal(store_stats(world->store).waiting, 0);
  assert_int_equal(store_stats(world->store).commits.count, 1);
  assert_int_equal(world->next_ms, UINT64_MAX);
}

static void test_commits_at_once_for_a_waiting_handler(void **state) {
  World *world = *state;
  put(world, 0, "ada", "1");
  put(world, 7, "bob", "2");
  store_flush(world->store, 8);
  assert_string_equal(after(world, 0), "7: 8: ");
}

static void test_a_crash_loses_what_no_commit_has(void **state) {
  World *world = *state;
  put(world, 0, "ada", "1");
  after(world, DELAY_MS);
  put(world, 0, "ada", "2");
  put(world, 0, "bob", "2");
  after(world, DELAY_MS - 1);
  open_store(world, store_take_backend(world->store, true));
  get(world, 1, "ada");
  get(world, 2, "bob");
  assert_string_equal(after(world, 0), "1:1 2: ");
}

static void test_a_lock_of_another_program_delays(void **state) {
  World *world = *state;
  break_disk(world, STORE_BUSY, MEMORY_COMMITS, 3);
  put(world, 5, "ada", "1");
  assert_string_equal(after(world, 0), "");
  get(world, 6, "ada");
  assert_string_equal(after(world, 200), "6:1 ");
  assert_string_equal(after(world, 1000), "5: ");
  assert_string_equal(world->log, "store_failing store_works_again ");
}

static void test_a_lock_that_stays_ends_the_wait(void **state) {
  World *world = *state;
  break_disk(world, STORE_BUSY, MEMORY_COMMITS, 0);
  put(world, 0, "ada", "1");
  put(world, 5, "bob", "2");
  assert_string_equal(after(world, TIMEOUT_MS - 1), "");
  get(world, 6, "bob");
  assert_string_equal(after(world, 2000), "0:Unavailable 5:Unavailable 6: ");
  memory_fail(world->backend, NULL);
  put(world, 7, "cid", "3");
  assert_string_equal(after(world, 2000), "7: ");
  get(world, 8, "bob");
  assert_string_equal(after(world, 0), "8: ");
}

static void test_a_full_disk_repeats_units_alone(void **state) {
  World *world = *state;
  // Two commits fail: that of both units, then that of ada alone.
  break_disk(world, STORE_FULL, MEMORY_COMMITS, 2);
  put(world, 0, "ada", "1");
  put(world, 5, "bob", "2");
  store_flush(world->store, 6);
  get(world, 7, "ada");
  get(world, 8, "bob");
  assert_string_equal(after(world, 0), "7:1 8:2 0:Unavailable 5: 6:Unavailable ");
  get(world, 9, "ada");
  assert_string_equal(after(world, 0), "9: ");
  store_flush(world->store, 10);
  assert_string_equal(after(world, 0), "10: ");
  assert_int_equal(store_stats(world->store).failures[STORE_FULL], 2);
}

static void test_a_failure_is_logged_once(void **state) {
  World *world = *state;
  break_disk(world, STORE_FULL, MEMORY_COMMITS, 0);
  for (int i = 0; i < 3; i++) {
    put(world, 0, "ada", "1");
    assert_string_equal(after(world, DELAY_MS), "0:Unavailable ");
  }
  memory_fail(world->backend, NULL);
  put(world, 1, "ada", "1");
  assert_string_equal(after(world, 0), "1: ");
  assert_string_equal(world->log, "store_failing store_works_again ");
}

static void test_a_unit_that_the_disk_refuses_leaves_the_others(void **state) {
  World *world = *state;
  put(world, 0, "ada", "1");
  after(world, 0);
  break_disk(world, STORE_UNAVAILABLE, MEMORY_WRITES, 2);
  put(world, 5, "bob", "2");
  get(world, 6, "ada");
  assert_string_equal(after(world, DELAY_MS), "0:Unavailable 5: 6: ");
}

static void test_a_commit_that_may_come_back_is_settled(void **state) {
  World *world = *state;
  break_disk(world, STORE_UNKNOWN, MEMORY_COMMITS,
             3);  // the commit, and two attempts to settle it
  put(world, 0, "ada", "1");
  put(world, 5, "bob", "2");
  assert_string_equal(after(world, 0), "");
  get(world, 6, "bob");
  assert_string_equal(after(world, 1000), "6:2 5: ");
  get(world, 7, "ada");
  assert_string_equal(after(world, 0), "7:1 ");
}

static void test_an_outcome_that_stays_unknown_is_reported(void **state) {
  World *world = *state;
  break_disk(world, STORE_UNKNOWN, MEMORY_COMMITS, 0);
  put(world, 5, "bob", "2");
  assert_string_equal(after(world, TIMEOUT_MS + 2000), "5:Unavailable ");
  memory_fail(world->backend, NULL);
  put(world, 6, "cid", "2");
  assert_string_equal(after(world, 2000), "6: ");
}

static void test_a_read_that_fails_is_answered(void **state) {
  World *world = *state;
  break_disk(world, STORE_DAMAGED, MEMORY_READS, 2);
  for (uint32_t token = 1; token <= 3; token++) get(world, token, "ada");
  assert_string_equal(after(world, 0), "1:Unavailable 2:Unavailable 3: ");
  assert_string_equal(world->log, "store_damaged ");
}

static void test_a_find_sees_the_open_unit(void **state) {
  World *world = *state;
  put(world, 0, "ada", "{\"coins\":1}");
  const StoreStep step = {
      .type = STORE_PUT, .id = text_from("bob"), .value = text_from("{\"coins\":2}")};
  store_step(world->store, &step);
  const StoreQuery query = {.limit = 10, .is_count = true};
  store_find(world->store, 3, &query);
  StoreUnit taken = store_take_unit(world->store);
  assert_string_equal(after(world, DELAY_MS), "3: ");
  store_give_unit(world->store, &taken);
  store_end_unit(world->store, 4);
  get(world, 5, "bob");
  assert_string_equal(after(world, 0), "5:{\"coins\":2} 4: ");
}

static void test_gets_that_wait_together_are_read_together(void **state) {
  World *world = *state;
  const StoreQuery query = {.limit = 10, .is_count = true};
  noted_calls[0] = '\0';
  for (uint32_t token = 1; token <= 3; token++) get(world, token, "ada");
  after(world, 0);
  assert_string_equal(noted_calls, "(ggg)");

  // Writes, finds and definitions end the gets.
  noted_calls[0] = '\0';
  get(world, 1, "ada");
  put(world, 0, "ada", "1");
  get(world, 2, "ada");
  assert_string_equal(after(world, DELAY_MS), "1: 2:1 ");
  assert_string_equal(noted_calls, "(g)bgc");
  noted_calls[0] = '\0';
  get(world, 1, "bob");
  store_find(world->store, 2, &query);
  get(world, 3, "bob");
  store_define(world->store, 1, 0, &(StoreCollection){.name = "others"});
  get(world, 4, "bob");
  after(world, 0);
  assert_string_equal(noted_calls, "(g)f(g)(g)");
}

static void assert_cached(World *world, const char *id, const char *value) {
  StoreDocument document;
  bool is_cached = store_cached(world->store, 0, text_from(id), &document);
  assert_int_equal(is_cached, value != NULL);
  if (value == NULL) return;
  assert_int_equal(document.value.size, strlen(value));
  assert_memory_equal(document.value.bytes, value, strlen(value));
  assert_true(document.version > 0);
}

static void test_the_cache_has_what_is_on_disk(void **state) {
  World *world = *state;
  put(world, 0, "ada", "1");
  after(world, 0);
  assert_cached(world, "ada", NULL);
  get(world, 1, "ada");
  after(world, 0);
  assert_cached(world, "ada", NULL);
  after(world, DELAY_MS);
  assert_cached(world, "ada", "1");
  put(world, 0, "ada", "2");
  assert_cached(world, "ada", NULL);
  put(world, 0, "ada", "3");
  after(world, DELAY_MS);
  assert_cached(world, "ada", "3");
  break_disk(world, STORE_FULL, MEMORY_COMMITS, 0);
  put(world, 0, "ada", "4");
  after(world, DELAY_MS);
  assert_cached(world, "ada", NULL);
  get(world, 2, "ada");
  after(world, 0);
  assert_cached(world, "ada", "3");
  assert_cached(world, "bob", NULL);
  assert_int_equal(store_stats(world->store).cache_hits, 3);
}

static void test_the_cache_forgets_the_least_recently_used(void **state) {
  World *world = *state;
  char id[] = "a";
  for (int i = 0; i < 26; i++, id[0]++) {
    put(world, 1, id, "\"a value of some thirty bytes\"");
    after(world, 0);
    assert_cached(world, "a", "\"a value of some thirty bytes\"");
  }
  assert_cached(world, "b", NULL);
  assert_cached(world, "z", "\"a value of some thirty bytes\"");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_commits_after_the_delay),
      TEST(test_commits_at_once_for_a_waiting_handler),
      TEST(test_a_crash_loses_what_no_commit_has),
      TEST(test_a_lock_of_another_program_delays),
      TEST(test_a_lock_that_stays_ends_the_wait),
      TEST(test_a_full_disk_repeats_units_alone),
      TEST(test_a_failure_is_logged_once),
      TEST(test_a_unit_that_the_disk_refuses_leaves_the_others),
      TEST(test_a_commit_that_may_come_back_is_settled),
      TEST(test_an_outcome_that_stays_unknown_is_reported),
      TEST(test_a_read_that_fails_is_answered),
      TEST(test_a_find_sees_the_open_unit),
      TEST(test_gets_that_wait_together_are_read_together),
      TEST(test_the_cache_has_what_is_on_disk),
      TEST(test_the_cache_forgets_the_least_recently_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
