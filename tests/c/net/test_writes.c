// Writes, counted: one for each member and frame whatever the mix, the priorities in
// their order within it; and a critical message waits for one write at most, however
// much of low priority was there before.
#define _GNU_SOURCE  // memmem
#include "socket_world.h"

enum { MEMBERS = 8, FLOOD = 4000 };

// What the connections' transports were given: real ones with a count in between.
typedef struct Watch {
  Transport transport;  // that counts
  const Transport *real;
  uint32_t tries[CONNS_MAX];   // of each connection
  uint32_t chunks;             // handed over to be written when there is room
  uint32_t bytes_of_critical;  // seen in what was written
  uint32_t chunks_before;      // handed over between `armed` and the first critical
  bool is_armed;
} Watch;

static Watch watch;
static World *watched;

static uint32_t index_of(const Conn *conn) {
  for (uint32_t i = 0; i < watched->count; i++)
    if (watched->ids[i] == conn->id) return i;
  return CONNS_MAX - 1;
}

// Lines of the test begin with their priority.
static char first_of_next(const uint8_t *line, const uint8_t *end) {
  const uint8_t *next = memchr(line, '\n', (size_t)(end - line));
  return next && next + 1 < end ? (char)next[1] : 0;
}

static void check_order(const uint8_t *bytes, size_t size, char *last) {
  const uint8_t *line = bytes, *end = bytes + size;
  while (line < end) {
    assert_true(line[0] >= *last);
    *last = (char)line[0];
    if (!first_of_next(line, end)) return;
    line = (const uint8_t *)memchr(line, '\n', (size_t)(end - line)) + 1;
  }
}

static int count_try(Conn *conn, const uv_buf_t *bufs, unsigned count) {
  char last = '0';
  watch.tries[index_of(conn)]++;
  if (!watch.is_armed)
    for (unsigned i = 0; i < count; i++)
      check_order((const uint8_t *)bufs[i].base, bufs[i].len, &last);
  return watch.real->try_write(conn, bufs, count);
}

static int count_write(Conn *conn, uint8_t *bytes, size_t size) {
  watch.chunks++;
  if (watch.is_armed && !watch.bytes_of_critical) {
    const uint8_t *found = memmem(bytes, size, "critical", 8);
    if (found) {
      watch.bytes_of_critical = 8;
      assert_ptr_equal(found, bytes);  // ahead of all that waits
    } else {
      watch.chunks_before++;
    }
  }
  return watch.real->write(conn, bytes, size);
}

static void watch_all(World *world) {
  watch = (Watch){0};
  watched = world;
  watch.real = conn_find(world->net, world->ids[0])->transport;
  watch.transport = *watch.real;
  watch.transport.try_write = count_try;
  watch.transport.write = count_write;
  for (uint32_t i = 0; i < world->count; i++)
    conn_find(world->net, world->ids[i])->transport = &watch.transport;
}

static void unwatch_all(World *world) {
  for (uint32_t i = 0; i < world->count; i++) {
    Conn *conn = conn_find(world->net, world->ids[i]);
    if (conn) conn->transport = watch.real;
  }
}

static uint32_t choose(uint32_t *random, uint32_t below) {
  *random = *random * 1664525 + 1013904223;
  return (*random >> 8) % below;
}

static Out line_of(uint32_t *random, char text[16]) {
  uint32_t priority = choose(random, PRIORITY_COUNT);
  int size = snprintf(text, 16, "%u\n", (unsigned)priority);
  return (Out){
      .parts = {text}, .sizes = {(uint32_t)size}, .priority = (uint8_t)priority};
}

static void drain_all(World *world) {
  static char bytes[1 << 16];
  for (uint32_t i = 0; i < world->count; i++)
    while (recv(world->sockets[i], bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

// Direct messages and those of three groups, with and without exceptions, in turn.
static void send_mix(World *world, const GroupId *groups, uint32_t *random) {
  char text[16];
  Out out = line_of(random, text);
  uint32_t what = choose(random, 4);
  if (what < 3) {
    ConnId except = world->ids[choose(random, MEMBERS)];
    net_group_write(world->net, groups[what], &out, &except, choose(random, 2));
  } else {
    net_write(world->net, world->ids[choose(random, MEMBERS)], &out);
  }
}

static void a_frame_is_one_write_for_each_member(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 30; seed++) {
    World world;
    uint32_t random = seed;
    GroupId groups[3];
    world_open(&world, DEFAULTS, FRAMING_LINES);
    for (int i = 0; i < MEMBERS; i++) join(&world);
    for (int i = 0; i < 3; i++) {
      groups[i] = net_group_open(world.net, (uint32_t)i + 1);
      for (int j = 0; j < MEMBERS; j++)
        net_group_join(world.net, groups[i], world.ids[j]);
    }
    for (int frame = 0; frame < 20; frame++) {
      watch_all(&world);
      uint32_t messages = 1 + choose(&random, 800);
      for (uint32_t i = 0; i < messages; i++) send_mix(&world, groups, &random);
      turn(&world);
      for (int i = 0; i < MEMBERS; i++) assert_in_range(watch.tries[i], 0, 1);
      if (messages > 100)
        for (int i = 0; i < MEMBERS; i++) assert_int_equal(watch.tries[i], 1);
      assert_int_equal(watch.chunks, 0);
      unwatch_all(&world);
      drain_all(&world);
    }
    world_close(&world);
  }
}

// Turns in which nothing is due write nothing: with frames, many turns share one write.
static void turns_within_a_frame_share_its_write(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  limits.batch_hz = 20;
  world_open(&world, limits, FRAMING_LINES);
  uint32_t index = join(&world);
  Out first = out_of("2", PRIORITY_NORMAL);
  net_write(world.net, world.ids[index], &first);
  expect(&world, index, "2\n");  // a frame has just been
  watch_all(&world);
  uint64_t start_us = net_clock_us(world.net);
  uint32_t turns = 0;
  while (net_clock_us(world.net) - start_us < 200000) {
    Out out = out_of("2", PRIORITY_NORMAL);
    net_write(world.net, world.ids[index], &out);
    turn(&world);
    turns++;
    poll(NULL, 0, 1);
  }
  assert_in_range(watch.tries[index], 1, 5);
  assert_true(turns > 5 * watch.tries[index] || turns < 20);
  unwatch_all(&world);
  world_close(&world);
}

// Low messages until the socket takes no more and `waiting` of them are kept.
static void flood(World *world, uint32_t index, uint32_t waiting) {
  static const char bytes[4000] = {'3'};
  for (;;) {
    const Backlog *backlog = conn_find(world->net, world->ids[index])->backlog;
    if (backlog && backlog->droppable >= waiting) return;
    net_write(
        world->net, world->ids[index],
        &(Out){.parts = {bytes}, .sizes = {sizeof bytes}, .priority = PRIORITY_LOW});
    turn(world);
  }
}

static void a_flood_delays_a_critical_message_by_one_write(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = FLOOD;
  world_open(&world, limits, FRAMING_LINES);
  uint32_t index = join(&world);
  watch_all(&world);
  watch.is_armed = true;
  flood(&world, index, FLOOD / 8);
  watch.chunks_before = 0;  // from here on they are between the message and its write
  Out out = out_of("critical", PRIORITY_CRITICAL);
  net_write(world.net, world.ids[index], &out);
  turn(&world);
  for (int i = 0; i < 10000 && !watch.bytes_of_critical; i++) {
    drain_all(&world);
    turn(&world);
  }
  assert_int_equal(watch.bytes_of_critical, 8);
  assert_int_equal(watch.chunks_before, 0);  // but the one that was under way
  unwatch_all(&world);
  struct linger now = {1, 0};
  setsockopt(world.sockets[index], SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(world.sockets[index]);
  world.sockets[index] = -1;
  while (world.net->backlog_bytes > 0) turn(&world);
  world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frame_is_one_write_for_each_member),
      cmocka_unit_test(turns_within_a_frame_share_its_write),
      cmocka_unit_test(a_flood_delays_a_critical_message_by_one_write),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
