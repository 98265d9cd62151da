// What the driver needs of the operating system: names of hosts, sockets that never wait, waiting
// for many of them, and a clock. POSIX and Windows; no other file knows them.
//
// Functions that return an int return a negative error where they fail: OS_AGAIN where they would
// have to wait, else one for os_problem.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perigee.h"

enum { OS_AGAIN = INT32_MIN };

/// One of the addresses of a host, and the first of a list.
typedef struct addrinfo OsAddress;

/// Resolves a host's name, which may wait for the network's name servers. NULL, and why.
OsAddress *os_resolve(const char *host, const char *port, const char **problem);
const OsAddress *os_next_address(const OsAddress *address);
void os_free_addresses(OsAddress *addresses);

/// Begins to connect by TCP; returns a socket.
int os_open_tcp(const OsAddress *address);

/// Returns 0 where a TCP connection is open now.
int os_finish_tcp(int fd);

/// Opens a socket for datagrams to this address; returns it.
int os_open_udp(const OsAddress *address);

/// Has it send to, and receive from, another port of the same host.
int os_set_port(int fd, uint16_t port);

/// Return the number of bytes received and sent. For TCP 0 received is the end.
int os_receive(int fd, void *bytes, size_t size);
int os_send(int fd, const void *bytes, size_t size);

void os_close(int fd);

/// Whether an error says that nobody listens there.
bool os_is_refused(int error);

/// An error in words. Valid until the next call.
const char *os_problem(int error);

/// Waits for descriptors up to `timeout_ms` (negative: for ever), and sets their wants_read and
/// wants_write to whether they are ready. False when a signal was handled meanwhile.
bool os_poll(PerigeeFd *fds, size_t count, int timeout_ms);

/// Microseconds of a clock that never goes back.
uint64_t os_clock_us(void);
