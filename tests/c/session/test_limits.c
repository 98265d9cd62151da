// Clients that are refused, and clients that are closed for sending too much.
#include "world.h"

static void expect_full(World *world, ConnId conn) {
  expect_code(world->net, conn, CONTROL_REJECTED, CODE_SERVER_FULL);
  assert_true(fake_is_closed(world->net, conn));
}

static void hello_beyond_max_clients_is_rejected(void **state) {
  World *world = *state;
  for (int i = 0; i < 8; i++) join_tcp(world, "ann");
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("bob", "");
  say(world->net, conn, asking(control(CONTROL_HELLO), 2), &hello);
  expect_answer(expect_code(world->net, conn, CONTROL_REJECTED, CODE_SERVER_FULL), 2);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(session_count(world->session), 8);
}

static void those_who_are_being_asked_about_count(void **state) {
  World *world = *state;
  world->limits.max_clients = 1;
  limit(world);
  world->answer = ANSWER_LATER;
  ConnId first = open_tcp(world);
  say_hello(world->net, first, "ann");
  ConnId second = open_tcp(world);
  say_hello(world->net, second, "bob");
  expect_full(world, second);
}

static void a_place_that_becomes_free_is_given_again(void **state) {
  World *world = *state;
  world->limits.max_clients = 1;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_end(world->net, conn, CODE_CLOSED);
  join_tcp(world, "bob");
}

static void connections_far_beyond_are_refused_at_the_door(void **state) {
  World *world = *state;
  for (int i = 0; i < 8 + SESSION_SPARE; i++) open_tcp(world);
  ConnId conn = open_tcp(world);
  expect_full(world, conn);
  uint32_t cursor = 0, peers = 0;
  while (session_next(world->session, &cursor)) peers++;
  assert_int_equal(peers, 8 + SESSION_SPARE);
  assert_int_equal(session_stats(world->session).opened, 8 + SESSION_SPARE + 1);
  assert_int_equal(session_stats(world->session).ended[CODE_SERVER_FULL], 1);
}

static void text_peers_beyond_max_clients_are_refused(void **state) {
  World *world = *state;
  for (int i = 0; i < 8; i++) join_tcp(world, "ann");
  ConnId conn = open_text(world);
  expect_line(world->net, conn, "! ServerFull: the server is full");
  assert_true(fake_is_closed(world->net, conn));
}

static ConnId come_from(World *world, const char *address) {
  return fake_open(world->net, FRAMING_PACKETS, address);
}

static void a_network_of_ipv6_gets_as_many_as_one_address(void **state) {
  World *world = *state;
  world->limits.max_clients_per_address = 2;
  limit(world);
  come_from(world, "2001:db8:0:1::1");
  come_from(world, "2001:db8:0:1:ffff:ffff:ffff:ffff");
  expect_code(world->net, come_from(world, "2001:db8:0:1::2"), CONTROL_REJECTED,
              CODE_SERVER_FULL);
  ConnId other = come_from(world, "2001:db8:0:2::1");
  say_hello(world->net, other, "bob");
  expect_control(world->net, other, CONTROL_WELCOME);
  // Link-local addresses with the same prefix are separate.
  for (int i = 1; i <= 4; i++) {
    char address[32];
    snprintf(address, sizeof address, "fe80::%d", i);
    assert_false(fake_is_closed(world->net, come_from(world, address)));
  }
}

static void one_address_gets_so_many_connections(void **state) {
  World *world = *state;
  world->limits.max_clients_per_address = 2;
  limit(world);
  ConnId first = open_tcp(world);
  join_tcp(world, "ann");
  ConnId third = open_tcp(world);
  const Sent *sent = expect_code(world->net, third, CONTROL_REJECTED, CODE_SERVER_FULL);
  Reader reader = reader_of(sent->packet.payload + 2, sent->packet.length - 2);
  Text text = reader_str16(&reader);
  assert_memory_equal(text.bytes, "too many connections from your address", text.size);
  ConnId text_conn = open_text(world);
  expect_line(world->net, text_conn,
              "! ServerFull: too many connections from your address");
  ConnId other = fake_open(world->net, FRAMING_PACKETS, "192.0.2.2");
  say_hello(world->net, other, "bob");
  expect_control(world->net, other, CONTROL_WELCOME);
  fake_end(world->net, first, CODE_CLOSED);
  join_tcp(world, "eve");
}

static void fill(World *world, ConnId conn, int packets) {
  for (int i = 0; i < packets; i++) {
    Buf data = with_data(1, "x");
    say(world->net, conn, control(CONTROL_BROADCAST), &data);
  }
}

static void a_burst_of_twice_the_rate_is_allowed(void **state) {
  World *world = *state;
  world->limits.rate_limit = 10;
  world->limits.rate_limit_kicks = true;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, 1000);
  fill(world, conn, 20);
  assert_int_equal(world->packets, 20);
  fill(world, conn, 1);
  assert_int_equal(world->packets, 20);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_RATE_LIMITED);
  assert_int_equal(world->reason, CODE_RATE_LIMITED);
  assert_int_equal(session_stats(world->session).ended[CODE_RATE_LIMITED], 1);
}

static void the_rate_itself_can_go_on_for_ever(void **state) {
  World *world = *state;
  world->limits.rate_limit = 10;
  world->limits.ping_interval_ms = 0;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  for (int i = 0; i < 100; i++) {
    fake_advance(world->net, 1000);
    fill(world, conn, 10);
  }
  assert_int_equal(world->packets, 1000);
  assert_int_equal(world->disconnects, 0);
}

// Sends `count` packets, and lets time pass until the server has read them.
static uint64_t send_and_wait(World *world, ConnId conn, uint32_t count) {
  uint64_t passed_ms = 0;
  uint32_t wanted = world->packets + count;
  for (uint32_t i = 0; i < count; i++) fill(world, conn, 1);
  for (; world->packets < wanted; passed_ms++) {
    fake_advance(world->net, 1);
    fake_read(world->net, conn);
  }
  return passed_ms;
}

static void who_sends_more_than_the_rate_is_throttled_and_loses_nothing(void **state) {
  World *world = *state;
  world->limits.rate_limit = 10;
  world->limits.ping_interval_ms = 0;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, 1000);
  assert_int_equal(send_and_wait(world, conn, 20), 0);
  assert_false(fake_is_throttled(world->net, conn));
  assert_in_range(send_and_wait(world, conn, 50), 4000, 6000);
  assert_int_equal(world->disconnects, 0);
  assert_in_range(session_stats(world->session).throttled, 1, 50);
}

static void who_is_throttled_is_not_silent(void **state) {
  World *world = *state;
  world->limits.rate_limit = 1;
  world->limits.ping_interval_ms = 1000;
  world->limits.idle_timeout_ms = 3000;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  skip_all(world->net, conn);
  session_throttle(world->session, peer_of(world), THROTTLE_QUEUE);
  assert_true(fake_is_throttled(world->net, conn));
  fake_advance(world->net, 60000);
  assert_int_equal(world->disconnects, 0);
  session_release(world->session, peer_of(world), THROTTLE_QUEUE);
  assert_false(fake_is_throttled(world->net, conn));
  fake_advance(world->net, 990);
  assert_int_equal(world->disconnects, 0);
  fake_advance(world->net, 4000);
  assert_int_equal(world->disconnects, 1);
}

static void a_release_waits_for_all_reasons(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  session_throttle(world->session, peer_of(world), THROTTLE_QUEUE);
  session_throttle(world->session, peer_of(world), THROTTLE_RATE);
  session_release(world->session, peer_of(world), THROTTLE_QUEUE);
  assert_true(fake_is_throttled(world->net, conn));
  session_release(world->session, peer_of(world), THROTTLE_RATE);
  assert_false(fake_is_throttled(world->net, conn));
  assert_int_equal(session_stats(world->session).throttled, 1);
}

static void lines_count_as_packets(void **state) {
  World *world = *state;
  world->limits.rate_limit = 1;
  world->limits.rate_limit_kicks = true;
  limit(world);
  ConnId conn = open_text(world);
  skip_all(world->net, conn);
  for (int i = 0; i < 3; i++) fake_line(world->net, conn, "hi");
  assert_int_equal(world->lines, 2);
  expect_line(world->net, conn,
              "! RateLimited: more packets than the rate limit allows");
}

static void a_limit_set_later_holds_for_those_who_are_there(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  fill(world, conn, 100);
  world->limits.rate_limit = 5;
  world->limits.rate_limit_kicks = true;
  limit(world);
  fake_advance(world->net, 10000);
  fill(world, conn, 10);
  assert_int_equal(world->disconnects, 0);
  fill(world, conn, 1);
  assert_int_equal(world->disconnects, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(hello_beyond_max_clients_is_rejected),
      TEST(those_who_are_being_asked_about_count),
      TEST(a_place_that_becomes_free_is_given_again),
      TEST(connections_far_beyond_are_refused_at_the_door),
      TEST(text_peers_beyond_max_clients_are_refused),
      TEST(one_address_gets_so_many_connections),
      TEST(a_network_of_ipv6_gets_as_many_as_one_address),
      TEST(a_burst_of_twice_the_rate_is_allowed),
      TEST(who_sends_more_than_the_rate_is_throttled_and_loses_nothing),
      TEST(who_is_throttled_is_not_silent),
      TEST(a_release_waits_for_all_reasons),
      TEST(the_rate_itself_can_go_on_for_ever),
      TEST(lines_count_as_packets),
      TEST(a_limit_set_later_holds_for_those_who_are_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
