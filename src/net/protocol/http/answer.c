// Heads of answers.
#include <stdio.h>
#include <string.h>

#include "net/protocol/http/http.h"

void http_list_methods(char text[40], uint32_t methods, const char *last) {
  size_t size = 0;
  for (uint32_t i = 0; i < METHOD_OTHER; i++) {
    const char *between = size == 0 ? "" : methods >> i == 1 ? last : ", ";
    if (methods >> i & 1)
      size += (size_t)sprintf(text + size, "%s%s", between, HTTP_METHODS[i]);
  }
}

void http_put_hints(Buf *fields, int status, uint32_t methods) {
  char names[40];
  http_list_methods(names, methods, ", ");
  if (status == 401) http_put_field(fields, "WWW-Authenticate", "Bearer");
  if (status == 405) http_put_field(fields, "Allow", "%s", names);
  if (status == 429) http_put_field(fields, "Retry-After", "30");
  if (status == 503) http_put_field(fields, "Retry-After", "5");
  if (status == 426) {
    http_put_field(fields, "Upgrade", "websocket");
    http_put_field(fields, "Sec-WebSocket-Version", "13");
  }
}

static void put_length(Buf *out, const HttpAnswer *answer) {
  unsigned long long first = answer->first, count = answer->count;
  if (answer->status == 206)
    http_put_field(out, "Content-Range", "bytes %llu-%llu/%llu", first,
                   first + count - 1, (unsigned long long)answer->size);
  if (answer->status == 416)
    http_put_field(out, "Content-Range", "bytes */%llu",
                   (unsigned long long)answer->size);
  if (answer->rest == HTTP_STREAM)
    http_put_field(out, "Transfer-Encoding", "chunked");
  else if (answer->status != 304)
    http_put_field(out, "Content-Length", "%llu", count);
}

// Appends the head. The order of its fields differs between the site (which has a Date)
// and the admin listener. Neither order changes, because clients may depend on it.
void http_put_head(Buf *out, const HttpAnswer *answer, int64_t unix_s, bool is_last) {
  const HttpVersion *version = answer->version;
  bool has_date = unix_s != 0;
  char date[HTTP_DATE_SIZE];
  http_put_status(out, answer->status);
  http_date(date, unix_s);
  if (has_date) http_put_field(out, "Date", "%s", date);
  if (answer->type) http_put_field(out, "Content-Type", "%s", answer->type);
  if (has_date)
    put_length(out, answer);
  else
    buf_append(out, answer->fields.bytes, answer->fields.size);
  if (version) http_put_field(out, "ETag", "%s", version->tag);
  if (version && version->changed_s) {
    http_date(date, version->changed_s);
    http_put_field(out, "Last-Modified", "%s", date);
  }
  if (version) http_put_field(out, "Accept-Ranges", "bytes");
  http_put_field(out, "Cache-Control", "%s",
                 answer->cache ? answer->cache : "no-store");
  http_put_field(out, "X-Content-Type-Options", "nosniff");
  if (has_date && !version)  // the body is one of the server's own pages
    http_put_field(out, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
  if (has_date)
    buf_append(out, answer->fields.bytes, answer->fields.size);
  else
    put_length(out, answer);
  http_put_field(out, "Connection", "%s%s", answer->status == 426 ? "Upgrade, " : "",
                 is_last ? "close" : "keep-alive");
  http_put_end(out);
}
