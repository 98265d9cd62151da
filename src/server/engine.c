// Connects the layers, and decides the order of their work.
#include "server/engine.h"

#include <string.h>

#include "base/log.h"
#include "net/sim.h"
#include "net/tls.h"
#include "net/udp.h"
#include "net/web.h"

// Time from the signal until the process ends, for the game's handlers of the stop.
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

// The owner may also give commands here, because no handler runs between two events.
void engine_drain(Engine *engine) {
  const EngineEvents *events = engine->options.events;
  void *data = engine->options.data;
  Event event;
  relay_begin_drain(engine->relay);
  script_begin_drain(engine->script);
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

void engine_stop(Engine *engine, const char *signal) {
  if (engine->state != ENGINE_LIVE) return;
  log_info("stopping", log_str("signal", signal));
  engine->state = ENGINE_STOPPING;
  engine->stopped_us = net_real_us();
  script_stop(engine->script, signal);
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

static bool on_iteration(void *data, uint64_t now_ms) {
  Engine *engine = data;
  (void)now_ms;
  engine_drain(engine);
  switch (engine->state) {
    case ENGINE_STOPPING:
      // on_stop has not run, or some of its commands have not been carried out.
      if (relay_has_urgent(engine->relay) && has_time_to_stop(engine)) return true;
      flush_at_once(engine);
      engine->state = ENGINE_LEAVING;
      return true;
    case ENGINE_LEAVING:
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

static void log_counters(const Engine *engine) {
  RelayStats relay = relay_stats(engine->relay);
  SessionStats session = session_stats(engine->session);
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
           log_num("handlers", (int64_t)script_handlers(engine->script)),
           log_num("errors", (int64_t)relay.errors));
  if (count > 0) log_write(LOG_INFO, "connections ended", ends);
  WebStats web = net_web_stats(engine->net);
  if (web.requests > 0)
    log_info("HTTP", log_num("requests", (int64_t)web.requests),
             log_num("refused", (int64_t)web.refused),
             log_num("upgraded", (int64_t)web.upgraded),
             log_num("stalled", (int64_t)web.stalled));
  TlsStats tls = net_tls_stats(engine->net);
  if (tls.handshakes + tls.failed + tls.refused > 0)
    log_info("TLS", log_num("handshakes", (int64_t)tls.handshakes),
             log_num("resumed", (int64_t)tls.resumed),
             log_num("failed", (int64_t)tls.failed),
             log_num("refused", (int64_t)tls.refused));
  UdpTotals udp = net_udp_totals(engine->net);
  if (udp.received > 0)
    log_info("UDP", log_num("accepted", (int64_t)udp.accepted),
             log_num("attached", (int64_t)udp.attached),
             log_num("rejected", (int64_t)udp.rejected),
             log_num("datagrams_in", (int64_t)udp.received),
             log_num("refused", (int64_t)udp.refused),
             log_num("datagrams_out", (int64_t)udp.sent),
             log_num("lost", (int64_t)udp.lost));
  if (session.suspended > 0)
    log_info("sessions suspended", log_num("count", (int64_t)session.suspended),
             log_num("resumed", (int64_t)session.resumed),
             log_num("expired", (int64_t)session.expired));
}

void engine_finish(Engine *engine) {
  script_set_over(engine->script);
  while (relay_has_events(engine->relay) && has_time_to_stop(engine))
    engine_drain(engine);
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
                                      .config_take = on_config_take,
                                      .reloaded = on_reloaded,
                                      .failed = on_failed,
                                      .stop = on_stop,
                                      .schema = on_schema};
  *engine = (Engine){.options = *options};
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

// Calls net_stop first, because it reports ended connections to the session.
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
  engine_drain(engine);
}
