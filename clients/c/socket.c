// TCP without waiting: POSIX sockets, one address of the host after the other.
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum { DEFAULT_PORT = 7777, READ_SIZE = 64 << 10, PORT_DIGITS = 5 };

static bool port_parse(Target *target, const char *text) {
  size_t size = strlen(text);
  if (size < 1 || size > PORT_DIGITS || strspn(text, "0123456789") != size)
    return false;
  long port = strtol(text, NULL, 10);
  snprintf(target->port, sizeof target->port, "%u", (unsigned)port & 0xffff);
  return port >= 1 && port <= UINT16_MAX;
}

static bool set_host(Target *target, const char *host, size_t size) {
  if (size == 0) return false;
  target->host = mem_zalloc(size + 1);
  memcpy(target->host, host, size);
  return true;
}

bool target_parse(Target *target, const char *address) {
  *target = (Target){0};
  snprintf(target->port, sizeof target->port, "%d", DEFAULT_PORT);
  if (address[0] == '[') {
    const char *end = strchr(address, ']');
    if (!end || (end[1] != '\0' && (end[1] != ':' || !port_parse(target, end + 2))))
      return false;
    return set_host(target, address + 1, (size_t)(end - address) - 1);
  }
  if (strpbrk(address, " /[]")) return false;
  const char *colon = strchr(address, ':');
  if (colon && strchr(colon + 1, ':')) colon = NULL;  // an IPv6 address by itself
  if (colon && !port_parse(target, colon + 1)) return false;
  return set_host(target, address, colon ? (size_t)(colon - address) : strlen(address));
}

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

SocketResult socket_open(Socket *s, const Target *target) {
  *s = (Socket){.fd = -1};
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  if (getaddrinfo(target->host, target->port, &hints, &s->addresses) != 0) {
    s->addresses = NULL;
    s->error = EADDRNOTAVAIL;
    return SOCKET_END;
  }
  s->next = s->addresses;
  return try_next(s);
}

// Writable is not enough: another wait may have been the reason to look. The peer's name is known
// only once the connection is there.
SocketResult socket_finish(Socket *s) {
  struct sockaddr_storage peer;
  socklen_t size = sizeof s->error;
  if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &s->error, &size) != 0) s->error = errno;
  if (s->error != 0) return try_next(s);
  size = sizeof peer;
  if (getpeername(s->fd, (struct sockaddr *)&peer, &size) != 0) return SOCKET_AGAIN;
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
  if (s->addresses) freeaddrinfo(s->addresses);
  s->addresses = NULL;
  s->next = NULL;
}

const char *socket_problem(const Socket *s) { return strerror(s->error); }
