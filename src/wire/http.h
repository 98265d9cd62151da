// HTTP/1.1 for a server: parses requests and writes heads of answers. No I/O, no clock,
// no allocation. The parser is strict: it refuses a request that two readers could
// understand in different ways. Only http.c depends on the library http-parser.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  HTTP_HEAD_MAX = 8 << 10,    // bytes of a request's head
  HTTP_TARGET_MAX = 2 << 10,  // bytes of a target, such as "/game.js?v=3"
  HTTP_FIELDS_MAX = 64,
};

typedef enum HttpMethod {
  METHOD_GET,
  METHOD_HEAD,
  METHOD_POST,
  METHOD_DELETE,
  METHOD_OTHER,
} HttpMethod;

/// Names such as "GET", for all methods but METHOD_OTHER.
extern const char *const HTTP_METHODS[METHOD_OTHER];

typedef struct HttpField {
  Text name;
  Text value;  // value without the spaces around it
} HttpField;

/// A parsed request. Its texts point into the bytes that were parsed.
typedef struct HttpRequest {
  HttpMethod method;
  bool is_old;       // the version is HTTP/1.0
  bool keeps_alive;  // the connection may serve another request
  bool has_body;     // a body follows the head (http_body.h)
  Text target;  // target, which begins with a slash unless the method is METHOD_OTHER
  uint32_t field_count;
  HttpField fields[HTTP_FIELDS_MAX];
} HttpRequest;

/// Parses the head at the start of `bytes`. Returns its size, 0 if a part of it has not
/// arrived, or the negated status of a refusal: -400, -405, -414, -431. Refuses wrong
/// bytes even before the rest arrives.
int http_read_request(const char *bytes, size_t size, HttpRequest *request);

/// Returns the value of the first field of that name, ignoring case, or NULL.
const Text *http_field(const HttpRequest *request, const char *name);

/// Returns whether `token` is in the comma-separated values of the fields of that name,
/// ignoring case.
bool http_has_token(const HttpRequest *request, const char *name, const char *token);

/// Returns whether both texts are equal, ignoring case.
bool http_is_text(Text text, const char *other);

/// Returns whether a page of `origin` (the header Origin) belongs to the server that
/// the request calls `host` (the header Host): name and port are equal.
bool http_is_same_origin(Text origin, Text host);

/// Returns whether the comma-separated `list` contains `origin` or "*".
bool http_is_listed_origin(Text origin, const char *list);

/// Finds the first entry in a comma-separated `list` that cannot be a page's origin,
/// such as "a.example" or "https://a/" (the correct form is "https://a"). Returns
/// whether such an entry exists.
bool http_find_bad_origin(const char *list, Text *bad);

/// Returns the text of a status, such as "Not Found".
const char *http_reason(int status);

/// Append the status line, a field, and the empty line that ends the head.
void http_put_status(Buf *buf, int status);
void http_put_field(Buf *buf, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void http_put_end(Buf *buf);

/// Appends a text of a URL with its percent signs decoded, and a NUL. Returns false if
/// the result is not UTF-8, or contains a NUL.
bool http_decode(Text text, Buf *out);
