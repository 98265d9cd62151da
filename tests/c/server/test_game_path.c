// The path of a game: which paths are games, the reports of others, and the name of a
// game.
#include "server/game_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_SIZE = 128 };

// A folder with arena/game.lua, one.lua, empty/ and note.txt; the tests run in it.
static char folder[] = "/tmp/perigee-test-XXXXXX";

static void touch(const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static int set_up(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  mkdir("arena", 0700);
  mkdir("empty", 0700);
  touch("arena/game.lua");
  touch("one.lua");
  touch("note.txt");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[PATH_SIZE];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void a_game_is_a_folder_or_a_file(void **state) {
  (void)state;
  assert_null(game_check("arena"));
  assert_null(game_check("arena/"));
  assert_null(game_check("one.lua"));
  assert_null(game_check("arena/game.lua"));
}

static void what_is_no_game_is_told(void **state) {
  (void)state;
  assert_non_null(strstr(game_check("nowhere"), "no such game"));
  assert_non_null(strstr(game_check("empty"), "no game.lua"));
  assert_non_null(strstr(game_check("note.txt"), "a .lua file"));
}

static void expect_name(const char *path, const char *wanted) {
  char name[GAME_NAME_SIZE];
  game_name(name, path);
  assert_string_equal(name, wanted);
}

static void a_game_is_called_after_its_folder_or_file(void **state) {
  (void)state;
  expect_name("arena", "arena");
  expect_name("arena/", "arena");
  expect_name("arena/game.lua", "arena");
  expect_name("arena/../arena/.", "arena");
  expect_name("one.lua", "one");
  expect_name(NULL, "relay");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_game_is_a_folder_or_a_file),
      cmocka_unit_test(what_is_no_game_is_told),
      cmocka_unit_test(a_game_is_called_after_its_folder_or_file),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
