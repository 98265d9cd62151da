// Error codes and their texts.
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void our_codes_have_the_texts_of_the_list(void **state) {
  (void)state;
#define X(name, value, text) assert_string_equal(err_text(name), text);
  ERR_MAP(X)
#undef X
}

static void system_codes_have_texts_in_lower_case(void **state) {
  (void)state;
  static const int codes[] = {
      EACCES,       EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, ECANCELED, ECONNABORTED,
      ECONNREFUSED, ECONNRESET, EINVAL,        EISDIR,       EMFILE,    ENFILE,
      ENOENT,       ENOTDIR,    EPERM,         EPIPE,        ETIMEDOUT};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    assert_true(islower((unsigned char)err_text(-codes[i])[0]));
  assert_string_equal(err_text(-EADDRINUSE), "address already in use");
}

static void other_system_codes_have_the_texts_of_the_c_library(void **state) {
  (void)state;
  assert_string_equal(err_text(-EXDEV), strerror(EXDEV));
}

static void success_and_unknown_codes_have_texts_too(void **state) {
  (void)state;
  assert_string_equal(err_text(0), "no error");
  assert_string_equal(err_text(7), "no error");
  assert_string_equal(err_text(-20000), "unknown error");
  assert_string_equal(err_text(INT32_MIN), "unknown error");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(our_codes_have_the_texts_of_the_list),
      cmocka_unit_test(system_codes_have_texts_in_lower_case),
      cmocka_unit_test(other_system_codes_have_the_texts_of_the_c_library),
      cmocka_unit_test(success_and_unknown_codes_have_texts_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
