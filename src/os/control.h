// The control socket: a Unix-domain socket by which the owner of a running server sends
// requests. A request is one line. The answer is text whose first line begins with `ok`
// or `error`; then the connection closes. Requests have tokens, because answers may
// come later.
//
// Only the owner can connect, because the socket is in a directory of mode 0700.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Loop Loop;
typedef struct Control Control;
typedef uint32_t ControlToken;  // id of a request; 0: none; control_reply ignores a
                                // stale one

enum {
  CONTROL_CONNECTIONS_MAX = 8,  // connections at a time; further connections are
                                // closed at once
  CONTROL_LINE_MAX = 256,       // bytes of a request with its end of line
  // Deadline of each step: receiving the request, answering it, sending the answer.
  CONTROL_DEADLINE_MS = 5000,
};

/// Passes a request up. `line` has no end of line and is valid during the call. The
/// callee must call control_reply, during the call or later.
typedef void ControlRequest(void *data, ControlToken token, const char *line);

/// Listens at `path`. Creates the directory of `path` if it does not exist. An existing
/// directory must belong to this user and give no permissions to others. Replaces a
/// socket at which no process listens.
/// On an error, returns NULL and sets `err`: -EADDRINUSE if another process listens.
Control *control_open(Loop *loop, const char *path, ControlRequest *on_request,
                      void *data, int *err);

/// Sends the answer and ends the connection.
void control_reply(Control *control, ControlToken token, const char *text, size_t size);

/// Removes the socket and drops the connections. The loop frees the Control. NULL is
/// allowed.
void control_close(Control *control);
