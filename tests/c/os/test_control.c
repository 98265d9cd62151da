// The control socket: requests and late answers, its limits, and the checks of its
// folder.
#include "os/control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "loop_world.h"

typedef struct World {
  LoopWorld loop;
  Control *control;
  char path[PATH_SIZE];
  ControlToken token;
  char request[CONTROL_LINE_MAX];
  uint32_t requests;
} World;

typedef struct Client {
  int fd;
  char text[1024];
  size_t size;
  bool is_over;
} Client;

static World world;

static void on_request(void *data, ControlToken token, const char *line) {
  World *self = data;
  self->token = token;
  self->requests++;
  snprintf(self->request, sizeof self->request, "%s", line);
}

static int open_control(void) {
  int err;
  world.control = control_open(world.loop.loop, world.path, on_request, &world, &err);
  assert_int_equal(world.control == NULL, err != 0);
  return err;
}

static int set_up(void **state) {
  (void)state;
  world = (World){0};
  loop_world_init(&world.loop);
  snprintf(world.path, sizeof world.path, "%s/perigee/7777.sock", world.loop.folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  control_close(world.control);
  loop_world_deinit(&world.loop);
  return 0;
}

// --- Clients ---

static Client client_of(const char *request) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, world.path, sizeof address.sun_path - 1);
  Client client = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  assert_int_equal(connect(client.fd, (struct sockaddr *)&address, sizeof address), 0);
  size_t size = strlen(request);
  assert_int_equal(send(client.fd, request, size, MSG_NOSIGNAL), (ssize_t)size);
  return client;
}

static bool has_ended(void *data) {
  Client *client = data;
  size_t room = sizeof client->text - 1 - client->size;
  ssize_t size = recv(client->fd, client->text + client->size, room, 0);
  if (size > 0) client->size += (size_t)size;
  client->is_over = size == 0 || (size < 0 && errno != EAGAIN);
  return client->is_over;
}

static void expect_answer(Client *client, const char *text) {
  assert_true(loop_world_wait(&world.loop, has_ended, client));
  assert_string_equal(client->text, text);
  close(client->fd);
}

static bool is_asked(void *data) {
  (void)data;
  return world.token != 0;
}

static void reply(const char *text) {
  control_reply(world.control, world.token, text, strlen(text));
  world.token = 0;
}

// --- Requests ---

static void test_an_answer_may_come_later(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client client = client_of("reload\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  assert_string_equal(world.request, "reload");
  loop_world_run(&world.loop, 30);
  assert_false(has_ended(&client));
  reply("ok version 2\nmore\n");
  expect_answer(&client, "ok version 2\nmore\n");
}

static void test_requests_are_told_apart(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client first = client_of("one\r\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  assert_string_equal(world.request, "one");
  ControlToken token = world.token;
  world.token = 0;
  Client second = client_of("two\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  reply("ok two\n");
  expect_answer(&second, "ok two\n");
  control_reply(world.control, token, "ok one\n", 7);
  expect_answer(&first, "ok one\n");
}

static void test_a_request_may_come_in_pieces(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client client = client_of("rel");
  loop_world_run(&world.loop, 20);
  assert_int_equal(world.requests, 0);
  assert_int_equal(send(client.fd, "oad\nrest", 8, MSG_NOSIGNAL), 8);
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  assert_string_equal(world.request, "reload");
  reply("ok\n");
  assert_true(loop_world_wait(&world.loop, has_ended, &client));
  close(client.fd);
}

static void test_a_client_that_goes_is_forgotten(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client client = client_of("reload\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  close(client.fd);
  loop_world_run(&world.loop, 20);
  ControlToken token = world.token;
  reply("ok\n");
  loop_world_run(&world.loop, 20);
  control_reply(world.control, token, "ok\n", 3);
  for (int i = 0; i < 2 * CONTROL_CONNECTIONS_MAX; i++) {
    Client silent = client_of("");
    loop_world_run(&world.loop, 5);
    close(silent.fd);
    loop_world_run(&world.loop, 5);
  }
  client = client_of("again\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  reply("ok\n");
  expect_answer(&client, "ok\n");
}

// --- Limits ---

static void test_a_line_too_long_is_refused(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  char line[CONTROL_LINE_MAX + 1];
  memset(line, 'x', CONTROL_LINE_MAX);
  line[CONTROL_LINE_MAX] = '\0';
  Client client = client_of(line);
  expect_answer(&client, "error the request is too long\n");
  assert_int_equal(world.requests, 0);
  line[CONTROL_LINE_MAX - 1] = '\n';
  client = client_of(line);
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  assert_int_equal(strlen(world.request), CONTROL_LINE_MAX - 1);
  reply("ok\n");
  expect_answer(&client, "ok\n");
}

static void test_a_ninth_connection_is_closed(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client clients[CONTROL_CONNECTIONS_MAX];
  for (int i = 0; i < CONTROL_CONNECTIONS_MAX; i++) {
    clients[i] = client_of("");
    loop_world_run(&world.loop, 5);
  }
  Client ninth = client_of("");
  expect_answer(&ninth, "");
  for (int i = 0; i < CONTROL_CONNECTIONS_MAX; i++) {
    assert_false(has_ended(&clients[i]));
    close(clients[i].fd);
  }
}

// The test moves the timers instead of waiting for the long deadline.
static void test_silence_ends_at_the_deadline(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Client silent = client_of("");
  Client asking = client_of("reload\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  Timers *timers = &world.loop.loop->timers;
  timers_run(timers, loop_now_ms(world.loop.loop) + CONTROL_DEADLINE_MS - 100);
  loop_world_run(&world.loop, 20);
  assert_false(has_ended(&silent));
  timers_run(timers, loop_now_ms(world.loop.loop) + CONTROL_DEADLINE_MS);
  expect_answer(&silent, "");
  expect_answer(&asking, "error the server did not answer in time\n");
  reply("ok too late\n");
}

// --- The socket ---

static void test_only_the_owner_gets_in(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  char directory[PATH_SIZE];
  snprintf(directory, sizeof directory, "%s/perigee", world.loop.folder);
  struct stat info;
  assert_int_equal(lstat(directory, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
}

static void test_a_directory_of_others_is_refused(void **state) {
  (void)state;
  char directory[PATH_SIZE], other[PATH_SIZE];
  snprintf(directory, sizeof directory, "%s/perigee", world.loop.folder);
  snprintf(other, sizeof other, "%s/other", world.loop.folder);
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_int_equal(chmod(directory, 0755), 0);
  assert_int_equal(open_control(), -EPERM);
  assert_int_equal(rename(directory, other), 0);
  assert_int_equal(chmod(other, 0700), 0);
  assert_int_equal(symlink(other, directory), 0);
  assert_int_equal(open_control(), -ENOTDIR);
  assert_int_equal(unlink(directory), 0);
  assert_int_equal(rename(other, directory), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(directory, 12345, 12345), 0);
    assert_int_equal(open_control(), -EPERM);
    assert_int_equal(chown(directory, 0, 0), 0);
  }
  assert_int_equal(open_control(), 0);
}

static void test_a_stale_socket_is_replaced_and_a_live_one_is_not(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  Control *first = world.control;
  assert_int_equal(open_control(), -EADDRINUSE);
  world.control = first;
  char moved[PATH_SIZE + 8];
  snprintf(moved, sizeof moved, "%s.moved", world.path);
  assert_int_equal(rename(world.path, moved), 0);
  control_close(first);
  loop_world_run(&world.loop, 20);
  assert_int_equal(rename(moved, world.path), 0);
  assert_int_equal(open_control(), 0);
  Client client = client_of("reload\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  reply("ok\n");
  expect_answer(&client, "ok\n");
}

static void test_a_file_that_is_no_socket_stays(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  control_close(world.control);
  loop_world_run(&world.loop, 20);
  close(open(world.path, O_CREAT | O_WRONLY, 0600));
  assert_int_equal(open_control(), -EEXIST);
  assert_int_equal(access(world.path, F_OK), 0);
}

static void test_the_socket_goes_with_the_server(void **state) {
  (void)state;
  assert_int_equal(open_control(), 0);
  assert_int_equal(access(world.path, F_OK), 0);
  Client client = client_of("reload\n");
  assert_true(loop_world_wait(&world.loop, is_asked, NULL));
  control_close(world.control);
  world.control = NULL;
  expect_answer(&client, "");
  assert_int_equal(access(world.path, F_OK), -1);
}

static void test_a_path_too_long_for_a_socket(void **state) {
  (void)state;
  snprintf(world.path, sizeof world.path, "%s/%0150d.sock", world.loop.folder, 1);
  assert_int_equal(open_control(), -ENAMETOOLONG);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_an_answer_may_come_later),
      TEST(test_requests_are_told_apart),
      TEST(test_a_request_may_come_in_pieces),
      TEST(test_a_client_that_goes_is_forgotten),
      TEST(test_a_line_too_long_is_refused),
      TEST(test_a_ninth_connection_is_closed),
      TEST(test_silence_ends_at_the_deadline),
      TEST(test_only_the_owner_gets_in),
      TEST(test_a_directory_of_others_is_refused),
      TEST(test_a_stale_socket_is_replaced_and_a_live_one_is_not),
      TEST(test_a_file_that_is_no_socket_stays),
      TEST(test_the_socket_goes_with_the_server),
      TEST(test_a_path_too_long_for_a_socket),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
