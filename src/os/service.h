// Functions for the service manager (systemd) that has started this process. They
// report the state of the server to the service manager, and take the sockets that the
// service manager has opened. They do nothing without a service manager, and on the
// loop of a host program. The protocols are those of sd_notify(3) and sd_listen_fds(3);
// no library is needed.
#pragma once

#include <sys/socket.h>

typedef struct Loop Loop;

/// Reports that the server accepts connections, also after a reload. From the first
/// call on, reports from the loop that it runs, twice in each interval that the service
/// manager allows. The service manager restarts a process that does not report in time.
void service_ready(Loop *loop);

/// Reports that a reload begins.
void service_reloading(const Loop *loop);

/// Reports that the server begins to stop.
void service_stopping(const Loop *loop);

/// Returns the open socket of `type` (SOCK_STREAM, SOCK_DGRAM) that is bound to the
/// port of `address`; -1: none. It does not block. The caller owns it, and a second call
/// does not find it.
int service_take_socket(const Loop *loop, int type, const struct sockaddr *address);

/// Logs a warning for each socket that has not been taken, because its clients would
/// wait without an answer.
void service_warn_untaken(const Loop *loop);
