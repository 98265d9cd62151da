// Reading whole files: existing files, and paths that are not files to read.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/perigee-file-XXXXXX";

static const char *path_of(const char *name) {
  static char path[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_bytes(const char *name, size_t size) {
  FILE *file = fopen(path_of(name), "wb");
  assert_non_null(file);
  for (size_t i = 0; i < size; i++) fputc((int)(i % 251), file);
  fclose(file);
}

static void expect_read(const char *name, int err, size_t size) {
  Buf bytes = {0};
  assert_int_equal(file_read(path_of(name), &bytes), err);
  if (err == 0) assert_int_equal(bytes.size, size);
  for (size_t i = 0; err == 0 && i < size; i++)
    assert_int_equal(bytes.data[i], i % 251);
  buf_deinit(&bytes);
}

static void test_whole_files(void **state) {
  (void)state;
  static const size_t SIZES[] = {0, 1, 65535, 65536, 65537, 300000};
  for (int i = 0; i < 6; i++) {
    write_bytes("some", SIZES[i]);
    expect_read("some", 0, SIZES[i]);
  }
  unlink(path_of("some"));
}

static void test_what_is_no_file(void **state) {
  (void)state;
  expect_read("missing", -ENOENT, 0);
  expect_read(".", -EISDIR, 0);
  assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
  expect_read("pipe", -EINVAL, 0);
  unlink(path_of("pipe"));
  assert_int_equal(symlink("/dev/zero", path_of("zeros")), 0);
  expect_read("zeros", -EINVAL, 0);
  unlink(path_of("zeros"));
}

static void test_too_large(void **state) {
  (void)state;
  write_bytes("large", 0);
  assert_int_equal(truncate(path_of("large"), FILE_SIZE_MAX), 0);
  Buf bytes = {0};
  assert_int_equal(file_read(path_of("large"), &bytes), 0);
  assert_int_equal(bytes.size, FILE_SIZE_MAX);
  buf_deinit(&bytes);
  assert_int_equal(truncate(path_of("large"), FILE_SIZE_MAX + 1), 0);
  expect_read("large", -EFBIG, 0);
  unlink(path_of("large"));
}

static void test_stamps(void **state) {
  (void)state;
  char signatures[4][FILE_SIGNATURE_SIZE];
  struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  file_signature(path_of("some"), signatures[0]);
  assert_string_equal(signatures[0], "");
  write_bytes("some", 10);
  utimensat(AT_FDCWD, path_of("some"), past, 0);
  file_signature(path_of("some"), signatures[1]);
  file_signature(path_of("some"), signatures[2]);
  assert_string_equal(signatures[1], signatures[2]);
  usleep(20000);  // waits until the file system's clock has another value
  write_bytes("some", 10);
  utimensat(AT_FDCWD, path_of("some"), past, 0);
  file_signature(path_of("some"), signatures[2]);
  assert_string_not_equal(signatures[1], signatures[2]);
  // Another file has the same name and the same time.
  write_bytes("other", 10);
  utimensat(AT_FDCWD, path_of("other"), past, 0);
  char from[64];
  strcpy(from, path_of("other"));
  assert_int_equal(rename(from, path_of("some")), 0);
  file_signature(path_of("some"), signatures[3]);
  assert_string_not_equal(signatures[2], signatures[3]);
  unlink(path_of("some"));
}

static void test_open_for_writing(void **state) {
  (void)state;
  assert_false(file_is_being_written(path_of("some")));
  assert_false(file_is_being_written(path_of(".")));
  write_bytes("some", 10);
  assert_false(file_is_being_written(path_of("some")));
  int reader = open(path_of("some"), O_RDONLY);
  assert_false(file_is_being_written(path_of("some")));
  int writer = open(path_of("some"), O_WRONLY);
  assert_true(file_is_being_written(path_of("some")));
  close(writer);
  assert_false(file_is_being_written(path_of("some")));
  close(reader);
  unlink(path_of("some"));
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_files),      cmocka_unit_test(test_what_is_no_file),
      cmocka_unit_test(test_too_large),        cmocka_unit_test(test_stamps),
      cmocka_unit_test(test_open_for_writing),
  };
  if (mkdtemp(folder) == NULL) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
