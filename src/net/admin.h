// The admin listener: HTTP for operators and their tools, apart from the game's port, with MCP
// below /mcp and the control API below /api/. It hands requests up whole, once their Host, Origin
// and token are good; the answer comes down at once or later, whole or as a stream. Its
// connections are no peers, and do not count as clients.
#pragma once

#include "net/net.h"
#include "wire/reader.h"

enum { ADMIN_TOKEN_MIN = 16 };  // characters

/// The parts of an answer. A whole one is ANSWER_WHOLE; a stream (text/event-stream) is
/// one ANSWER_OPEN, any ANSWER_MORE, and one ANSWER_LAST.
typedef enum AnswerPart {
  ANSWER_WHOLE,
  ANSWER_OPEN,
  ANSWER_MORE,
  ANSWER_LAST,
} AnswerPart;

typedef struct AdminAnswer {
  AnswerPart part;
  int status;   // of ANSWER_WHOLE; a stream has 200
  Text fields;  // further header fields: "Name: value\r\n" each
  Text body;
} AdminAnswer;

/// Services, which answer requests.
typedef enum AdminService { ADMIN_MCP, ADMIN_API, ADMIN_SERVICES } AdminService;

/// Callbacks to the layer above. `data` is that of net_admin_serve.
typedef struct AdminEvents {
  /// A request has come: "POST /mcp", then "name: value" for each field that matters to a
  /// service (names in lower case), an empty line, each of these ended by LF, and the body.
  /// Valid during the call.
  void (*request)(void *data, ConnId conn, Text text);
  /// May be NULL. The connection has ended before its answer had.
  void (*gone)(void *data, ConnId conn);
} AdminEvents;

typedef struct AdminOptions {
  const char *host;   // to listen on
  const char *token;  // that every request has to carry; NULL: none
  const char
      *names;  // of it besides `host` and this machine's own, separated by commas
} AdminOptions;

/// Returns whether `host` is an address that only this machine can reach.
bool net_is_loopback(const char *host);

/// Listens; stores a free port where that is 0. Returns 0 or an error. Once for a Net.
int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options);

/// Hands up the requests of a service from now on; before, they get 404. Does nothing without a
/// listener. `events` is static.
void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data);

/// Returns whether requests need a token.
bool net_admin_has_token(const Net *net);

/// Answers the request of `conn`; does nothing when it is gone or has its answer.
void net_admin_answer(Net *net, ConnId conn, const AdminAnswer *answer);
