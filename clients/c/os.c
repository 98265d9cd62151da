// The operating system: POSIX.
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

uint64_t os_clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// --- Addresses ---

OsAddress *os_resolve(const char *host, const char *port, const char **problem) {
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *addresses;
  int code = getaddrinfo(host, port, &hints, &addresses);
  if (code == 0) return addresses;
  *problem = code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
  return NULL;
}

const OsAddress *os_next_address(const OsAddress *address) { return address->ai_next; }

void os_free_addresses(OsAddress *addresses) {
  if (addresses) freeaddrinfo(addresses);
}

// --- Sockets ---

static int failure(void) {
  bool is_again = errno == EAGAIN || errno == EINTR || errno == EINPROGRESS;
  return is_again ? OS_AGAIN : -errno;
}

void os_close(int fd) { close(fd); }

bool os_is_refused(int error) { return error == -ECONNREFUSED; }

const char *os_problem(int error) { return strerror(-error); }

// Opens a socket and begins to connect it.
static int open_socket(const OsAddress *to, int type) {
  int fd = socket(to->ai_family, type, 0);
  if (fd < 0) return failure();
  int code = 0;
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
      connect(fd, to->ai_addr, to->ai_addrlen) != 0)
    code = failure();
  if (code == 0 || code == OS_AGAIN) return fd;
  close(fd);
  return code;
}

int os_open_tcp(const OsAddress *address) {
  int fd = open_socket(address, SOCK_STREAM);
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  return fd;
}

int os_open_udp(const OsAddress *address) { return open_socket(address, SOCK_DGRAM); }

// Where nobody listens, the system may give a socket the very port that it connects to: then the
// socket is connected to itself.
static bool is_own_echo(int fd, const struct sockaddr_storage *peer, socklen_t size) {
  struct sockaddr_storage own = {0};
  socklen_t own_size = sizeof own;
  return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own_size == size &&
         memcmp(&own, peer, size) == 0;
}

// Being writable is not enough, because another descriptor may have ended the wait. The peer's name
// is known only once the connection is open.
int os_finish_tcp(int fd) {
  struct sockaddr_storage peer = {0};
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return failure();
  if (error != 0) return -error;
  size = sizeof peer;
  if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return OS_AGAIN;
  return is_own_echo(fd, &peer, size) ? -ECONNREFUSED : 0;
}

int os_set_port(int fd, uint16_t port) {
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  if (getpeername(fd, (struct sockaddr *)&address, &size) != 0) return failure();
  if (address.ss_family == AF_INET6)
    ((struct sockaddr_in6 *)&address)->sin6_port = htons(port);
  else
    ((struct sockaddr_in *)&address)->sin_port = htons(port);
  return connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : failure();
}

int os_receive(int fd, void *bytes, size_t size) {
  ssize_t got = recv(fd, bytes, size, 0);
  return got >= 0 ? (int)got : failure();
}

int os_send(int fd, const void *bytes, size_t size) {
  ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
  return sent >= 0 ? (int)sent : failure();
}

bool os_poll(PerigeeFd *fds, size_t count, int timeout_ms) {
  struct pollfd *polled = mem_alloc((count + 1) * sizeof *polled);
  for (size_t i = 0; i < count; i++) {
    int events = (fds[i].wants_read ? POLLIN : 0) | (fds[i].wants_write ? POLLOUT : 0);
    polled[i] = (struct pollfd){.fd = fds[i].fd, .events = (short)events};
  }
  int ready = poll(polled, (nfds_t)count, timeout_ms);
  bool was_interrupted = ready < 0 && errno == EINTR;
  for (size_t i = 0; i < count; i++) {
    int events = ready > 0 ? polled[i].revents : 0;
    fds[i].wants_read = (events & ~POLLOUT) != 0;
    fds[i].wants_write = (events & ~POLLIN) != 0;
  }
  mem_free(polled);
  return !was_interrupted;
}
