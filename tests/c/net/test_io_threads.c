// Connections that other threads serve: received and written bytes follow the promises
// of net.h.
#include <sys/resource.h>

#include "net/threads_world.h"

static void test_lines(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  assert_ptr_not_equal(thread_of(&world, peers[0]), thread_of(&world, peers[1]));
  for (int i = 0; i < 4; i++) count_off(&world, peers[i], 0, 500);
  for (int i = 0; i < 4; i++) turn_until_lines(&world, peers[i], 500);
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "a\n");
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "b\n");
  for (int i = 0; i < 4; i++) expect(&world, peers[i], "a\nb\n");
  NetSent sent = net_sent(world.net, peers[0]->id);
  assert_int_equal(sent.packets, 2);
  assert_int_equal(sent.bytes, 4);
  assert_int_equal(net_sent_in_all(world.net).packets, 8);
  close_world(&world);
}

static void test_packets(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_SNIFF);
  // A silent connection is unidentified; the first byte identifies this one.
  int fd = connect_to(world.port);
  for (int i = 0; i < TRIES && world.visitors == 0; i++) turn(&world);
  assert_int_equal(world.visitors, 1);
  uint8_t bytes[PACKET_HEADER_SIZE + 3] = {0};
  packet_write_header(bytes, &(Packet){.channel = 2, .priority = 2, .length = 3});
  memcpy(bytes + PACKET_HEADER_SIZE, "abc", 3);
  assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
  world.sockets[0] = fd;
  uint8_t got[sizeof bytes];
  size_t size = 0;
  for (int i = 0; i < TRIES && size < sizeof got; i++) {
    turn(&world);
    ssize_t n = recv(fd, got + size, sizeof got - size, MSG_DONTWAIT);
    if (n > 0) size += (size_t)n;
  }
  assert_memory_equal(got, bytes, sizeof bytes);
  assert_int_equal(world.visitors, 0);
  close_world(&world);
}

static void test_fault(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world), *other = join(&world);
  net_set_max_payload(world.net, peer->id, 20);
  say(&world, peer, "short\n");
  turn_until_lines(&world, peer, 1);
  say(&world, peer, "this one is longer than what was allowed\nshort\n");
  expect_end(&world, peer);
  assert_int_equal(peer->faults, 1);
  assert_int_equal(peer->lines, 1);
  say(&world, other, "this one is longer than what was allowed\n");
  turn_until_lines(&world, other, 1);
  close_world(&world);
}

static void test_hold(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[3];
  for (int i = 0; i < 3; i++) peers[i] = join(&world);
  GroupId group = net_group_open(world.net, 7);
  for (int i = 0; i < 3; i++) net_group_join(world.net, group, peers[i]->id);
  Out all = {.parts = {"all\n"}, .sizes = {4}};
  net_hold(world.net, peers[0]->id);
  write_line(&world, peers[0], "welcome\n");
  net_group_write(world.net, group, &all, NULL, 0);
  for (int i = 1; i < 3; i++) expect(&world, peers[i], "all\n");
  char byte;
  assert_int_equal(recv(socket_of(&world, peers[0]), &byte, 1, MSG_DONTWAIT), -1);
  net_release(world.net, peers[0]->id);
  write_line(&world, peers[0], "last\n");
  expect(&world, peers[0], "welcome\nall\nlast\n");
  close_world(&world);
}

static void test_groups(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  GroupId group = net_group_open(world.net, 7);
  for (int i = 0; i < 4; i++) net_group_join(world.net, group, peers[i]->id);
  net_group_join(world.net, group, peers[0]->id);  // a second join has no effect
  Out one = {.parts = {"one\n"}, .sizes = {4}},
      two = {.parts = {"two\n"}, .sizes = {4}};
  const ConnId except[] = {peers[1]->id, peers[2]->id, peers[2]->id};
  net_group_write(world.net, group, &one, except, 3);
  write_line(&world, peers[1], "direct\n");
  net_group_write(world.net, group, &two, NULL, 0);
  expect(&world, peers[0], "one\ntwo\n");
  expect(&world, peers[1], "direct\ntwo\n");
  expect(&world, peers[2], "two\n");
  expect(&world, peers[3], "one\ntwo\n");
  // One thread has no members of the group any more.
  net_group_leave(world.net, group, peers[0]->id);
  net_group_leave(world.net, group, peers[2]->id);
  net_group_write(world.net, group, &one, NULL, 0);
  net_group_leave(world.net, group, peers[3]->id);
  net_group_write(world.net, group, &two, &except[0], 1);
  net_group_write(world.net, group, &two, NULL, 0);
  net_group_close(world.net, group);
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "end\n");
  expect(&world, peers[0], "end\n");
  expect(&world, peers[1], "one\ntwo\nend\n");
  expect(&world, peers[2], "end\n");
  expect(&world, peers[3], "one\nend\n");
  close_world(&world);
}

// A connection that has ended has left its groups. A new group at the same place is
// another group.
static void test_group_after_end(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *gone = join(&world), *other = join(&world), *third = join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, gone->id);
  net_group_join(world.net, group, other->id);
  net_close(world.net, gone->id);
  net_group_write(world.net, group, &(Out){.parts = {"x\n"}, .sizes = {2}}, NULL, 0);
  expect_end(&world, gone);
  expect(&world, other, "x\n");
  net_group_close(world.net, group);
  for (int i = 0; i < 100; i++) {
    group = net_group_open(world.net, 1);
    net_group_join(world.net, group, third->id);
    net_group_close(world.net, group);
  }
  group = net_group_open(world.net, 1);
  net_group_join(world.net, group, third->id);
  net_group_write(world.net, group, &(Out){.parts = {"y\n"}, .sizes = {2}}, NULL, 0);
  expect(&world, third, "y\n");
  close_world(&world);
}

static void test_no_threads(void **state) {
  (void)state;
  NetLimits limits = {.max_payload = 4096};
  World world = {0};
  world.net = net_new(&limits, &EVENTS, &world);
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  int next = dup(0);
  close(next);
  few = (struct rlimit){(rlim_t)next + 8, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  assert_int_equal(net_serve(world.net, 8), UV_EMFILE);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  close_world(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),      cmocka_unit_test(test_packets),
      cmocka_unit_test(test_fault),      cmocka_unit_test(test_hold),
      cmocka_unit_test(test_groups),     cmocka_unit_test(test_group_after_end),
      cmocka_unit_test(test_no_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
