// TCP without waiting: POSIX sockets, one address of the host after the other.
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10 };

static void close_fd(Socket *s) {
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
  s->is_connected = false;
}

// Begins with the next address that there is.
static SocketResult try_next(Socket *s) {
  for (; s->next; s->next = s->next->ai_next) {
    const struct addrinfo *to = s->next;
    close_fd(s);
    s->fd = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
    if (s->fd >= 0 && fcntl(s->fd, F_SETFL, O_NONBLOCK) == 0 &&
        fcntl(s->fd, F_SETFD, FD_CLOEXEC) == 0) {
      setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
      if (connect(s->fd, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS) {
        s->next = to->ai_next;
        return SOCKET_AGAIN;
      }
    }
    s->error = errno;
  }
  close_fd(s);
  return SOCKET_END;
}

SocketResult socket_open(Socket *s, const struct addrinfo *addresses) {
  *s = (Socket){.fd = -1, .next = addresses};
  return try_next(s);
}

SocketResult socket_skip(Socket *s) { return try_next(s); }

// With nobody there a port of the system's own choice may be the one that is connected to: then the
// socket hears itself.
static bool is_own_echo(int fd, const struct sockaddr_storage *peer, socklen_t size) {
  struct sockaddr_storage own = {0};
  socklen_t own_size = sizeof own;
  return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own_size == size &&
         memcmp(&own, peer, size) == 0;
}

// Writable is not enough: another wait may have been the reason to look. The peer's name is known
// only once the connection is there.
SocketResult socket_finish(Socket *s) {
  struct sockaddr_storage peer = {0};
  socklen_t size = sizeof s->error;
  if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &s->error, &size) != 0) s->error = errno;
  if (s->error != 0) return try_next(s);
  size = sizeof peer;
  if (getpeername(s->fd, (struct sockaddr *)&peer, &size) != 0) return SOCKET_AGAIN;
  if (is_own_echo(s->fd, &peer, size)) {
    s->error = ECONNREFUSED;
    return try_next(s);
  }
  s->is_connected = true;
  return SOCKET_OK;
}

SocketResult socket_receive(Socket *s, Buf *in) {
  ssize_t got = recv(s->fd, buf_reserve(in, READ_SIZE), READ_SIZE, 0);
  if (got > 0) {
    in->size += (size_t)got;
    return SOCKET_OK;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return SOCKET_AGAIN;
  s->error = got < 0 ? errno : 0;
  return SOCKET_END;
}

SocketResult socket_send(Socket *s, const uint8_t *bytes, size_t size, size_t *sent) {
  *sent = 0;
  ssize_t done = send(s->fd, bytes, size, MSG_NOSIGNAL);
  if (done >= 0) {
    *sent = (size_t)done;
    return *sent == size ? SOCKET_OK : SOCKET_AGAIN;
  }
  if (errno == EAGAIN || errno == EINTR) return SOCKET_AGAIN;
  s->error = errno;
  return SOCKET_END;
}

void socket_close(Socket *s) {
  close_fd(s);
  s->next = NULL;
}

const char *socket_problem(const Socket *s) { return strerror(s->error); }
