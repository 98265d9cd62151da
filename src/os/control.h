// The control socket: a Unix-domain socket for requests of the owner of a running server. A request
// is one line; the answer is text whose first line begins with `ok` or `error`, after which the
// connection closes. Requests have tokens, because answers may come later.
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
  // Times for the request to arrive, for the answer, and to read it.
  CONTROL_DEADLINE_MS = 5000,
};

/// A request has arrived: a C string without its end of line, valid during the call. The callee
/// calls control_reply, now or later.
typedef void ControlRequest(void *data, ControlToken token, const char *line);

/// Listens at `path`. Makes its directory if that is missing; an existing one must be this user's,
/// and closed to others. Replaces a socket without listener. Returns NULL, with `err`, for an
/// error: -EADDRINUSE where another process listens.
Control *control_open(Loop *loop, const char *path, ControlRequest *on_request,
                      void *data, int *err);

/// Answers and ends the connection.
void control_reply(Control *control, ControlToken token, const char *text, size_t size);

/// Removes the socket and drops the connections; the loop frees it. NULL is allowed.
void control_close(Control *control);
