// Sockets of POSIX and Windows. The first part has the functions that differ.
#include "os.h"

#include <string.h>

#include "base/mem.h"

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>

enum {
  CONNECT_LOOK_MS = 100,
  MSG_NOSIGNAL = 0,
  REFUSED = WSAECONNREFUSED,
  RESET = WSAECONNRESET,
};

static bool close_socket(int fd) { return closesocket((SOCKET)fd) == 0; }

static int last_error(void) { return WSAGetLastError(); }

static bool would_wait(int error) { return error == WSAEWOULDBLOCK; }

static bool make_nonblocking(int fd) {
  u_long is_on = 1;
  return ioctlsocket((SOCKET)fd, FIONBIO, &is_on) == 0;
}

// Starts Winsock. Repeated calls are allowed; Winsock stops at the end of the process.
static bool start(void) {
  WSADATA data;
  return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

static const char *resolve_problem(int code) { return gai_strerrorA(code); }

// On Windows, a refused datagram is reported as a reset.
bool os_is_refused(int error) { return error == -REFUSED || error == -RESET; }

const char *os_problem(int error) {
  switch (-error) {
    case REFUSED:
      return "Connection refused";
    case RESET:
      return "Connection reset by peer";
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
      return "No route to host";
    case WSAETIMEDOUT:
      return "Connection timed out";
    default:
      return "The network does not work";
  }
}

// WSAPoll rejects an empty list, and before Windows 10 2004 it does not report failed
// connects. Therefore connecting sockets count as ready after CONNECT_LOOK_MS.
static int wait_for(struct pollfd *polled, size_t count, int timeout_ms) {
  bool is_connecting = false;
  if (count == 0) Sleep(timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
  for (size_t i = 0; i < count; i++)
    is_connecting = is_connecting || polled[i].events == POLLOUT;
  bool is_short = is_connecting && (timeout_ms < 0 || timeout_ms > CONNECT_LOOK_MS);
  int ready = count == 0 ? 0
                         : WSAPoll(polled, (ULONG)count,
                                   is_short ? CONNECT_LOOK_MS : timeout_ms);
  for (size_t i = 0; i < count && ready == 0 && is_short; i++)
    if (polled[i].events == POLLOUT) polled[i].revents = POLLOUT;
  return is_short && ready == 0 ? 1 : ready;
}

static bool was_interrupted(void) { return false; }

// Wine reports a reset connection only by POLLERR; recv returns 0, as for an orderly
// end.
static bool was_reset(int fd) {
  struct pollfd polled = {.fd = (SOCKET)fd, .events = POLLIN};
  return WSAPoll(&polled, 1, 0) > 0 && (polled.revents & POLLERR) != 0;
}

uint64_t os_clock_us(void) {
  LARGE_INTEGER now, frequency;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&frequency);
  uint64_t ticks = (uint64_t)now.QuadPart, each_s = (uint64_t)frequency.QuadPart;
  return ticks / each_s * 1000000 + ticks % each_s * 1000000 / each_s;
}

#else
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REFUSED = ECONNREFUSED, RESET = ECONNRESET };

static bool close_socket(int fd) { return close(fd) == 0; }

static int last_error(void) { return errno; }

static bool would_wait(int error) {
  return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

static bool make_nonblocking(int fd) {
  return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static bool start(void) { return true; }

static const char *resolve_problem(int code) {
  return code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
}

bool os_is_refused(int error) { return error == -REFUSED; }

const char *os_problem(int error) { return strerror(-error); }

static int wait_for(struct pollfd *polled, size_t count, int timeout_ms) {
  return poll(polled, (nfds_t)count, timeout_ms);
}

static bool was_interrupted(void) { return errno == EINTR; }

static bool was_reset(int fd) {
  (void)fd;
  return false;  // the other calls report a reset
}

uint64_t os_clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
#endif

// --- Addresses ---

OsAddress *os_resolve(const char *host, const char *port, const char **problem) {
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *addresses;
  int code = start() ? getaddrinfo(host, port, &hints, &addresses) : EAI_FAIL;
  if (code == 0) return addresses;
  *problem = resolve_problem(code);
  return NULL;
}

const OsAddress *os_next_address(const OsAddress *address) { return address->ai_next; }

void os_free_addresses(OsAddress *addresses) {
  if (addresses) freeaddrinfo(addresses);
}

// --- Sockets ---

static int failure(void) {
  int error = last_error();
  return would_wait(error) ? OS_AGAIN : -error;
}

void os_close(int fd) { close_socket(fd); }

// Opens a socket and begins to connect it.
static int open_socket(const OsAddress *to, int type) {
  int fd = (int)socket(to->ai_family, type, 0);
  if (fd < 0) return failure();
  int code = 0;
  if (!make_nonblocking(fd) || connect(fd, to->ai_addr, (socklen_t)to->ai_addrlen) != 0)
    code = failure();
  if (code == 0 || code == OS_AGAIN) return fd;
  close_socket(fd);
  return code;
}

int os_open_tcp(const OsAddress *address) {
  int fd = open_socket(address, SOCK_STREAM);
  if (fd >= 0)
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, (const char *)&(int){1}, sizeof(int));
  return fd;
}

int os_open_udp(const OsAddress *address) { return open_socket(address, SOCK_DGRAM); }

// If no program listens, the system may give a socket the port to which it connects.
// The socket is then connected to itself; this function detects that.
static bool is_own_echo(int fd, const struct sockaddr_storage *peer, socklen_t size) {
  struct sockaddr_storage own = {0};
  socklen_t own_size = sizeof own;
  return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own_size == size &&
         memcmp(&own, peer, size) == 0;
}

// Checks the peer's name, which is known only when the connection is open. A writable
// socket is not enough, because another descriptor may have ended the wait.
int os_finish_tcp(int fd) {
  struct sockaddr_storage peer = {0};
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, (char *)&error, &size) != 0)
    return failure();
  if (error != 0) return -error;
  size = sizeof peer;
  if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
    return was_reset(fd) ? -RESET : OS_AGAIN;
  return is_own_echo(fd, &peer, size) ? -REFUSED : 0;
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
  int got = (int)recv(fd, bytes, size, 0);
  if (got == 0 && was_reset(fd)) return -RESET;
  return got >= 0 ? got : failure();
}

int os_send(int fd, const void *bytes, size_t size) {
  int sent = (int)send(fd, bytes, size, MSG_NOSIGNAL);
  return sent >= 0 ? sent : failure();
}

bool os_poll(PerigeeFd *fds, size_t count, int timeout_ms) {
  struct pollfd *polled = mem_alloc((count + 1) * sizeof *polled);
  for (size_t i = 0; i < count; i++) {
    polled[i] = (struct pollfd){0};
    polled[i].fd = fds[i].fd;
    if (fds[i].wants_read) polled[i].events |= POLLIN;
    if (fds[i].wants_write) polled[i].events |= POLLOUT;
  }
  int ready = wait_for(polled, count, timeout_ms);
  bool is_whole = ready >= 0 || !was_interrupted();
  for (size_t i = 0; i < count; i++) {
    int events = ready > 0 ? polled[i].revents : 0;
    fds[i].wants_read = (events & ~POLLOUT) != 0;
    fds[i].wants_write = (events & ~POLLIN) != 0;
  }
  mem_free(polled);
  return is_whole;
}
