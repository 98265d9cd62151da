// The admin listener: HTTP for operators and their tools, apart from the game's port,
// with MCP below /mcp, the control API below /api/, the console, and metrics. The
// listener passes whole requests to the layer above after it has checked Host, Origin
// and token. The layer above answers at once or later, in one piece or as a stream.
// Admin connections are not peers and do not count as clients.
#pragma once

#include "net/net.h"
#include "wire/reader.h"

enum {
  ADMIN_TOKEN_MIN = 16,      // characters of the shortest allowed token
  ADMIN_SECRET_DIGITS = 48,  // hexadecimal digits of a generated token
};

/// The parts of an answer. A complete answer is ANSWER_WHOLE. A stream
/// (text/event-stream) consists of one ANSWER_OPEN, any number of ANSWER_MORE, and one
/// ANSWER_LAST.
typedef enum AnswerPart {
  ANSWER_WHOLE,
  ANSWER_OPEN,
  ANSWER_MORE,
  ANSWER_LAST,
} AnswerPart;

typedef struct AdminAnswer {
  AnswerPart part;
  int status;   // HTTP status of ANSWER_WHOLE; a stream always has 200
  Text fields;  // additional header fields, each "Name: value\r\n"
  Text body;
} AdminAnswer;

/// Services of the listener.
typedef enum AdminService {
  ADMIN_MCP,
  ADMIN_API,
  ADMIN_DASHBOARD,  // below /api/dashboard/
  ADMIN_METRICS,    // /metrics, /healthz and /readyz
  ADMIN_CONSOLE,    // /api/console and /api/console/complete
  ADMIN_SERVICES
} AdminService;

/// Callbacks to the layer above. `data` is the argument of net_admin_serve.
typedef struct AdminEvents {
  /// Reports a request. `text` consists of a line such as "POST /mcp", then "name:
  /// value" for each field that a service uses (names in lower case), for the console
  /// also the sender's "address: ADDRESS", an empty line, and the body. Each line before
  /// the body ends with LF. `text` is valid during the call.
  void (*request)(void *data, ConnId conn, Text text);
  /// Reports that the connection has ended before its answer was complete. May be NULL.
  void (*gone)(void *data, ConnId conn);
} AdminEvents;

/// A file of the dashboard. Name, type and bytes are static.
typedef struct AdminFile {
  const char *name;   // such as "app.js"; the page itself is ""
  const char *type;   // media type
  const char *bytes;  // content, compressed by gzip
  size_t size;
} AdminFile;

typedef struct AdminOptions {
  const char *host;   // address to listen on
  const char *token;  // token that every request must carry; NULL: no token
  const char
      *names;  // names of the server besides `host` and localhost; separated by commas
  const AdminFile *files;  // files of the dashboard, ended by an entry without a name;
                           // NULL: none
} AdminOptions;

/// Opens the listener. Call it at most once for a Net. If the port is 0, stores the
/// free port that was chosen. Returns 0 or an error.
int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options);

/// Passes the requests of a service up from now on. Before this call, they get 404.
/// Does nothing without a listener. `events` must be static.
void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data);

/// Returns whether all requests need a token.
bool net_admin_has_token(const Net *net);

/// Returns the token that requests to the console need, even on loopback, because pages
/// in a local browser reach loopback, too. It is `token` of the options if that is set.
/// Otherwise the listener has generated it, and only this process and those to which it
/// gives the token know it. Returns NULL without a listener.
const char *net_admin_secret(const Net *net);

/// Makes a one-time token, with which a browser signs in to the dashboard: its page has
/// the address "http://HOST:PORT/#TOKEN". Empty without a listener.
void net_admin_make_token(Net *net, char token[ADMIN_SECRET_DIGITS + 1]);

/// Answers the request of `conn`. Does nothing if the connection has ended or the
/// request has been answered.
void net_admin_answer(Net *net, ConnId conn, const AdminAnswer *answer);
