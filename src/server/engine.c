// Connects the layers, and decides the order of their work.
#include "server/engine.h"

#include <string.h>

#include "base/log.h"
#include "net/sim.h"
#include "net/tls.h"
#include "net/udp.h"
#include "net/web.h"
#include "wire/http_host.h"

// Time for the game's handlers of the stop, from the signal on.
enum { STOP_US = 2500000 };

// --- Configuration ---

void engine_set_log(const Config *config) {
  log_set_level((LogLevel)log_level_parse(config_text(config, KEY_LOG_LEVEL)));
  bool is_json = strcmp(config_text(config, KEY_LOG_FORMAT), "json") == 0;
  log_set_format(is_json ? LOG_JSON : LOG_TEXT);
}

static void set_script_limits(Engine *engine) {
  ScriptLimits limits = config_script_limits(&engine->config);
  script_set_limits(engine->script, &limits);
}

static void check_http_hosts(const Config *config) {
  Text bad;
  if (http_find_bad_host(config_text(config, KEY_HTTP_HOSTS), &bad))
    log_warn(
        "http_hosts names what is no host; write it without scheme and path, "
        "api.example, *.api.example or api.example:8443",
        log_bytes("host", bad.bytes, bad.size));
}

// Applies engine->config.
static void apply_config(Engine *engine) {
  NetLimits net = config_net_limits(&engine->config);
  SessionLimits session = config_session_limits(&engine->config);
  RelayLimits relay = config_relay_limits(&engine->config);
  engine_set_log(&engine->config);
  net_set_limits(engine->net, &net);
  session_set_limits(engine->session, &session);
  relay_set_limits(engine->relay, &relay);
  set_script_limits(engine);
  check_http_hosts(&engine->config);
  const EngineOptions *options = &engine->options;
  if (options->events->configured != NULL)
    options->events->configured(options->data, &engine->config);
}

static void warn_later(const Engine *engine) {
  for (int key = 0; key < KEY_COUNT; key++) {
    if (config_change((ConfigKey)key) == CHANGE_START &&
        !config_is_same(&engine->config, &engine->next, (ConfigKey)key))
      log_warn("a changed setting takes effect at the next start",
               log_str("key", config_name((ConfigKey)key)));
  }
}

static void on_config_begin(void *data) {
  Engine *engine = data;
  config_copy(&engine->next, &engine->config);
  config_forget_game(&engine->next);
}

static const char *on_config_set(void *data, const char *key,
                                 const ScriptValue *value) {
  Engine *engine = data;
  bool is_good = config_set_game(&engine->next, key, value, &engine->error);
  return is_good ? NULL : engine->error.text;
}

static const char *on_config_protocol(void *data) {
  const Engine *engine = data;
  return config_text(&engine->next, KEY_PROTOCOL);
}

static ScriptStore on_config_store(void *data) {
  const Engine *engine = data;
  return config_script_store(&engine->next);
}

static void on_config_take(void *data) {
  Engine *engine = data;
  if (engine->state != ENGINE_STARTING) warn_later(engine);
  config_copy(&engine->config, &engine->next);
  apply_config(engine);
}

// --- Reload ---

static void on_reloaded(void *data, const ScriptOutcome *outcome) {
  const Engine *engine = data;
  if (engine->options.events->reloaded != NULL)
    engine->options.events->reloaded(engine->options.data, outcome);
}

static void on_failed(void *data, const char *text) {
  const Engine *engine = data;
  if (engine->options.events->failed != NULL)
    engine->options.events->failed(engine->options.data, text);
}

static void on_stop(void *data, const char *reason) {
  Engine *engine = data;
  if (engine->options.events->stop != NULL)
    engine->options.events->stop(engine->options.data, reason);
  else
    engine_stop(engine, reason);
}

static void on_schema(void *data, const ScriptSchema *schema) {
  const Engine *engine = data;
  session_set_hashes(engine->session, schema->hashes, schema->count);
  net_set_schema(engine->net, schema->module.bytes, schema->module.size);
}

const char *engine_reload(Engine *engine, uint32_t token, bool is_forced) {
  if (engine->state != ENGINE_LIVE) return "the server is stopping";
  if (engine->options.script.game == NULL)
    return "there is no game to reload: this is a plain relay";
  script_reload(engine->script, token, is_forced);
  return NULL;
}

void engine_refresh(Engine *engine) {
  if (engine->state == ENGINE_LIVE) script_refresh(engine->script);
}

// --- Events ---

static bool is_held(const Engine *engine) {
  return engine->is_held && engine->state == ENGINE_LIVE;
}

void engine_hold(Engine *engine, bool is_on) { engine->is_held = is_on; }

// Handles the relay's events. The callback `event` may give commands, as it may between
// two events, because no handler is running.
void engine_drain(Engine *engine, uint64_t now_us) {
  const EngineEvents *events = engine->options.events;
  void *data = engine->options.data;
  Event event;
  relay_begin_drain(engine->relay, now_us);
  script_begin_drain(engine->script, now_us);
  while (!is_held(engine) && relay_next_event(engine->relay, &event)) {
    if (events->event != NULL && relay_program_wants(engine->relay, &event))
      events->event(data, &event);
    else
      script_handle(engine->script, &event);
  }
  if (is_held(engine)) relay_end_drain(engine->relay);
  script_end_drain(engine->script);
}

// --- Stop ---

void engine_stop(Engine *engine, const char *reason) {
  if (engine->state != ENGINE_LIVE) return;
  log_info("stopping", log_str("reason", reason));
  engine->state = ENGINE_STOPPING;
  engine->stopped_us = net_real_us();
  script_stop(engine->script, reason);
}

// Makes each iteration flush from now on. Otherwise CLOSING, which is critical, would
// overtake the messages of on_stop.
static void flush_at_once(Engine *engine) {
  NetLimits limits = config_net_limits(&engine->config);
  limits.batch_hz = 0;
  net_set_limits(engine->net, &limits);
}

static bool has_time_to_stop(const Engine *engine) {
  return net_real_us() - engine->stopped_us < STOP_US;
}

static bool on_iteration(void *data, uint64_t now_us) {
  Engine *engine = data;
  engine_drain(engine, now_us);
  switch (engine->state) {
    case ENGINE_STOPPING:
      // Continues while on_stop has not run, or while some of its commands have not
      // been carried out.
      if (relay_has_urgent(engine->relay) && has_time_to_stop(engine)) return true;
      flush_at_once(engine);
      engine->state = ENGINE_LEAVING;
      return true;
    case ENGINE_LEAVING:
      script_save(engine->script);
      session_shutdown(engine->session);
      if (engine->options.events->leaving != NULL)
        engine->options.events->leaving(engine->options.data);
      net_stop(engine->net);
      engine->state = ENGINE_STOPPED;
      break;
    default:
      break;
  }
  if (is_held(engine)) return false;
  return relay_has_events(engine->relay) || script_has_work(engine->script);
}

static LogField figure(const char *name, uint64_t value) {
  return log_num(name, (int64_t)value);
}

// Logs the figures, unless all of them are 0.
static void log_figures(const char *message, const LogField *figures) {
  bool is_any = false;
  for (const LogField *at = figures; at->key; at++) is_any |= at->number != 0;
  if (is_any) log_write(LOG_INFO, message, figures);
}

static void log_ends(const SessionStats *session) {
  LogField ends[SESSION_CODES + 1] = {0};
  size_t count = 0;
  for (int code = 0; code < SESSION_CODES; code++)
    if (session->ended[code] > 0)
      ends[count++] = figure(code_name((Code)code), session->ended[code]);
  log_figures("connections ended", ends);
}

static void log_net(Net *net) {
  WebStats web = net_web_stats(net);
  TlsStats tls = net_tls_stats(net);
  UdpTotals udp = net_udp_totals(net);
  const LogField of_web[] = {figure("requests", web.requests),
                             figure("refused", web.refused),
                             figure("upgraded", web.upgraded),
                             figure("stalled", web.stalled),
                             {0}};
  const LogField of_tls[] = {figure("handshakes", tls.handshakes),
                             figure("resumed", tls.resumed),
                             figure("failed", tls.failed),
                             figure("refused", tls.refused),
                             {0}};
  const LogField of_udp[] = {
      figure("accepted", udp.accepted), figure("attached", udp.attached),
      figure("rejected", udp.rejected), figure("datagrams_in", udp.received),
      figure("refused", udp.refused),   figure("datagrams_out", udp.sent),
      figure("lost", udp.lost),         {0}};
  log_figures("HTTP", of_web);
  log_figures("TLS", of_tls);
  log_figures("UDP", of_udp);
}

static void log_counters(const Engine *engine) {
  RelayStats relay = relay_stats(engine->relay);
  SessionStats session = session_stats(engine->session);
  log_info("served", figure("connections", session.opened),
           figure("accepted", session.accepted),
           figure("messages_in", relay.messages_in),
           figure("deliveries", relay.deliveries), figure("dropped", relay.dropped),
           figure("handlers", script_handlers(engine->script)),
           figure("errors", relay.errors));
  log_ends(&session);
  log_net(engine->net);
  const LogField suspended[] = {figure("count", session.suspended),
                                figure("resumed", session.resumed),
                                figure("expired", session.expired),
                                {0}};
  log_figures("sessions suspended", suspended);
}

void engine_finish(Engine *engine) {
  script_set_over(engine->script);
  while (relay_has_events(engine->relay) && has_time_to_stop(engine))
    engine_drain(engine, net_clock_us(engine->net));
  engine->has_lost = !script_end_store(engine->script);
  log_counters(engine);
  script_log_costs(engine->script);
}

// --- Start ---

static void build(Engine *engine) {
  NetLimits net_limits = config_net_limits(&engine->config);
  SessionLimits session_limits = config_session_limits(&engine->config);
  RelayLimits relay_limits = config_relay_limits(&engine->config);
  SessionEvents session_events = relay_session_events();
  NetEvents net_events = session_net_events();
  net_events.iteration = on_iteration;
  net_events.iteration_data = engine;
  engine->relay = relay_new(&relay_limits);
  engine->session = session_new(&session_limits, &session_events, engine->relay);
  const uint64_t *seed = engine->options.seed;
  engine->net = seed == NULL ? net_new(&net_limits, &net_events, engine->session)
                             : net_new_simulated(&net_limits, &net_events,
                                                 engine->session, *seed);
  session_attach(engine->session, engine->net);
  relay_attach(engine->relay, engine->session, engine->net);
}

void engine_init(Engine *engine, const EngineOptions *options) {
  static const ScriptEvents EVENTS = {.config_begin = on_config_begin,
                                      .config_set = on_config_set,
                                      .config_protocol = on_config_protocol,
                                      .config_store = on_config_store,
                                      .config_take = on_config_take,
                                      .reloaded = on_reloaded,
                                      .failed = on_failed,
                                      .stop = on_stop,
                                      .schema = on_schema};
  *engine = (Engine){.options = *options, .started_us = net_real_us()};
  config_init(&engine->config);
  config_init(&engine->next);
  config_copy(&engine->config, options->config);
  engine->options.config = NULL;  // the caller may free the configuration
  engine_set_log(&engine->config);
  build(engine);
  engine->script =
      script_new(&options->script, engine->relay, engine->net, &EVENTS, engine);
  set_script_limits(engine);
}

// Frees the engine. Calls net_stop first, because net_stop reports ended connections to
// the session.
void engine_deinit(Engine *engine) {
  net_stop(engine->net);
  script_free(engine->script);
  relay_free(engine->relay);
  session_free(engine->session);
  net_free(engine->net);
  config_deinit(&engine->next);
  config_deinit(&engine->config);
}

const char *engine_load(Engine *engine) {
  if (engine->options.script.game != NULL) return script_load(engine->script);
  apply_config(engine);
  int err;
  relay_create(engine->relay, text_from("lobby"), &err);
  relay_commit(engine->relay);
  return NULL;
}

void engine_start(Engine *engine) {
  engine->state = ENGINE_LIVE;
  script_start(engine->script);
  engine_drain(engine, net_clock_us(engine->net));
}
