// The control socket: a Unix-domain socket on which the owner of a running server asks
// it for something. A request is one line; the answer is text whose first line begins
// with `ok` or `error`, after which the connection closes. Answers may come later than
// requests, so a request is known by a token.
//
// Only the owner gets in: the socket lies in a directory of mode 0700.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Loop Loop;
typedef struct Control Control;
typedef uint32_t ControlToken;  // 0: none; a stale token is ignored

enum {
  CONTROL_CONNECTIONS_MAX = 8,  // further ones are closed at once
  CONTROL_LINE_MAX = 256,       // bytes of a request with its end of line
  // For the request to arrive, for the answer, and to read it.
  CONTROL_DEADLINE_MS = 5000,
};

/// A request arrived: a C string without its end of line, valid during the call.
/// Answered with control_reply, now or later.
typedef void ControlRequest(void *data, ControlToken token, const char *line);

/// Listens at `path`. Makes the directory that holds it when it is not there; one that
/// exists must be a directory of this user's own that nobody else may enter. A socket
/// that nobody listens on is replaced. Returns NULL with `err` set otherwise:
/// -EADDRINUSE when somebody does listen.
Control *control_open(Loop *loop, const char *path, ControlRequest *on_request,
                      void *data, int *err);

/// Answers and ends the connection.
void control_reply(Control *control, ControlToken token, const char *text, size_t size);

/// Removes the socket and drops the connections. Freed by the loop; NULL is allowed.
void control_close(Control *control);
