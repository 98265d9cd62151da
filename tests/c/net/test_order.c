// The promised order, compared with a model: for all joins, leaves, priorities,
// exceptions and iterations, each connection gets exactly the messages for it, in the
// order of sending within a priority.
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/internal.h"

enum { CONNS = 6, GROUPS = 4, STEPS = 4000 };

typedef struct World {
  Net *net;
  uint16_t port;
  uint32_t random;
  ConnId ids[CONNS];
  int sockets[CONNS];
  uint32_t count;
  GroupId groups[GROUPS];
  bool is_in[GROUPS][CONNS];
  Buf wanted[CONNS][PRIORITY_COUNT];
  Buf got[CONNS][PRIORITY_COUNT];
  Buf partial[CONNS];
} World;

// Returns a random number below `below`, from a linear congruential generator with the
// constants of Numerical Recipes. The same seed repeats a run.
static uint32_t choose(World *world, uint32_t below) {
  world->random = world->random * 1664525 + 1013904223;
  return (world->random >> 8) % below;
}

static void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  (void)info;
  World *world = data;
  world->ids[world->count++] = conn;
  return world;
}

static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  (void)data, (void)conn_data, (void)text, (void)size;
}

static void on_close(void *data, void *conn_data, Code code) {
  (void)data, (void)conn_data, (void)code;
}

static bool on_iteration(void *data, uint64_t now_us) {
  (void)data, (void)now_us;
  return false;
}

static void receive(World *world, uint32_t index) {
  Buf *partial = &world->partial[index];
  char bytes[65536];
  ssize_t n = recv(world->sockets[index], bytes, sizeof bytes, MSG_DONTWAIT);
  if (n > 0) buf_append(partial, bytes, (size_t)n);
  uint8_t *end;
  while (partial->size && (end = memchr(partial->data, '\n', partial->size))) {
    size_t size = (size_t)(end - partial->data) + 1;
    buf_append(&world->got[index][partial->data[0] - '0'], partial->data, size);
    buf_consume(partial, size);
  }
}

static void turn(World *world) {
  uv_run(&net_loop(world->net)->uv, UV_RUN_NOWAIT);
  for (uint32_t i = 0; i < world->count; i++) receive(world, i);
}

static void connect_all(World *world) {
  for (uint32_t i = 0; i < CONNS; i++) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(world->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    while (world->count == i) uv_run(&net_loop(world->net)->uv, UV_RUN_NOWAIT);
    world->sockets[i] = fd;
  }
}

static Out message(World *world, uint32_t number, char text[32]) {
  uint32_t priority = choose(world, PRIORITY_COUNT);
  uint32_t size = (uint32_t)snprintf(text, 32, "%u:%u\n", priority, number);
  return (Out){.parts = {text},
               .sizes = {size},
               .priority = (uint8_t)priority,
               .flags = choose(world, 10) == 0 ? OUT_URGENT : 0};
}

static void send_to_group(World *world, uint32_t number) {
  char text[32];
  uint32_t group = choose(world, GROUPS), except = choose(world, CONNS * 2);
  Out out = message(world, number, text);
  ConnId left_out = except < CONNS ? world->ids[except] : 0;
  net_group_write(world->net, world->groups[group], &out, &left_out, 1);
  for (uint32_t i = 0; i < CONNS; i++)
    if (world->is_in[group][i] && i != except)
      buf_append(&world->wanted[i][out.priority], text, out.sizes[0]);
}

static void send_to_one(World *world, uint32_t number) {
  char text[32];
  uint32_t index = choose(world, CONNS);
  Out out = message(world, number, text);
  net_write(world->net, world->ids[index], &out);
  buf_append(&world->wanted[index][out.priority], text, out.sizes[0]);
}

static void join_or_leave(World *world) {
  uint32_t group = choose(world, GROUPS), index = choose(world, CONNS);
  bool *is_in = &world->is_in[group][index];
  if (*is_in)
    net_group_leave(world->net, world->groups[group], world->ids[index]);
  else
    net_group_join(world->net, world->groups[group], world->ids[index]);
  *is_in = !*is_in;
}

static void replace_group(World *world) {
  uint32_t group = choose(world, GROUPS);
  net_group_close(world->net, world->groups[group]);
  world->groups[group] = net_group_open(world->net, group + 1);
  memset(world->is_in[group], 0, sizeof world->is_in[group]);
}

static void step(World *world, uint32_t number) {
  uint32_t dice = choose(world, 100);
  if (dice < 55)
    send_to_group(world, number);
  else if (dice < 75)
    send_to_one(world, number);
  else if (dice < 90)
    join_or_leave(world);
  else if (dice < 91)
    replace_group(world);
  else
    turn(world);
}

static size_t missing(const World *world) {
  size_t size = 0;
  for (uint32_t i = 0; i < CONNS; i++)
    for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
      size += world->wanted[i][p].size - world->got[i][p].size;
  return size;
}

static void compare(World *world) {
  for (uint32_t i = 0; i < CONNS; i++)
    for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
      buf_u8(&world->wanted[i][p], 0);
      buf_u8(&world->got[i][p], 0);
      assert_string_equal(world->got[i][p].data, world->wanted[i][p].data);
    }
}

static void run(uint32_t seed, uint32_t batch_hz) {
  static const NetEvents events = {
      .open = on_open, .line = on_line, .close = on_close, .iteration = on_iteration};
  NetLimits limits = {.max_payload = 1024, .channel_capacity = 100000};
  limits.batch_hz = batch_hz;
  World world = {.random = seed};
  world.net = net_new(&limits, &events, &world);
  assert_int_equal(net_listen(world.net, "127.0.0.1", &world.port, FRAMING_LINES), 0);
  connect_all(&world);
  for (uint32_t i = 0; i < GROUPS; i++)
    world.groups[i] = net_group_open(world.net, i + 1);
  for (uint32_t i = 0; i < STEPS; i++) step(&world, i);
  for (int i = 0; i < 2000 && missing(&world) > 0; i++) {
    turn(&world);
    poll(NULL, 0, 1);
  }
  compare(&world);
  for (uint32_t i = 0; i < CONNS; i++) {
    close(world.sockets[i]);
    buf_deinit(&world.partial[i]);
    for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
      buf_deinit(&world.wanted[i][p]);
      buf_deinit(&world.got[i][p]);
    }
  }
  net_free(world.net);
  assert_int_equal(mem_live(), 0);
}

static void everyone_gets_its_stream_in_order_each_iteration(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 20; seed++) run(seed, 0);
}

static void everyone_gets_its_stream_in_order_at_each_flush(void **state) {
  (void)state;
  for (uint32_t seed = 100; seed <= 120; seed++) run(seed, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everyone_gets_its_stream_in_order_each_iteration),
      cmocka_unit_test(everyone_gets_its_stream_in_order_at_each_flush),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
