// What happens in which order: start, the turn, reload, stop. Each layer's own work is
// its own; this file only connects them.
#define _GNU_SOURCE  // program_invocation_name
#include "app/server.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/descriptors.h"
#include "app/game_path.h"
#include "app/remote.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "net/control.h"
#include "net/signals.h"
#include "net/watch.h"
#include "script/script.h"

enum { LAST_DRAINS_MAX = 16 };

typedef enum ServerState {
  SERVER_STARTING,
  SERVER_LIVE,
  SERVER_STOPPING,  // on_stop comes in the next drain
  SERVER_LEAVING,   // what it sent goes out, then everyone is told
  SERVER_STOPPED,
} ServerState;

typedef struct Server {
  ServerState state;
  const char *game;  // NULL: none
  Config config;     // in effect
  Config next;       // while a script tells its own
  ConfigError error;
  bool warned[KEY_COUNT];    // of a key that has no effect
  uint32_t checked_clients;  // max_clients that was compared with the descriptors
  uint16_t port, text_port;
  Net *net;
  Session *session;
  Relay *relay;
  Script *script;
  Signals *signals;
  Control *control;  // NULL: there is none
  Watch *watch;      // NULL: there is no game
} Server;

__attribute__((format(printf, 1, 2))) static int fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("perigee: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return 1;
}

// --- Configuration ---

static void warn_ineffective(Server *server, ConfigKey key) {
  Config defaults;
  config_init(&defaults);
  bool is_default = config_is_same(&server->config, &defaults, key);
  config_deinit(&defaults);
  if (is_default || server->warned[key]) return;
  char text[96];
  snprintf(text, sizeof text, "%s is accepted but has no effect in this version",
           config_name(key));
  log_plain(LOG_WARN, text);
  server->warned[key] = true;
}

static void set_log(const Config *config) {
  log_set_level((LogLevel)log_level_parse(config_text(config, KEY_LOG_LEVEL)));
  bool is_json = strcmp(config_text(config, KEY_LOG_FORMAT), "json") == 0;
  log_set_format(is_json ? LOG_JSON : LOG_TEXT);
}

// Takes server->config into use.
static void apply_config(Server *server) {
  NetLimits net = config_net_limits(&server->config);
  SessionLimits session = config_session_limits(&server->config);
  RelayLimits relay = config_relay_limits(&server->config);
  set_log(&server->config);
  net_set_limits(server->net, &net);
  session_set_limits(server->session, &session);
  relay_set_limits(server->relay, &relay);
  if (session.max_clients != server->checked_clients)
    descriptors_check(session.max_clients);
  server->checked_clients = session.max_clients;
  for (int key = 0; key < KEY_COUNT; key++) {
    if (config_change((ConfigKey)key) == CHANGE_NEVER)
      warn_ineffective(server, (ConfigKey)key);
  }
}

static void warn_later(const Server *server) {
  for (int key = 0; key < KEY_COUNT; key++) {
    if (config_change((ConfigKey)key) == CHANGE_START &&
        !config_is_same(&server->config, &server->next, (ConfigKey)key))
      log_warn("a changed setting takes effect at the next start",
               log_str("key", config_name((ConfigKey)key)));
  }
}

static void on_config_begin(void *data) {
  Server *server = data;
  config_copy(&server->next, &server->config);
  config_forget_game(&server->next);
}

static const char *on_config_set(void *data, const char *key,
                                 const ScriptValue *value) {
  Server *server = data;
  ConfigGiven given = {.text = value->text, .number = value->number};
  switch (value->type) {
    case SCRIPT_TEXT:
      given.type = GIVEN_TEXT;
      break;
    case SCRIPT_NUMBER:
      given.type = GIVEN_NUMBER;
      break;
    case SCRIPT_SWITCH:
      given.type = GIVEN_SWITCH;
      break;
    case SCRIPT_TEXTS:
      given.type = GIVEN_TEXTS;
      break;
    case SCRIPT_OTHER:
      given.type = GIVEN_OTHER;
      break;
  }
  bool is_good = config_set_game(&server->next, key, &given, &server->error);
  return is_good ? NULL : server->error.text;
}

static void on_config_end(void *data, bool is_taken) {
  Server *server = data;
  if (!is_taken) return;
  if (server->state != SERVER_STARTING) warn_later(server);
  config_copy(&server->config, &server->next);
  apply_config(server);
}

// --- Reload ---

static void watch_game(Server *server) {
  if (server->watch == NULL) return;
  size_t count = 0;
  const char *const *files = NULL;
  if (config_is_on(&server->config, KEY_WATCH))
    files = script_files(server->script, &count);
  watch_set(server->watch, files, count);
}

static void answer(Server *server, ControlToken token, const char *word,
                   const char *text) {
  if (token == 0 || server->control == NULL) return;
  Buf bytes = {0};
  buf_printf(&bytes, "%s %s\n", word, text);
  control_reply(server->control, token, (const char *)bytes.data, bytes.size);
  buf_deinit(&bytes);
}

static void on_reloaded(void *data, const ScriptOutcome *outcome) {
  Server *server = data;
  answer(server, outcome->asked, outcome->is_good ? "ok" : "error", outcome->report);
  watch_game(server);
}

static void reload(Server *server, ControlToken token) {
  if (server->state != SERVER_LIVE)
    answer(server, token, "error", "the server is stopping");
  else if (server->game == NULL)
    answer(server, token, "error", "there is no game to reload: this is a plain relay");
  else
    script_reload(server->script, token);
}

static void on_hangup(void *data) { reload(data, 0); }

static void on_change(void *data) { reload(data, 0); }

static void on_request(void *data, ControlToken token, const char *line) {
  if (strcmp(line, "reload") == 0)
    reload(data, token);
  else
    answer(data, token, "error", "unknown request; there is only: reload");
}

// --- Stop ---

static void on_stop(void *data, const char *name) {
  Server *server = data;
  if (server->state != SERVER_LIVE) return;
  log_info("stopping", log_str("signal", name));
  server->state = SERVER_STOPPING;
  Event event = {.type = EVENT_STOP, .data = {name, (uint32_t)strlen(name)}};
  relay_push(server->relay, &event);
}

static void close_helpers(Server *server) {
  watch_close(server->watch);
  control_close(server->control);
  server->watch = NULL;
  server->control = NULL;
}

static void log_counters(const Server *server) {
  RelayStats relay = relay_stats(server->relay);
  SessionStats session = session_stats(server->session);
  LogField ends[SESSION_CODES + 1] = {0};
  size_t count = 0;
  for (int code = 0; code < SESSION_CODES; code++) {
    if (session.ended[code] > 0)
      ends[count++] = log_num(code_name((Code)code), (int64_t)session.ended[code]);
  }
  log_info("served", log_num("connections", (int64_t)session.opened),
           log_num("accepted", (int64_t)session.accepted),
           log_num("messages_in", (int64_t)relay.messages_in),
           log_num("deliveries", (int64_t)relay.deliveries),
           log_num("dropped", (int64_t)relay.dropped),
           log_num("handlers", (int64_t)relay.handlers),
           log_num("errors", (int64_t)relay.errors));
  if (count > 0) log_write(LOG_INFO, "connections ended", ends);
}

// A frame is a turn from now on, so that what on_stop sent is out before CLOSING, which
// would overtake it.
static void flush_at_once(Server *server) {
  NetLimits limits = config_net_limits(&server->config);
  limits.batch_hz = 0;
  net_set_limits(server->net, &limits);
}

static void leave(Server *server) {
  session_shutdown(server->session, CODE_CLOSED, "the server is shutting down");
  close_helpers(server);
  net_stop(server->net);
}

static bool on_turn(void *data, uint64_t now_ms) {
  Server *server = data;
  (void)now_ms;
  script_drain(server->script);
  switch (server->state) {
    case SERVER_STOPPING:
      flush_at_once(server);
      server->state = SERVER_LEAVING;
      return true;
    case SERVER_LEAVING:
      leave(server);
      server->state = SERVER_STOPPED;
      break;
    default:
      break;
  }
  return relay_has_events(server->relay);
}

// --- Start ---

static void build(Server *server) {
  NetLimits net_limits = config_net_limits(&server->config);
  SessionLimits session_limits = config_session_limits(&server->config);
  RelayLimits relay_limits = config_relay_limits(&server->config);
  SessionEvents session_events = relay_session_events();
  NetEvents net_events = session_net_events();
  net_events.turn = on_turn;
  net_events.turn_data = server;
  server->relay = relay_new(&relay_limits);
  server->session = session_new(&session_limits, &session_events, server->relay);
  server->net = net_new(&net_limits, &net_events, server->session);
  session_attach(server->session, server->net);
  relay_attach(server->relay, server->session, server->net);
}

static void take_down(Server *server) {
  signals_close(server->signals);
  close_helpers(server);
  script_free(server->script);
  relay_free(server->relay);
  session_free(server->session);
  net_free(server->net);
  config_deinit(&server->next);
  config_deinit(&server->config);
}

static int load(Server *server, const ServerOptions *options) {
  static const ScriptEvents EVENTS = {on_config_begin, on_config_set, on_config_end,
                                      on_reloaded};
  ScriptOptions script = {.game = options->game, .lua_path = options->lua_path};
  server->script = script_new(&script, server->relay, server->net, &EVENTS, server);
  if (server->game == NULL) {
    apply_config(server);
    int err;
    relay_create(server->relay, "lobby", strlen("lobby"), &err);
    relay_commit(server->relay);
    return 0;
  }
  const char *problem = script_load(server->script);
  return problem == NULL ? 0 : fail("%s", problem);
}

static int fail_listen(const Server *server, ConfigKey key, uint16_t port, int err) {
  const char *host = config_text(&server->config, KEY_HOST);
  const char *flag = key == KEY_PORT ? "port" : "text-port";
  switch (err) {
    case -EADDRINUSE:
      return fail("port %u is already in use; choose another with --%s", port, flag);
    case -EACCES:
      return fail("port %u is only for the superuser; choose one above 1023 with --%s",
                  port, flag);
    case -EADDRNOTAVAIL:
    case ERR_ADDRESS:
      return fail("\"%s\" is no address of this machine; choose another with --host",
                  host);
    default:
      return fail("cannot listen on %s:%u: %s", host, port, err_text(err));
  }
}

static int listen_on(Server *server, ConfigKey key, uint16_t *port, Framing framing) {
  double number = config_number(&server->config, key);
  if (number == CONFIG_OFF) return 0;
  uint16_t wanted = *port = (uint16_t)number;
  int err =
      net_listen(server->net, config_text(&server->config, KEY_HOST), port, framing);
  return err == 0 ? 0 : fail_listen(server, key, wanted, err);
}

static void open_helpers(Server *server) {
  static const SignalEvents EVENTS = {.stop = on_stop, .reload = on_hangup};
  server->signals = signals_open(server->net, &EVENTS, server);
  char path[REMOTE_PATH_MAX];
  int err = remote_path(path, sizeof path, server->port);
  if (err == 0)
    server->control = control_open(server->net, path, on_request, server, &err);
  if (err != 0)
    log_warn("`perigee reload` cannot reach this server; SIGHUP can",
             log_str("path", path), log_str("error", err_text(err)));
  if (server->game != NULL) server->watch = watch_open(server->net, on_change, server);
  watch_game(server);
}

static void print_ready(const Server *server) {
  const char *host = config_text(&server->config, KEY_HOST);
  char name[GAME_NAME_SIZE];
  game_name(name, server->game);
  printf("perigee: serving %s on %s:%u\n", name, host, server->port);
  if (server->text_port != 0)
    printf("perigee: text on %s:%u\n", host, server->text_port);
  puts("perigee: ready");
  fflush(stdout);
}

// The commands are told as this program was called, so that they can be copied.
static void log_hint(const Server *server) {
  const char *host = config_text(&server->config, KEY_HOST);
  if (strcmp(host, "0.0.0.0") == 0) host = "127.0.0.1";
  char line[PATH_MAX];
  snprintf(line, sizeof line, "%s connect %s:%u", program_invocation_name, host,
           server->port);
  log_info("to join from another terminal", log_str("run", line));
  if (server->text_port != 0) {
    snprintf(line, sizeof line, "nc %s %u", host, server->text_port);
    log_info("to join as lines of text", log_str("run", line));
  }
  if (server->game == NULL && game_check(".") == NULL) {
    snprintf(line, sizeof line, "%s run .", program_invocation_name);
    log_info("there is a game.lua in this folder; to serve it", log_str("run", line));
  }
}

// Connections that arrive while on_start runs wait in the kernel's queue.
static int start(Server *server, const ServerOptions *options) {
  if (load(server, options) != 0) return 1;
  if (listen_on(server, KEY_PORT, &server->port, FRAMING_PACKETS) != 0) return 1;
  if (listen_on(server, KEY_TEXT_PORT, &server->text_port, FRAMING_LINES) != 0)
    return 1;
  server->state = SERVER_LIVE;
  open_helpers(server);
  Event event = {.type = EVENT_START};
  relay_push(server->relay, &event);
  script_drain(server->script);
  print_ready(server);
  log_hint(server);
  return 0;
}

int server_run(const ServerOptions *options) {
  const char *problem = options->game == NULL ? NULL : game_check(options->game);
  if (problem != NULL) return fail("%s: %s", options->game, problem);
  Server server = {.game = options->game};
  config_init(&server.config);
  config_init(&server.next);
  config_copy(&server.config, options->config);
  set_log(&server.config);
  descriptors_raise();
  build(&server);
  int code = start(&server, options);
  if (code == 0) {
    net_run(server.net);
    // What the end of the last connections still has to tell the script.
    for (int i = 0; i < LAST_DRAINS_MAX && relay_has_events(server.relay); i++)
      script_drain(server.script);
    log_counters(&server);
  }
  take_down(&server);
  return code;
}
