// The service manager: a test plays its part with the sockets and variables that
// sd_notify(3) and sd_listen_fds(3) describe.
#define _GNU_SOURCE
#include "os/service.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "loop_world.h"

enum { TEXT_SIZE = 128, FIRST_SOCKET = 3 };

typedef struct World {
  LoopWorld loop;
  int fd;  // the manager's end
  char last[TEXT_SIZE];
  uint32_t count;  // reports so far
} World;

// Opens the socket of the manager. A path that begins with `@` is an abstract name.
static void open_manager(World *world, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
  strcpy(address.sun_path, path);
  if (*path == '@') address.sun_path[0] = '\0';
  *world = (World){0};
  loop_world_init(&world->loop);
  world->loop.loop->has_program = true;
  world->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  assert_int_equal(bind(world->fd, (struct sockaddr *)&address, size), 0);
  setenv("NOTIFY_SOCKET", path, 1);
}

static void close_manager(World *world) {
  unsetenv("NOTIFY_SOCKET");
  close(world->fd);
  loop_world_deinit(&world->loop);
}

// Returns whether a report has come since the last call.
static bool take(World *world) {
  ssize_t size = recv(world->fd, world->last, sizeof world->last - 1, 0);
  if (size < 0) return false;
  world->last[size] = '\0';
  world->count++;
  return true;
}

static void expect(World *world, const char *report) {
  assert_true(take(world));
  assert_string_equal(world->last, report);
}

static void reports_reach_a_path(void **state) {
  (void)state;
  char path[FOLDER_SIZE];
  World world;
  snprintf(path, sizeof path, "/tmp/perigee-notify-%d", (int)getpid());
  open_manager(&world, path);
  service_ready(world.loop.loop);
  expect(&world, "READY=1\n");
  service_stopping(world.loop.loop);
  expect(&world, "STOPPING=1\n");
  service_reloading(world.loop.loop);
  assert_true(take(&world));
  assert_memory_equal(world.last, "RELOADING=1\nMONOTONIC_USEC=", 27);
  close_manager(&world);
  unlink(path);
}

static void reports_reach_an_abstract_name(void **state) {
  (void)state;
  char name[FOLDER_SIZE];
  World world;
  snprintf(name, sizeof name, "@perigee-notify-%d", (int)getpid());
  open_manager(&world, name);
  service_ready(world.loop.loop);
  expect(&world, "READY=1\n");
  close_manager(&world);
}

static void the_loop_of_a_host_program_reports_nothing(void **state) {
  (void)state;
  World world;
  open_manager(&world, "@perigee-notify-host");
  world.loop.loop->has_program = false;
  service_ready(world.loop.loop);
  service_stopping(world.loop.loop);
  assert_false(take(&world));
  close_manager(&world);
}

static bool has_four(void *data) {
  World *world = data;
  while (take(world)) assert_string_equal(world->last, "WATCHDOG=1\n");
  return world->count >= 4;
}

static void the_loop_reports_that_it_runs(void **state) {
  (void)state;
  World world;
  open_manager(&world, "@perigee-notify-watchdog");
  setenv("WATCHDOG_USEC", "20000", 1);
  service_ready(world.loop.loop);
  expect(&world, "READY=1\n");
  assert_true(loop_world_wait(&world.loop, has_four, &world));
  setenv("WATCHDOG_PID", "1", 1);  // from now on for another process
  while (timers_is_set(&world.loop.loop->watchdog)) loop_poll(world.loop.loop, TURN_MS);
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
  close_manager(&world);
}

// Opens a socket on a free port of the loopback address, as descriptor `fd`.
static uint16_t open_socket(int type, int fd) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int made = socket(AF_INET, type, 0);
  assert_int_equal(bind(made, (struct sockaddr *)&address, size), 0);
  assert_int_equal(getsockname(made, (struct sockaddr *)&address, &size), 0);
  if (made != fd) {
    assert_int_equal(dup2(made, fd), fd);
    close(made);
  }
  return ntohs(address.sin_port);
}

static int take_socket(const World *world, int type, uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  return service_take_socket(world->loop.loop, type, (struct sockaddr *)&address);
}

// The test opens its sockets at fixed descriptors, and restores at the end the
// descriptors that the process had there.
static void sockets_are_taken_by_port_and_type(void **state) {
  (void)state;
  World world = {0};
  char pid[32];
  loop_world_init(&world.loop);
  world.loop.loop->has_program = true;
  int kept[2] = {fcntl(FIRST_SOCKET, F_DUPFD, 100),
                 fcntl(FIRST_SOCKET + 1, F_DUPFD, 100)};
  uint16_t stream = open_socket(SOCK_STREAM, FIRST_SOCKET);
  uint16_t datagrams = open_socket(SOCK_DGRAM, FIRST_SOCKET + 1);
  setenv("LISTEN_FDS", "2", 1);
  setenv("LISTEN_PID", "1", 1);
  assert_int_equal(take_socket(&world, SOCK_STREAM, stream), -1);
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  setenv("LISTEN_PID", pid, 1);
  assert_int_equal(take_socket(&world, SOCK_DGRAM, stream), -1);
  assert_int_equal(take_socket(&world, SOCK_STREAM, 0), -1);
  assert_int_equal(take_socket(&world, SOCK_STREAM, stream), FIRST_SOCKET);
  assert_int_equal(take_socket(&world, SOCK_STREAM, stream), -1);
  assert_int_equal(fcntl(FIRST_SOCKET, F_GETFD), FD_CLOEXEC);
  assert_true(fcntl(FIRST_SOCKET, F_GETFL) & O_NONBLOCK);
  assert_int_equal(take_socket(&world, SOCK_DGRAM, datagrams), FIRST_SOCKET + 1);
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_PID");
  for (int i = 0; i < 2; i++) {
    close(FIRST_SOCKET + i);
    if (kept[i] >= 0) dup2(kept[i], FIRST_SOCKET + i);
    if (kept[i] >= 0) close(kept[i]);
  }
  loop_world_deinit(&world.loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reports_reach_a_path),
      cmocka_unit_test(reports_reach_an_abstract_name),
      cmocka_unit_test(the_loop_of_a_host_program_reports_nothing),
      cmocka_unit_test(the_loop_reports_that_it_runs),
      cmocka_unit_test(sockets_are_taken_by_port_and_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
