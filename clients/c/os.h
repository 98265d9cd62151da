// The operating system for the driver, POSIX or Windows: host names, non-blocking
// sockets, waiting for many of them, and a clock. The other files of the driver do not
// depend on the system.
//
// On failure, functions that return an int return a negative error: OS_AGAIN if they
// would have to wait, otherwise an error for os_problem.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perigee.h"

enum { OS_AGAIN = INT32_MIN };

/// The addresses of a host, as a list.
typedef struct addrinfo OsAddress;

/// Resolves the name of a host; may wait for name servers. On failure, returns NULL and
/// sets `problem` to the reason. Free the list with os_free_addresses.
OsAddress *os_resolve(const char *host, const char *port, const char **problem);
const OsAddress *os_next_address(const OsAddress *address);
void os_free_addresses(OsAddress *addresses);

/// Begins to connect by TCP; returns a socket.
int os_open_tcp(const OsAddress *address);

/// Returns 0 if a TCP connection is open now.
int os_finish_tcp(int fd);

/// Opens a socket for datagrams to this address, and returns it.
int os_open_udp(const OsAddress *address);

/// Connects a socket for datagrams to another port of the same host.
int os_set_port(int fd, uint16_t port);

/// Return the number of bytes received or sent. For TCP, 0 received bytes mean the end.
int os_receive(int fd, void *bytes, size_t size);
int os_send(int fd, const void *bytes, size_t size);

void os_close(int fd);

/// Returns whether an error means that no program listens at the address.
bool os_is_refused(int error);

/// Describes an error. The text is valid until the next call.
const char *os_problem(int error);

/// Waits for descriptors up to `timeout_ms` (negative: forever). Then sets wants_read
/// and wants_write of each descriptor to 1 if it is ready, else to 0. Returns false if
/// a signal was handled.
bool os_poll(PerigeeFd *fds, size_t count, int timeout_ms);

/// Returns the microseconds of a clock that never goes back.
uint64_t os_clock_us(void);
