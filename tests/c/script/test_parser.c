// Threads parse files, of which only a few run at a time. A cancelled thread ends by
// itself, even after its parser has been freed.
#include "script/parser.h"

#include <lauxlib.h>
#include <string.h>

#include "os/loop_world.h"
#include "os/worker.h"
#include "script/guard/parse.h"

enum { CHAIN_SIZE = 1 << 20 };  // bytes that take longer to parse than PARSE_US

typedef struct World {
  LoopWorld loop;
  Parser parser;
  lua_State *L;
  Buf chain;  // the text of a file that is slow to parse
  int ready;  // calls of on_ready
} World;

static void on_ready(void *data) { ((World *)data)->ready++; }

static bool is_ready(void *data) { return ((World *)data)->ready > 0; }

static void init(World *world) {
  static const char HEAD[] = "local x\nlocal y = x ";
  *world = (World){0};
  loop_world_init(&world->loop);
  world->L = luaL_newstate();
  parser_init(&world->parser, world->loop.loop, on_ready, world);
  buf_append(&world->chain, HEAD, sizeof HEAD - 1);
  while (world->chain.size < CHAIN_SIZE) buf_append(&world->chain, "or x ", 5);
}

static void deinit(World *world) {
  parser_deinit(&world->parser);
  buf_deinit(&world->chain);
  lua_close(world->L);
  workers_end(world->loop.loop);
  loop_world_deinit(&world->loop);
}

static ParseFile file_of(const char *path, const char *text) {
  return (ParseFile){path, {text, (uint32_t)strlen(text)}};
}

static ParseFile slow_file(const World *world, const char *path) {
  return (ParseFile){path,
                     {(const char *)world->chain.data, (uint32_t)world->chain.size}};
}

static void takes(World *world, ParseOutcome want, const ParseFile *file) {
  assert_int_equal(parser_take(&world->parser, world->L, file), want);
  assert_int_equal(lua_gettop(world->L), want == PARSE_UNKNOWN ? 0 : 1);
  lua_settop(world->L, 0);
}

static void test_parses_a_set(void **state) {
  (void)state;
  World world;
  init(&world);
  ParseFile files[] = {file_of("game.lua", "return 1"), file_of("b.lua", "return +")};
  assert_false(parser_want(&world.parser, files, 2));
  takes(&world, PARSE_UNKNOWN, &files[0]);
  assert_true(loop_world_wait(&world.loop, is_ready, &world));
  assert_true(parser_want(&world.parser, files, 2));
  takes(&world, PARSE_DONE, &files[0]);
  takes(&world, PARSE_FAILED, &files[1]);
  ParseFile changed = file_of("game.lua", "return 2");
  takes(&world, PARSE_UNKNOWN, &changed);
  parser_drop(&world.parser);
  takes(&world, PARSE_UNKNOWN, &files[0]);
  assert_int_equal(world.ready, 1);
  deinit(&world);
}

static void test_waits_for_a_free_thread(void **state) {
  (void)state;
  static const char *const PATHS[PARSER_THREADS_MAX] = {"a.lua", "b.lua", "c.lua",
                                                        "d.lua"};
  World world;
  init(&world);
  for (int i = 0; i < PARSER_THREADS_MAX; i++) {
    ParseFile slow = slow_file(&world, PATHS[i]);
    assert_false(parser_want(&world.parser, &slow, 1));
  }
  ParseFile good = file_of("game.lua", "return 1");
  assert_false(parser_want(&world.parser, &good, 1));
  assert_null(world.parser.wanted);
  assert_int_equal(parser_wait(&world.parser, world.L, &good, 0), PARSE_UNKNOWN);
  while (!parser_want(&world.parser, &good, 1)) {
    world.ready = 0;
    assert_true(loop_world_wait(&world.loop, is_ready, &world));
  }
  takes(&world, PARSE_DONE, &good);
  deinit(&world);
}

static void test_blocks_for_a_limited_time(void **state) {
  (void)state;
  World world;
  init(&world);
  ParseFile slow = slow_file(&world, "slow.lua"), good = file_of("a.lua", "return 1");
  assert_int_equal(parser_wait(&world.parser, world.L, &slow, 1000), PARSE_UNKNOWN);
  assert_int_equal(parser_wait(&world.parser, world.L, &good, 10000000), PARSE_DONE);
  deinit(&world);  // the thread may still parse the slow file
}

static void test_ends_while_it_parses(void **state) {
  (void)state;
  World world;
  init(&world);
  ParseFile slow = slow_file(&world, "slow.lua");
  assert_false(parser_want(&world.parser, &slow, 1));
  deinit(&world);
  assert_int_equal(world.ready, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parses_a_set),
      cmocka_unit_test(test_waits_for_a_free_thread),
      cmocka_unit_test(test_blocks_for_a_limited_time),
      cmocka_unit_test(test_ends_while_it_parses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
