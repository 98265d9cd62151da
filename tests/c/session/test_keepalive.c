// PING and PONG, silence, and the deadline for HELLO, on a clock that the test moves.
#include "world.h"

// The server sends pings in batches, so a ping may be late by this much.
enum { INTERVAL_MS = 13000, BATCH_MS = INTERVAL_MS / 100 };

// Returns the value of the PING that must have come.
static uint64_t take_ping(World *world, ConnId conn) {
  const Sent *sent = expect_control(world->net, conn, CONTROL_PING);
  assert_int_equal(sent->priority, PRIORITY_CRITICAL);
  assert_true(sent->flags & OUT_KEEP);
  expect_no_answer(sent);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  uint64_t value = reader_u64(&reader);
  assert_true(reader_is_done(&reader));
  return value;
}

// Waits until the next PING must have come.
static uint64_t wait_for_ping(World *world, ConnId conn) {
  fake_advance(world->net, INTERVAL_MS + BATCH_MS);
  return take_ping(world, conn);
}

static void pong(World *world, ConnId conn, uint64_t value) {
  Buf payload = with_u64(value);
  say(world->net, conn, control(CONTROL_PONG), &payload);
}

static void expect_end(World *world, ConnId conn, Code code) {
  expect_code(world->net, conn, CONTROL_CLOSING, code);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(world->reason, code);
}

static void a_peer_that_says_nothing_is_closed_in_time(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  fake_advance(world->net, 4999);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_HANDSHAKE_TIMEOUT);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(session_stats(world->session).ended[CODE_HANDSHAKE_TIMEOUT], 1);
}

static void a_peer_is_pinged_every_interval(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  uint64_t start_ms = net_now_ms(world->net);
  for (uint64_t i = 1; i <= 20; i++) {
    fake_advance(world->net, start_ms + i * INTERVAL_MS - 1 - net_now_ms(world->net));
    expect_nothing(world->net, conn);
    fake_advance(world->net, 1 + BATCH_MS);
    pong(world, conn, take_ping(world, conn));
    expect_nothing(world->net, conn);
  }
  assert_int_equal(world->disconnects, 0);
}

static void peers_that_came_at_different_times_are_pinged_together(void **state) {
  World *world = *state;
  ConnId conns[8];
  for (int i = 0; i < 8; i++) {
    conns[i] = join_tcp(world, "ann");
    fake_advance(world->net, 10);
  }
  uint64_t wakes = 0, last_ms = 0;
  uint64_t end_ms = net_now_ms(world->net) + INTERVAL_MS + BATCH_MS;
  for (uint64_t next_ms;
       (next_ms = timers_next_ms(net_timers(world->net))) <= end_ms;) {
    wakes += next_ms != last_ms;
    last_ms = next_ms;
    fake_advance(world->net, next_ms - net_now_ms(world->net));
  }
  for (int i = 0; i < 8; i++) take_ping(world, conns[i]);
  assert_in_range(wakes, 1, 2);
}

static void a_missing_pong_is_a_ping_timeout(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  wait_for_ping(world, conn);
  Buf name = with_str8("lobby");
  fake_advance(world->net, 12000);
  say(world->net, conn, control(CONTROL_JOIN), &name);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1000);
  expect_end(world, conn, CODE_PING_TIMEOUT);
}

static void a_pong_with_another_value_does_not_count(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  pong(world, conn, 1);
  pong(world, conn, wait_for_ping(world, conn) + 1);
  assert_int_equal(peer_of(world)->latency_us, 0);
  fake_advance(world->net, INTERVAL_MS);
  expect_end(world, conn, CODE_PING_TIMEOUT);
}

static void latency_is_the_time_between_ping_and_pong(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  assert_int_equal(peer_of(world)->latency_us, 0);
  uint64_t due_ms = timers_next_ms(net_timers(world->net));
  fake_advance(world->net, due_ms - net_now_ms(world->net));
  uint64_t value = take_ping(world, conn);
  fake_advance(world->net, 42);
  pong(world, conn, value);
  assert_int_equal(peer_of(world)->latency_us, 42000);
}

static void silence_is_an_idle_timeout(void **state) {
  World *world = *state;
  world->limits.ping_interval_ms = 60000;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, 30999);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1);
  expect_end(world, conn, CODE_IDLE_TIMEOUT);
}

static void any_packet_is_activity(void **state) {
  World *world = *state;
  world->limits.ping_interval_ms = 0;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  for (int i = 0; i < 5; i++) {
    Buf data = with_data(1, "x");
    fake_advance(world->net, 30000);
    say(world->net, conn, control(CONTROL_BROADCAST), &data);
  }
  fake_advance(world->net, 30999);
  assert_int_equal(world->disconnects, 0);
  fake_advance(world->net, 1);
  expect_end(world, conn, CODE_IDLE_TIMEOUT);
}

static void pongs_alone_keep_a_peer_alive(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, BATCH_MS);
  for (int i = 0; i < 10; i++) {
    fake_advance(world->net, INTERVAL_MS);
    pong(world, conn, take_ping(world, conn));
  }
  assert_int_equal(world->disconnects, 0);
}

static void text_peers_are_not_pinged_but_may_idle_out(void **state) {
  World *world = *state;
  ConnId conn = open_text(world);
  fake_next(world->net, conn);
  fake_advance(world->net, 20000);
  fake_line(world->net, conn, "hi");
  fake_advance(world->net, 30999);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1);
  expect_line(world->net, conn, "! IdleTimeout: nothing came for too long");
  assert_int_equal(world->reason, CODE_IDLE_TIMEOUT);
}

static void a_peer_that_waits_for_an_answer_idles_out(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  fake_advance(world->net, 31000);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_IDLE_TIMEOUT);
  assert_int_equal(world->disconnects, 0);
  assert_false(session_accept(world->session, world->peer, (Text){0}));
}

static void zero_switches_the_deadlines_off(void **state) {
  World *world = *state;
  world->limits.ping_interval_ms = world->limits.idle_timeout_ms = 0;
  world->limits.handshake_timeout_ms = 0;
  limit(world);
  ConnId quiet = open_tcp(world);
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, 10000000);
  expect_nothing(world->net, conn);
  expect_nothing(world->net, quiet);
  assert_int_equal(timers_next_ms(net_timers(world->net)), UINT64_MAX);
}

static void a_stopped_process_does_not_ping_in_a_burst(void **state) {
  World *world = *state;
  world->limits.idle_timeout_ms = 0;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_jump(world->net, 100000);
  fake_advance(world->net, 1000);
  pong(world, conn, take_ping(world, conn));
  expect_nothing(world->net, conn);
  fake_advance(world->net, INTERVAL_MS - 1);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1 + BATCH_MS);
  take_ping(world, conn);
}

static void what_came_while_the_process_stood_still_counts(void **state) {
  World *world = *state;
  ConnId ann = join_tcp(world, "ann"), bob = join_tcp(world, "bob");
  fake_advance(world->net, INTERVAL_MS + BATCH_MS);
  uint64_t value = take_ping(world, ann);
  take_ping(world, bob);
  fake_jump(world->net, 100000);
  assert_false(fake_is_closed(world->net, ann));
  pong(world, ann, value);
  fake_advance(world->net, 1000);
  assert_false(fake_is_closed(world->net, ann));
  assert_true(fake_is_closed(world->net, bob));
}

static void a_late_ping_leaves_time_to_answer(void **state) {
  World *world = *state;
  world->limits.ping_interval_ms = 1000;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_jump(world->net, 1900);
  take_ping(world, conn);
  fake_advance(world->net, 990);
  assert_false(fake_is_closed(world->net, conn));
  fake_advance(world->net, 20);
  expect_end(world, conn, CODE_PING_TIMEOUT);
}

static void a_ping_from_the_client_is_answered(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Buf value = with_u64(0x1122334455667788);
  say(world->net, conn, asking(control(CONTROL_PING), 5), &value);
  const Sent *sent = expect_control(world->net, conn, CONTROL_PONG);
  expect_answer(sent, 5);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u64(&reader), 0x1122334455667788);
  assert_int_equal(sent->priority, PRIORITY_CRITICAL);
  assert_int_equal(world->packets, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void changed_limits_hold_for_those_who_are_there(void **state) {
  World *world = *state;
  world->limits.ping_interval_ms = world->limits.idle_timeout_ms = 0;
  limit(world);
  ConnId conn = join_tcp(world, "ann");
  fake_advance(world->net, 100000);
  expect_nothing(world->net, conn);
  world->limits.ping_interval_ms = INTERVAL_MS;
  limit(world);
  pong(world, conn, wait_for_ping(world, conn));
  world->limits.ping_interval_ms = 1000;
  limit(world);
  fake_advance(world->net, 1010);
  pong(world, conn, take_ping(world, conn));
  world->limits.ping_interval_ms = 0;
  world->limits.idle_timeout_ms = 5000;
  limit(world);
  fake_advance(world->net, 4999);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1);
  expect_end(world, conn, CODE_IDLE_TIMEOUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_peer_that_says_nothing_is_closed_in_time),
      TEST(a_peer_is_pinged_every_interval),
      TEST(peers_that_came_at_different_times_are_pinged_together),
      TEST(a_missing_pong_is_a_ping_timeout),
      TEST(a_pong_with_another_value_does_not_count),
      TEST(latency_is_the_time_between_ping_and_pong),
      TEST(silence_is_an_idle_timeout),
      TEST(any_packet_is_activity),
      TEST(pongs_alone_keep_a_peer_alive),
      TEST(text_peers_are_not_pinged_but_may_idle_out),
      TEST(a_peer_that_waits_for_an_answer_idles_out),
      TEST(zero_switches_the_deadlines_off),
      TEST(a_stopped_process_does_not_ping_in_a_burst),
      TEST(what_came_while_the_process_stood_still_counts),
      TEST(a_late_ping_leaves_time_to_answer),
      TEST(a_ping_from_the_client_is_answered),
      TEST(changed_limits_hold_for_those_who_are_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
