// The part of POSIX sockets that the tests of the C client use, implemented with
// Windows sockets. The tests' sockets never block.
#pragma once

#include <errno.h>
#include <unistd.h>
#include <winsock2.h>
#include <ws2tcpip.h>

enum { MSG_DONTWAIT = 0, MSG_NOSIGNAL = 0, SHUT_RDWR = SD_BOTH, SHUT_WR = SD_SEND };
enum { F_SETFL, O_NONBLOCK };

static inline int socket_error(void) {
  return WSAGetLastError() == WSAEWOULDBLOCK ? EAGAIN : EIO;
}

static inline int make_nonblocking(int fd) {
  u_long is_on = 1;
  return ioctlsocket((SOCKET)fd, FIONBIO, &is_on);
}

static inline int open_socket(int family, int type, int protocol) {
  WSADATA data;
  WSAStartup(MAKEWORD(2, 2), &data);
  int fd = (int)socket(family, type, protocol);
  if (fd >= 0 && type == SOCK_DGRAM) make_nonblocking(fd);
  return fd;
}

static inline int accept_socket(int listening, struct sockaddr *from, int *size) {
  int fd = (int)accept((SOCKET)listening, from, size);
  if (fd >= 0) make_nonblocking(fd);
  return fd;
}

#undef errno
#define errno socket_error()
#define socket open_socket
#define accept accept_socket
#define close(fd) closesocket((SOCKET)(fd))
#define fcntl(fd, command, flags) make_nonblocking(fd)
#define setsockopt(fd, level, name, value, size) \
  setsockopt(fd, level, name, (const char *)(value), size)
#define send(fd, bytes, size, flags) send(fd, (const char *)(bytes), (int)(size), flags)
#define recv(fd, bytes, size, flags) recv(fd, (char *)(bytes), (int)(size), flags)
#define sendto(fd, bytes, size, flags, to, to_size) \
  sendto(fd, (const char *)(bytes), (int)(size), flags, to, to_size)
#define recvfrom(fd, bytes, size, flags, from, from_size) \
  recvfrom(fd, (char *)(bytes), (int)(size), flags, from, from_size)
