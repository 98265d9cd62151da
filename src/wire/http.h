// HTTP/1.1 as a server needs it: requests read, heads of answers written. Bytes in,
// values out; no I/O, no clock, no memory. Strict: what two readers could understand in
// two ways is refused. Which parser does the work is known to http.c alone.
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

/// Reads the head at the start of `bytes`. Returns the bytes it takes up, 0 when it is not
/// all there yet, or the status that refuses it, negated: -400, -405, -414, -431. Bad bytes
/// are refused as they come, before the rest is there.
int http_read_request(const char *bytes, size_t size, HttpRequest *request);

/// The value of the first field of that name, in whatever case, or NULL.
const Text *http_field(const HttpRequest *request, const char *name);

/// Whether `token` is in the comma-separated values of the fields of that name, in whatever
/// case.
bool http_has_token(const HttpRequest *request, const char *name, const char *token);

/// Whether both are the same but for case.
bool http_is_text(Text text, const char *other);

/// Whether a page of `origin` (the Origin header) is one of the server that it calls by
/// `host` (the Host header): the same name and port.
bool http_is_same_origin(Text origin, Text host);

/// Whether `origin` is in `list`, which is separated by commas, or the list has "*".
bool http_is_listed_origin(Text origin, const char *list);

/// Finds the first in such a list that no page can have, "a.example" or "https://a/" (a
/// page has "https://a"). Returns whether there is one.
bool http_find_bad_origin(const char *list, Text *bad);

/// What a status is called: "Not Found".
const char *http_reason(int status);

/// The status line, then fields, then the empty line.
void http_put_status(Buf *buf, int status);
void http_put_field(Buf *buf, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_put_end(Buf *buf);
