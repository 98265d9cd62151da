// Fan-out over real sockets: order, priorities, exceptions, slow readers and their
// counters.

#include "socket_world.h"

static void group_reaches_everyone_but_the_excepted(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  for (int i = 0; i < 3; i++) join(&world);
  GroupId group = net_group_open(world.net, 7);
  for (int i = 0; i < 3; i++) net_group_join(world.net, group, world.ids[i]);
  const char *words[] = {"a", "b", "c", "d"};
  ConnId excepted[] = {world.ids[0], world.ids[0], world.ids[1], world.ids[0]};
  for (int i = 0; i < 4; i++) {
    Out out = out_of(words[i], PRIORITY_NORMAL);
    net_group_write(world.net, group, &out, &excepted[i], 1);
  }
  expect(&world, 0, "c\n");
  expect(&world, 1, "a\nb\nd\n");
  expect(&world, 2, "a\nb\nc\nd\n");
  world_close(&world);
}

static void streams_merge_in_the_order_of_sending(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  GroupId one = net_group_open(world.net, 1), two = net_group_open(world.net, 2);
  net_group_join(world.net, one, world.ids[0]);
  net_group_join(world.net, two, world.ids[0]);
  for (int i = 0; i < 3; i++) {
    Out a = out_of("one", PRIORITY_NORMAL), b = out_of("two", PRIORITY_NORMAL),
        c = out_of("direct", PRIORITY_NORMAL);
    net_group_write(world.net, one, &a, NULL, 0);
    net_write(world.net, world.ids[0], &c);
    net_group_write(world.net, two, &b, NULL, 0);
    net_group_write(world.net, one, &a, NULL, 0);
  }
  expect(&world, 0,
         "one\ndirect\ntwo\none\none\ndirect\ntwo\none\none\ndirect\ntwo\none\n");
  world_close(&world);
}

static void a_held_connection_gets_everything_later_and_in_order(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  join(&world);
  GroupId group = net_group_open(world.net, 1);
  for (int i = 0; i < 2; i++) net_group_join(world.net, group, world.ids[i]);
  Out welcome = out_of("welcome", PRIORITY_NORMAL),
      all = out_of("all", PRIORITY_NORMAL), last = out_of("last", PRIORITY_NORMAL);
  net_hold(world.net, world.ids[0]);
  net_hold(world.net, world.ids[0]);
  net_write(world.net, world.ids[0], &welcome);
  net_group_write(world.net, group, &all, NULL, 0);
  expect(&world, 1, "all\n");
  net_release(world.net, world.ids[0]);
  net_write(world.net, world.ids[0], &last);
  net_group_write(world.net, group, &all, NULL, 0);
  expect(&world, 1, "all\n");
  char byte;
  assert_int_equal(recv(world.sockets[0], &byte, 1, MSG_DONTWAIT), -1);
  assert_int_equal(net_queued(world.net, world.ids[0]).packets, 4);
  net_release(world.net, world.ids[0]);
  net_release(world.net, world.ids[0]);  // a second release has no effect
  net_write(world.net, world.ids[0], &last);
  expect(&world, 0, "welcome\nall\nlast\nall\nlast\n");
  assert_int_equal(net_queued(world.net, world.ids[0]).packets, 0);
  world_close(&world);
}

static void the_end_of_a_connection_ends_its_hold(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  Out welcome = out_of("welcome", PRIORITY_NORMAL),
      bye = out_of("bye", PRIORITY_NORMAL);
  net_hold(world.net, world.ids[0]);
  net_write(world.net, world.ids[0], &welcome);
  for (int i = 0; i < 5; i++) turn(&world);
  net_write(world.net, world.ids[0], &bye);
  net_close(world.net, world.ids[0]);
  expect(&world, 0, "welcome\nbye\n");
  world_close(&world);
}

static void held_messages_count_towards_the_capacity(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 3;
  World world;
  world_open(&world, limits, FRAMING_LINES);
  join(&world);
  net_hold(world.net, world.ids[0]);
  for (int i = 0; i < 5; i++) {
    Out out = out_of("x", PRIORITY_NORMAL);
    net_write(world.net, world.ids[0], &out);
    turn(&world);
  }
  assert_int_equal(world.dropped, 2);
  net_release(world.net, world.ids[0]);
  Out end = out_of("end", PRIORITY_NORMAL);
  turn(&world);
  net_write(world.net, world.ids[0], &end);
  expect(&world, 0, "x\nx\nx\nend\n");
  world_close(&world);
}

static void higher_priorities_go_first_in_a_flush(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, world.ids[0]);
  const struct {
    const char *text;
    Priority priority;
  } made[] = {{"low", PRIORITY_LOW},
              {"normal", PRIORITY_NORMAL},
              {"high", PRIORITY_HIGH},
              {"critical", PRIORITY_CRITICAL}};
  for (int i = 0; i < 4; i++) {
    Out out = out_of(made[i].text, made[i].priority);
    if (i % 2)
      net_write(world.net, world.ids[0], &out);
    else
      net_group_write(world.net, group, &out, NULL, 0);
  }
  expect(&world, 0, "critical\nhigh\nnormal\nlow\n");
  world_close(&world);
}

static void newer_message_replaces_older_with_its_key(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, world.ids[0]);
  const struct {
    const char *text;
    uint64_t key;
  } made[] = {{"x=1", 10}, {"y=1", 20}, {"event", 0}, {"x=2", 10}, {"x=3", 10}};
  for (int i = 0; i < 5; i++) {
    Out out = out_of(made[i].text, PRIORITY_NORMAL);
    out.key = made[i].key;
    net_group_write(world.net, group, &out, NULL, 0);
  }
  expect(&world, 0, "y=1\nevent\nx=3\n");
  world_close(&world);
}

static void member_gets_what_is_sent_while_it_is_in(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.batch_hz = 20;
  World world;
  world_open(&world, limits, FRAMING_LINES);
  join(&world);
  join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, world.ids[0]);
  Out first = out_of("first", PRIORITY_NORMAL),
      second = out_of("second", PRIORITY_NORMAL),
      third = out_of("third", PRIORITY_NORMAL);
  net_group_write(world.net, group, &first, NULL, 0);
  turn(&world);
  net_group_write(world.net, group, &first, NULL, 0);
  net_group_join(world.net, group, world.ids[1]);
  net_group_write(world.net, group, &second, NULL, 0);
  net_group_leave(world.net, group, world.ids[0]);
  net_group_write(world.net, group, &third, NULL, 0);
  expect(&world, 0, "first\nfirst\nsecond\n");
  expect(&world, 1, "second\nthird\n");
  world_close(&world);
}

static void urgent_message_takes_its_stream_along(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.batch_hz = 1;
  World world;
  world_open(&world, limits, FRAMING_LINES);
  join(&world);
  Out a = out_of("a", PRIORITY_NORMAL), b = out_of("b", PRIORITY_NORMAL),
      now = out_of("now", PRIORITY_CRITICAL);
  net_write(world.net, world.ids[0], &a);
  turn(&world);  // the first flush; the next one comes a second later
  net_write(world.net, world.ids[0], &b);
  net_write(world.net, world.ids[0], &now);
  expect(&world, 0, "a\nnow\n");
  b.flags = OUT_URGENT;
  net_write(world.net, world.ids[0], &b);
  expect(&world, 0, "b\nb\n");
  world_close(&world);
}

// Sends `count` numbered lines of LINE_SIZE bytes to a group; returns `count`.
static uint32_t flood(World *world, GroupId group, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    char text[LINE_SIZE];
    snprintf(text, sizeof text, "%015u", i);
    Out out = out_of(text, PRIORITY_NORMAL);
    net_group_write(world->net, group, &out, NULL, 0);
    if (i % 64 == 63) turn(world);
  }
  turn(world);
  return count;
}

static uint32_t drain(World *world, uint32_t index, uint32_t *last, bool *ordered) {
  char bytes[1 << 16];
  size_t size = 0;
  uint32_t lines = 0;
  int quiet = 0;
  *ordered = true;
  *last = 0;
  while (quiet < 20) {
    turn(world);
    ssize_t n =
        recv(world->sockets[index], bytes + size, sizeof bytes - size, MSG_DONTWAIT);
    if (n <= 0) {
      poll(NULL, 0, 1);
      quiet++;
      continue;
    }
    quiet = 0;
    size += (size_t)n;
    size_t at = 0;
    for (; size - at >= LINE_SIZE; at += LINE_SIZE) {
      uint32_t number = (uint32_t)strtoul(bytes + at, NULL, 10);
      if (lines && number <= *last) *ordered = false;
      *last = number;
      lines++;
    }
    memmove(bytes, bytes + at, size - at);
    size -= at;
  }
  return lines;
}

static void received_and_dropped_are_what_was_sent(Overflow overflow) {
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 100;
  limits.overflow = overflow;
  World world;
  world_open(&world, limits, FRAMING_LINES);
  join(&world);
  join(&world);
  GroupId group = net_group_open(world.net, 9);
  net_group_join(world.net, group, world.ids[0]);
  uint32_t sent = flood(&world, group, 600000);
  assert_true(world.dropped > 0);
  assert_int_equal(world.last_tag, 9);
  assert_int_equal(net_queued(world.net, world.ids[0]).packets, 100);
  Conn *conn = conn_find(world.net, world.ids[0]);
  assert_true(conn->out.backlog->lanes[PRIORITY_NORMAL].bytes.capacity < 64 * 1024);
  uint32_t last;
  bool ordered;
  uint32_t received = drain(&world, 0, &last, &ordered);
  assert_int_equal(received + world.dropped, sent);
  assert_true(ordered);
  if (overflow == DROP_OLDEST) assert_int_equal(last, sent - 1);
  assert_null(conn->out.backlog);
  world_close(&world);
}

static void newest_are_dropped_past_the_capacity(void **state) {
  (void)state;
  received_and_dropped_are_what_was_sent(DROP_NEWEST);
}

static void oldest_are_dropped_past_the_capacity(void **state) {
  (void)state;
  received_and_dropped_are_what_was_sent(DROP_OLDEST);
}

static void slow_consumer_is_a_fault_where_overflow_disconnects(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 100;
  limits.overflow = OVERFLOW_DISCONNECT;
  World world;
  world_open(&world, limits, FRAMING_LINES);
  join(&world);
  GroupId group = net_group_open(world.net, 9);
  net_group_join(world.net, group, world.ids[0]);
  flood(&world, group, 600000);
  assert_int_equal(world.last_fault, CODE_SLOW_CONSUMER);
  assert_null(conn_find(world.net, world.ids[0]));
  world_close(&world);
}

static void keyed_stream_to_a_stalled_reader_stays_small(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, world.ids[0]);
  flood(&world, group, 400000);
  assert_int_equal(net_queued(world.net, world.ids[0]).packets, 1024);
  // Unkeyed messages fill the queue. Drains it, and fills it with keyed messages alone.
  uint32_t last;
  bool ordered;
  drain(&world, 0, &last, &ordered);
  for (uint32_t i = 0; i < 600000; i++) {
    char text[LINE_SIZE];
    snprintf(text, sizeof text, "%015u", i);
    Out out = out_of(text, PRIORITY_NORMAL);
    out.key = 5;
    net_group_write(world.net, group, &out, NULL, 0);
    turn(&world);
    if (net_queued(world.net, world.ids[0]).packets > 0 && i > 500000) break;
  }
  assert_true(net_queued(world.net, world.ids[0]).packets <= 1);
  world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(group_reaches_everyone_but_the_excepted),
      cmocka_unit_test(streams_merge_in_the_order_of_sending),
      cmocka_unit_test(a_held_connection_gets_everything_later_and_in_order),
      cmocka_unit_test(the_end_of_a_connection_ends_its_hold),
      cmocka_unit_test(held_messages_count_towards_the_capacity),
      cmocka_unit_test(higher_priorities_go_first_in_a_flush),
      cmocka_unit_test(newer_message_replaces_older_with_its_key),
      cmocka_unit_test(member_gets_what_is_sent_while_it_is_in),
      cmocka_unit_test(urgent_message_takes_its_stream_along),
      cmocka_unit_test(newest_are_dropped_past_the_capacity),
      cmocka_unit_test(oldest_are_dropped_past_the_capacity),
      cmocka_unit_test(slow_consumer_is_a_fault_where_overflow_disconnects),
      cmocka_unit_test(keyed_stream_to_a_stalled_reader_stays_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
