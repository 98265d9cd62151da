// Runs the handlers of the relay's events one by one. Applies the results of each
// handler, and commits or discards its commands. Also loads the game for the first
// time.
#include "script/script.h"

#include <lua.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "script/call_cost.h"
#include "script/host.h"
#include "script/reload.h"
#include "script/store.h"
#include "script/timer.h"
#include "wire/json.h"

// Implements RelayAccept. A handler that fails or raises a fault refuses the
// connection.
static bool on_accept(void *data, const char *address, uint16_t port) {
  Host *host = data;
  Event event = {.type = ENTRY_ACCEPT, .a = port, .data = text_from(address)};
  if (!host->is_loaded) return true;
  if (host_call(host, &event) != HOST_ENDED) return false;
  bool is_in = lua_toboolean(host->results, 1);
  host_done(host);
  host_commit(host);
  return is_in;
}

// Implements RelayKeep.
static void on_keep(void *data, const Peer *peer) {
  Host *host = data;
  bool is_kept = peer->resume.is_resumable || peer->state == PEER_CLOSED;
  if (!host->keeps || !is_kept || peer->is_bot) return;
  if (peer->conn != 0) net_hold(host->net, peer->conn);
  seam_push(host, (Event){.type = EVENT_KEEP,
                          .a = peer->id,
                          .b = peer->conn,
                          .data = {(const char *)peer->session, sizeof peer->session}});
}

Script *script_new(const ScriptOptions *options, Relay *relay, Net *net,
                   const ScriptEvents *events, void *data) {
  Script *script = mem_zalloc(sizeof *script);
  *script = (Script){.options = *options,
                     .relay = relay,
                     .net = net,
                     .events = events,
                     .events_data = data};
  labels_init(&script->past_costs.names);
  seam_attach(script);
  relay_set_accept(relay, on_accept);
  relay_set_keep(relay, on_keep);
  reload_init(script);
  return script;
}

void script_set_limits(Script *script, const ScriptLimits *limits) {
  script->deadline.limits = *limits;
}

void script_log_costs(const Script *script) {
  if (script->is_loaded) call_cost_log(script);
}

bool script_is_loaded(const Script *script) { return script->is_loaded; }

bool script_has_work(const Script *script) {
  return script->is_loaded && memory_is_pressed(script);
}

void script_free(Script *script) {
  if (script == NULL) return;
  reload_deinit(script);
  script_timers_end(script);
  slots_deinit(&script->timers);
  host_deinit(script);
  mem_free(script);
}

const char *const *script_files(const Script *script, size_t *count) {
  static const char *const NONE[] = {NULL};
  *count = script->file_count;
  if (script->files == NULL) return NONE;
  return (const char *const *)script->files;
}

// --- Verdicts ---

static void forget_peer(Host *host, uint32_t peer) {
  host_call(host, &(Event){.type = ENTRY_FORGET, .peer = peer});
  host_done(host);
}

// Returns a result of the handler; its bytes are NULL if the result is nil.
static Text text_result(lua_State *results, int at) {
  size_t size = 0;
  const char *bytes = lua_tolstring(results, at, &size);
  return (Text){bytes, (uint32_t)size};
}

// Applies the results of on_connect: true and the name; or false, the reason, the
// seconds until the client may try again, if any, and the code, by default Rejected.
static void judge_connect(Host *host) {
  lua_State *results = host->results;
  uint32_t peer = host->event.peer;
  bool is_in = lua_toboolean(results, 1);
  const char *reason = lua_tostring(results, 2);
  if (is_in)
    is_in = relay_accept(host->relay, peer, text_result(results, 2));
  else if (lua_isnumber(results, 3))
    relay_postpone(host->relay, peer, reason, (uint16_t)lua_tointeger(results, 3));
  else
    relay_reject(
        host->relay, peer,
        lua_isnumber(results, 4) ? (Code)lua_tointeger(results, 4) : CODE_REJECTED,
        reason);
  host_done(host);
  if (is_in) {
    host_begin_commit(host);
    return;
  }
  host_commit(host);
  forget_peer(host, peer);
}

// Applies the results of a SIGN_IN: true, the JSON of SIGNED_IN, the token and the
// account's name; or false, the text and the code of the error.
static void judge_sign_in(Host *host) {
  lua_State *results = host->results;
  bool is_in = lua_toboolean(results, 1);
  SignInAnswer answer = {.code = is_in ? CODE_CLOSED : (Code)lua_tointeger(results, 3),
                         .body = text_result(results, 2),
                         .token = is_in ? text_result(results, 3) : (Text){0},
                         .name = is_in ? text_result(results, 4) : (Text){0}};
  relay_answer_sign_in(host->relay, &host->event, &answer);
}

static void fail_sign_in(Host *host, Code code, const char *text) {
  relay_answer_sign_in(host->relay, &host->event,
                       &(SignInAnswer){.code = code, .body = text_from(text)});
}

// Applies the results of a handler: true; or false, the reason, and the code, by
// default Rejected.
static void judge_request(Host *host, void (*grant)(Relay *, const Event *)) {
  lua_State *results = host->results;
  if (lua_toboolean(results, 1)) {
    grant(host->relay, &host->event);
  } else {
    Code code =
        lua_isnumber(results, 3) ? (Code)lua_tointeger(results, 3) : CODE_REJECTED;
    relay_refuse(host->relay, &host->event, code, lua_tostring(results, 2));
  }
}

static void judge_broadcast(Host *host) {
  lua_State *results = host->results;
  if (lua_isstring(results, 1))
    relay_pass(host->relay, &host->event, text_result(results, 1));
  else if (lua_toboolean(results, 1))
    relay_pass(host->relay, &host->event, host->event.data);
}

// Applies the verdict before the handler's commands, so that JOINED precedes the
// messages.
static void end_well(Host *host) {
  switch (host->event.type) {
    case EVENT_CONNECT:
      judge_connect(host);
      return;
    case EVENT_SIGN_IN:
      judge_sign_in(host);
      break;
    case EVENT_JOIN:
      judge_request(host, relay_admit);
      break;
    case EVENT_CHANNEL_OPEN:
      judge_request(host, relay_serve);
      break;
    case EVENT_RENAME:
      judge_request(host, relay_allow_name);
      break;
    case EVENT_CREATE:
      relay_created(host->relay, host->event.room);
      break;
    case EVENT_BROADCAST:
      judge_broadcast(host);
      break;
    default:
      break;
  }
  host_done(host);
  host_begin_commit(host);
}

static void answer_error(Host *host) {
  const Event *event = &host->event;
  if (!(event->flags & PACKET_REQUEST)) return;
  Command command = {.type = COMMAND_ERROR,
                     .id = event->peer,
                     .code = CODE_INTERNAL,
                     .flags = event->flags,
                     .ref = event->ref,
                     .body = {RELAY_FAILED_TEXT, sizeof RELAY_FAILED_TEXT - 1}};
  relay_command(host->relay, &command);
  host_commit(host);
}

static void fail_http(Host *host) {
  static const char FIELDS[] = "Content-Type: application/json\r\n";
  static const char BODY[] =
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,"
      "\"message\":\"" RELAY_FAILED_TEXT "\"}}";
  Command command = {.type = COMMAND_ANSWER,
                     .id = host->event.a,
                     .code = 500,
                     .flags = ANSWER_WHOLE,
                     .name = {FIELDS, sizeof FIELDS - 1},
                     .body = {BODY, sizeof BODY - 1}};
  relay_command(host->relay, &command);
  host_commit(host);
}

// Answers with the error that has ended the line.
static void fail_console(Host *host) {
  static const char FIELDS[] = "Content-Type: application/json\r\n";
  Buf json = {0};
  buf_printf(&json, "{\"failed\":");
  json_put_text(&json, text_from((const char *)host->fault.data));
  buf_u8(&json, '}');
  relay_command(host->relay,
                &(Command){.type = COMMAND_ANSWER,
                           .id = host->event.a,
                           .code = 200,
                           .flags = ANSWER_WHOLE,
                           .name = {FIELDS, sizeof FIELDS - 1},
                           .body = {(const char *)json.data, (uint32_t)json.size}});
  buf_deinit(&json);
  host_commit(host);
}

// Makes the Lua half remove the room. Then refuses the peers that wait to join it.
static void fail_create(Host *host, uint32_t room, const Fault *fault) {
  Event forget = {.type = ENTRY_FORGET_ROOM, .room = room};
  if (host_call(host, &forget) != HOST_ENDED)
    fault = NULL;  // this failure has overwritten its texts
  host_done(host);
  relay_not_created(host->relay, room, fault);
}

// Drops an answer that the Lua half has not taken.
static void drop_answer(Host *host) {
  FetchAnswer answer = {0};
  fetcher_take(host->fetcher, host->event.a, &answer);
  buf_deinit(&answer.bytes);
}

static void end_badly(Host *host) {
  switch (host->event.type) {
    case EVENT_CONNECT:
      relay_reject(host->relay, host->event.peer, CODE_INTERNAL, RELAY_FAILED_TEXT);
      forget_peer(host, host->event.peer);
      break;
    case EVENT_SIGN_IN:
      fail_sign_in(host, CODE_INTERNAL, RELAY_FAILED_TEXT);
      break;
    case EVENT_JOIN:
    case EVENT_RENAME:
    case EVENT_CHANNEL_OPEN:
      relay_refuse(host->relay, &host->event, CODE_INTERNAL, RELAY_FAILED_TEXT);
      break;
    case EVENT_CREATE:
      fail_create(host, host->event.room, NULL);
      break;
    case EVENT_FETCH:
      drop_answer(host);
      break;
    case EVENT_BROADCAST:
      relay_fail(host->relay, &host->event);
      break;
    case EVENT_MESSAGE:
    case EVENT_PACKET:
    case EVENT_CHANNEL:
      answer_error(host);
      break;
    case EVENT_HTTP:
      fail_http(host);
      break;
    case EVENT_CONSOLE:
      fail_console(host);
      break;
    case EVENT_KEEP:
      net_release(host->net, host->event.b);
      break;
    default:
      break;
  }
}

// Answers with the fault that the handler has raised. If no request waits for an
// answer, the Lua half reports the fault.
static void end_with_fault(Host *host) {
  Fault fault = {
      .code = text_from((const char *)host->fault.data),
      .json = {(const char *)host->answer.data, (uint32_t)host->answer.size}};
  switch (host->event.type) {
    case EVENT_CONNECT:
      relay_reject(host->relay, host->event.peer, CODE_REJECTED, fault.code.bytes);
      forget_peer(host, host->event.peer);
      break;
    case EVENT_SIGN_IN:
      fail_sign_in(host, CODE_UNAUTHORIZED, fault.code.bytes);
      break;
    case EVENT_CREATE:
      fail_create(host, host->event.room, &fault);
      break;
    case EVENT_JOIN:
    case EVENT_RENAME:
    case EVENT_CHANNEL_OPEN:
    case EVENT_BROADCAST:
    case EVENT_MESSAGE:
    case EVENT_TEXT:
    case EVENT_PACKET:
    case EVENT_CHANNEL:
      relay_fault(host->relay, &host->event, &fault);
      break;
    case EVENT_HTTP:
      fail_http(host);
      break;
    case EVENT_CONSOLE:
      fail_console(host);
      break;
    default:
      break;
  }
}

// Returns whether the handler has failed.
static bool handle(Host *host, const Event *event) {
  HostOutcome outcome = host_call(host, event);
  switch (outcome) {
    case HOST_ENDED:
      end_well(host);
      break;
    case HOST_WAITS:
      host_begin_commit(host);
      break;
    case HOST_FAILED:
      end_badly(host);
      break;
    case HOST_FAULTED:
      end_with_fault(host);
      break;
  }
  return outcome == HOST_FAILED;
}

// During development and in specs, checks whether a handler has stored a function in a
// state, and reports it at once. Otherwise only the next reload would report it.
static void look_at_states(Host *host) {
  if (!host->deadline.limits.is_watched && !net_is_simulated(host->net)) return;
  Event look = {.type = ENTRY_LOOK,
                .peer = host->event.peer,
                .room = host->event.room,
                .a = host->event.type};
  if (host_call(host, &look) == HOST_ENDED) host_done(host);
}

// --- Loading ---

static bool restore(Host *host) {
  for (bool is_more = true; is_more;) {
    if (host_call(host, &(Event){.type = ENTRY_RESTORE}) != HOST_ENDED) return false;
    is_more = lua_toboolean(host->results, 1);
    host_done(host);
    host_commit(host);
  }
  return true;
}

const char *script_load(Script *script) {
  if (script->options.game == NULL) return NULL;
  script->is_loaded = host_init(script);
  if (!script->is_loaded) return (const char *)script->fault.data;
  const char *game = script->options.game;
  Event event = {.type = ENTRY_LOAD, .data = text_from(game)};
  if (host_call(script, &event) != HOST_ENDED) return (const char *)script->fault.data;
  const char *why = accounts_read_keys(script);
  if (why) {
    buf_printf(&script->fault, "jwt_keys: %s %s", script->deadline.limits.jwt_keys,
               why);
    return (const char *)script->fault.data;
  }
  relay_set_scripted(script->relay);
  host_done(script);
  host_commit(script);
  log_info("loaded", log_str("game", game));
  return restore(script) ? NULL : (const char *)script->fault.data;
}

void script_save(Script *script) {
  for (bool is_more = script->is_loaded; is_more;) {
    is_more = host_call(script, &(Event){.type = ENTRY_SAVE}) == HOST_ENDED &&
              lua_toboolean(script->results, 1);
    host_done(script);
    host_commit(script);
  }
}

void script_reload(Script *script, uint32_t token, bool is_forced) {
  reload_push(script, is_forced ? RELOAD_FORCE : RELOAD_REQUEST, token);
}

void script_refresh(Script *script) { reload_push(script, RELOAD_CHANGE, 0); }

// --- From start to stop ---

void script_start(Script *script) { seam_push(script, (Event){.type = EVENT_START}); }

void script_stop(Script *script, const char *reason) {
  seam_push(script, (Event){.type = EVENT_STOP, .data = text_from(reason)});
}

void script_set_over(Script *script) {
  script_timers_end(script);
  relay_set_over(script->relay);
}

bool script_end_store(Script *script) { return host_store_close(script); }

Backend *script_take_store(Script *script, bool is_crash) {
  return host_store_take(script, is_crash);
}

uint64_t script_handlers(const Script *script) { return script->handlers; }

bool script_profile_begin(Script *script, uint32_t seconds, bool is_memory) {
  uint64_t now_us = deadline_clock_us();
  if (script->profile != NULL && now_us < script->profile->end_us) return false;
  profile_free(script->profile);
  script->profile =
      profile_new(is_memory, now_us, now_us + (uint64_t)seconds * 1000000);
  return true;
}

bool script_profile_put(Script *script, bool ends, Buf *json) {
  if (script->profile == NULL) return false;
  profile_put(script->profile, deadline_clock_us(), json);
  if (!ends) return true;
  profile_free(script->profile);
  script->profile = NULL;
  return true;
}

// --- Draining ---

void script_begin_drain(Script *script, uint64_t now_us) {
  if (!script->is_loaded) return;
  if (net_is_simulated(script->net))
    deadline_tick(script);
  else
    script->deadline.now_us = now_us;
}

void script_handle(Script *script, const Event *event) {
  script->handlers += event->type != EVENT_SYSTEM;
  if (!script->is_loaded) return;
  if (event->type == EVENT_RELOAD) {
    reload_handle(script, event);
    deadline_tick(script);
    return;
  }
  if (event->type == EVENT_TICK && event->room == 0)  // the systems of perigee.world
                                                      // run after a tick of the game
    for (uint32_t number = 1; number <= script->systems; number++)
      seam_push(script, (Event){.type = EVENT_SYSTEM, .a = event->a, .b = number});
  bool has_failed = handle(script, event);
  call_cost_end(script, event, has_failed);
  look_at_states(script);
}

void script_end_drain(Script *script) {
  host_store_post(script);
  if (script->is_loaded) memory_settle(script, script->deadline.now_us);
}
