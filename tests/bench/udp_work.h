// The work that the loads of datagrams have in common (udp_load.c, udp_enet.c): members of one
// room, of whom one sends a burst, and the next when all others have it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program.h"

typedef struct UdpWork UdpWork;

struct UdpWork {
  // the command line
  uint16_t port;
  int pid;         // of the server
  double seconds;  // how long to measure
  uint32_t members;
  uint32_t burst;  // broadcasts

  int epoll;
  uint64_t joined;       // members
  uint64_t arrived;      // counted by `read`
  uint32_t per_burst;    // arrivals that a member has of one
  uint64_t next_due_ns;  // when `due` is called

  /// Takes what has come to the one that epoll knows as `member`.
  void (*read)(UdpWork *work, void *member);
  /// Does work every few milliseconds, even without input.
  void (*due)(UdpWork *work);
  /// Has the first member send a burst.
  void (*send)(UdpWork *work);
};

/// Takes an option of the command line that all loads have, by the first letter of its name; `i` is
/// --pid. Others are passed over.
void udp_work_set(UdpWork *work, int option);

/// Begins, when the command line has been read.
void udp_work_open(UdpWork *work);

/// Has epoll tell of a socket.
void udp_work_watch(UdpWork *work, int fd, void *member);

/// Waits until so many have joined; ends the program when that takes more than five seconds.
void udp_work_await_joined(UdpWork *work, uint32_t count);

/// Prints what a datagram that arrived cost the server, on one line.
void udp_work_measure(UdpWork *work);
