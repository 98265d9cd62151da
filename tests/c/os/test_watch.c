// Watching files while editors, deployments and version control change them.
#include "os/watch.h"

#include <fcntl.h>
#include <string.h>

#include "loop_world.h"

enum { QUIET_MS = 160 };  // long enough for a report, with the grace period

typedef struct World {
  LoopWorld loop;
  Watch *watch;
  uint32_t told, awaited;
  const char *asked;  // file that the callback asks about; NULL: none
  bool is_asked_for;  // whether this file was among the last changes
} World;

static World world;

static void on_change(void *data) {
  World *it = data;
  it->told++;
  if (it->asked != NULL) it->is_asked_for = watch_has_changed(it->watch, it->asked);
}

static int set_up(void **state) {
  (void)state;
  world = (World){0};
  loop_world_init(&world.loop);
  world.watch = watch_open(world.loop.loop, on_change, &world);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  watch_close(world.watch);
  loop_world_deinit(&world.loop);
  return 0;
}

// --- Steps; paths are below the world's folder ---

// Returns the path of a file. The next seven calls do not overwrite the result, so one
// expression may have several calls.
static const char *at(const char *name) {
  static char paths[8][PATH_SIZE];
  static unsigned next;
  char *path = paths[next++ % 8];
  snprintf(path, PATH_SIZE, "%s/%s", world.loop.folder, name);
  return path;
}

static void save(const char *name, const char *text) {
  int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

static void save_by_rename(const char *name, const char *text) {
  save("temporary~", text);
  assert_int_equal(rename(at("temporary~"), at(name)), 0);
}

static void folder(const char *name) { assert_int_equal(mkdir(at(name), 0700), 0); }

static void link_to(const char *target, const char *name) {
  assert_int_equal(symlink(target, at("link~")), 0);
  assert_int_equal(rename(at("link~"), at(name)), 0);
}

static void watch_two(const char *first, const char *second) {
  const char *files[2] = {at(first), second == NULL ? NULL : at(second)};
  watch_set(world.watch, files, second == NULL ? 1 : 2);
}

static void watch_one(const char *name) { watch_two(name, NULL); }

static bool is_told(void *data) {
  (void)data;
  return world.told >= world.awaited;
}

// Expects that number of reports in all, and no further ones.
static void expect_told(uint32_t count) {
  world.awaited = count;
  assert_true(loop_world_wait(&world.loop, is_told, NULL));
  loop_world_run(&world.loop, QUIET_MS);
  assert_int_equal(world.told, count);
}

static void expect_nothing(void) {
  uint32_t before = world.told;
  loop_world_run(&world.loop, QUIET_MS);
  assert_int_equal(world.told, before);
}

// --- Saving ---

static void test_a_file_written_in_place(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save("game.lua", "2");
  expect_told(1);
  save("game.lua", "3");
  expect_told(2);
}

static void test_a_file_replaced_by_rename(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save_by_rename("game.lua", "2");
  expect_told(1);
  save_by_rename("game.lua", "3");
  expect_told(2);
}

static void test_touching_and_saving_the_same_is_no_change(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  assert_int_equal(utimensat(AT_FDCWD, at("game.lua"), NULL, 0), 0);
  expect_nothing();
  save("game.lua", "1");
  expect_nothing();
  save_by_rename("game.lua", "1");
  expect_nothing();
}

static void test_other_files_do_not_matter(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save("game.lua.swp", "1");
  save("notes", "1");
  expect_nothing();
}

static void test_several_files_saved_together_are_told_once(void **state) {
  (void)state;
  folder("rooms");
  save("game.lua", "1");
  save("rooms/duel.lua", "1");
  watch_two("game.lua", "rooms/duel.lua");
  save("game.lua", "2");
  loop_world_run(&world.loop, 10);
  save("rooms/duel.lua", "2");
  expect_told(1);
}

static void test_a_file_half_written_for_a_moment(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save("game.lua", "");
  loop_world_run(&world.loop, 60);  // longer than the wait for quiet
  assert_int_equal(world.told, 0);
  save("game.lua", "2");
  expect_told(1);
}

// A program writes the file in pieces. Each intermediate state may be a valid file.
static void test_a_file_written_in_pieces(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  int fd = open(at("game.lua"), O_WRONLY | O_TRUNC);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(write(fd, "return {}\n", 10), 10);
    loop_world_run(&world.loop, 100);
    assert_int_equal(world.told, 0);
  }
  close(fd);
  expect_told(1);
}

// Two files are saved together, and the second is still being written. The first alone
// must not cause a report.
static void test_a_file_waits_for_another_that_is_being_written(void **state) {
  (void)state;
  save("one.lua", "1");
  save("two.lua", "1");
  watch_two("one.lua", "two.lua");
  int fd = open(at("two.lua"), O_WRONLY | O_TRUNC);
  assert_int_equal(write(fd, "2", 1), 1);
  save("one.lua", "2");
  loop_world_run(&world.loop, 300);
  assert_int_equal(world.told, 0);
  close(fd);
  expect_told(1);
}

static void test_a_file_that_stays_open_is_told_of_in_the_end(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  int fd = open(at("game.lua"), O_WRONLY | O_TRUNC);
  assert_int_equal(write(fd, "2", 1), 1);
  expect_told(1);
  close(fd);
}

static void test_a_checkout_is_one_change(void **state) {
  (void)state;
  enum { FILES = 50 };
  char paths[FILES][PATH_SIZE];
  const char *files[FILES];
  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d.lua", i);
    save(name, "1");
    snprintf(paths[i], PATH_SIZE, "%s", at(name));
    files[i] = paths[i];
  }
  watch_set(world.watch, files, FILES);
  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d.lua", i);
    assert_int_equal(unlink(at(name)), 0);
    save(name, "2");
    loop_world_run(&world.loop, 4);
  }
  expect_told(1);
}

// Some tools restore old times of files. Only the contents count.
static void test_times_do_not_matter(void **state) {
  (void)state;
  struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  save("game.lua", "1");
  assert_int_equal(utimensat(AT_FDCWD, at("game.lua"), past, 0), 0);
  watch_one("game.lua");
  save("game.lua", "2");
  assert_int_equal(utimensat(AT_FDCWD, at("game.lua"), past, 0), 0);
  expect_told(1);
}

static void test_a_file_gone_for_a_moment(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  assert_int_equal(unlink(at("game.lua")), 0);
  loop_world_run(&world.loop, 60);
  assert_int_equal(world.told, 0);
  save("game.lua", "1");
  expect_nothing();
  assert_int_equal(unlink(at("game.lua")), 0);
  loop_world_run(&world.loop, 60);
  save("game.lua", "2");
  expect_told(1);
}

static void test_a_file_gone_for_good_and_back(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  assert_int_equal(unlink(at("game.lua")), 0);
  expect_told(1);
  save("game.lua", "1");
  expect_told(2);
}

static void test_a_missing_file_appears(void **state) {
  (void)state;
  watch_one("rooms/deep/duel.lua");
  folder("rooms");
  folder("rooms/deep");
  save("rooms/deep/duel.lua", "1");
  expect_told(1);
  save("rooms/deep/duel.lua", "2");
  expect_told(2);
}

static void test_a_missing_file_appears_step_by_step(void **state) {
  (void)state;
  watch_one("rooms/deep/duel.lua");
  folder("rooms");
  loop_world_run(&world.loop, 100);
  folder("rooms/deep");
  loop_world_run(&world.loop, 100);
  save("rooms/deep/duel.lua", "1");
  expect_told(1);
}

// --- Links and directories ---

static void test_a_symlink_is_exchanged(void **state) {
  (void)state;
  save("one.lua", "1");
  save("two.lua", "2");
  link_to("one.lua", "game.lua");
  watch_one("game.lua");
  link_to("two.lua", "game.lua");
  expect_told(1);
}

static void test_the_target_of_a_symlink_is_saved(void **state) {
  (void)state;
  folder("elsewhere");
  save("elsewhere/game.lua", "1");
  link_to("elsewhere/game.lua", "game.lua");
  watch_one("game.lua");
  save("elsewhere/game.lua", "2");
  expect_told(1);
  folder("third");
  save("third/game.lua", "2");
  link_to(at("third/game.lua"), "game.lua");
  expect_nothing();  // the same text; from now on, another place is watched
  save("third/game.lua", "3");
  expect_told(2);
}

static void test_a_symlinked_folder_is_exchanged(void **state) {
  (void)state;
  folder("1");
  folder("2");
  save("1/game.lua", "1");
  save("2/game.lua", "2");
  link_to("1", "current");
  watch_one("current/game.lua");
  link_to("2", "current");
  expect_told(1);
  save("2/game.lua", "3");
  expect_told(2);
  save("1/game.lua", "4");
  expect_nothing();
}

// Changes files as an update of a configuration volume does: game.lua is a link to
// ..data/game.lua, and ..data is a link to 1, later to 2.
static void test_a_symlink_through_a_symlink(void **state) {
  (void)state;
  folder("1");
  folder("2");
  save("1/game.lua", "1");
  save("2/game.lua", "2");
  link_to("1", "..data");
  link_to("..data/game.lua", "game.lua");
  watch_one("game.lua");
  link_to("2", "..data");
  expect_told(1);
}

static void test_a_loop_of_symlinks_is_a_missing_file(void **state) {
  (void)state;
  link_to("b", "a");
  link_to("a", "b");
  watch_one("a");
  expect_nothing();
  save_by_rename("a", "1");
  expect_told(1);
}

static void test_a_folder_is_replaced(void **state) {
  (void)state;
  folder("arena");
  folder("new");
  save("arena/game.lua", "1");
  save("new/game.lua", "2");
  watch_one("arena/game.lua");
  assert_int_equal(rename(at("arena"), at("old")), 0);
  assert_int_equal(rename(at("new"), at("arena")), 0);
  expect_told(1);
  save("arena/game.lua", "3");
  expect_told(2);
  save("old/game.lua", "4");
  expect_nothing();
}

static void test_a_folder_is_removed_and_made_again(void **state) {
  (void)state;
  folder("arena");
  save("arena/game.lua", "1");
  watch_one("arena/game.lua");
  assert_int_equal(unlink(at("arena/game.lua")), 0);
  assert_int_equal(rmdir(at("arena")), 0);
  expect_told(1);
  folder("arena");
  loop_world_run(&world.loop, 100);
  save("arena/game.lua", "2");
  expect_told(2);
  save("arena/game.lua", "3");
  expect_told(3);
}

// --- The set ---

static void test_a_change_is_not_lost_when_the_set_is_renewed(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save("game.lua", "2");
  save("rooms.lua", "1");
  watch_two("game.lua", "rooms.lua");
  expect_told(1);
  save("rooms.lua", "2");
  expect_told(2);
}

static void test_a_file_that_left_the_set_does_not_matter(void **state) {
  (void)state;
  save("game.lua", "1");
  save("rooms.lua", "1");
  watch_two("game.lua", "rooms.lua");
  watch_one("game.lua");
  save("rooms.lua", "2");
  expect_nothing();
  watch_set(world.watch, NULL, 0);
  save("game.lua", "2");
  expect_nothing();
}

static void test_what_changed_is_known(void **state) {
  (void)state;
  save("a.css", "1");
  save("b.css", "1");
  watch_two("a.css", "b.css");
  world.asked = at("a.css");
  save("a.css", "2");
  expect_told(1);
  assert_true(world.is_asked_for);
  save("b.css", "2");
  expect_told(2);
  assert_false(world.is_asked_for);
}

static void test_the_names_in_a_folder(void **state) {
  (void)state;
  folder("public");
  save("public/old.css", "1");
  watch_one("public/");
  save("public/old.css", "2");
  expect_nothing();
  save("public/new.css", "1");
  expect_told(1);
  assert_int_equal(rename(at("public/new.css"), at("public/newer.css")), 0);
  expect_told(2);
  assert_int_equal(unlink(at("public/newer.css")), 0);
  expect_told(3);
}

static void test_a_folder_that_comes_later(void **state) {
  (void)state;
  watch_one("public/");
  folder("public");
  expect_told(1);
  save("public/new.css", "1");
  expect_told(2);
}

static void test_relative_paths(void **state) {
  (void)state;
  char before[PATH_SIZE];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(world.loop.folder), 0);
  save("game.lua", "1");
  const char *files[] = {"./game.lua"};
  watch_set(world.watch, files, 1);
  save_by_rename("game.lua", "2");
  expect_told(1);
  assert_int_equal(chdir(before), 0);
}

// A file that changes all the time is reported meanwhile, and its last change is not
// missed.
static void test_a_file_saved_again_and_again(void **state) {
  (void)state;
  save("game.lua", "0");
  watch_one("game.lua");
  int last = 0;
  for (uint64_t until = uv_hrtime() / 1000 + 5 * WATCH_PATIENCE_MS / 2 * 1000;
       uv_hrtime() / 1000 < until;) {
    char text[16];
    snprintf(text, sizeof text, "%d", ++last);
    if (last % 2) save("game.lua", text);
    if (last % 2 == 0) save_by_rename("game.lua", text);
    loop_world_run(&world.loop, 10);
  }
  loop_world_run(&world.loop, QUIET_MS);
  assert_in_range(world.told, 2, last / 10);
  uint32_t before = world.told;
  char text[16];
  snprintf(text, sizeof text, "%d", last);
  save("game.lua", text);  // the file has this text already
  expect_nothing();
  assert_int_equal(world.told, before);
}

static void test_closing_with_a_change_under_way(void **state) {
  (void)state;
  save("game.lua", "1");
  watch_one("game.lua");
  save("game.lua", "2");
  loop_world_run(&world.loop, 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_a_file_written_in_place),
      TEST(test_a_file_replaced_by_rename),
      TEST(test_touching_and_saving_the_same_is_no_change),
      TEST(test_other_files_do_not_matter),
      TEST(test_several_files_saved_together_are_told_once),
      TEST(test_a_file_half_written_for_a_moment),
      TEST(test_a_file_written_in_pieces),
      TEST(test_a_file_waits_for_another_that_is_being_written),
      TEST(test_a_file_that_stays_open_is_told_of_in_the_end),
      TEST(test_a_checkout_is_one_change),
      TEST(test_times_do_not_matter),
      TEST(test_a_file_gone_for_a_moment),
      TEST(test_a_file_gone_for_good_and_back),
      TEST(test_a_missing_file_appears),
      TEST(test_a_missing_file_appears_step_by_step),
      TEST(test_a_symlink_is_exchanged),
      TEST(test_the_target_of_a_symlink_is_saved),
      TEST(test_a_symlinked_folder_is_exchanged),
      TEST(test_a_symlink_through_a_symlink),
      TEST(test_a_loop_of_symlinks_is_a_missing_file),
      TEST(test_a_folder_is_replaced),
      TEST(test_a_folder_is_removed_and_made_again),
      TEST(test_a_change_is_not_lost_when_the_set_is_renewed),
      TEST(test_a_file_that_left_the_set_does_not_matter),
      TEST(test_what_changed_is_known),
      TEST(test_the_names_in_a_folder),
      TEST(test_a_folder_that_comes_later),
      TEST(test_relative_paths),
      TEST(test_a_file_saved_again_and_again),
      TEST(test_closing_with_a_change_under_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
