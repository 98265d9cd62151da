// Allocation and its count.
#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void every_allocation_is_counted_until_it_is_freed(void **state) {
  (void)state;
  void *a = mem_alloc(10), *b = mem_zalloc(10), *c = mem_strdup("ten");
  assert_int_equal(mem_live(), 3);
  mem_free(a);
  mem_free(b);
  mem_free(c);
  assert_int_equal(mem_live(), 0);
}

static void growing_counts_once(void **state) {
  (void)state;
  char *memory = mem_grow(NULL, 4);
  memcpy(memory, "abcd", 4);
  memory = mem_grow(memory, 4000);
  assert_memory_equal(memory, "abcd", 4);
  assert_int_equal(mem_live(), 1);
  mem_free(memory);
  assert_int_equal(mem_live(), 0);
}

static void zalloc_gives_zeros(void **state) {
  (void)state;
  uint8_t *memory = mem_zalloc(1000);
  for (size_t i = 0; i < 1000; i++) assert_int_equal(memory[i], 0);
  mem_free(memory);
}

static void no_bytes_are_an_allocation_all_the_same(void **state) {
  (void)state;
  void *a = mem_alloc(0), *b = mem_zalloc(0), *c = mem_grow(mem_alloc(5), 0);
  assert_non_null(a);
  assert_non_null(b);
  assert_non_null(c);
  assert_int_equal(mem_live(), 3);
  mem_free(a);
  mem_free(b);
  mem_free(c);
}

static void freeing_null_is_allowed(void **state) {
  (void)state;
  mem_free(NULL);
  assert_int_equal(mem_live(), 0);
}

static void *allocate_and_free(void *kept) {
  for (int i = 0; i < 10000; i++) mem_free(mem_alloc(8));
  *(void **)kept = mem_alloc(8);
  return NULL;
}

static void allocations_of_all_threads_are_counted(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  void *kept[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, &kept[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(mem_live(), THREADS);
  for (int i = 0; i < THREADS; i++) mem_free(kept[i]);
  assert_int_equal(mem_live(), 0);
}

static void exhaustion_ends_the_process(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    volatile size_t too_much = SIZE_MAX / 2;
    mem_alloc(too_much);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_is_counted_until_it_is_freed),
      cmocka_unit_test(growing_counts_once),
      cmocka_unit_test(zalloc_gives_zeros),
      cmocka_unit_test(no_bytes_are_an_allocation_all_the_same),
      cmocka_unit_test(freeing_null_is_allowed),
      cmocka_unit_test(allocations_of_all_threads_are_counted),
      cmocka_unit_test(exhaustion_ends_the_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
