// Any stream of bytes: a request is accepted only if all readers would understand it in
// the same way, otherwise refused at once; a path never leads out of its folder.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/http_body.h"
#include "wire/http_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(Text target) {
  HttpPath path;
  int refused = http_read_path(target, &path);
  assert(refused == 0 || refused == -400 || refused == -404 || refused == -414);
  if (refused) return;
  assert(path.text[0] != '/' && path.text[0] != '.');
  assert(!strstr(path.text, "//") && !strstr(path.text, "/."));
  assert(!strchr(path.text, '\\'));
  assert(http_type(path.text));
}

static void check_fields(const HttpRequest *request, const char *bytes, size_t size) {
  for (uint32_t i = 0; i < request->field_count; i++) {
    const HttpField *field = &request->fields[i];
    assert(field->name.size > 0 && field->name.bytes >= bytes);
    assert(field->name.bytes + field->name.size <= bytes + size);
    if (field->value.size == 0) continue;
    assert(field->value.bytes + field->value.size <= bytes + size);
    assert(!memchr(field->value.bytes, '\r', field->value.size));
    assert(!memchr(field->value.bytes, '\n', field->value.size));
  }
  uint64_t first, count;
  HttpVersion version = {.tag = "\"a\"", .changed_s = 1};
  if (http_read_part(request, &version, 100, &first, &count) != PART_IMPOSSIBLE)
    assert(first + count <= 100);
  http_is_known(request, &version);
  const Text *origin = http_field(request, "origin");
  const Text *host = http_field(request, "host");
  if (origin && host) http_is_same_origin(*origin, *host);
}

// Checks that a body is the same when it is read at once and byte by byte, and never
// larger than allowed.
static void check_body(const HttpRequest *request, const char *bytes, size_t size) {
  enum { LIMIT = 64 };
  HttpBody whole, slow;
  Buf a = {0}, b = {0};
  if (http_body_begin(&whole, request, LIMIT) < 0) return;
  slow = whole;
  int64_t used = http_body_read(&whole, bytes, size, &a), at = 0;
  while (at >= 0 && (size_t)at < size && !slow.is_done) {
    int64_t taken = http_body_read(&slow, bytes + at, 1, &b);
    at = taken < 0 ? taken : at + taken;
  }
  assert(used == at && whole.is_done == slow.is_done && a.size <= LIMIT);
  assert(a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0));
  buf_deinit(&a);
  buf_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  HttpRequest request, again;
  int taken = http_read_request(bytes, size, &request);
  assert(taken <= HTTP_HEAD_MAX && taken <= (int)size);
  if (taken < 0) {
    // Later bytes do not change the refusal of earlier ones.
    assert(taken == -400 || taken == -405 || taken == -414 || taken == -431);
    return 0;
  }
  if (taken == 0) return 0;
  assert(memcmp(bytes + taken - 4, "\r\n\r\n", 4) == 0);
  assert(http_read_request(bytes, (size_t)taken, &again) == taken);
  assert(http_read_request(bytes, (size_t)taken - 1, &again) <= 0);
  check_fields(&request, bytes, (size_t)taken);
  if (request.method != METHOD_OTHER) check_path(request.target);
  check_body(&request, bytes + taken, size - (size_t)taken);
  return 0;
}
