// Requests to a server in the same loop: their answers, their limits, and their end with
// the fetcher.
#include "os/fetch.h"

#include <stdio.h>
#include <string.h>

#include "loop_world.h"
#include "os/worker.h"

enum { LONG_MS = 20000, CLIENTS_MAX = 300, STOP_MAX_MS = 1000 };

static const char ANSWER[] =
    "HTTP/1.1 100 Continue\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

typedef struct World {
  LoopWorld loop;
  uv_tcp_t listener;
  uv_tcp_t clients[CLIENTS_MAX];
  int client_count;
  bool is_silent;  // the server does not answer
  uint16_t port;
  Fetcher *fetcher;
  int ends, wanted;
  uint32_t tokens[CLIENTS_MAX];  // tokens of the requests that ended with an answer
  int answers;
  Code code;  // code of the last request that ended without an answer
} World;

// --- The server ---

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  (void)handle;
  (void)size;
  static char bytes[65536];
  *buf = uv_buf_init(bytes, sizeof bytes);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf) {
  (void)buf;
  const World *world = stream->data;
  uv_buf_t answer = uv_buf_init((char *)ANSWER, sizeof ANSWER - 1);
  if (size > 0 && !world->is_silent) uv_try_write(stream, &answer, 1);
  if (size < 0) uv_read_stop(stream);
}

static void on_connection(uv_stream_t *listener, int status) {
  World *world = listener->data;
  assert_int_equal(status, 0);
  assert_true(world->client_count < CLIENTS_MAX);
  uv_tcp_t *client = &world->clients[world->client_count++];
  uv_tcp_init(listener->loop, client);
  client->data = world;
  uv_accept(listener, (uv_stream_t *)client);
  uv_read_start((uv_stream_t *)client, on_alloc, on_read);
}

// --- The world ---

static void on_end(void *data, uint32_t token, Code code, const char *text) {
  World *world = data;
  assert_non_null(text);
  world->ends++;
  if (code == 0)
    world->tokens[world->answers++] = token;
  else
    world->code = code;
}

static bool has_ends(void *data) {
  const World *world = data;
  return world->ends >= world->wanted;
}

static bool has_clients(void *data) {
  const World *world = data;
  return world->client_count >= world->wanted;
}

static void begin(World *world) {
  loop_world_init(&world->loop);
  uv_loop_t *loop = &world->loop.loop->uv;
  struct sockaddr_in address;
  uv_ip4_addr("127.0.0.1", 0, &address);
  uv_tcp_init(loop, &world->listener);
  world->listener.data = world;
  uv_tcp_bind(&world->listener, (struct sockaddr *)&address, 0);
  assert_int_equal(uv_listen((uv_stream_t *)&world->listener, 512, on_connection), 0);
  int size = sizeof address;
  uv_tcp_getsockname(&world->listener, (struct sockaddr *)&address, &size);
  world->port = ntohs(address.sin_port);
  world->fetcher = fetcher_open(world->loop.loop, on_end, world);
}

static void end(World *world) {
  uint64_t before_ms = uv_hrtime() / 1000000;
  fetcher_close(world->fetcher);
  workers_end(world->loop.loop);
  assert_true(uv_hrtime() / 1000000 - before_ms < STOP_MAX_MS);
  uv_close((uv_handle_t *)&world->listener, NULL);
  for (int i = 0; i < world->client_count; i++)
    uv_close((uv_handle_t *)&world->clients[i], NULL);
  loop_world_deinit(&world->loop);
}

static void start(World *world, uint32_t token, Text body) {
  char head[64];
  int size = snprintf(head, sizeof head, "POST%chttp://127.0.0.1:%d/%cX-A: b", 0,
                      world->port, 0);
  FetchStart start = {.token = token,
                      .head = {head, (uint32_t)size + 1},
                      .body = &body,
                      .timeout_ms = LONG_MS,
                      .answer_max = 5};
  fetcher_start(world->fetcher, &start);
}

// --- Tests ---

static void test_answers_on_the_loop(void **state) {
  (void)state;
  World world = {0};
  begin(&world);
  start(&world, 7, (Text){"abc", 3});
  world.wanted = 1;
  assert_true(loop_world_wait(&world.loop, has_ends, &world));
  assert_int_equal(world.tokens[0], 7);
  FetchAnswer answer = {0};
  fetcher_take(world.fetcher, 7, &answer);
  assert_int_equal(answer.status, 200);
  assert_memory_equal(answer.bytes.data, "HTTP/1.1 200 OK\r\n", 17);
  assert_int_equal(answer.bytes.size - answer.head_size, 5);
  assert_memory_equal(answer.bytes.data + answer.head_size, "hello", 5);
  buf_deinit(&answer.bytes);
  end(&world);
}

static void test_runs_no_more_until_answers_are_taken(void **state) {
  (void)state;
  World world = {0};
  begin(&world);
  for (uint32_t i = 1; i <= FETCH_RUNNING_MAX + 1; i++) start(&world, i, (Text){"", 0});
  world.wanted = FETCH_RUNNING_MAX;
  assert_true(loop_world_wait(&world.loop, has_ends, &world));
  for (int i = 0; i < 20; i++) loop_world_turn_once(&world.loop);
  assert_int_equal(world.client_count, FETCH_RUNNING_MAX);
  FetchAnswer answer = {0};
  fetcher_take(world.fetcher, world.tokens[3], &answer);
  buf_deinit(&answer.bytes);
  world.wanted++;
  assert_true(loop_world_wait(&world.loop, has_ends, &world));
  assert_int_equal(world.tokens[FETCH_RUNNING_MAX], FETCH_RUNNING_MAX + 1);
  end(&world);
}

static void test_limits_requests_and_ends_with_them(void **state) {
  (void)state;
  World world = {.is_silent = true};
  begin(&world);
  for (uint32_t i = 1; i <= FETCH_RUNNING_MAX + FETCH_QUEUED_MAX; i++)
    start(&world, i, (Text){"", 0});
  assert_int_equal(world.ends, 0);
  start(&world, 1000, (Text){"", 0});
  assert_int_equal(world.ends, 1);
  assert_int_equal(world.code, CODE_RATE_LIMITED);
  world.wanted = FETCH_RUNNING_MAX;
  assert_true(loop_world_wait(&world.loop, has_clients, &world));
  end(&world);
  assert_int_equal(world.ends, 1);
}

static void test_limits_the_bytes_of_requests(void **state) {
  (void)state;
  World world = {.is_silent = true};
  begin(&world);
  char *bytes = mem_zalloc(FETCH_REQUESTS_MAX);
  start(&world, 1, (Text){bytes, FETCH_REQUESTS_MAX});
  assert_int_equal(world.code, CODE_RATE_LIMITED);
  start(&world, 2, (Text){bytes, FETCH_REQUESTS_MAX / 2});
  start(&world, 3, (Text){bytes, FETCH_REQUESTS_MAX / 2});
  assert_int_equal(world.ends, 2);
  mem_free(bytes);
  end(&world);
}

static void test_reports_what_cannot_connect(void **state) {
  (void)state;
  World world = {0};
  begin(&world);
  world.port = 1;
  start(&world, 1, (Text){"", 0});
  world.wanted = 1;
  assert_true(loop_world_wait(&world.loop, has_ends, &world));
  assert_int_equal(world.code, CODE_UNAVAILABLE);
  end(&world);
}

static void test_ends_unused(void **state) {
  (void)state;
  World world = {0};
  begin(&world);
  end(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers_on_the_loop),
      cmocka_unit_test(test_runs_no_more_until_answers_are_taken),
      cmocka_unit_test(test_limits_requests_and_ends_with_them),
      cmocka_unit_test(test_limits_the_bytes_of_requests),
      cmocka_unit_test(test_reports_what_cannot_connect),
      cmocka_unit_test(test_ends_unused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
