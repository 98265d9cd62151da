// HTTP connections. Each server (the site, the admin listener) has a table of
// routes. A route's handler answers a request at once, later, in pieces, as a stream,
// or by changing to another protocol. A connection has one request at a time, whose
// head stays in the inbox until the answer. http.c and answer.c implement deadlines,
// limits, refusals and heads for all routes.
#pragma once

#include "net/conn.h"
#include "net/web.h"
#include "wire/http_body.h"
#include "wire/http_file.h"

enum {
  HTTP_KEEP_ALIVE_MS = 15000,  // time until the next request of a connection begins
  HTTP_STALL_MS = 30000,       // time to make a piece of an answer, or to read it
  HTTP_BODY_MS = 10000,  // time from the first byte of a request to the end of its body
  HTTP_BEAT_MS = 15000,  // silence on a stream after which a comment is sent
  HTTP_LATE_MS = 500,    // delay of the refusal of a wrong token
  HTTP_BODY_MAX = 1 << 20,       // bytes of one request's body
  HTTP_BODIES_TOTAL = 16 << 20,  // bytes of all bodies that a server receives at a time
  HTTP_OUT_MAX = 16 << 20,       // bytes of a stream that may wait for a slow reader
};

/// Flags of a route.
typedef enum HttpFlags {
  HTTP_TAKES_BODY = 1,  // POST requests have a body
  /// The answer may come at any time. It has no deadline, and reading continues
  /// meanwhile, so that the server notices the end of the connection.
  HTTP_WAITS = 2,
} HttpFlags;

typedef struct HttpRoute {
  // Path without the first slash. An empty path, or one that ends with a slash, is a
  // prefix.
  const char *path;
  uint32_t methods;  // bits, such as 1 << METHOD_GET
  uint32_t flags;    // HttpFlags
  /// Answers the request, whose body is in Http.text. If the answer follows later,
  /// stores the state of the request in Http.job or in the layer above.
  void (*handle)(Conn *conn, const HttpRequest *request);
  /// Reports that all sent pieces of the answer have left. NULL: no further pieces
  /// exist.
  void (*drained)(Conn *conn);
  /// Reports that the connection closes before the answer is complete. May be NULL.
  void (*gone)(Conn *conn);
} HttpRoute;

/// The static description of a server: the site or the admin listener.
typedef struct HttpKind {
  const HttpRoute *routes;  // routes; the last one has no handler
  uint32_t methods;         // methods that at least one route takes
  const char *nothing;      // text of the refusal of an unknown path
  const char *no_method;  // text of the refusal of an unknown method; NULL: the default
  const char *refusal_type;  // media type of refusals
  uint32_t head_ms;          // deadline of a head if handshake_timeout_ms is 0; 0: none
  bool has_dates;            // answers have a Date
  /// Refuses a request by its head and returns false, or returns true with the path
  /// that selects the route.
  bool (*check)(Conn *conn, const HttpRequest *request, HttpPath *path);
  /// Logs a refusal and appends its body. Returns whether the connection ends.
  bool (*refuse)(Conn *conn, int status, const char *why, Buf *body);
  void (*leave)(Conn *conn);  // called when a connection closes; may be NULL
} HttpKind;

/// State that the connections of a server share.
typedef struct HttpServer {
  WebStats stats;
  size_t reserved_bytes;  // bytes reserved for bodies that are being received
} HttpServer;

/// The part of the body that follows HttpAnswer.body.
typedef enum HttpRest {
  HTTP_NOTHING,
  HTTP_PIECES,  // `count` bytes, in pieces
  HTTP_STREAM,  // any number of bytes, in chunks
} HttpRest;

typedef struct HttpAnswer {
  int status;
  HttpRest rest;
  const char *type;   // media type of the body; NULL: no body, or given in `fields`
  const char *cache;  // Cache-Control; NULL: no-store
  const HttpVersion *version;  // version of a file; NULL: the answer is not a file
  Text fields;                 // additional header fields, each "Name: value\r\n"
  Text body;
  uint64_t size;          // size of the whole body, for status 206 and 416
  uint64_t first, count;  // range of the part that is sent
} HttpAnswer;

typedef enum HttpState {
  HTTP_HEAD,       // waiting for the head of a request
  HTTP_BODY,       // waiting for the body of a request
  HTTP_REFUSING,   // the request is refused after HTTP_LATE_MS
  HTTP_HANDLED,    // a route is answering the request
  HTTP_STREAMING,  // the answer is a stream
  HTTP_ANSWERED,   // the whole answer is made, and its rest is leaving
} HttpState;

/// Http is the speech of a connection.
typedef struct Http {
  const HttpKind *kind;
  HttpServer *server;
  const HttpRoute *route;  // route of the current request; NULL: none
  void *job;               // state of the route's handler
  HttpBody body;
  Buf text;              // received bytes of the body
  size_t reserved;       // bytes reserved for the body in HttpServer.reserved_bytes
  Buf out;               // bytes that wait behind earlier output
  uint32_t size;         // size of the request's head, at the start of the input
  uint8_t state;         // HttpState
  bool is_last;          // the connection ends after this request
  bool is_head_only;     // the answer has no body, because the method is HEAD
  int late_status;       // status of HTTP_REFUSING
  const char *late_why;  // reason of HTTP_REFUSING; static
} Http;

extern const Protocol HTTP;

static inline Http *http_of(const Conn *conn) { return conn->speech; }

static inline Text http_text(const Buf *bytes) {
  return (Text){(const char *)bytes->data, (uint32_t)bytes->size};
}

// --- http.c ---

/// Makes the connection speak HTTP with the given server.
void http_begin(Conn *conn, const HttpKind *kind, HttpServer *server);
/// Parses the current request again.
void http_request(const Conn *conn, HttpRequest *request);
/// Returns whether the connection speaks HTTP and has not ended.
bool http_is_open(const Conn *conn);
/// Begins the answer to the current request.
void http_answer(Conn *conn, const HttpAnswer *answer);
/// Sends the next bytes of an answer with HTTP_PIECES or HTTP_STREAM.
void http_send(Conn *conn, Text bytes, bool is_last);
/// Refuses the request and returns false. `why` is a phrase without capital letter and
/// full stop; NULL for status 405.
bool http_refuse(Conn *conn, int status, const char *why);
/// Refuses the request after HTTP_LATE_MS, and returns false. `why` is static.
bool http_refuse_late(Conn *conn, int status, const char *why);

// --- answer.c ---

/// Appends the head of an answer. `unix_s`: time for the Date field; 0: no such field.
void http_put_head(Buf *out, const HttpAnswer *answer, int64_t unix_s, bool is_last);
/// Appends the fields that explain a refusal.
void http_put_hints(Buf *fields, int status, uint32_t methods);
/// Writes a list such as "GET, POST and DELETE". `last` separates the last two methods.
void http_list_methods(char text[40], uint32_t methods, const char *last);
