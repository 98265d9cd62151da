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
typedef uint32_t ControlToken;  // identifies a request; 0: none; stale tokens are
                                // ignored

enum {
  CONTROL_CONNECTIONS_MAX = 8,  // connections at a time; further ones are closed at
                                // once
  CONTROL_LINE_MAX = 256,       // bytes of a request with its end of line
  // Deadline of each step: the request arrives, it is answered, the answer is read.
  CONTROL_DEADLINE_MS = 5000,
};

/// Passes up a request: a C string without its end of line, valid during the call. The
/// callee calls control_reply, now or later.
typedef void ControlRequest(void *data, ControlToken token, const char *line);

/// Listens at `path`. If the directory does not exist, creates it; otherwise it must
/// belong to this user and be closed to others. Replaces a socket without a listener.
/// On an error, returns NULL and sets `err`: -EADDRINUSE if another process listens.
Control *control_open(Loop *loop, const char *path, ControlRequest *on_request,
                      void *data, int *err);

/// Sends the answer and ends the connection.
void control_reply(Control *control, ControlToken token, const char *text, size_t size);

/// Removes the socket and drops the connections. The loop frees the Control. NULL is
/// allowed.
void control_close(Control *control);
