// The admin listener: HTTP for whoever runs the server and for his tools, apart from the
// game's port: MCP below /mcp, the control API below /api/. Requests are handed up whole, when
// their Host, Origin and token are good; the answer comes down at once or later, whole or as a
// stream. Its connections are no
// peers, and do not count as clients.
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
  Text fields;  // further ones: "Name: value\r\n" each
  Text body;
} AdminAnswer;

/// Who answers requests.
typedef enum AdminService { ADMIN_MCP, ADMIN_API, ADMIN_SERVICES } AdminService;

/// What is told upwards. `data` is what net_admin_serve was given.
typedef struct AdminEvents {
  /// A request: "POST /mcp", then "name: value" for each field that matters to who answers
  /// (names in lower case), an empty line, all of these ended by LF, and the body. Valid
  /// during the call.
  void (*request)(void *data, ConnId conn, Text text);
  /// The connection has ended before its answer had; may be NULL.
  void (*gone)(void *data, ConnId conn);
} AdminEvents;

typedef struct AdminOptions {
  const char *host;   // to listen on
  const char *token;  // that every request has to carry; NULL: none
  // By which it may be called besides `host` and this machine's own, separated by commas.
  const char *names;
} AdminOptions;

/// Whether `host` is this machine's own address, which nobody else can reach.
bool net_is_loopback(const char *host);

/// Listens; port 0 takes a free one and stores it. Returns 0 or an error. Once for a net.
int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options);

/// From now on the requests of a service are handed up; before that they get 404. Does nothing
/// without a listener. `events` is static.
void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data);

/// Returns whether every request that is handed up has carried a token.
bool net_admin_has_token(const Net *net);

/// Answers the request of `conn`; ignored when it is gone or has been answered.
void net_admin_answer(Net *net, ConnId conn, const AdminAnswer *answer);
