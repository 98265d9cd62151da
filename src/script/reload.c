// A reload is one event: no other handler runs between its first step and its last. The
// commands of the new version's top level and of all on_upgrades pile up in the relay,
// and are carried out or forgotten together.
#include "script/reload.h"

#include <lua.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/child.h"

// --- Events ---

static void push(const Reload *reload, ReloadCause cause) {
  seam_push(reload->host, (Event){.type = EVENT_RELOAD, .b = cause});
}

static void on_retry(void *data, uint64_t now_ms) {
  (void)now_ms;
  push(data, RELOAD_AGAIN);
}

static void on_settle(void *data, uint64_t now_ms) {
  (void)now_ms;
  push(data, RELOAD_SETTLED);
}

static void on_parsed(void *data) { push(data, RELOAD_AGAIN); }

static void set_timer(Reload *reload, Timer *timer, uint32_t delay_ms,
                      TimerCallback *callback) {
  Net *net = reload->host->net;
  timers_set(net_timers(net), timer, net_now_ms(net) + delay_ms, callback, reload);
}

void reload_init(Reload *reload, Host *host) {
  *reload = (Reload){.host = host};
  parser_init(&host->parser, net_loop(host->net), on_parsed, reload);
}

void reload_deinit(Reload *reload) {
  timers_stop(net_timers(reload->host->net), &reload->retry);
  timers_stop(net_timers(reload->host->net), &reload->settle);
  parser_deinit(&reload->host->parser);
  buf_deinit(&reload->found);
  buf_deinit(&reload->askers);
}

// --- The end ---

static void tell(const Host *host, bool is_good, uint32_t asked, const char *report) {
  ScriptOutcome outcome = {
      .is_good = is_good, .asked = asked, .version = host->version, .report = report};
  if (host->events->reloaded != NULL)
    host->events->reloaded(host->events_data, &outcome);
  seam_push(host, (Event){.type = EVENT_RELOADED,
                          .a = is_good,
                          .data = {report, (uint32_t)strlen(report)}});
}

// Everybody who asked is told; with nobody, the owner alone. What is told may lead to
// the next question.
static void tell_askers(Reload *reload, bool is_good, const char *report) {
  Buf askers = reload->askers;
  reload->askers = (Buf){0};
  if (askers.size == 0) tell(reload->host, is_good, 0, report);
  for (size_t at = 0; at < askers.size; at += sizeof(uint32_t)) {
    uint32_t asked;
    memcpy(&asked, askers.data + at, sizeof asked);
    tell(reload->host, is_good, asked, report);
  }
  buf_deinit(&askers);
}

static void forget_check(Reload *reload) {
  reload->is_checked = false;
  reload->found.size = 0;
}

static void end(Reload *reload, bool is_good, LogLevel level, const Buf *report) {
  forget_check(reload);
  reload->waiting_ms = 0;
  reload->is_waiting = reload->is_asked = reload->is_forced = false;
  timers_stop(net_timers(reload->host->net), &reload->retry);
  parser_drop(&reload->host->parser);
  log_plain(level, (const char *)report->data);
  tell_askers(reload, is_good, (const char *)report->data);
}

static void fail(Reload *reload, const char *text) {
  const Host *host = reload->host;
  Buf report = {0};
  int first = (int)strcspn(text, "\n");  // a traceback follows
  buf_printf(&report, "reload failed: %.*s; version %u%s%s goes on%s", first, text,
             host->version, host->hash[0] != '\0' ? "." : "", host->hash, text + first);
  buf_u8(&report, 0);
  end(reload, false, LOG_ERROR, &report);
  buf_deinit(&report);
}

// --- Steps ---

static void call_on_reload(Host *host) {
  switch (host_call(host, &(Event){.type = ENTRY_FOLLOW_UP})) {
    case HOST_ENDED:
      host_done(host);
      host_commit(host);
      break;
    case HOST_WAITS:
      host_commit(host);
      break;
    case HOST_FAILED:
      break;
  }
}

// Results: whether the reload is final, the number and hash of the version that is live,
// what to say, whether there is an on_reload.
static void finish(Reload *reload) {
  Host *host = reload->host;
  if (host_call(host, &(Event){.type = ENTRY_FINISH}) != HOST_ENDED) {
    host_release(host, HOST_FORGET);
    fail(reload, (const char *)host->fault.data);
    return;
  }
  lua_State *results = host->results;
  bool is_final = lua_toboolean(results, 1), has_handler = lua_toboolean(results, 5);
  Buf report = {0};
  const char *text = lua_tostring(results, 4);
  if (is_final) buf_printf(&report, "reloaded: ");
  buf_append(&report, text, strlen(text) + 1);
  host_set_version(host, (uint32_t)lua_tointeger(results, 2), lua_tostring(results, 3));
  host_done(host);
  host_release(host, is_final ? HOST_COMMIT : HOST_FORGET);
  if (is_final) {
    set_timer(reload, &reload->settle, RELOAD_SETTLE_MS, on_settle);
    end(reload, true, LOG_INFO, &report);
  } else {
    fail(reload, (const char *)report.data);
  }
  buf_deinit(&report);
  if (has_handler) call_on_reload(host);
}

// One that fails is the Lua half's to count.
static void upgrade(Host *host, uint32_t rooms) {
  for (uint32_t i = 0; i < rooms; i++) {
    host_hold(host);
    if (host_call(host, &(Event){.type = ENTRY_UPGRADE}) == HOST_ENDED) host_done(host);
  }
}

static void wait_for_quiet(Reload *reload) {
  uint64_t now_ms = net_now_ms(reload->host->net);
  if (reload->waiting_ms == 0) reload->waiting_ms = now_ms;
  reload->is_waiting = true;
  set_timer(reload, &reload->retry, RELOAD_RETRY_MS, on_retry);
}

// How long files may still be waited for, in milliseconds.
static uint32_t patience(const Reload *reload) {
  if (reload->waiting_ms == 0) return RELOAD_PATIENCE_MS;
  uint64_t passed_ms = net_now_ms(reload->host->net) - reload->waiting_ms;
  return passed_ms < RELOAD_PATIENCE_MS ? RELOAD_PATIENCE_MS - (uint32_t)passed_ms : 0;
}

// An empty text for what could not be checked: the game is then loaded as it is.
static void on_checked(void *data, uint32_t token, int status, const char *text,
                       size_t size) {
  (void)token;
  const Reload *reload = data;
  if (status != 0 && status != 1) {
    log_warn("a reload could not check the game", log_num("status", status));
    size = 0;
  }
  seam_push(reload->host, (Event){.type = EVENT_RELOAD,
                                  .b = RELOAD_CHECKED,
                                  .data = {text, (uint32_t)size}});
}

static void start_check(Reload *reload) {
  const char *arguments[] = {"check", reload->host->options->game, "--for-reload",
                             NULL};
  ChildStart start = {.arguments = arguments,
                      .timeout_ms = RELOAD_CHECK_MS,
                      .on_end = on_checked,
                      .data = reload};
  reload->is_checking = true;
  int err = child_start(net_loop(reload->host->net), &start);
  if (err == 0) return;
  log_warn("a reload could not check the game", log_str("error", err_text(err)));
  on_checked(reload, 0, 0, "", 0);
}

static uint32_t how(const Reload *reload) {
  bool needs_check = reload->host->options->has_check && !reload->is_forced;
  return (reload->is_asked ? RELOAD_IS_ASKED : 0) |
         (needs_check && !reload->is_checked ? RELOAD_NEEDS_CHECK : 0);
}

// Results: "upgrade" and the number of rooms, "again", "check" (on_checked follows), "parse"
// (on_parsed follows), "more" or "same".
static void begin(Reload *reload) {
  Host *host = reload->host;
  Event event = {.type = EVENT_RELOAD, .a = patience(reload), .b = how(reload)};
  if (!reload->is_forced)
    event.data = (Text){(const char *)reload->found.data, (uint32_t)reload->found.size};
  host_hold(host);
  if (host_call(host, &event) != HOST_ENDED) {
    host_release(host, HOST_FORGET);
    fail(reload, (const char *)host->fault.data);
    return;
  }
  char outcome = lua_tostring(host->results, 1)[0];
  uint32_t rooms = (uint32_t)lua_tointeger(host->results, 2);
  host_done(host);
  if (outcome == 'u') {
    upgrade(host, rooms);
    finish(reload);
    return;
  }
  host_release(host, HOST_FORGET);
  reload->is_waiting = outcome == 'p' || outcome == 'm';
  if (!reload->is_waiting) forget_check(reload);
  if (outcome == 'm') set_timer(reload, &reload->retry, RELOAD_MORE_MS, on_retry);
  if (outcome == 'a') wait_for_quiet(reload);
  if (outcome == 'c') start_check(reload);
  if (outcome != 's') return;
  reload->waiting_ms = 0;
  parser_drop(&host->parser);
}

static void attempt(Reload *reload) {
  if (!reload->is_checking) begin(reload);
}

static void attempt_checked(Reload *reload, Text found) {
  reload->is_checking = false;
  reload->is_checked = true;
  buf_append(&reload->found, found.bytes, found.size);
  begin(reload);
}

// Results: the number and hash of the version that is back, and what to say; none when
// there is nothing to bring back.
static void go_back(Reload *reload) {
  Host *host = reload->host;
  if (host_call(host, &(Event){.type = ENTRY_ROLL_BACK}) != HOST_ENDED) return;
  lua_State *results = host->results;
  if (!lua_isnumber(results, 1)) {
    host_done(host);
    return;
  }
  Buf report = {0};
  buf_printf(&report, "rolled back: %s", lua_tostring(results, 3));
  buf_u8(&report, 0);
  host_set_version(host, (uint32_t)lua_tointeger(results, 1), lua_tostring(results, 2));
  host_done(host);
  host_commit(host);
  log_plain(LOG_ERROR, (const char *)report.data);
  tell(host, false, 0, (const char *)report.data);
  buf_deinit(&report);
}

void reload_handle(Reload *reload, const Event *event) {
  switch ((ReloadCause)event->b) {
    case RELOAD_BACK:
      go_back(reload);
      return;
    case RELOAD_SETTLED:
      if (host_call(reload->host, &(Event){.type = ENTRY_SETTLE}) == HOST_ENDED)
        host_done(reload->host);
      return;
    case RELOAD_CHECKED:
      attempt_checked(reload, event->data);
      return;
    case RELOAD_FORCED:
    case RELOAD_ASKED:
      reload->is_asked = true;
      reload->is_forced |= event->b == RELOAD_FORCED;
      if (event->a != 0) buf_u32(&reload->askers, event->a);
      break;
    case RELOAD_CHANGED:
      break;
    case RELOAD_AGAIN:
      if (!reload->is_waiting) return;
      break;
  }
  attempt(reload);
}
