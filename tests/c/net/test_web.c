// Unidentified connections: their deadlines, and the memory that they leave.
#define _GNU_SOURCE  // mkdtemp
#include "net/web.h"

#include "net/protocol/http/site.h"
#include "net/protocol/protocols.h"
#include "socket_world.h"

static const char HEALTH[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
static const char UPGRADE[] =
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
    "Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

enum { HANDSHAKE_MS = 5000, BIG_FILE = 32 << 20 };

static void open_world(World *world) {
  NetLimits limits = DEFAULTS;
  limits.handshake_timeout_ms = HANDSHAKE_MS;
  world_open(world, limits, FRAMING_SNIFF);
}

static int come(World *world) {
  int fd = connect_to(world->port);
  int before = world->visitors;
  while (world->visitors == before) turn(world);
  return fd;
}

static void say(int fd, const char *text) {
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect_start(World *world, int fd, const char *start) {
  char bytes[4096];
  assert_true(hear(world, fd, bytes, sizeof bytes) > 0);
  assert_memory_equal(bytes, start, strlen(start));
}

static const Conn *first_conn(const World *world) {
  uint32_t cursor = 0;
  return slots_next(&world->net->conns, &cursor);
}

static bool is_begun(const Conn *conn) {
  return conn->protocol == &WEBSOCKET && WEBSOCKET.is_begun(conn);
}

static void next_request_has_a_while_to_begin(void **state) {
  (void)state;
  World world;
  open_world(&world);
  int fd = come(&world);
  say(fd, HEALTH);
  expect_start(&world, fd, "HTTP/1.1 200 OK\r\n");
  run_timers(&world, HTTP_KEEP_ALIVE_MS - 100);
  expect_silence(&world, fd);
  run_timers(&world, HTTP_KEEP_ALIVE_MS + 100);
  char byte[2];
  assert_int_equal(hear(&world, fd, byte, sizeof byte), 0);
  assert_int_equal(world.visitors, 0);
  close(fd);
  world_close(&world);
}

static void request_has_the_time_of_a_handshake(void **state) {
  (void)state;
  World world;
  open_world(&world);
  int fd = come(&world);
  say(fd, "GET / HT");
  expect_silence(&world, fd);
  run_timers(&world, HANDSHAKE_MS - 500);
  expect_silence(&world, fd);
  run_timers(&world, HANDSHAKE_MS + 100);
  expect_start(&world, fd, "HTTP/1.1 408 Request Timeout\r\n");
  assert_int_equal(world.visitors, 0);
  close(fd);
  world_close(&world);
}

static void silent_visitor_becomes_known(void **state) {
  (void)state;
  World world;
  open_world(&world);
  int fd = come(&world);
  run_timers(&world, HANDSHAKE_MS - 500);
  assert_int_equal(world.count, 0);
  run_timers(&world, HANDSHAKE_MS + 100);
  assert_int_equal(world.count, 1);
  assert_int_equal(world.visitors, 0);
  world.sockets[0] = fd;
  world_close(&world);
}

static void refused_visitor_is_told_in_his_language(void **state) {
  (void)state;
  World world;
  open_world(&world);
  world.refusal = "there are too many";
  int browser = come(&world), client = come(&world);
  say(browser, HEALTH);
  expect_start(&world, browser, "HTTP/1.1 503 Service Unavailable\r\n");
  world.is_refusing = true;
  run_timers(&world, SNIFF_REFUSED_MS + 100);
  char byte[2];
  assert_int_equal(hear(&world, client, byte, sizeof byte), 0);
  assert_int_equal(world.visitors, 2);  // a refused connection does not leave
  close(browser);
  close(client);
  world_close(&world);
}

// Makes a folder with a file that is larger than all buffers of the system.
static char *make_folder(void) {
  static char folder[] = "/tmp/perigee-web-XXXXXX";
  strcpy(folder + sizeof folder - 7, "XXXXXX");
  assert_non_null(mkdtemp(folder));
  char path[64];
  snprintf(path, sizeof path, "%s/big", folder);
  FILE *file = fopen(path, "w");
  assert_int_equal(ftruncate(fileno(file), BIG_FILE), 0);
  fclose(file);
  return folder;
}

static void remove_folder(const char *folder) {
  char path[64];
  snprintf(path, sizeof path, "%s/big", folder);
  unlink(path);
  rmdir(folder);
}

static void answer_that_nobody_takes_is_given_up(void **state) {
  (void)state;
  World world;
  open_world(&world);
  char *folder = make_folder();
  net_set_web(world.net, &(WebOptions){.folder = folder});
  int fd = come(&world);
  say(fd, "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (!first_conn(&world) || !first_conn(&world)->out.backlog) turn(&world);
  for (int i = 0; i < 100; i++) turn(&world);
  // Only a piece of the file waits, for a file of any size.
  assert_true(first_conn(&world)->out.backlog->writing.size <= FILE_CHUNK_BYTES);
  run_timers(&world, HTTP_STALL_MS - 1000);
  assert_non_null(first_conn(&world));
  run_timers(&world, HTTP_STALL_MS + 100);
  assert_null(first_conn(&world));
  assert_int_equal(world.visitors, 0);
  close(fd);
  world_close(&world);
  remove_folder(folder);
}

// A request that arrived in time is not late, even if the server needs long to open the file.
static void request_under_way_is_not_late(void **state) {
  (void)state;
  World world;
  open_world(&world);
  char *folder = make_folder();
  net_set_web(world.net, &(WebOptions){.folder = folder});
  int fd = come(&world);
  uint64_t waits_ms[] = {HANDSHAKE_MS + 100, HTTP_KEEP_ALIVE_MS + 100};
  for (int i = 0; i < 2; i++) {
    say(fd, "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (first_conn(&world)->in.bytes.size == 0) turn(&world);
    run_timers(&world, waits_ms[i]);
    expect_start(&world, fd, "HTTP/1.1 404 Not Found\r\n");
  }
  assert_int_equal(world.count, 0);
  close(fd);
  world_close(&world);
  remove_folder(folder);
}

static void websocket_at_rest_keeps_nothing(void **state) {
  (void)state;
  World world;
  open_world(&world);
  int fd = come(&world);
  say(fd, UPGRADE);
  expect_start(&world, fd, "HTTP/1.1 101 Switching Protocols\r\n");
  // A packet without a payload in two fragments, the mask zero.
  static const uint8_t first[] = {2, 0x86, 0, 0, 0, 0, 0, 0, 11, 0, 2, 0};
  static const uint8_t second[] = {0x80, 0x86, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(send(fd, first, sizeof first, 0), sizeof first);
  while (!is_begun(first_conn(&world))) turn(&world);
  assert_int_equal(world.packets, 0);
  assert_int_equal(send(fd, second, sizeof second, 0), sizeof second);
  while (world.packets == 0) turn(&world);
  assert_false(is_begun(first_conn(&world)));
  assert_null(first_conn(&world)->in.bytes.data);
  assert_null(first_conn(&world)->info);
  assert_int_equal(world.visitors, 0);
  world.sockets[0] = fd;
  world_close(&world);
}

static void websocket_that_is_not_read_has_time_to_finish_afterwards(void **state) {
  (void)state;
  World world;
  open_world(&world);
  int fd = come(&world);
  say(fd, UPGRADE);
  expect_start(&world, fd, "HTTP/1.1 101 Switching Protocols\r\n");
  // A packet without a payload, and the first byte of another message.
  static const uint8_t bytes[] = {0x82, 0x8c, 0, 0, 0, 0, 0, 0, 11,  0,
                                  2,    0,    0, 0, 0, 0, 0, 0, 0x82};
  assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
  while (world.packets == 0) turn(&world);
  ConnId id = first_conn(&world)->self.id;
  assert_true(is_begun(first_conn(&world)));
  net_throttle(world.net, id);
  conn_find(world.net, id)->in.since_ms -= NET_PACKET_DEADLINE_MS + 1000;
  run_timers(&world, NET_PACKET_DEADLINE_MS + 1000);
  net_unthrottle(world.net, id);
  turn(&world);
  run_timers(&world, NET_PACKET_DEADLINE_MS / 2);
  assert_int_equal(world.last_fault, 0);
  world.sockets[0] = fd;
  world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(next_request_has_a_while_to_begin),
      cmocka_unit_test(request_has_the_time_of_a_handshake),
      cmocka_unit_test(silent_visitor_becomes_known),
      cmocka_unit_test(refused_visitor_is_told_in_his_language),
      cmocka_unit_test(answer_that_nobody_takes_is_given_up),
      cmocka_unit_test(request_under_way_is_not_late),
      cmocka_unit_test(websocket_at_rest_keeps_nothing),
      cmocka_unit_test(websocket_that_is_not_read_has_time_to_finish_afterwards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
