// A Lua heap that has shrunk returns memory to the system, even if the remaining
// objects are scattered. These objects stay unchanged.
#include "script/guard/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "net/net.h"

enum { ROUND_SLICES_MAX = 100000 };

// Frees nine tenths of the objects, and keeps runs of a thousand.
static const char FILL[] =
    "list = {} for i = 1, 200000 do list[i] = { i, { 'unit ' .. i } } end";
static const char DROP[] =
    "local new = {} for i = 1, #list do"
    "  if i % 10000 < 1000 then new[#new + 1] = list[i] end "
    "end list = new";
static const char CHECK[] =
    "local sum = 0 for _, entry in ipairs(list) do"
    "  assert(entry[2][1] == 'unit ' .. entry[1]) sum = sum + 1 "
    "end assert(sum == 20000, sum)";

typedef struct World {
  lua_State *L;
  lua_Alloc allocate;
  void *arena;
  Pages pages;
  uint64_t now_us;  // clock of the pages
} World;

static void run(World *world, const char *code) {
  if (luaL_dostring(world->L, code) != 0) fail_msg("%s", lua_tostring(world->L, -1));
}

static void init(World *world) {
  *world = (World){.L = luaL_newstate(), .now_us = 1};
  luaL_openlibs(world->L);
  world->allocate = lua_getallocf(world->L, &world->arena);
}

static size_t heap(const World *world) {
  return (size_t)lua_gc(world->L, LUA_GCCOUNT, 0) << 10;
}

// Returns the resident bytes of this process.
static size_t resident(void) {
  long all, pages;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &all, &pages), 2);
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void settle(World *world) {
  pages_settle(&world->pages, world->allocate, world->arena, heap(world),
               world->now_us);
}

// Runs until a round ends; returns the number of calls that it took.
static int run_round(World *world) {
  int slices = 0;
  for (settle(world); world->pages.is_running; settle(world)) slices++;
  return slices;
}

static void test_given_back(void **state) {
  (void)state;
  World world;
  init(&world);
  run(&world, FILL);
  settle(&world);
  size_t full = heap(&world);
  run(&world, DROP);
  lua_gc(world.L, LUA_GCCOLLECT, 0);
  lua_gc(world.L, LUA_GCCOLLECT, 0);
  size_t left = heap(&world), before = resident();
  assert_true(full - left > PAGES_SHRUNK);
  settle(&world);
  assert_false(world.pages.is_running);  // the heap may still shrink
  world.now_us += PAGES_QUIET_US;
  assert_in_range(run_round(&world), 0, ROUND_SLICES_MAX);
  size_t given = before - resident();
  printf("heap %zu -> %zu KiB, gave back %zu KiB\n", full >> 10, left >> 10,
         given >> 10);
  assert_true(given > (full - left) / 2);
  run(&world, CHECK);
  run(&world, FILL);
  lua_close(world.L);
}

static void test_not_too_often(void **state) {
  (void)state;
  World world;
  init(&world);
  for (int round = 0; round < 2; round++) {
    run(&world, FILL);
    settle(&world);
    run(&world, "list = nil");
    lua_gc(world.L, LUA_GCCOLLECT, 0);
    settle(&world);
    world.now_us += PAGES_QUIET_US;
    settle(&world);
    assert_int_equal(world.pages.is_running, round == 0);
    run_round(&world);
  }
  world.now_us += PAGES_INTERVAL_US;
  settle(&world);
  assert_true(world.pages.is_running);
  pages_stop(&world.pages, world.allocate, world.arena);
  assert_null(world.pages.blocks);
  lua_close(world.L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_given_back),
      cmocka_unit_test(test_not_too_often),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
