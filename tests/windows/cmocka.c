#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>

static jmp_buf failure;

void end_test(const char *file, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  longjmp(failure, 1);
}

static int run_test(const struct CMUnitTest *test) {
  void *state = test->state;
  if (setjmp(failure) != 0) {
    fprintf(stderr, "%s failed\n", test->name);
    return 1;
  }
  if (test->set_up) test->set_up(&state);
  test->run(&state);
  if (test->tear_down) test->tear_down(&state);
  return 0;
}

int run_tests(const struct CMUnitTest *tests, size_t count) {
  int failed = 0;
  for (size_t i = 0; i < count; i++) failed += run_test(&tests[i]);
  fprintf(stderr, "%d of %d tests passed\n", (int)count - failed, (int)count);
  return failed;
}
