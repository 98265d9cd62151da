// Text peers that sign in: the name and the password are lines, and an unencrypted connection
// from another machine ends before the line with the password.
#include "world.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const char HINT[] = "* /login NAME, or anything else to go on as a guest";

static ConnId open_from(World *world, const char *address) {
  world->limits.has_accounts = true;
  limit(world);
  ConnId conn = fake_open(world->net, FRAMING_LINES, address);
  expect_line(world->net, conn, HINT);
  return conn;
}

static void the_line_after_login_is_the_password(void **state) {
  World *world = *state;
  ConnId conn = open_from(world, "127.0.0.1");
  fake_line(world->net, conn, "/login ada");
  assert_int_equal(world->sign_ins, 0);
  fake_line(world->net, conn, "open \"sesame\"");
  assert_int_equal(world->sign_ins, 1);
  assert_string_equal(world->line,
                      "{\"do\":\"sign_in\",\"name\":\"ada\","
                      "\"password\":\"open \\\"sesame\\\"\"}");
  assert_int_equal(world->connects, 0);
}

// Otherwise the peer would be a guest, whose next line, the password, goes to a room.
static void login_without_encryption_ends_the_connection(void **state) {
  World *world = *state;
  ConnId conn = open_from(world, "192.0.2.1");
  fake_line(world->net, conn, "/login ada");
  expect_line(world->net, conn,
              "! Unauthorized: signing in needs TLS (wss:// in a browser), so that "
              "nobody reads the password");
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(world->sign_ins + world->connects + world->lines, 0);
}

static void other_lines_go_on_as_a_guest(void **state) {
  World *world = *state;
  ConnId conn = open_from(world, "192.0.2.1");
  fake_line(world->net, conn, "hello");
  assert_int_equal(world->connects, 1);
  assert_string_equal(world->line, "hello");
}

static void a_setting_allows_login_without_encryption(void **state) {
  World *world = *state;
  world->limits.allows_insecure_accounts = true;
  ConnId conn = open_from(world, "192.0.2.1");
  fake_line(world->net, conn, "/login ada");
  fake_line(world->net, conn, "open sesame");
  assert_int_equal(world->sign_ins, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_line_after_login_is_the_password),
      TEST(login_without_encryption_ends_the_connection),
      TEST(other_lines_go_on_as_a_guest),
      TEST(a_setting_allows_login_without_encryption),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
