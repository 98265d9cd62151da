// The control API: requests of the admin listener below /api/, and lines of the control
// socket, which are the same without a body ("GET /api/peers?limit=10"). Reads are answered at
// once, from the relay and the session; writes are orders, as those of a host program, and are
// answered when they have been carried out.
#pragma once

#include "net/admin.h"
#include "server/library/library.h"

enum {
  API_PENDING_MAX = 256,       // requests that wait for their outcome
  API_LIMIT_DEFAULT = 100,     // entries of a page
  API_LIMIT_MAX = 1000,        // the same
  API_PAGE_BYTES = 256 << 10,  // from which on a page ends before its limit
  API_REASON_MAX = 127,        // bytes
};

/// What a request may carry besides its path: in its query, or as JSON in its body.
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
  Buf name;                // in the path, decoded, with a NUL behind it; owned
  Buf fields[API_FIELDS];  // a text's bytes or a value's JSON, with a NUL; owned. No
                           // memory: it was not given
} ApiRequest;

typedef struct ApiRoute {
  const char *method;
  const char *path;  // behind /api/; "*" stands for a name
  uint32_t fields;   // 1 << API_NAME: those that it may carry
  uint32_t needs;    // those that it has to
  bool is_write;
  void (*run)(ApiRequest *request);
} ApiRoute;

extern const ApiRoute API_ROUTES[];  // the last is without a method

/// A text of a request without its NUL.
static inline Text api_text(const Buf *text) {
  return (Text){(const char *)text->data, text->data ? (uint32_t)text->size - 1 : 0};
}

static inline bool api_has(const ApiRequest *request, ApiField field) {
  return request->fields[field].data != NULL;
}

/// Answers with JSON, which is freed.
void api_answer(const ApiRequest *request, int status, Buf *json);

/// Answers with an error.
__attribute__((format(printf, 4, 5))) void api_fail(const ApiRequest *request,
                                                    int status, const char *code,
                                                    const char *format, ...);

/// Makes the outcome of an order answer the request: `order` is what orders_push returned,
/// `status` the one of a success, `missing` the code where what the request names is gone.
void api_wait(const ApiRequest *request, int order, int status, const char *missing);
