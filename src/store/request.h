// A request of the loop to the store's thread, and its answer. The list that contains a
// request owns it.
#pragma once

#include "store/store.h"

typedef enum RequestType {
  REQUEST_UNIT,
  REQUEST_GET,
  REQUEST_FIND,
  REQUEST_SCAN,
  REQUEST_FLUSH,
  REQUEST_SQL,
  REQUEST_DEFINE,
  REQUEST_READ_BOARD,
  REQUEST_DEFINE_BOARD,
} RequestType;

typedef struct Request {
  struct Request *next;
  RequestType type;
  uint32_t token;
  bool is_alone;        // the unit needs a transaction of its own
  uint32_t steps;       // number of steps in `unit`
  uint32_t collection;  // collection of a get or a definition, or index of a board
  uint64_t since_ms;    // time at which the thread received the request
  // Steps of a unit; for a get, one step with the id; for a find, the writes that it
  // sees as written.
  StoreUnit unit;
  void *input;  // the request's struct; owned, with its texts
  StoreAnswer answer;
  Buf value;  // texts of `answer`
} Request;

/// A queue. A zeroed one is empty.
typedef struct RequestList {
  Request *first, *last;
} RequestList;

void request_push(RequestList *list, Request *request);

/// Inserts a request before all others.
void request_push_front(RequestList *list, Request *request);

/// Removes the first request; returns NULL if the list is empty.
Request *request_pop(RequestList *list);

/// Moves all requests of `more` to the end of `list`.
void request_append(RequestList *list, RequestList *more);

/// Frees the requests of a list.
void request_free_all(RequestList *list);

/// Frees a request that is in no list.
void store_request_free(Request *request);

/// Return the input of a request, which is valid as long as the request.
const StoreQuery *request_query(const Request *request);
const StoreScan *request_scan(const Request *request);
const StoreSql *request_sql(const Request *request);
const StoreCollection *request_definition(const Request *request);
const BoardQuery *request_board_query(const Request *request);
const Board *request_board(const Request *request);

/// Set the input of a request, with copies of its texts.
void request_set_query(Request *request, const StoreQuery *query);
void request_set_scan(Request *request, const StoreScan *scan);
void request_set_sql(Request *request, const StoreSql *sql);
void request_set_definition(Request *request, const StoreCollection *collection);
void request_set_board_query(Request *request, const BoardQuery *query);
void request_set_board(Request *request, const Board *board);
