// The control API: requests below /api/ of the admin listener, and lines of the control socket,
// which are the same without a body ("GET /api/peers?limit=10"). Reads are answered at once from
// the relay and the session. Writes are orders, like those of a host program, and are answered
// when they have been carried out.
#pragma once

#include "net/admin.h"
#include "server/library/library.h"

enum {
  API_PENDING_MAX = 256,       // requests that wait for their outcome
  API_LIMIT_DEFAULT = 100,     // entries of a page
  API_LIMIT_MAX = 1000,        // entries of a page that a request may ask for
  API_PAGE_BYTES = 256 << 10,  // size from which on a page ends before its limit
  API_REASON_MAX = 127,        // bytes
};

/// Fields of requests, in the query or as JSON in the body.
typedef enum ApiField {
  API_LIMIT,
  API_AFTER,
  API_NAME,
  API_META,
  API_DATA,
  API_MESSAGE,
  API_VALUE,
  API_RELIABLE,
  API_REASON,
  API_FORCE,
  API_FIELDS
} ApiField;

typedef struct ApiRequest {
  perigee_server *self;
  ApiClient client;
  Text method;
  Buf name;  // from the path, decoded, with a NUL; owned
  Buf fields
      [API_FIELDS];  // a text's bytes or a value's JSON, with a NUL; owned. Without
                     // memory: not given
} ApiRequest;

typedef struct ApiRoute {
  const char *method;
  const char *path;  // after /api/; "*" is a name
  uint32_t fields;   // that it may carry, as 1 << API_NAME
  uint32_t needs;    // that it must carry
  bool is_write;
  void (*run)(ApiRequest *request);
} ApiRoute;

extern const ApiRoute API_ROUTES[];  // the last has no method

/// Returns a text of a request without its NUL.
static inline Text api_text(const Buf *text) {
  return (Text){(const char *)text->data, text->data ? (uint32_t)text->size - 1 : 0};
}

static inline bool api_has(const ApiRequest *request, ApiField field) {
  return request->fields[field].data != NULL;
}

/// Answers with JSON, and frees it.
void api_answer(const ApiRequest *request, int status, Buf *json);

/// Answers with an error.
__attribute__((format(printf, 4, 5))) void api_fail(const ApiRequest *request,
                                                    int status, const char *code,
                                                    const char *format, ...);

/// Makes the outcome of an order answer the request: `order` is what orders_push returned,
/// `status` the one of a success, `missing` the code where what the request names is gone.
void api_wait(const ApiRequest *request, int order, int status, const char *missing);
