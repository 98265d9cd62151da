// The common work of the loads by datagrams (udp_load.c, udp_enet.c): one member of a
// room sends a burst, and sends the next when all others have it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program.h"

typedef struct UdpWork UdpWork;

struct UdpWork {
  // the command line
  uint16_t port;
  int pid;         // process of the server
  double seconds;  // duration of a measurement
  uint32_t members;
  uint32_t burst;  // broadcasts in a datagram

  int epoll;
  uint64_t joined;       // number of members that have joined
  uint64_t arrived;      // arrivals, counted by `read`
  uint32_t per_burst;    // arrivals of one burst at a member
  uint64_t next_due_ns;  // time of the next call of `due`

  /// Reads the input of the member that epoll knows as `member`.
  void (*read)(UdpWork *work, void *member);
  /// Works every few milliseconds, even without input.
  void (*due)(UdpWork *work);
  /// Makes the first member send a burst.
  void (*send)(UdpWork *work);
};

/// Reads an option that all loads have, by the first letter of its name; `i` is --pid.
/// Ignores others.
void udp_work_set(UdpWork *work, int option);

/// Begins after the command line has been read.
void udp_work_open(UdpWork *work);

/// Registers a socket with epoll.
void udp_work_watch(UdpWork *work, int fd, void *member);

/// Waits until that number of members has joined; ends the program after five seconds.
void udp_work_await_joined(UdpWork *work, uint32_t count);

/// Prints the server's cost of a datagram that arrived, in one line.
void udp_work_measure(UdpWork *work);
