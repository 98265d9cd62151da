#include "script/store.h"

#include <stdio.h>
#include <string.h>

#include "script/host.h"
#include "script/seam.h"

enum { SCAN_LIMIT = 100 };  // documents of a scan

// Head of the data of an event.
typedef struct StoreHead {
  int64_t version;
  uint32_t schema;
  uint32_t id_size;
} StoreHead;

static void emit(Host *host, Event event, StoreHead head, Text id, Text text) {
  Buf *data = &host->scratch;
  head.id_size = id.size;
  data->size = 0;
  buf_append(data, &head, sizeof head);
  buf_append(data, id.bytes, id.size);
  buf_append(data, text.bytes, text.size);
  event.data = (Text){(const char *)data->data, (uint32_t)data->size};
  seam_push(host, event);
  buf_trim(data);
}

static void answer(Host *host, uint32_t token, StoreCode code, const char *text) {
  emit(host, (Event){.type = EVENT_STORE, .a = token, .b = code}, (StoreHead){0},
       (Text){0}, text_from(text));
}

static void report_unit(Host *host, const StoreFault *fault, const StoreUnit *unit) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);)
    if (step.type != STORE_CHECK && step.type != STORE_CHECK_FOUND)
      emit(host,
           (Event){.type = EVENT_STORE_FAILED, .a = step.collection, .b = fault->code},
           (StoreHead){0}, step.id, text_from(fault->text));
}

static void answer_document(Host *host, const StoreAnswer *given) {
  const StoreDocument *document = &given->document;
  char count[24];
  Text text = document->value;
  if (given->count > 0) {
    snprintf(count, sizeof count, "%llu", (unsigned long long)given->count);
    text = text_from(count);
  }
  emit(host, (Event){.type = EVENT_STORE, .a = given->token},
       (StoreHead){.version = document->version ? document->version : given->version,
                   .schema = document->schema},
       (Text){0}, text);
}

static void on_end(void *data, const StoreAnswer *given, const StoreUnit *unit) {
  Host *host = data;
  if (given->token == 0)
    report_unit(host, &given->fault, unit);
  else if (given->fault.code != STORE_OK)
    answer(host, given->token, given->fault.code, given->fault.text);
  else if (given->found.size > 0)
    emit(host, (Event){.type = EVENT_STORE, .a = given->token},
         (StoreHead){.version = given->version}, given->cursor,
         (Text){(const char *)given->found.data, (uint32_t)given->found.size});
  else
    answer_document(host, given);
}

// --- Opening ---

const char *host_store_open(Host *host, const char *place) {
  static StoreFault fault;
  if (host->store != NULL) return NULL;
  ScriptStore settings = host->events->config_store(host->events_data);
  host->store = store_open(
      net_loop(host->net),
      &(StoreOptions){
          .ops = net_is_simulated(host->net) ? &backend_memory : backend_of(place),
          .place = place,
          .backend = host->options.backend,
          .delay_ms = settings.delay_ms,
          .timeout_ms = settings.timeout_ms,
          .cache_bytes = settings.cache,
          .on_end = on_end,
          .data = host,
      },
      &fault);
  if (host->store == NULL) return fault.text;
  host->options.backend = NULL;
  return NULL;
}

bool host_store_close(Host *host) {
  timers_stop(net_timers(host->net), &host->store_timer);
  bool is_whole = store_close(host->store);
  host->store = NULL;
  return is_whole;
}

Backend *host_store_take(Host *host, bool is_crash) {
  Backend *backend = host->options.backend;
  host->options.backend = NULL;
  if (host->store == NULL) return backend;
  timers_stop(net_timers(host->net), &host->store_timer);
  backend = store_take_backend(host->store, is_crash);
  host->store = NULL;
  return backend;
}

// --- Units and requests ---

static void serve(Host *host, uint64_t now_ms);

static void on_timer(void *data, uint64_t now_ms) { serve(data, now_ms); }

// Does the work of the store's thread, which does not exist in a simulation.
static void serve(Host *host, uint64_t now_ms) {
  uint64_t next_ms = store_serve(host->store, now_ms);
  if (next_ms == UINT64_MAX)
    timers_stop(net_timers(host->net), &host->store_timer);
  else
    timers_set(net_timers(host->net), &host->store_timer, next_ms, on_timer, host);
}

void host_store_post(Host *host) {
  if (host->store == NULL) return;
  if (net_is_simulated(host->net))
    serve(host, net_now_ms(host->net));
  else
    store_post(host->store);
}

size_t host_store_mark(const Host *host) {
  return host->store == NULL ? 0 : store_mark(host->store);
}

void host_store_cut(Host *host, size_t mark) {
  if (host->store != NULL) store_cut(host->store, mark);
}

void host_store_end_unit(Host *host) {
  if (host->store != NULL) store_end_unit(host->store, 0);
}

// Adds the steps of a command to the open unit, which must be empty.
static StoreCode add_steps(Host *host, Text steps) {
  StoreUnit unit = {.data = (uint8_t *)steps.bytes, .size = steps.size};
  StoreStep step;
  StoreCode code = STORE_OK;
  for (size_t at = 0; code == STORE_OK && unit_next(&unit, &at, &step);)
    code = store_step(host->store, &step);
  if (code != STORE_OK) store_cut(host->store, 0);
  return code;
}

static void request_find(Host *host, const Command *command) {
  StoreQuery query;
  StoreCode code = add_steps(host, command->packed);
  if (code != STORE_OK)
    answer(host, command->id, code, "the store is too slow");
  else if (store_query_read(command->body, &query))
    store_find(host->store, command->id, &query);
  store_cut(host->store, 0);
}

static void request_sql(Host *host, const Command *command) {
  StoreValue arguments[STORE_SQL_ARGUMENTS_MAX];
  uint32_t count = 0;
  const char *at = command->body.bytes, *end = at + command->body.size;
  for (; at < end; at += arguments[count++].text.size) {
    memcpy(&arguments[count], at, sizeof *arguments);
    at += sizeof *arguments;
    arguments[count].text.bytes = at;
  }
  store_sql(host->store, command->id,
            &(StoreSql){.text = command->name,
                        .arguments = arguments,
                        .count = count,
                        .deadline_ms = command->code});
}

void host_store_request(Host *host, const Command *command) {
  if (host->store == NULL) {
    answer(host, command->id, STORE_UNAVAILABLE, "the game has no store");
    return;
  }
  switch ((StoreRequest)command->flags) {
    case STORE_REQUEST_GET:
      store_get(host->store, command->id, command->room, command->name);
      break;
    case STORE_REQUEST_UNIT: {
      StoreCode code = add_steps(host, command->body);
      if (code == STORE_OK)
        store_end_unit(host->store, command->id);
      else
        answer(host, command->id, code, "the store is too slow");
      break;
    }
    case STORE_REQUEST_BOARD:
      store_read_board(host->store, command->id,
                       &(BoardQuery){.board = command->room,
                                     .period = (int64_t)command->key,
                                     .id = command->name,
                                     .count = command->code});
      break;
    case STORE_REQUEST_FLUSH:
      store_flush(host->store, command->id);
      break;
    case STORE_REQUEST_FIND:
      request_find(host, command);
      break;
    case STORE_REQUEST_SQL:
      request_sql(host, command);
      break;
    case STORE_REQUEST_SCAN:
      store_scan(host->store, command->id,
                 &(StoreScan){.collection = command->room,
                              .schema_below = command->code,
                              .limit = SCAN_LIMIT,
                              .after = command->name});
      break;
  }
}

int host_store_push(lua_State *co, const Event *event) {
  StoreHead head;
  memcpy(&head, event->data.bytes, sizeof head);
  const char *id = event->data.bytes + sizeof head, *text = id + head.id_size;
  lua_pushinteger(co, event->peer);
  lua_pushinteger(co, event->room);
  lua_pushlstring(co, text, event->data.size - sizeof head - head.id_size);
  lua_pushnumber(co, event->a);
  if (event->b == STORE_OK)
    lua_pushnil(co);
  else
    lua_pushstring(co, store_code_name((StoreCode)event->b));
  lua_pushnumber(co, (lua_Number)head.version);
  lua_pushnumber(co, head.schema);
  lua_pushlstring(co, id, head.id_size);
  return 8;
}
