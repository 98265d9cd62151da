// The admin listener: deadlines of its connections, limits of the memory for them, and
// the limit of guesses of its token.
#include "net/admin.h"

#include "net/protocol/http/admin_port.h"
#include "socket_world.h"

enum { HANDSHAKE_MS = 5000, SOCKETS_MAX = 64 };

#define HEAD "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: a\r\n"

typedef struct AdminWorld {
  World world;
  uint16_t port;
  ConnId asked;  // connection of the newest request
  uint32_t requests, gone;
  char text[512];  // text of the newest request
} AdminWorld;

static void on_request(void *data, ConnId conn, Text text) {
  AdminWorld *world = data;
  world->asked = conn;
  world->requests++;
  snprintf(world->text, sizeof world->text, "%.*s", (int)text.size, text.bytes);
}

static void on_gone(void *data, ConnId conn) {
  (void)conn;
  ((AdminWorld *)data)->gone++;
}

static const AdminEvents WORLD_EVENTS = {.request = on_request, .gone = on_gone};

static void open_world(AdminWorld *world) {
  NetLimits limits = DEFAULTS;
  *world = (AdminWorld){.requests = 0};
  limits.handshake_timeout_ms = HANDSHAKE_MS;
  world_open(&world->world, limits, FRAMING_LINES);
  AdminOptions options = {.host = "127.0.0.1", .names = ""};
  assert_int_equal(net_admin_listen(world->world.net, &world->port, &options), 0);
  net_admin_serve(world->world.net, ADMIN_MCP, &WORLD_EVENTS, world);
}

static uint32_t conn_count(const AdminWorld *world) {
  return world->world.net->admin->conn_count;
}

static int come(AdminWorld *world) {
  int fd = connect_to(world->port);
  uint32_t before = conn_count(world);
  while (conn_count(world) == before) turn(&world->world);
  return fd;
}

static void say(AdminWorld *world, int fd, const char *text) {
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
  for (int i = 0; i < 10; i++) turn(&world->world);
}

static void expect_status(AdminWorld *world, int fd, const char *status) {
  char bytes[4096], start[32];
  assert_true(hear(&world->world, fd, bytes, sizeof bytes) > 0);
  snprintf(start, sizeof start, "HTTP/1.1 %s ", status);
  assert_memory_equal(bytes, start, strlen(start));
}

static void expect_closed(AdminWorld *world, int fd) {
  char byte[2];
  assert_int_equal(hear(&world->world, fd, byte, sizeof byte), 0);
}

static void answer(AdminWorld *world, AnswerPart part, const char *body, size_t size) {
  net_admin_answer(world->world.net, world->asked,
                   &(AdminAnswer){.part = part,
                                  .status = 200,
                                  .fields = {"", 0},
                                  .body = {body, (uint32_t)size}});
}

static void close_world(AdminWorld *world) { world_close(&world->world); }

// --- Time ---

static void head_and_body_have_their_time(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  int head = come(&world);
  say(&world, head, "POST /mcp HT");
  run_timers(&world.world, HANDSHAKE_MS - 500);
  expect_silence(&world.world, head);
  run_timers(&world.world, HANDSHAKE_MS + 100);
  expect_status(&world, head, "408");
  int body = come(&world);
  say(&world, body, HEAD "Content-Length: 5\r\n\r\n");
  say(&world, body, "abcd");  // a byte now and then does not count as progress
  run_timers(&world.world, HTTP_BODY_MS - 500);
  expect_silence(&world.world, body);
  run_timers(&world.world, HTTP_BODY_MS + 100);
  expect_status(&world, body, "408");
  assert_int_equal(world.requests, 0);
  assert_int_equal(world.world.net->admin->server.reserved_bytes, 0);
  close(head);
  close(body);
  close_world(&world);
}

static void a_connection_without_a_request_ends(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  int fd = come(&world);
  run_timers(&world.world, HTTP_KEEP_ALIVE_MS - 500);
  expect_silence(&world.world, fd);
  run_timers(&world.world, HTTP_KEEP_ALIVE_MS + 100);
  expect_closed(&world, fd);
  assert_int_equal(conn_count(&world), 0);
  close(fd);
  close_world(&world);
}

static void a_request_that_was_handed_up_is_not_late(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  int fd = come(&world);
  say(&world, fd, HEAD "Content-Length: 3\r\n\r\nabc");
  assert_int_equal(world.requests, 1);
  assert_string_equal(world.text, "POST /mcp\ncontent-type: a\n\nabc");
  run_timers(&world.world, 10 * HTTP_BODY_MS);
  expect_silence(&world.world, fd);
  answer(&world, ANSWER_WHOLE, "x", 1);
  expect_status(&world, fd, "200");
  close(fd);
  close_world(&world);
}

static void a_silent_stream_says_that_it_is_there(void **state) {
  (void)state;
  AdminWorld world;
  char bytes[4096];
  open_world(&world);
  int fd = come(&world);
  say(&world, fd, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  answer(&world, ANSWER_OPEN, "", 0);
  expect_status(&world, fd, "200");
  run_timers(&world.world, HTTP_BEAT_MS - 500);
  expect_silence(&world.world, fd);
  run_timers(&world.world, HTTP_BEAT_MS + 100);
  assert_true(hear(&world.world, fd, bytes, sizeof bytes) > 0);
  assert_string_equal(bytes, "3\r\n:\n\n\r\n");
  close(fd);
  while (world.gone == 0) turn(&world.world);
  close_world(&world);
}

// --- Space ---

static const char *zeros(size_t size) {
  static char bytes[1 << 20];
  assert_true(size <= sizeof bytes);
  memset(bytes, 'x', size);
  return bytes;
}

static void what_nobody_reads_is_given_up(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  int fd = come(&world);
  say(&world, fd, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  answer(&world, ANSWER_OPEN, "", 0);
  uint32_t given = 0;
  for (; world.gone == 0 && given < 4 * HTTP_OUT_MAX; given += 1 << 20) {
    answer(&world, ANSWER_MORE, zeros(1 << 20), 1 << 20);
    turn(&world.world);
  }
  assert_int_equal(world.gone, 1);
  assert_in_range(given, HTTP_OUT_MAX, 2 * HTTP_OUT_MAX);
  assert_int_equal(conn_count(&world), 0);
  int other = come(&world);
  say(&world, other, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  answer(&world, ANSWER_OPEN, "", 0);
  for (int i = 0; i < HTTP_OUT_MAX >> 20; i++)
    answer(&world, ANSWER_MORE, zeros(1 << 20), 1 << 20);
  run_timers(&world.world, HTTP_STALL_MS - 1000);
  assert_int_equal(world.gone, 1);
  run_timers(&world.world, HTTP_STALL_MS + 100);
  while (world.gone == 1) turn(&world.world);
  close(fd);
  close(other);
  close_world(&world);
}

static void bodies_have_room_together(void **state) {
  (void)state;
  AdminWorld world;
  int fds[HTTP_BODIES_TOTAL / HTTP_BODY_MAX];
  const int count = sizeof fds / sizeof *fds;
  open_world(&world);
  for (int i = 0; i < count; i++) {
    fds[i] = come(&world);
    say(&world, fds[i], HEAD "Transfer-Encoding: chunked\r\n\r\n");
  }
  assert_int_equal(world.world.net->admin->server.reserved_bytes, HTTP_BODIES_TOTAL);
  int late = come(&world);
  say(&world, late, HEAD "Content-Length: 1\r\n\r\n");
  expect_status(&world, late, "503");
  close(fds[0]);
  while (world.world.net->admin->server.reserved_bytes == HTTP_BODIES_TOTAL)
    turn(&world.world);
  int again = come(&world);
  say(&world, again, HEAD "Content-Length: 1\r\n\r\nx");
  assert_int_equal(world.requests, 1);
  for (int i = 1; i < count; i++) close(fds[i]);
  close(late);
  close(again);
  while (conn_count(&world) > 1) turn(&world.world);
  assert_int_equal(world.world.net->admin->server.reserved_bytes, 0);
  close_world(&world);
}

// While a request is being answered, at most a head's size of later bytes is read.
static void requests_that_wait_are_not_hoarded(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  int fd = come(&world);
  say(&world, fd, HEAD "Content-Length: 1\r\n\r\nx");
  size_t sent = 0;
  for (int i = 0; i < 500; i++) {
    ssize_t n = send(fd, zeros(1 << 16), 1 << 16, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) sent += (size_t)n;
    turn(&world.world);
  }
  const Conn *conn = conn_find(world.world.net, world.asked);
  assert_true(sent > 1 << 18);
  assert_in_range(conn->in.bytes.size, HTTP_HEAD_MAX,
                  HTTP_HEAD_MAX + READ_BUFFER_BYTES);
  answer(&world, ANSWER_WHOLE, "", 0);
  expect_status(&world, fd, "200");
  close(fd);
  close_world(&world);
}

static void connections_past_those_that_are_refused_are_gone_at_once(void **state) {
  enum { KNOWN = ADMIN_CONNS_MAX + REFUSED_MAX, MORE = 10 };
  (void)state;
  AdminWorld world;
  open_world(&world);
  int fds[KNOWN + MORE];
  for (int i = 0; i < KNOWN + MORE; i++)
    fds[i] = i < KNOWN ? come(&world) : connect_to(world.port);
  expect_closed(&world, fds[KNOWN + MORE - 1]);
  assert_int_equal(world.world.net->totals->refused, REFUSED_MAX);
  for (int i = 0; i < KNOWN + MORE; i++) close(fds[i]);
  close_world(&world);
}

// --- Tokens ---

static int ask(AdminPort *port, const char *address, const char *token,
               uint64_t now_ms) {
  char text[128];
  HttpRequest request;
  int size = snprintf(text, sizeof text,
                      "GET /mcp HTTP/1.1\r\nHost: localhost\r\n"
                      "Authorization: Bearer %s\r\n\r\n",
                      token);
  assert_int_equal(http_read_request(text, (size_t)size, &request), size);
  Verdict verdict = gate_check(port, port->token, address, &request, now_ms);
  assert_true(verdict.is_guess == (verdict.status != 0));
  return verdict.status;
}

static void guesses_are_few(void **state) {
  (void)state;
  AdminPort port = {.host = "127.0.0.1", .names = "", .token = "0123456789abcdef"};
  uint64_t now_ms = 1000000;
  for (int i = 0; i < ADMIN_FAILURES_MAX; i++)
    assert_int_equal(ask(&port, "10.0.0.1", "wrong", now_ms), 401);
  assert_int_equal(ask(&port, "10.0.0.1", "wrong", now_ms), 429);
  assert_int_equal(ask(&port, "10.0.0.2", "wrong", now_ms), 401);
  // The right token is accepted, and guesses of neighbours have no effect on that.
  assert_int_equal(ask(&port, "10.0.0.1", port.token, now_ms), 0);
  assert_int_equal(ask(&port, "10.0.0.1", "wrong", now_ms + ADMIN_LOCK_MS - 1), 429);
  for (int i = 0; i < ADMIN_FAILURES_MAX; i++)
    assert_int_equal(ask(&port, i % 2 ? "2001:db8::1" : "2001:db8::2", "wrong", now_ms),
                     401);
  assert_int_equal(ask(&port, "2001:db8::3", "wrong", now_ms), 429);
  // From here on, the answer to each guess is delayed.
  now_ms += ADMIN_LOCK_MS;
  for (int i = 0; i < 3; i++, now_ms += ADMIN_LOCK_MS) {
    assert_int_equal(ask(&port, "10.0.0.1", "wrong", now_ms), 401);
    assert_int_equal(ask(&port, "10.0.0.1", "wrong", now_ms + 1), 429);
  }
}

static void a_wrong_token_is_answered_late_and_the_right_one_at_once(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  world.world.net->admin->token = mem_strdup("0123456789abcdef");
  int wrong = come(&world);
  say(&world, wrong, HEAD "Authorization: Bearer x\r\nContent-Length: 5\r\n\r\nhello");
  run_timers(&world.world, HTTP_LATE_MS - 100);
  expect_silence(&world.world, wrong);
  int right = come(&world);
  say(&world, right, HEAD "Authorization: Bearer 0123456789abcdef\r\n\r\n");
  assert_int_equal(world.requests, 1);
  int without = come(&world);
  say(&world, without, HEAD "\r\n");
  expect_status(&world, without, "401");
  run_timers(&world.world, HTTP_LATE_MS + 100);
  expect_status(&world, wrong, "401");
  expect_closed(&world, wrong);
  assert_int_equal(world.requests, 1);
  close(wrong);
  close(right);
  close(without);
  close_world(&world);
}

static void the_console_needs_its_token_alone(void **state) {
  (void)state;
  AdminWorld world;
  open_world(&world);
  net_admin_serve(world.world.net, ADMIN_CONSOLE, &WORLD_EVENTS, &world);
  const char *secret = net_admin_secret(world.world.net);
  char text[256];
  assert_int_equal(strlen(secret), ADMIN_SECRET_DIGITS);
  int without = come(&world), right = come(&world), elsewhere = come(&world);
  const char *console = "POST /api/console HTTP/1.1\r\nHost: localhost\r\n";
  snprintf(text, sizeof text, "%s\r\n", console);
  say(&world, without, text);
  expect_status(&world, without, "401");
  assert_int_equal(world.requests, 0);
  snprintf(text, sizeof text, "%sAuthorization: Bearer %s\r\n\r\n", console, secret);
  say(&world, right, text);
  assert_int_equal(world.requests, 1);
  say(&world, elsewhere, HEAD "\r\n");
  assert_int_equal(world.requests, 2);
  close(without);
  close(right);
  close(elsewhere);
  close_world(&world);
}

static void guesses_of_many_are_remembered_for_the_newest(void **state) {
  (void)state;
  AdminPort port = {.host = "127.0.0.1", .names = "", .token = "0123456789abcdef"};
  char address[ADDRESS_SIZE];
  for (int i = 0; i < GATE_ADDRESSES_MAX; i++) {
    snprintf(address, sizeof address, "10.0.1.%d", i);
    for (int guess = 0; guess < ADMIN_FAILURES_MAX; guess++)
      assert_int_equal(ask(&port, address, "wrong", 1000 + (uint64_t)i), 401);
  }
  assert_int_equal(ask(&port, "10.0.1.0", "wrong", 2000), 429);
  assert_int_equal(ask(&port, "10.0.2.0", "wrong", 2000), 401);
  // The table has forgotten this address.
  assert_int_equal(ask(&port, "10.0.1.0", "wrong", 2000), 401);
  assert_int_equal(ask(&port, "10.0.1.63", "wrong", 2000), 429);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(head_and_body_have_their_time),
      cmocka_unit_test(a_connection_without_a_request_ends),
      cmocka_unit_test(a_request_that_was_handed_up_is_not_late),
      cmocka_unit_test(a_silent_stream_says_that_it_is_there),
      cmocka_unit_test(what_nobody_reads_is_given_up),
      cmocka_unit_test(bodies_have_room_together),
      cmocka_unit_test(requests_that_wait_are_not_hoarded),
      cmocka_unit_test(connections_past_those_that_are_refused_are_gone_at_once),
      cmocka_unit_test(guesses_are_few),
      cmocka_unit_test(a_wrong_token_is_answered_late_and_the_right_one_at_once),
      cmocka_unit_test(the_console_needs_its_token_alone),
      cmocka_unit_test(guesses_of_many_are_remembered_for_the_newest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
