// A reload is one event: no other handler runs between its first step and its last. What
// these ask for piles up in the relay until the state machine has it carried out; the rest is
// forgotten at the end.
#include "script/reload.h"

#include <lua.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "os/child.h"
#include "script/host.h"

enum { CHECK_MS = 4000 };  // for a check, less than a requester waits for an answer

// --- Inputs ---

const char *const RELOAD_NAMES[] = {
#define X(constant, name) [constant] = name,
    RELOAD_MAP(X)
#undef X
        NULL};

void reload_push(Host *host, ReloadInput input, uint32_t token) {
  seam_push(host, (Event){.type = EVENT_RELOAD, .a = token, .b = input});
}

static void on_again(void *data, uint64_t now_ms) {
  (void)now_ms;
  reload_push(data, RELOAD_AGAIN, 0);
}

static void on_expire(void *data, uint64_t now_ms) {
  (void)now_ms;
  reload_push(data, RELOAD_EXPIRE, 0);
}

static void on_parsed(void *data) { reload_push(data, RELOAD_AGAIN, 0); }

void reload_push_in(Host *host, ReloadInput input, uint64_t delay_ms) {
  bool is_again = input == RELOAD_AGAIN;
  timers_set(net_timers(host->net),
             is_again ? &host->reload.again : &host->reload.expire,
             net_now_ms(host->net) + delay_ms, is_again ? on_again : on_expire, host);
}

static void on_checked(void *data, uint32_t token, int status, const char *text,
                       size_t size) {
  (void)token;
  if (status != 0 && status != 1) {
    log_warn("a reload could not check the game", log_num("status", status));
    size = 0;
  }
  const Host *host = data;
  seam_push(host, (Event){.type = EVENT_RELOAD,
                          .b = RELOAD_CHECKED,
                          .data = {text, (uint32_t)size}});
}

bool reload_check(Host *host) {
  if (!host->options->has_check) return false;
  const char *arguments[] = {"check", host->options->game, "--for-reload", NULL};
  ChildStart start = {.arguments = arguments,
                      .timeout_ms = CHECK_MS,
                      .on_end = on_checked,
                      .data = host};
  int err = child_start(net_loop(host->net), &start);
  if (err != 0)
    log_warn("a reload could not check the game", log_str("error", err_text(err)));
  return err == 0;
}

void reload_init(Host *host) {
  parser_init(&host->parser, net_loop(host->net), on_parsed, host);
}

void reload_deinit(Host *host) {
  timers_stop(net_timers(host->net), &host->reload.again);
  timers_stop(net_timers(host->net), &host->reload.expire);
  parser_deinit(&host->parser);
}

// --- Steps ---

// Returns the step after one that has ended or waits: after an input the entry that the state
// machine asks for, if any; after the game's code an input.
static Event next_step(const Host *host, const Event *step) {
  if (step->type == EVENT_RELOAD)
    return (Event){.type = (uint8_t)lua_tointeger(host->results, 1)};
  return (Event){.type = EVENT_RELOAD, .b = RELOAD_ENDED};
}

static Event failed_step(const Host *host, const Event *step) {
  const char *fault = (const char *)host->fault.data;
  if (step->type == EVENT_RELOAD && step->b == RELOAD_FAILED) {
    log_error("a reload failed, and so did reporting it", log_str("error", fault));
    return (Event){0};
  }
  return (Event){.type = EVENT_RELOAD,
                 .b = RELOAD_FAILED,
                 .data = {fault, (uint32_t)strlen(fault)}};
}

void reload_handle(Host *host, const Event *event) {
  for (Event step = *event; step.type != 0;) {
    host_hold(host);
    HostOutcome outcome = host_call(host, &step);
    step = outcome == HOST_FAILED ? failed_step(host, &step) : next_step(host, &step);
    if (outcome == HOST_ENDED) host_done(host);
  }
  host_release(host);
}
