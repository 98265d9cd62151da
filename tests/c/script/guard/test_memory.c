// Large blocks that are refused while a handler runs, one after the other: the handler
// fails, and the next one has right results. Runs without the JIT; with the JIT, for
// strings alone. Small blocks are never refused, because LuaJIT does not survive every
// such refusal. Also errors that LuaJIT raises in compiled code, which crash Debian's
// LuaJIT without jit_frame.h.
#include "script/guard/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "script/host.h"
#include "server/engine.h"

enum { SEED = 7, REFUSALS_MAX = 500 };

static const char GAME[] =
    "local game = {}\n"
    "local function down(n) return n == 0 and 0 or 1 + down(n - 1) end\n"
    "local function work()\n"
    "  local list, set, text = {}, {}, 'text'\n"
    "  for i = 1, 100000 do list[i] = i end\n"
    "  for i = 1, 30000 do set['key' .. i] = i end\n"
    "  for i = 1, 30000 do set[-i] = { i } end\n"
    "  for i = 1, 19 do text = text .. text end\n"
    "  local deep = down(8000) + coroutine.wrap(down)(8000)\n"
    "  table.sort({ 3, 1, 2 }, function(a, b) return a > b end)\n"
    "  local ok, long = pcall(table.concat, list, ',')\n"
    "  local changed = text:rep(2):upper()\n"
    "  return list[1] + set.key7 + #text + deep + #long + #changed, ok\n"
    "end\n"
    "function game.on_start()\n"
    "  local sum, ok = work()\n"
    "  if sum ~= 6896358 or not ok then error('wrong: ' .. sum) end\n"
    "end\n"
    "return game\n";

// Each function needs the right stack base when an error is raised. `leave` makes
// LuaJIT take a function far up the stack for the running one, and `clear` writes zeros
// to that place. `fill` makes LuaJIT take the running function for the one that it
// calls.
static const char COMPILED[] =
    "local game, calls = {}, 0\n"
    "local function leave(n)\n"
    "  local r = n == 0 and tostring({}) or leave(n - 1)\n"
    "  return r, n\n"
    "end\n"
    "local function clear(n)\n"
    "  local a, b, c, d, e = 0, 0, 0, 0, 0\n"
    "  if n > 0 then return clear(n - 1), a, b, c, d, e end\n"
    "  return a\n"
    "end\n"
    "local function insert(key)\n"
    "  for i = 1, 100 do local t = {} t[i < 80 and i + 0.5 or key] = true end\n"
    "end\n"
    "local function double(n)\n"
    "  local s = 'x'\n"
    "  for i = 1, n do s = s .. s end\n"
    "end\n"
    "local function fill(n)\n"
    "  tostring({})\n"
    "  local a, b, c = 1, 2, 3\n"
    "  double(n)\n"
    "  return a, b, c\n"
    "end\n"
    "function game.on_start()\n"
    "  calls = calls + 1\n"
    "  for i = 1, 100 do insert(0.25) double(10) end\n"
    "  if calls > 1 then fill(22) end\n"
    "  for i = 1, 50 do\n"
    "    leave(20) clear(30)\n"
    "    local ok, problem = pcall(insert, 0 / 0)\n"
    "    if ok or not problem:find 'table index is NaN$' then error(problem) end\n"
    "  end\n"
    "end\n"
    "return game\n";

// Each call is one step. `big` makes a string that did not exist before.
static const char LIMITED[] =
    "local game, calls, keep = {}, 0, {}\n"
    "local function big(n) return ('x'):rep(n) .. math.random() end\n"
    "local steps = {\n"
    "  function() local list = {} for i = 1, 1e9 do list[i] = { i } end end,\n"
    "  function() for i = 1, 40 do keep[i] = big(2^20) end end,\n"
    "  function() for i = 1, 100 do big(4e6) end end,\n"
    "  function() for i = 1, 1e9 do keep[i] = { i } end end,\n"
    "  function() for i = 1, 2e4 do local _ = { { i } } end end,\n"
    "  function() keep = nil end,\n"
    "  function() local a = big(1e7) local _ = a .. a .. a end,\n"
    "  function() local a = big(1e7) local _ = a .. a .. a .. a end,\n"
    "  function() local _ = ('x'):rep(1e7) end,\n"
    "  function() local _ = ('y'):rep(1e7) end,\n"
    "}\n"
    "function game.on_start()\n"
    "  calls = calls + 1\n"
    "  steps[calls]()\n"
    "end\n"
    "return game\n";

typedef struct World {
  char folder[32];
  char path[64];
  Config config;
  Engine engine;
} World;

static int set_up(void **state, const char *game, bool has_no_jit) {
  static const EngineEvents EVENTS = {0};
  static const uint64_t seed = SEED;
  static World world;
  world = (World){0};
  log_set_level(LOG_OFF);
  snprintf(world.folder, sizeof world.folder, "/tmp/perigee-memory-XXXXXX");
  assert_non_null(mkdtemp(world.folder));
  snprintf(world.path, sizeof world.path, "%s/game.lua", world.folder);
  FILE *file = fopen(world.path, "w");
  assert_non_null(file);
  fputs(game, file);
  fclose(file);
  config_init(&world.config);
  ConfigError error;
  char *flags[] = {"--log-level=off", "--handler-budget=20", NULL};
  for (int at = 0; flags[at] != NULL;)
    assert_true(config_set_flag(&world.config, flags, &at, NULL, &error));
  EngineOptions options = {.script = {.game = world.folder, .has_no_jit = has_no_jit},
                           .config = &world.config,
                           .events = &EVENTS,
                           .seed = &seed};
  engine_init(&world.engine, &options);
  assert_null(engine_load(&world.engine));
  *state = &world;
  return 0;
}

static int set_up_jit(void **state) { return set_up(state, GAME, false); }

static int set_up_no_jit(void **state) { return set_up(state, GAME, true); }

static int set_up_compiled(void **state) { return set_up(state, COMPILED, false); }

static int set_up_limited(void **state) { return set_up(state, LIMITED, false); }

static int tear_down(void **state) {
  World *world = *state;
  engine_deinit(&world->engine);
  config_deinit(&world->config);
  unlink(world->path);
  rmdir(world->folder);
  return 0;
}

// Returns whether the handler ended without an error.
static bool run(Engine *engine, Host *host, uint32_t refuse_in) {
  uint64_t errors = relay_stats(engine->relay).errors;
  host->memory.refuse_in = refuse_in;
  script_start(engine->script);
  engine_drain(engine, net_clock_us(engine->net));
  return relay_stats(engine->relay).errors == errors;
}

static size_t live_bytes(Host *host) {
  lua_gc(host->L, LUA_GCCOLLECT, 0);
  lua_gc(host->L, LUA_GCCOLLECT, 0);
  return host->memory.bytes;
}

static void each_allocation_may_be_refused_and_nothing_is_left(void **state) {
  World *world = *state;
  Engine *engine = &world->engine;
  Host *host = engine->script;
  for (int i = 0; i < 3; i++) assert_true(run(engine, host, 0));
  size_t before = live_bytes(host);
  uint32_t failed = 0;
  for (uint32_t n = 1; n <= REFUSALS_MAX; n++) {
    lua_gc(host->L, LUA_GCCOLLECT, 0);  // existing strings need no new memory
    bool is_good = run(engine, host, n);
    bool is_refused = host->memory.refuse_in == 0;
    if (!is_refused) {
      assert_true(is_good);
      break;
    }
    assert_false(is_good);
    failed++;
    assert_true(run(engine, host, 0));
  }
  assert_in_range(failed, 5, REFUSALS_MAX - 1);
  assert_true(live_bytes(host) < before + (4 << 20));
}

static void over_the_limit_a_handler_fails_and_the_next_runs(void **state) {
  World *world = *state;
  Engine *engine = &world->engine;
  Host *host = engine->script;
  ScriptLimits limits = host->deadline.limits, low = limits;
  low.memory = 1 << 16;  // less than is used, and no garbage exists
  host->memory.live_bytes = host->memory.bytes;
  script_set_limits(engine->script, &low);
  assert_false(run(engine, host, 0));
  script_set_limits(engine->script, &limits);
  assert_true(run(engine, host, 0));
}

static void compiled_code_survives_nan_as_a_key(void **state) {
  World *world = *state;
  assert_true(run(&world->engine, world->engine.script, 0));
}

// Stops the collector, as if it had just run, because a collector that works hides the
// fault.
static void compiled_code_survives_a_refusal(void **state) {
  World *world = *state;
  Host *host = world->engine.script;
  lua_gc(host->L, LUA_GCSTOP, 0);
  assert_false(run(&world->engine, host, 1));
  assert_int_equal(host->memory.refuse_in, 0);
  lua_gc(host->L, LUA_GCRESTART, 0);
  assert_true(run(&world->engine, host, 0));
}

static void expect_good(World *world) {
  Host *host = world->engine.script;
  if (!run(&world->engine, host, 0)) fail_msg("%s", (const char *)host->fault.data);
}

static void expect_failure(World *world, const char *text) {
  Host *host = world->engine.script;
  assert_false(run(&world->engine, host, 0));
  if (strstr((const char *)host->fault.data, text) == NULL)
    fail_msg("%s", (const char *)host->fault.data);
}

static void set_limit(World *world, size_t mib) {
  ScriptLimits limits = world->engine.script->deadline.limits;
  limits.memory = mib << 20;
  script_set_limits(world->engine.script, &limits);
}

static void a_handler_ends_where_it_passes_the_limit(void **state) {
  set_limit(*state, 64);
  expect_failure(*state, "the Lua heap is over memory_limit (64 MiB)");
}

static void what_a_failed_handler_leaves_is_collected_without_events(void **state) {
  World *world = *state;
  const Host *host = world->engine.script;
  assert_true(memory_is_pressed(host));
  while (memory_is_pressed(host))
    engine_drain(&world->engine, net_clock_us(world->engine.net));
  assert_true(host->memory.bytes < 48 << 20);
}

static void a_handler_does_not_fail_for_garbage(void **state) {
  expect_good(*state);  // keeps 40 MiB
  expect_good(*state);
}

static void a_handler_does_not_fail_for_what_others_keep(void **state) {
  expect_failure(*state, "the Lua heap is over memory_limit (64 MiB)");
  expect_good(*state);
  expect_good(*state);
}

static void concatenation_makes_no_string_of_more_than_32_mib(void **state) {
  set_limit(*state, 256);
  expect_good(*state);
  expect_failure(*state, "not enough memory");
}

static void the_table_of_all_strings_is_no_string(void **state) {
  World *world = *state;
  Host *host = world->engine.script;
  host->running = host->L;
  assert_false(memory_grants(host, 0, (MEMORY_TEXT_MAX / 24 + 2) * 24));
  assert_true(memory_grants(host, 0, 64 << 20));
  host->memory.was_refused = false;
  host->running = NULL;
}

static void no_block_takes_the_heap_far_over_the_limit(void **state) {
  set_limit(*state, 8);
  expect_failure(*state, "the Lua heap is over memory_limit (8 MiB)");
  set_limit(*state, 4);
  expect_failure(*state, "not enough memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation_may_be_refused_and_nothing_is_left),
      cmocka_unit_test(over_the_limit_a_handler_fails_and_the_next_runs),
  };
  const struct CMUnitTest compiled[] = {
      cmocka_unit_test(compiled_code_survives_nan_as_a_key),
      cmocka_unit_test(compiled_code_survives_a_refusal),
  };
  const struct CMUnitTest limited[] = {
      cmocka_unit_test(a_handler_ends_where_it_passes_the_limit),
      cmocka_unit_test(what_a_failed_handler_leaves_is_collected_without_events),
      cmocka_unit_test(a_handler_does_not_fail_for_garbage),
      cmocka_unit_test(a_handler_does_not_fail_for_what_others_keep),
      cmocka_unit_test(concatenation_makes_no_string_of_more_than_32_mib),
      cmocka_unit_test(the_table_of_all_strings_is_no_string),
      cmocka_unit_test(no_block_takes_the_heap_far_over_the_limit),
  };
  return cmocka_run_group_tests_name("jit", tests, set_up_jit, tear_down) +
         cmocka_run_group_tests_name("no jit", tests, set_up_no_jit, tear_down) +
         cmocka_run_group_tests(compiled, set_up_compiled, tear_down) +
         cmocka_run_group_tests(limited, set_up_limited, tear_down);
}
