// See request.h. The input is a struct, followed by the texts to which it points.
#include "store/request.h"

#include "base/mem.h"

void request_push(RequestList *list, Request *request) {
  request->next = NULL;
  if (list->last != NULL)
    list->last->next = request;
  else
    list->first = request;
  list->last = request;
}

void request_push_front(RequestList *list, Request *request) {
  request->next = list->first;
  list->first = request;
  if (list->last == NULL) list->last = request;
}

Request *request_pop(RequestList *list) {
  Request *request = list->first;
  if (request == NULL) return NULL;
  list->first = request->next;
  if (list->first == NULL) list->last = NULL;
  return request;
}

void request_append(RequestList *list, RequestList *more) {
  if (more->first == NULL) return;
  if (list->last != NULL)
    list->last->next = more->first;
  else
    list->first = more->first;
  list->last = more->last;
  *more = (RequestList){0};
}

void store_request_free(Request *request) {
  buf_deinit(&request->unit);
  buf_deinit(&request->value);
  buf_deinit(&request->answer.found);
  mem_free(request->input);
  mem_free(request);
}

void request_free_all(RequestList *list) {
  for (Request *request; (request = request_pop(list)) != NULL;)
    store_request_free(request);
}

// Copies a struct into the request, with room for `texts` bytes behind it. Returns the
// position of that room.
static char *set_input(Request *request, const void *input, size_t size, size_t texts) {
  request->input = mem_alloc(size + texts);
  memcpy(request->input, input, size);
  return (char *)request->input + size;
}

static Text copy_text(char **at, Text text) {
  Text copy = {*at, text.size};
  if (text.size > 0) memcpy(*at, text.bytes, text.size);
  *at += text.size;
  return copy;
}

const StoreQuery *request_query(const Request *request) { return request->input; }
const StoreScan *request_scan(const Request *request) { return request->input; }
const StoreSql *request_sql(const Request *request) { return request->input; }
const StoreCollection *request_definition(const Request *request) {
  return request->input;
}

const BoardQuery *request_board_query(const Request *request) { return request->input; }
const Board *request_board(const Request *request) { return request->input; }

void request_set_query(Request *request, const StoreQuery *query) {
  size_t texts = query->after.size;
  for (uint32_t i = 0; i < query->count; i++)
    texts += query->conditions[i].value.text.size;
  char *at = set_input(request, query, sizeof *query, texts);
  StoreQuery *copy = request->input;
  copy->writes = NULL;
  copy->after = copy_text(&at, query->after);
  for (uint32_t i = 0; i < query->count; i++)
    copy->conditions[i].value.text = copy_text(&at, query->conditions[i].value.text);
}

void request_set_scan(Request *request, const StoreScan *scan) {
  char *at = set_input(request, scan, sizeof *scan, scan->after.size);
  ((StoreScan *)request->input)->after = copy_text(&at, scan->after);
}

void request_set_sql(Request *request, const StoreSql *sql) {
  size_t arguments = sql->count * sizeof *sql->arguments, texts = sql->text.size;
  for (uint32_t i = 0; i < sql->count; i++) texts += sql->arguments[i].text.size;
  char *at = set_input(request, sql, sizeof *sql, arguments + texts);
  StoreSql *copy = request->input;
  StoreValue *values = (StoreValue *)(copy + 1);
  at += arguments;
  copy->arguments = values;
  copy->text = copy_text(&at, sql->text);
  for (uint32_t i = 0; i < sql->count; i++) {
    values[i] = sql->arguments[i];
    values[i].text = copy_text(&at, values[i].text);
  }
}

static const char *copy_name(char **at, const char *name) {
  const char *copy = *at;
  memcpy(*at, name, strlen(name) + 1);
  *at += strlen(name) + 1;
  return copy;
}

void request_set_definition(Request *request, const StoreCollection *collection) {
  size_t texts = strlen(collection->name) + 1;
  for (int i = 0; collection->indexes[i] != NULL; i++)
    texts += strlen(collection->indexes[i]) + 1;
  char *at = set_input(request, collection, sizeof *collection, texts);
  StoreCollection *copy = request->input;
  copy->name = copy_name(&at, collection->name);
  for (int i = 0; collection->indexes[i] != NULL; i++)
    copy->indexes[i] = copy_name(&at, collection->indexes[i]);
}

void request_set_board_query(Request *request, const BoardQuery *query) {
  char *at = set_input(request, query, sizeof *query, query->id.size);
  ((BoardQuery *)request->input)->id = copy_text(&at, query->id);
}

void request_set_board(Request *request, const Board *board) {
  char *at = set_input(request, board, sizeof *board, strlen(board->name) + 1);
  ((Board *)request->input)->name = copy_name(&at, board->name);
}
