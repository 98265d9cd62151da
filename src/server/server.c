// Opens the surroundings of an engine: sockets to listen on, signals, the control socket and
// watched files.
#include "server/server.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/io_threads.h"
#include "net/tls.h"
#include "net/udp.h"
#include "os/child.h"
#include "os/service.h"
#include "os/signals.h"
#include "os/watch.h"
#include "server/console_token.h"
#include "server/control_path.h"
#include "server/dashboard/dashboard.h"
#include "server/descriptors.h"
#include "server/dev.h"
#include "server/game_path.h"
#include "server/metrics.h"
#include "server/web_files.h"

enum {
  FREE_PORT_TRIES = 64
};  // attempts to find a port number that is free for TCP
    // and UDP

// Stores the sentence that server_open reports.
__attribute__((format(printf, 2, 3))) static int fail(Server *server,
                                                      const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(server->problem, server->problem_size, format, arguments);
  va_end(arguments);
  return 1;
}

static void on_configured(void *data, const Config *config) {
  Server *server = data;
  uint32_t max_clients = config_session_limits(config).max_clients;
  uint32_t io_threads = (uint32_t)config_number(config, KEY_IO_THREADS);
  if (max_clients != server->checked_clients)
    descriptors_check(max_clients, io_threads);
  server->checked_clients = max_clients;
  web_files_apply(server->engine.net, config, server->options.game);
}

// --- Reload ---

static void watch_game(Server *server) {
  if (server->watch == NULL) return;
  size_t count = 0;
  const char *const *files = NULL;
  if (config_is_on(&server->engine.config, KEY_WATCH))
    files = script_files(server->engine.script, &count);
  watch_set(server->watch, files, count);
  dev_set(server->dev, config_is_on(&server->engine.config, KEY_WATCH));
}

static void answer(const Server *server, uint32_t token, bool is_good,
                   const char *report) {
  if (token != 0)
    server->options.reloaded(server->options.data, token, is_good, report);
}

// Serves TLS with the present files of tls_cert and tls_key, or without TLS if both
// settings are empty. If the files are wrong, returns false with a sentence; the
// previous certificate stays.
static bool apply_tls(Net *net, const Config *config, TlsProblem *problem) {
  const char *cert = config_text(config, KEY_TLS_CERT);
  const char *key = config_text(config, KEY_TLS_KEY);
  if (*cert != '\0' && *key != '\0') return net_tls_load(net, cert, key, problem);
  if (*cert == '\0' && *key == '\0') {
    net_tls_off(net);
    return true;
  }
  snprintf(problem->text, sizeof problem->text,
           "%s is given and %s is not; give both or neither",
           *cert != '\0' ? "tls_cert" : "tls_key",
           *cert != '\0' ? "tls_key" : "tls_cert");
  return false;
}

// Reads the certificate again even if the game does not load, because the files may
// have changed.
static bool reread_tls(Server *server, TlsProblem *problem) {
  if (server->options.has_dev_tls ||
      apply_tls(server->engine.net, &server->engine.config, problem))
    return true;
  log_error("TLS goes on as it was", log_str("error", problem->text));
  return false;
}

static void on_reloaded(void *data, const ScriptOutcome *outcome) {
  Server *server = data;
  TlsProblem problem = {""};
  bool is_good = reread_tls(server, &problem) && outcome->is_good;
  Buf report = {0};
  buf_printf(&report, "%s%s%s", outcome->report,
             *problem.text != '\0' ? "\nTLS goes on as it was: " : "", problem.text);
  answer(server, outcome->token, is_good, (const char *)report.data);
  buf_deinit(&report);
  service_ready(net_loop(server->engine.net));
  watch_game(server);
  if (server->dev != NULL) dev_reloaded(server->dev, outcome);
  if (server->dashboard != NULL)
    dashboard_reloaded(server->dashboard, outcome->is_good, outcome->report);
}

static void on_failed(void *data, const char *text) {
  Server *server = data;
  if (server->dev != NULL) dev_failed(server->dev, text);
  if (server->dashboard != NULL) dashboard_failed(server->dashboard, text);
}

void server_reload(Server *server, uint32_t token, bool is_forced) {
  const char *problem = engine_reload(&server->engine, token, is_forced);
  if (problem == NULL) {
    service_reloading(net_loop(server->engine.net));
    return;
  }
  TlsProblem tls;
  bool is_good = reread_tls(server, &tls);
  if (!is_good)
    answer(server, token, false, tls.text);
  else if (server->options.game == NULL && net_has_tls(server->engine.net))
    answer(server, token, true, "there is no game to reload; the certificate was read");
  else
    answer(server, token, false, problem);
}

static void on_hangup(void *data) { server_reload(data, 0, false); }

static void on_change(void *data) {
  Server *server = data;
  engine_refresh(&server->engine);
}

static void on_request(void *data, ControlToken token, const char *line) {
  const Server *server = data;
  server->options.request(server->options.data, token, line);
}

// --- Stop ---

void server_stop(Server *server, const char *reason) {
  if (server->engine.state != ENGINE_LIVE) return;
  service_stopping(net_loop(server->engine.net));
  server->options.stopping(server->options.data, reason);
  engine_stop(&server->engine, reason);
}

static void on_stop(void *data, const char *name) { server_stop(data, name); }

static void close_helpers(Server *server) {
  char path[CONTROL_PATH_MAX];
  if (server->has_token_file && control_path(path, sizeof path, server->port) == 0)
    console_token_remove(path);
  server->has_token_file = false;
  watch_close(server->watch);
  control_close(server->control);
  dev_close(server->dev);
  if (server->dashboard != NULL) dashboard_stop(server->dashboard);
  server->dev = NULL;
  server->watch = NULL;
  server->control = NULL;
}

static void on_leaving(void *data) { close_helpers(data); }

// --- Start ---

// Returns the setting with the address for a setting with a port.
static ConfigKey host_key(const Config *config, ConfigKey port) {
  bool has_own = port == KEY_TEXT_PORT && *config_text(config, KEY_TEXT_HOST) != '\0';
  return has_own ? KEY_TEXT_HOST : KEY_HOST;
}

static int fail_listen(Server *server, ConfigKey key, uint16_t port, int err) {
  const Config *config = &server->engine.config;
  ConfigKey host = host_key(config, key);
  const char *flag = key == KEY_PORT ? "port" : "text-port";
  switch (err) {
    case -EADDRINUSE:
      return fail(server, "port %u is already in use; choose another with --%s", port,
                  flag);
    case -EACCES:
      return fail(server,
                  "port %u is only for the superuser; choose one above 1023 with --%s",
                  port, flag);
    case -EADDRNOTAVAIL:
    case ERR_ADDRESS:
      return fail(server,
                  "\"%s\" is no address of this machine; choose another with --%s",
                  config_text(config, host), host == KEY_HOST ? "host" : "text-host");
    default:
      return fail(server, "cannot listen on %s:%u: %s", config_text(config, host), port,
                  err_text(err));
  }
}

static int listen_on(Server *server, ConfigKey key, uint16_t *port, Framing framing) {
  const Config *config = &server->engine.config;
  double number = config_number(config, key);
  if (number == CONFIG_OFF) return 0;
  uint16_t wanted = *port = (uint16_t)number;
  const char *host = config_text(config, host_key(config, key));
  int err = net_listen(server->engine.net, host, port, framing);
  return err == 0 ? 0 : fail_listen(server, key, wanted, err);
}

static int fail_udp(Server *server, uint16_t port, int err) {
  if (err == ERR_INVALID)
    return fail(
        server,
        "--udp-ports %.0f from port %u on go beyond 65535; choose a lower --port",
        config_number(&server->engine.config, KEY_UDP_PORTS), server->port);
  if (err == -EADDRINUSE)
    return fail(
        server,
        "UDP port %u is already in use; choose others with --port, or none with "
        "--udp-ports 0",
        port);
  return fail(server, "cannot serve UDP on %s:%u: %s",
              config_text(&server->engine.config, KEY_HOST), port, err_text(err));
}

// Listens by TCP and UDP on ports with the same number. If no number is set, tries
// several until one is free for both.
static int listen_on_both(Server *server) {
  Net *net = server->engine.net;
  const Config *config = &server->engine.config;
  uint32_t count = (uint32_t)config_number(config, KEY_UDP_PORTS);
  for (int tries = 0;; tries++) {
    if (listen_on(server, KEY_PORT, &server->port, FRAMING_SNIFF) != 0) return 1;
    if (count == 0) return 0;
    uint16_t port = server->port;
    int err = net_udp_open(net, config_text(config, KEY_HOST), &port, count);
    if (err == 0) return 0;
    bool has_choice = config_number(config, KEY_PORT) == 0;
    bool may_help = err == -EADDRINUSE || err == ERR_INVALID;
    if (!may_help || !has_choice || tries == FREE_PORT_TRIES)
      return fail_udp(server, port, err);
    net_unlisten(net);
  }
}

static void open_watch(Server *server) {
  char folder[PATH_MAX];
  bool has_folder = web_files_folder(server->options.game, folder);
  server->watch = watch_open(net_loop(server->engine.net), on_change, server);
  server->dev =
      dev_open(server->engine.net, server->engine.session, has_folder ? folder : NULL);
}

// Writes the token of the console beside the control socket at `path`, in whose folder only
// this user can create files.
static void write_token(Server *server, const char *path) {
  char address[sizeof server->admin.host + 8];
  if (server->admin.port == 0 || server->options.game == NULL) return;
  snprintf(address, sizeof address, "%s:%u", server->admin.host, server->admin.port);
  int err = console_token_write(path, address, net_admin_secret(server->engine.net));
  server->has_token_file = err == 0;
  if (err != 0)
    log_warn(
        "`perigee console` cannot reach this server, because its token is not written",
        log_str("socket", path), log_str("error", err_text(err)));
}

static void open_control(Server *server) {
  char path[CONTROL_PATH_MAX];
  int err = control_path(path, sizeof path, server->port);
  if (err == 0)
    server->control =
        control_open(net_loop(server->engine.net), path, on_request, server, &err);
  if (err != 0)
    log_warn("`perigee reload` cannot reach this server; SIGHUP can",
             log_str("path", path), log_str("error", err_text(err)));
  else
    write_token(server, path);
}

static void open_helpers(Server *server) {
  static const SignalEvents EVENTS = {.stop = on_stop, .reload = on_hangup};
  if (server->options.is_program) {
    server->signals = signals_open(net_loop(server->engine.net), &EVENTS, server);
    open_control(server);
  }
  if (server->options.game != NULL) open_watch(server);
  watch_game(server);
}

static int start_tls(Server *server) {
  Net *net = server->engine.net;
  TlsProblem problem;
  if (server->options.has_dev_tls)
    return net_tls_dev(net, server->fingerprint)
               ? 0
               : fail(server, "--tls-dev: OpenSSL cannot make a certificate");
  if (apply_tls(net, &server->engine.config, &problem)) return 0;
  return fail(server, "%s", problem.text);
}

static int start_threads(Server *server) {
  uint32_t count = (uint32_t)config_number(&server->engine.config, KEY_IO_THREADS);
  int err = net_serve(server->engine.net, count);
  if (err == 0) return 0;
  return fail(
      server,
      "io_threads: %u threads cannot be had: %s; choose fewer with --io-threads", count,
      err_text(err));
}

// Starts the server. Connections that arrive while on_start runs wait in the kernel's
// queue.
static int start(Server *server) {
  const char *problem = engine_load(&server->engine);
  if (problem != NULL) return fail(server, "%s", problem);
  if (start_tls(server) != 0) return 1;
  if (start_threads(server) != 0) return 1;
  if (listen_on_both(server) != 0) return 1;
  if (listen_on(server, KEY_TEXT_PORT, &server->text_port, FRAMING_LINES) != 0)
    return 1;
  if (!admin_open(&server->engine, server->options.is_program, &server->admin))
    return fail(server, "%s", server->admin.problem);
  net_admin_serve(server->engine.net, ADMIN_API, server->options.api,
                  server->options.data);
  net_admin_serve(server->engine.net, ADMIN_METRICS, &METRICS_EVENTS, server);
  if (server->admin.port != 0) server->dashboard = dashboard_open(server);
  service_warn_untaken(net_loop(server->engine.net));
  open_helpers(server);
  engine_start(&server->engine);
  return 0;
}

static void on_event(void *data, const Event *event) {
  const Server *server = data;
  server->options.event(server->options.data, event);
}

static char *copy(const char *text) { return text == NULL ? NULL : mem_strdup(text); }

Server *server_open(const ServerOptions *options, char *problem, size_t size) {
  const char *fault = options->game == NULL ? NULL : game_check(options->game);
  if (fault != NULL) {
    snprintf(problem, size, "%s: %s", options->game, fault);
    return NULL;
  }
  Server *server = mem_zalloc(sizeof *server);
  labels_init(&server->kinds);
  server->options = *options;
  server->options.config = NULL;
  server->options.game = copy(options->game);
  server->options.lua_path = copy(options->lua_path);
  server->events = (EngineEvents){
      .configured = on_configured,
      .reloaded = on_reloaded,
      .failed = on_failed,
      .leaving = on_leaving,
      .stop = on_stop,
      .event = on_event,
  };
  server->problem = problem;
  server->problem_size = size;
  EngineOptions engine = {
      .script = {.game = server->options.game,
                 .lua_path = server->options.lua_path,
                 .has_no_jit = options->has_no_jit,
                 .has_check = options->is_program},
      .config = options->config,
      .events = &server->events,
      .data = server,
  };
  engine_set_log(options->config);
  if (options->game != NULL) log_set_ring(&server->log_ring);
  engine_init(&server->engine, &engine);
  if (options->is_program) child_allow(net_loop(server->engine.net));
  options->built(options->data, server);
  if (start(server) == 0) return server;
  server_close(server);
  return NULL;
}

void server_finish(Server *server) { engine_finish(&server->engine); }

void server_close(Server *server) {
  server->options.closing(server->options.data);
  signals_close(server->signals);
  close_helpers(server);
  engine_deinit(&server->engine);
  dashboard_free(server->dashboard);
  log_set_ring(NULL);
  log_ring_deinit(&server->log_ring);
  labels_deinit(&server->kinds);
  mem_free((char *)server->options.game);
  mem_free((char *)server->options.lua_path);
  mem_free(server);
}
