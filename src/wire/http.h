// HTTP/1.1 as a server needs it: reads requests and writes heads of answers. Bytes in,
// values out; no I/O, no clock, no memory. Strict: refuses a request that two readers could
// understand in two ways. Only http.c knows which parser does the work.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  HTTP_HEAD_MAX = 8 << 10,    // bytes of a request's head
  HTTP_TARGET_MAX = 2 << 10,  // of its target ("/game.js?v=3")
  HTTP_FIELDS_MAX = 64,
};

typedef enum HttpMethod {
  METHOD_GET,
  METHOD_HEAD,
  METHOD_POST,
  METHOD_DELETE,
  METHOD_OTHER,
} HttpMethod;

/// "GET"; of all but METHOD_OTHER.
extern const char *const HTTP_METHODS[METHOD_OTHER];

typedef struct HttpField {
  Text name;
  Text value;  // without the spaces around it
} HttpField;

/// The texts point into the bytes that were read.
typedef struct HttpRequest {
  HttpMethod method;
  bool is_old;       // HTTP/1.0
  bool keeps_alive;  // the connection may serve another one
  bool has_body;     // something follows the head (http_body.h)
  Text target;       // begins with a slash, unless the method is METHOD_OTHER
  uint32_t field_count;
  HttpField fields[HTTP_FIELDS_MAX];
} HttpRequest;

/// Reads the head at the start of `bytes`. Returns its size, 0 if a part of it has not
/// arrived, or the status that refuses it, negated: -400, -405, -414, -431. Bad bytes are
/// refused before the rest arrives.
int http_read_request(const char *bytes, size_t size, HttpRequest *request);

/// Returns the value of the first field of that name, in any case, or NULL.
const Text *http_field(const HttpRequest *request, const char *name);

/// Returns whether `token` is in the comma-separated values of the fields of that name, in
/// any case.
bool http_has_token(const HttpRequest *request, const char *name, const char *token);

/// Returns whether both texts are the same, in any case.
bool http_is_text(Text text, const char *other);

/// Returns whether a page of `origin` (the Origin header) belongs to the server that it
/// calls by `host` (the Host header): the same name and port.
bool http_is_same_origin(Text origin, Text host);

/// Returns whether `origin` is in `list`, which is separated by commas, or the list has "*".
bool http_is_listed_origin(Text origin, const char *list);

/// Finds the first entry in such a list that no page can have, such as "a.example" or
/// "https://a/" (a page has "https://a"). Returns whether it found one.
bool http_find_bad_origin(const char *list, Text *bad);

/// Returns the name of a status, such as "Not Found".
const char *http_reason(int status);

/// Append the status line, a field, and the empty line.
void http_put_status(Buf *buf, int status);
void http_put_field(Buf *buf, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_put_end(Buf *buf);
