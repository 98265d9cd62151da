// Development mode: notifications for pages, which no other client gets.
#include "world.h"

// Connects a peer by a WebSocket; returns its connection.
static ConnId join_page(World *world) {
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  peer_of(world)->transport = TRANSPORT_WS;
  assert_true(session_accept(world->session, world->peer, (Text){0}));
  world->answer = ACCEPT_AT_ONCE;
  expect_control(world->net, conn, CONTROL_WELCOME);
  return conn;
}

static void expect_text(World *world, ConnId conn, ControlType type, const char *text) {
  const Sent *sent = expect_control(world->net, conn, type);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  Text found = type == CONTROL_DEV_ASSET ? reader_str8(&reader) : reader_str16(&reader);
  assert_int_equal(found.size, strlen(text));
  assert_memory_equal(found.bytes, text, found.size);
}

static void pages_are_shown_what_is_wrong_and_when_it_is_not(void **state) {
  World *world = *state;
  session_set_dev_error(world->session, "");
  ConnId page = join_page(world);
  expect_text(world, page, CONTROL_DEV_ERROR, "");
  session_set_dev_error(world->session, "game.lua:1: no");
  expect_text(world, page, CONTROL_DEV_ERROR, "game.lua:1: no");
  session_set_dev_error(world->session, "game.lua:1: no");
  assert_null(fake_next(world->net, page));
  session_set_dev_error(world->session, "");
  expect_text(world, page, CONTROL_DEV_ERROR, "");
}

static void pages_that_come_learn_that_the_game_is_being_made(void **state) {
  World *world = *state;
  session_set_dev_error(world->session, "game.lua:1: no");
  expect_text(world, join_page(world), CONTROL_DEV_ERROR, "game.lua:1: no");
  session_set_dev_error(world->session, "");
  expect_text(world, join_page(world), CONTROL_DEV_ERROR, "");
}

static void pages_are_told_which_file_has_changed(void **state) {
  World *world = *state;
  ConnId page = join_page(world);
  session_notify_asset(world->session, "style.css");
  expect_text(world, page, CONTROL_DEV_ASSET, "style.css");
}

static void nobody_else_is_told(void **state) {
  World *world = *state;
  ConnId tcp = join_tcp(world, "bob"), text = open_text(world);
  while (fake_next(world->net, text) != NULL) continue;
  session_set_dev_error(world->session, "game.lua:1: no");
  session_notify_asset(world->session, "style.css");
  assert_null(fake_next(world->net, tcp));
  assert_null(fake_next(world->net, text));
}

static void nobody_is_told_where_nothing_is_made(void **state) {
  World *world = *state;
  session_set_dev_error(world->session, "game.lua:1: no");
  session_set_dev_error(world->session, NULL);
  assert_null(fake_next(world->net, join_page(world)));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(pages_are_shown_what_is_wrong_and_when_it_is_not),
      TEST(pages_that_come_learn_that_the_game_is_being_made),
      TEST(pages_are_told_which_file_has_changed),
      TEST(nobody_else_is_told),
      TEST(nobody_is_told_where_nothing_is_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
