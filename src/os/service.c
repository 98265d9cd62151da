// Child processes inherit the variables of the environment. Therefore the variables for
// sockets and the watchdog come with the id of the process that they are meant for.
#define _GNU_SOURCE
#include "os/service.h"

#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "os/loop.h"

enum {
  FIRST_SOCKET = 3,  // SD_LISTEN_FDS_START of sd_listen_fds(3)
  SOCKETS_MAX = 32,
  STATE_SIZE = 64,
};

static uint32_t taken;  // bit i: the socket FIRST_SOCKET + i has been taken

// Returns a number from the environment; 0 if it is missing or not a number.
static uint64_t read_number(const char *name) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : 0;
}

// --- Reports ---

// Sends one datagram, whose lines are assignments. A name in the abstract namespace
// begins with `@` in the environment, and with a NUL for the kernel.
static void notify(const Loop *loop, const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t size = path != NULL ? strlen(path) : 0;
  if (!loop->has_program || size < 2 || size >= sizeof address.sun_path) return;
  memcpy(address.sun_path, path, size);
  if (*path == '@') address.sun_path[0] = '\0';
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                        (const struct sockaddr *)&address, length);
  if (sent < 0)
    log_warn("the service manager cannot be notified", log_str("state", state));
  if (fd >= 0) close(fd);
}

static void on_watchdog(void *data, uint64_t now_ms) {
  Loop *loop = data;
  uint64_t interval_ms = read_number("WATCHDOG_USEC") / 1000;
  bool is_ours = getenv("WATCHDOG_PID") == NULL ||
                 read_number("WATCHDOG_PID") == (uint64_t)getpid();
  (void)now_ms;
  if (!loop->has_program || interval_ms == 0 || !is_ours) return;
  notify(loop, "WATCHDOG=1\n");
  loop_set_timer(loop, &loop->watchdog, interval_ms / 2, on_watchdog, loop);
}

void service_ready(Loop *loop) {
  notify(loop, "READY=1\n");
  if (!timers_is_set(&loop->watchdog)) on_watchdog(loop, loop_now_ms(loop));
}

void service_reloading(const Loop *loop) {
  char state[STATE_SIZE];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
           (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
  notify(loop, state);
}

void service_stopping(const Loop *loop) { notify(loop, "STOPPING=1\n"); }

// --- Sockets ---

static int socket_count(const Loop *loop) {
  bool is_ours = loop->has_program && read_number("LISTEN_PID") == (uint64_t)getpid();
  uint64_t count = is_ours ? read_number("LISTEN_FDS") : 0;
  return count < SOCKETS_MAX ? (int)count : SOCKETS_MAX;
}

static bool is_taken(int index) { return (taken >> index & 1) != 0; }

// Returns the port in host byte order; 0 if the address has no port.
static uint16_t port_of(const struct sockaddr *address) {
  if (address->sa_family == AF_INET)
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
  if (address->sa_family == AF_INET6)
    return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
  return 0;
}

static uint16_t bound_port(int fd) {
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return 0;
  return port_of((const struct sockaddr *)&address);
}

static int type_of(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? type : 0;
}

int service_take_socket(const Loop *loop, int type, const struct sockaddr *address) {
  uint16_t port = port_of(address);
  for (int i = 0; port != 0 && i < socket_count(loop); i++) {
    int fd = FIRST_SOCKET + i;
    if (is_taken(i) || type_of(fd) != type || bound_port(fd) != port) continue;
    taken |= 1U << i;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
  }
  return -1;
}

void service_warn_untaken(const Loop *loop) {
  for (int i = 0; i < socket_count(loop); i++)
    if (!is_taken(i))
      log_warn("the service manager has opened a port that the server does not serve",
               log_num("port", bound_port(FIRST_SOCKET + i)));
}
