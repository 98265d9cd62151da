// The control API: requests below /api/ of the admin listener, and lines of the control
// socket. The lines are the same requests without a body ("GET /api/peers?limit=10").
// The library answers a read at once, from the relay and the session. A write becomes
// an order, like the orders of a host program. The library answers a write when the
// order has been carried out.
#pragma once

#include "net/admin.h"
#include "server/library/library.h"

enum {
  API_PENDING_MAX = 256,       // limit of requests that wait for their outcome
  API_LIMIT_DEFAULT = 100,     // default number of entries on a page
  API_LIMIT_MAX = 1000,        // limit of entries on a page
  API_PAGE_BYTES = 256 << 10,  // size at which a page ends before its limit
  API_REASON_MAX = 127,        // bytes of a reason
};

/// Fields of requests, from the query or from JSON in the body.
typedef enum ApiField {
  API_LIMIT,
  API_AFTER,
  API_NAME,
  API_META,
  API_PUBLIC,
  API_HIDDEN,
  API_LOCKED,
  API_PERMANENT,
  API_CAPACITY,
  API_PASSWORD,
  API_DATA,
  API_MESSAGE,
  API_VALUE,
  API_RELIABLE,
  API_REASON,
  API_FORCE,
  API_SECONDS,
  API_MEMORY,
  API_FIELDS
} ApiField;

typedef struct ApiRequest {
  perigee_server *self;
  ApiClient client;
  Text method;
  Buf name;  // decoded name from the path, with a NUL; owned
  Buf fields
      [API_FIELDS];  // bytes of a text or JSON of a value, with a NUL; owned; without
                     // memory: not given
} ApiRequest;

typedef struct ApiRoute {
  const char *method;
  const char *path;  // path after /api/; "*" is a name
  uint32_t fields;   // fields that the request may carry; bits 1 << ApiField
  uint32_t needs;    // fields that the request must carry
  bool is_write;
  void (*run)(ApiRequest *request);
} ApiRoute;

extern const ApiRoute API_ROUTES[];  // routes; the last one has no method

/// Returns a request's text without its NUL.
static inline Text api_text(const Buf *text) {
  return (Text){(const char *)text->data, text->data ? (uint32_t)text->size - 1 : 0};
}

static inline bool api_has(const ApiRequest *request, ApiField field) {
  return request->fields[field].data != NULL;
}

/// Answers with `json`, and frees it.
void api_answer(const ApiRequest *request, int status, Buf *json);

/// Answers with an error.
__attribute__((format(printf, 4, 5))) void api_fail(const ApiRequest *request,
                                                    int status, const char *code,
                                                    const char *format, ...);

/// Makes the outcome of an order answer the request. `order`: result of orders_push;
/// `status`: status of a success; `missing`: code for an order whose peer or room is
/// gone.
void api_wait(const ApiRequest *request, int order, int status, const char *missing);

/// Answers with an address of the dashboard that has a one-time token. Only the control
/// socket serves this, because only the user who runs the server can open that.
void api_make_login(ApiRequest *request);
