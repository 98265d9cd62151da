// HTTP of a connection. A HttpServer (of the site, of the admin listener) has a table of
// routes; a route's handler answers its requests: at once, later, in pieces, as a stream,
// or by having the connection speak another protocol. There is one request at a time, and
// its head stays in the inbox until it is answered. Deadlines, limits, refusals and the
// heads of answers are this part's, and the same for all routes.
#pragma once

#include "net/conn.h"
#include "wire/http_body.h"
#include "wire/http_file.h"

enum {
  HTTP_KEEP_ALIVE_MS = 15000,    // until the next request of a connection begins
  HTTP_STALL_MS = 30000,         // until a piece of an answer is made or taken
  HTTP_BODY_MS = 10000,          // from a request's first byte to the last of its body
  HTTP_BEAT_MS = 15000,          // of silence on a stream until a comment is sent
  HTTP_LATE_MS = 500,            // until a request is refused whose token is wrong
  HTTP_BODY_MAX = 1 << 20,       // bytes of one request's body
  HTTP_BODIES_TOTAL = 16 << 20,  // of all bodies that a server receives at a time
  HTTP_OUT_MAX = 16 << 20,       // bytes of a stream that may wait for a slow reader
};

/// Methods of a route: 1 << METHOD_GET.
typedef enum HttpFlags {
  HTTP_TAKES_BODY = 1,  // of POST
  /// The answer may come at any time: it has no deadline, and reading goes on meanwhile, so
  /// that the end of the connection is noticed.
  HTTP_WAITS = 2,
} HttpFlags;

typedef struct HttpRoute {
  const char *path;  // without the first slash; NULL: any
  uint32_t methods;
  uint32_t flags;
  /// Answers the request, or keeps in http_job what it needs for that. `body` is valid
  /// during the call.
  void (*handle)(Conn *conn, const HttpRequest *request, Text body);
  /// What was sent of the answer is out; NULL: the next piece comes by itself.
  void (*drained)(Conn *conn);
  /// The connection closes before the answer was complete. NULL: no matter.
  void (*gone)(Conn *conn);
} HttpRoute;

/// The decision about a request.
typedef struct HttpVerdict {
  int status;       // that refuses it; 0: it may pass
  const char *why;  // static; NULL: that is for `refuse` to say
  bool is_late;     // refused after HTTP_LATE_MS
} HttpVerdict;

/// A server: what distinguishes the site from the admin listener. Static.
typedef struct HttpKind {
  const HttpRoute *routes;   // the last is without a handler
  uint32_t methods;          // that any of the routes takes
  const char *nothing;       // text of the refusal where there is no route
  const char *no_method;     // and of one for an unknown method; NULL: as for others
  const char *refusal_type;  // media type of refusals
  uint32_t head_ms;          // deadline of a head without handshake_timeout_ms; 0: none
  bool has_dates;            // answers say when they were made
  /// Judges a request by its head, and returns the path by which its route is found.
  HttpVerdict (*check)(Conn *conn, const HttpRequest *request, HttpPath *path);
  /// Logs a refusal and appends its body. Returns whether the connection ends.
  bool (*refuse)(Conn *conn, int status, const char *why, Buf *body);
  void (*leave)(Conn *conn);  // a connection closes; NULL: no matter
} HttpKind;

/// What the connections of a server share.
typedef struct HttpServer {
  uint64_t requests;      // so far
  uint64_t stalled;       // answers that were not taken in time
  size_t reserved_bytes;  // for bodies that are being received
} HttpServer;

/// What follows the part of a body that is in an answer.
typedef enum HttpRest {
  HTTP_NOTHING,
  HTTP_PIECES,  // `count` bytes
  HTTP_STREAM,  // any number of chunks
} HttpRest;

typedef struct HttpAnswer {
  int status;
  HttpRest rest;
  const char *type;            // of the body; NULL: it has none, or it is in `fields`
  const char *cache;           // how long it may be kept; NULL: not at all
  const HttpVersion *version;  // of a file; NULL: it is none
  Text fields;                 // further ones: "Name: value\r\n" each
  Text body;
  uint64_t size;          // of the whole body; with status 206 and 416
  uint64_t first, count;  // of the part that is sent
} HttpAnswer;

extern const Protocol HTTP;

static inline Text http_text(const Buf *bytes) {
  return (Text){(const char *)bytes->data, (uint32_t)bytes->size};
}

// --- http.c ---

/// The connection begins to speak HTTP to the server.
void http_begin(Conn *conn, const HttpKind *kind, HttpServer *server);
/// Reads the request under way again.
void http_request(const Conn *conn, HttpRequest *request);
/// Returns where a handler keeps what it needs until the answer is complete.
void **http_job(Conn *conn);
/// The connection takes the request out of its input: it will speak another protocol.
void http_take_request(Conn *conn);
/// Begins the answer to the request under way.
void http_answer(Conn *conn, const HttpAnswer *answer);
/// Sends more of an answer with HTTP_PIECES or HTTP_STREAM.
void http_send(Conn *conn, Text bytes, bool is_last);
/// Answers that the request is refused. `why` is a sentence without capital and full stop.
void http_refuse(Conn *conn, int status, const char *why);
/// Returns whether a request is under way for whose answer, or (`is_stream`) for more of whose
/// stream, its route waits.
bool http_waits(const Conn *conn, bool is_stream);

// --- answer.c ---

/// Appends the head of an answer. `unix_s` is the time; 0: it is not to be said.
void http_put_head(Buf *out, const HttpAnswer *answer, int64_t unix_s, bool is_last);
/// Appends the fields that say more about a refusal.
void http_put_hints(Buf *fields, int status, uint32_t methods);
/// Writes "GET, POST and DELETE", with `last` before the last one.
void http_list_methods(char text[40], uint32_t methods, const char *last);
