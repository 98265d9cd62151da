// HTTP of a connection. Each server (the site, the admin listener) has a table of routes. A route's
// handler answers requests: at once, later, in pieces, as a stream, or by a change to another
// protocol. A connection has one request at a time, whose head stays in the inbox until the
// answer. http.c and answer.c have deadlines, limits, refusals and heads for all routes.
#pragma once

#include "net/conn.h"
#include "net/web.h"
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
  // Without the first slash. One that is empty or ends with a slash is a prefix.
  const char *path;
  uint32_t methods;
  uint32_t flags;
  /// Answers the request, whose body is in Http.text, or keeps its state in Http.job.
  void (*handle)(Conn *conn, const HttpRequest *request);
  /// All sent pieces of the answer are out. NULL: there are no further pieces.
  void (*drained)(Conn *conn);
  /// The connection closes before the answer is complete. May be NULL.
  void (*gone)(Conn *conn);
} HttpRoute;

/// A server: what distinguishes the site from the admin listener. Static.
typedef struct HttpKind {
  const HttpRoute *routes;   // the last is without a handler
  uint32_t methods;          // that any of the routes takes
  const char *nothing;       // text of the refusal where there is no route
  const char *no_method;     // and of one for an unknown method; NULL: as for others
  const char *refusal_type;  // media type of refusals
  uint32_t head_ms;          // deadline of a head without handshake_timeout_ms; 0: none
  bool has_dates;            // answers have a Date
  /// Refuses a request by its head and returns false, or returns the path by which its route
  /// is found.
  bool (*check)(Conn *conn, const HttpRequest *request, HttpPath *path);
  /// Logs a refusal and appends its body. Returns whether the connection ends.
  bool (*refuse)(Conn *conn, int status, const char *why, Buf *body);
  void (*leave)(Conn *conn);  // a connection closes; may be NULL
} HttpKind;

/// State that the connections of a server share.
typedef struct HttpServer {
  WebStats stats;
  size_t reserved_bytes;  // for bodies that are being received
} HttpServer;

/// The bytes that follow the part of a body which is in an answer.
typedef enum HttpRest {
  HTTP_NOTHING,
  HTTP_PIECES,  // `count` of them
  HTTP_STREAM,  // any number, in chunks
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

typedef enum HttpState {
  HTTP_HEAD,       // the head of a request is awaited
  HTTP_BODY,       // its body is awaited
  HTTP_REFUSING,   // the request is refused after HTTP_LATE_MS
  HTTP_HANDLED,    // its route answers it
  HTTP_STREAMING,  // the answer is a stream
  HTTP_ANSWERED,   // the rest of the answer is on its way
} HttpState;

/// The speech of a connection.
typedef struct Http {
  const HttpKind *kind;
  HttpServer *server;
  const HttpRoute *route;  // of the request under way; NULL: none
  void *job;               // the handler's own
  HttpBody body;
  Buf text;              // arrived bytes of the body
  size_t reserved;       // of the server's bytes, for the body
  Buf out;               // bytes that wait behind earlier output
  uint32_t size;         // of the request's head, at the start of the input
  uint8_t state;         // HttpState
  bool is_last;          // the connection ends after the request
  bool is_head_only;     // the answer has no body, because the method is HEAD
  int late_status;       // of HTTP_REFUSING
  const char *late_why;  // of that; static
} Http;

extern const Protocol HTTP;

static inline Http *http_of(const Conn *conn) { return conn->speech; }

static inline Text http_text(const Buf *bytes) {
  return (Text){(const char *)bytes->data, (uint32_t)bytes->size};
}

// --- http.c ---

/// Makes the connection speak HTTP with the server.
void http_begin(Conn *conn, const HttpKind *kind, HttpServer *server);
/// Reads the request under way again.
void http_request(const Conn *conn, HttpRequest *request);
/// Returns whether the connection speaks HTTP and has not ended.
bool http_is_open(const Conn *conn);
/// Begins the answer to the request under way.
void http_answer(Conn *conn, const HttpAnswer *answer);
/// Sends more of an answer with HTTP_PIECES or HTTP_STREAM.
void http_send(Conn *conn, Text bytes, bool is_last);
/// Answers that the request is refused, and returns false. `why` is a sentence without capital
/// and full stop, or NULL for 405.
bool http_refuse(Conn *conn, int status, const char *why);
/// Does the same after HTTP_LATE_MS. `why` is static.
bool http_refuse_late(Conn *conn, int status, const char *why);

// --- answer.c ---

/// Appends the head of an answer. `unix_s` is the time; 0: without a Date.
void http_put_head(Buf *out, const HttpAnswer *answer, int64_t unix_s, bool is_last);
/// Appends the fields that say more about a refusal.
void http_put_hints(Buf *fields, int status, uint32_t methods);
/// Writes "GET, POST and DELETE", with `last` before the last one.
void http_list_methods(char text[40], uint32_t methods, const char *last);
