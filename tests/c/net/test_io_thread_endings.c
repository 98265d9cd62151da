// Connections that other threads serve: throttling, closing and ends, and the end of
// all connections.
#include "net/threads_world.h"

static void test_hold(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->hold_at = 3;
  count_off(&world, peer, 0, 100);
  turn_until_lines(&world, peer, 3);
  count_off(&world, peer, 100, 100);
  for (int i = 0; i < 50; i++) turn(&world);
  assert_int_equal(peer->lines, 3);
  net_unthrottle(world.net, peer->id);
  turn_until_lines(&world, peer, 200);
  close_world(&world);
}

// The end that came during the throttling is reported last.
static void test_end_while_held(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->hold_at = 2;
  count_off(&world, peer, 0, 10);
  shutdown(socket_of(&world, peer), SHUT_WR);
  turn_until_lines(&world, peer, 2);
  for (int i = 0; i < 50; i++) turn(&world);
  assert_int_equal(peer->closed, 0);
  net_unthrottle(world.net, peer->id);
  turn_until_lines(&world, peer, 10);
  for (int i = 0; i < TRIES && peer->closed == 0; i++) turn(&world);
  assert_int_equal(peer->closed, 1);
  close_world(&world);
}

// An answer in the iteration that reports the end is still written.
static void test_last_answer(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->answer_at = 3;
  count_off(&world, peer, 0, 3);
  shutdown(socket_of(&world, peer), SHUT_WR);
  expect(&world, peer, "answer\n");
  expect_end(&world, peer);
  for (int i = 0; i < TRIES && peer->closed == 0; i++) turn(&world);
  assert_int_equal(peer->closed, 1);
  close_world(&world);
}

// The Net also counts the bytes that a thread writes at the end of a connection.
static void test_last_words_are_counted(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world), *other = join(&world);
  NetCounter counter = {0}, closed = {0};
  net_set_counter(world.net, peer->id, &counter);
  net_set_counter(world.net, other->id, &closed);
  write_line(&world, peer, "first\n");
  expect(&world, peer, "first\n");
  write_line(&world, peer, "last words\n");
  write_line(&world, other, "last words\n");
  net_close(world.net, peer->id);
  net_close(world.net, other->id);
  net_close_counter(&closed);
  expect(&world, other, "last words\n");
  for (int i = 0; i < TRIES && counter.sent.packets < 2; i++) turn(&world);
  assert_int_equal(counter.sent.packets, 2);
  assert_int_equal(counter.sent.bytes, strlen("first\nlast words\n"));
  assert_int_equal(closed.sent.packets, 0);
  net_close_counter(&counter);
  close_world(&world);
}

static void test_closed_is_silent(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->close_at = 5;
  count_off(&world, peer, 0, 500);
  write_line(&world, peer, "bye\n");
  turn_until_lines(&world, peer, 5);
  expect(&world, peer, "bye\n");
  expect_end(&world, peer);
  for (int i = 0; i < 20; i++) turn(&world);
  assert_int_equal(peer->lines, 5);
  assert_int_equal(peer->closed, 0);
  close_world(&world);
}

static void test_stop(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world), *stalled = join(&world);
  int visitor = connect_to(world.port);
  write_line(&world, peer, "last words\n");
  static char much[1 << 20];
  memset(much, 'x', sizeof much);
  for (int i = 0; i < 16; i++)
    net_write(world.net, stalled->id,
              &(Out){.parts = {much}, .sizes = {sizeof much}, .flags = OUT_KEEP});
  net_stop(world.net);
  net_run(world.net);  // returns when the stalled connection has ended
  char got[16] = {0};
  assert_int_equal(recv(socket_of(&world, peer), got, sizeof got - 1, 0), 11);
  assert_string_equal(got, "last words\n");
  assert_int_equal(recv(socket_of(&world, peer), got, 1, 0), 0);
  close(visitor);
  close_world(&world);
}

// Ends the Net while all its handles are open, and events and commands still wait.
static void test_free_at_once(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  GroupId group = net_group_open(world.net, 1);
  for (int i = 0; i < 4; i++) net_group_join(world.net, group, peers[i]->id);
  net_throttle(world.net, peers[0]->id);
  for (int i = 0; i < 4; i++) count_off(&world, peers[i], 0, 100);
  int late = connect_to(world.port);
  poll(NULL, 0, 20);
  uv_run(&net_loop(world.net)->uv, UV_RUN_NOWAIT);
  close_world(&world);
  close(late);
}

// If threads wait for the main thread and their Net ends, no notification of free room
// follows.
static void test_free_while_held_back(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  static char lines[512 << 10];
  memset(lines, '\n', sizeof lines);
  for (int i = 0; i < 4; i++) {
    const Peer *peer = join(&world);
    say(&world, peer, "0\n");
    turn_until_lines(&world, peer, 1);
    for (int j = 0; j < 20; j++) turn(&world);  // the throttling has ended
    send(socket_of(&world, peer), lines, sizeof lines, MSG_DONTWAIT);
  }
  poll(NULL, 0, 100);
  close_world(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hold),
      cmocka_unit_test(test_end_while_held),
      cmocka_unit_test(test_last_answer),
      cmocka_unit_test(test_last_words_are_counted),
      cmocka_unit_test(test_closed_is_silent),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_free_at_once),
      cmocka_unit_test(test_free_while_held_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
