// The sockets of a client: resolves its server's name, connects, and carries bytes and datagrams
// between the operating system and the client. Uses the client by the functions of perigee.h that
// have no sockets.
#pragma once

#include "os.h"

typedef struct Driver {
  char *host;
  char port[6];
  uint64_t timeout_us;
  OsAddress *addresses;      // of the host; NULL: to be resolved
  const OsAddress *address;  // that is tried, or connected to
  const OsAddress *next;     // to try where `address` cannot be reached
  uint32_t connection;       // number of the client's connection; 0: none
  int tcp;                   // descriptors; -1: none
  int udp;
  uint16_t udp_port;  // that `udp` sends to; 0: that of `address`
  bool is_connected;  // somebody is at `address`
  bool was_open;      // the server has let this connection in
  int error;          // the last one of an address
  uint64_t skip_us;   // when to try the next address,
  uint64_t until_us;  // and when to give all of them up
  int polled;         // descriptors of the wait
} Driver;
