// perigee.sim and its servers. Runs sim_suite.lua as a tool, and checks that the tool
// leaves no memory behind.
#include "server/sim_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "script/tool.h"

static void suite_passes(void **state) {
  (void)state;
  const SimOps *ops = sim_server_ops();
  assert_int_equal(
      script_tool_run("tests.c.server.sim_suite", 0, NULL, NULL, ops, NULL), 0);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(suite_passes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
