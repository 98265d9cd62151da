// The sockets of a client: resolves the server's name, connects, and carries bytes and
// datagrams between the operating system and the client. Uses the part of perigee.h for
// clients without sockets.
#pragma once

#include "os.h"

typedef struct Driver {
  char *host;
  char port[6];
  uint64_t timeout_us;
  OsAddress *addresses;      // addresses of the host; NULL: not resolved yet
  const OsAddress *address;  // current address
  const OsAddress *next;     // address to try after `address`; NULL: none
  uint32_t connection;       // number of the client's connection; 0: none
  int tcp;                   // descriptor of the TCP socket; -1: none
  int udp;                   // descriptor of the UDP socket; -1: none
  uint16_t udp_port;         // server's port for `udp`; 0: the port of `address`
  bool is_connected;         // the server at `address` has answered
  bool was_open;             // the server has accepted this connection
  int error;                 // newest error of an address, as os.h returns it
  uint64_t skip_us;          // time to try the next address
  uint64_t until_us;         // time to give up
  int polled;                // number of descriptors in the current wait
  uint64_t due_us;           // driver_due_us before the current wait
} Driver;

/// Writes the descriptors of the next wait to `fds`. Returns their number and stores it
/// in `polled`.
int driver_fds(PerigeeClient *client, PerigeeFd fds[2]);

/// Returns the time at which driver_work must run even if no descriptor is ready; 0:
/// now.
uint64_t driver_due_us(const PerigeeClient *client);

/// Does all due work; the flags say which descriptors are ready.
void driver_work(PerigeeClient *client, bool has_stream, bool has_datagrams);
