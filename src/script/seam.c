#include "script/seam.h"

#include <string.h>

#include "base/err.h"
#include "os/child.h"
#include "script/host.h"
#include "script/store.h"
#include "script/timer.h"

// --- Events ---

EventOrder seam_order(uint8_t type) {
  switch (type) {
    case EVENT_START:
    case EVENT_STOP:
    case EVENT_RELOAD:
      return ORDER_URGENT;
    case EVENT_HTTP:
    case EVENT_HTTP_GONE:
    case EVENT_CONSOLE:
    case EVENT_CHILD:
    case EVENT_SHOW:
    case EVENT_PASSWORD:
    case EVENT_FETCH:
      return ORDER_BACKGROUND;
    default:
      return ORDER_FIRST;
  }
}

void seam_push(const Host *host, Event event) {
  event.order = (uint8_t)seam_order(event.type);
  relay_emit(host->relay, &event);
}

static void on_http(void *data, ConnId conn, Text text) {
  seam_push(data, (Event){.type = EVENT_HTTP, .a = conn, .data = text});
}

static void on_http_gone(void *data, ConnId conn) {
  seam_push(data, (Event){.type = EVENT_HTTP_GONE, .a = conn});
}

static void on_console(void *data, ConnId conn, Text text) {
  seam_push(data, (Event){.type = EVENT_CONSOLE, .a = conn, .data = text});
}

void script_serve_admin(Script *host) {
  static const AdminEvents MCP = {.request = on_http, .gone = on_http_gone};
  static const AdminEvents CONSOLE = {.request = on_console};
  net_admin_serve(host->net, ADMIN_MCP, &MCP, host);
  net_admin_serve(host->net, ADMIN_CONSOLE, &CONSOLE, host);
}

void script_show(Script *host, ConnId conn, Text view) {
  seam_push(host, (Event){.type = EVENT_SHOW, .a = conn, .data = view});
}

static bool take(void *data, const Event *event) {
  return event->type != EVENT_TIMER || script_timer_take(data, event->a);
}

// --- Commands ---

static void on_child_end(void *data, uint32_t token, int status, const char *text,
                         size_t size) {
  seam_push(data, (Event){.type = EVENT_CHILD,
                          .a = token,
                          .b = (uint32_t)status,
                          .data = {text, (uint32_t)size}});
}

static void start_child(Host *host, const Command *command) {
  enum { ARGUMENTS_MAX = 8, TOOL_TIMEOUT_MS = 60000 };
  const char *arguments[ARGUMENTS_MAX + 1] = {NULL};
  const char *at = command->name.bytes, *end = at + command->name.size;
  for (int i = 0; i < ARGUMENTS_MAX && at < end; i++, at += strlen(at) + 1)
    arguments[i] = at;
  ChildStart start = {.arguments = arguments,
                      .input = command->body,
                      .timeout_ms = TOOL_TIMEOUT_MS,
                      .on_end = on_child_end,
                      .data = host,
                      .token = command->id};
  int err = child_start(net_loop(host->net), &start);
  if (err == 0) return;
  const char *text = err == ERR_FULL ? "too many run already" : err_text(err);
  on_child_end(host, command->id, -1, text, strlen(text));
}

static void on_fetch_end(void *data, uint32_t token, Code code, const char *text) {
  seam_push(data, (Event){.type = EVENT_FETCH,
                          .a = token,
                          .b = (uint32_t)code,
                          .data = {text, (uint32_t)strlen(text)}});
}

static void start_fetch(Host *host, const Command *command) {
  if (host->fetcher == NULL)
    host->fetcher = fetcher_open(net_loop(host->net), on_fetch_end, host);
  fetcher_start(host->fetcher,
                &(FetchStart){.token = command->id,
                              .head = command->name,
                              .body = command->flags != 0 ? &command->body : NULL,
                              .timeout_ms = command->code,
                              .answer_max = host->deadline.limits.http_max_bytes});
}

static void execute(void *data, const Command *command) {
  Host *host = data;
  switch ((SeamCommand)command->type) {
    case COMMAND_TIMER_SET:
      script_timer_start(host, command->id);
      break;
    case COMMAND_TIMER_CANCEL:
      script_timer_end(host, command->id);
      break;
    case COMMAND_ANSWER:
      net_admin_answer(host->net, command->id,
                       &(AdminAnswer){.part = (AnswerPart)command->flags,
                                      .status = (int)command->code,
                                      .fields = command->name,
                                      .body = command->body});
      break;
    case COMMAND_STOP:
      host->events->stop(host->events_data, command->body.bytes);
      break;
    case COMMAND_CHILD:
      start_child(host, command);
      break;
    case COMMAND_FETCH:
      start_fetch(host, command);
      break;
    case COMMAND_STORE:
      host_store_request(host, command);
      break;
  }
}

static void discard(void *data, const Command *command) {
  if (command->type == COMMAND_TIMER_SET) script_timer_end(data, command->id);
}

void seam_attach(Host *host) {
  static const RelayHost RELAY_HOST = {
      .take = take, .execute = execute, .discard = discard};
  relay_set_host(host->relay, &RELAY_HOST, host);
}
