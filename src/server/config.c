// All sources of the configuration end in one function, `store`, which checks a value
// against its row of the table. Texts from flags and from the environment are first
// converted to the values that Lua gives. Defaults are read like flags.
#include "server/config.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "server/rule.h"

#define ENVIRONMENT_PREFIX "PERIGEE_"

enum { NAME_SIZE = 64, SPELT_SIZE = NAME_SIZE + 16 };

static const Rule RULES[KEY_COUNT] = {
#define X(constant, key, kind, standard, min, max, when, text, choices, more) \
  [constant] = {.name = #key,                                                 \
                .type = CONFIG_##kind,                                        \
                .change = CHANGE_##when,                                      \
                .fallback = (standard),                                       \
                .least = (min),                                               \
                .most = (max),                                                \
                .help = (text),                                               \
                .words = (choices)},
    SETTINGS(X)
#undef X
};

__attribute__((format(printf, 2, 3))) static bool complain(ConfigError *error,
                                                           const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return false;
}

// --- Names ---

// Returns the key with this name in game.config, or -1.
static int find_key(const char *name) {
  if (strcmp(name, "mcp_write") == 0)
    return KEY_ADMIN_WRITE;  // former name of the setting
  for (int key = 0; key < KEY_COUNT; key++) {
    if (strcmp(RULES[key].name, name) == 0) return key;
  }
  return -1;
}

const char *config_name(ConfigKey key) { return RULES[key].name; }

ConfigChange config_change(ConfigKey key) { return RULES[key].change; }

// Copies `from`, cut at NAME_SIZE; `translate` converts each byte.
static void spell(char name[NAME_SIZE], const char *from, int (*translate)(int)) {
  size_t size = 0;
  for (; from[size] != '\0' && size < NAME_SIZE - 1; size++) {
    name[size] = (char)translate((unsigned char)from[size]);
  }
  name[size] = '\0';
}

static int to_dash(int c) { return c == '_' ? '-' : c; }
static int to_underscore(int c) { return c == '-' ? '_' : c; }

// Writes the key in the spelling of that source.
static void spell_key(char out[SPELT_SIZE], ConfigSource source, const char *name) {
  char spelt[NAME_SIZE];
  switch (source) {
    case CONFIG_FROM_FLAG:
      spell(spelt, name, to_dash);
      snprintf(out, SPELT_SIZE, "--%s", spelt);
      break;
    case CONFIG_FROM_ENVIRONMENT:
      spell(spelt, name, toupper);
      snprintf(out, SPELT_SIZE, ENVIRONMENT_PREFIX "%s", spelt);
      break;
    case CONFIG_FROM_PROGRAM:
      snprintf(out, SPELT_SIZE, "config.%s", name);
      break;
    default:
      snprintf(out, SPELT_SIZE, "game.config.%s", name);
  }
}

// Returns the key or the entry of `others` (may be NULL) that is most similar to
// `name`. Returns NULL if none is similar.
static const char *nearest(const char *name, const char *const *others) {
  const char *words[KEY_COUNT + 17];
  size_t count = 0;
  for (; count < KEY_COUNT; count++) words[count] = RULES[count].name;
  for (size_t i = 0; others != NULL && others[i] != NULL; i++) {
    assert(i < 16);
    words[count++] = others[i];
  }
  words[count] = NULL;
  return text_nearest(name, words);
}

static bool complain_unknown(ConfigError *error, ConfigSource source, const char *name,
                             const char *const *others) {
  char wrong[SPELT_SIZE], right[SPELT_SIZE];
  spell_key(wrong, source, name);
  const char *meant = nearest(name, others);
  const char *list =
      source == CONFIG_FROM_GAME ? "; `perigee help run` lists the settings" : "";
  if (meant == NULL) return complain(error, "there is no %s%s", wrong, list);
  spell_key(right, source, meant);
  return complain(error, "there is no %s; did you mean %s?", wrong, right);
}

// --- Values ---

static bool complain_value(ConfigError *error, ConfigSource source, const Rule *rule,
                           const ScriptValue *given) {
  char spelt[SPELT_SIZE], expected[128], found[80];
  spell_key(spelt, source, rule->name);
  rule_print_expected(expected, sizeof expected, rule);
  rule_print_given(found, sizeof found, given);
  return complain(error, "%s must be %s, not %s", spelt, expected, found);
}

static void value_set(ConfigValue *value, const ConfigValue *from) {
  char *text = from->text == NULL ? NULL : mem_strdup(from->text);
  mem_free(value->text);
  *value = *from;
  value->text = text;
}

// Stores a checked value unless a stronger source has set the key.
static bool store(Config *config, ConfigKey key, ConfigSource source,
                  const ScriptValue *given) {
  ConfigValue value = {.source = source};
  if (!rule_check(&RULES[key], given, &value)) return false;
  if (source >= config->values[key].source) value_set(&config->values[key], &value);
  return true;
}

static bool store_text(Config *config, ConfigKey key, ConfigSource source,
                       const char *text, ConfigError *error) {
  ScriptValue given = rule_read(&RULES[key], text);
  if (store(config, key, source, &given)) return true;
  ScriptValue typed = {.type = SCRIPT_TEXT, .text = text};
  return complain_value(error, source, &RULES[key], &typed);
}

// --- Sources ---

static void set_default(Config *config, ConfigKey key) {
  ScriptValue given = rule_read(&RULES[key], RULES[key].fallback);
  config->values[key].source = CONFIG_FROM_DEFAULT;
  bool is_good = store(config, key, CONFIG_FROM_DEFAULT, &given);
  assert(is_good);
}

void config_init(Config *config) {
  *config = (Config){0};
  for (int key = 0; key < KEY_COUNT; key++) set_default(config, (ConfigKey)key);
}

void config_deinit(Config *config) {
  for (int key = 0; key < KEY_COUNT; key++) mem_free(config->values[key].text);
  *config = (Config){0};
}

void config_copy(Config *config, const Config *from) {
  for (int key = 0; key < KEY_COUNT; key++) {
    value_set(&config->values[key], &from->values[key]);
  }
}

bool config_set_game(Config *config, const char *name, const ScriptValue *given,
                     ConfigError *error) {
  int key = find_key(name);
  if (key < 0) return complain_unknown(error, CONFIG_FROM_GAME, name, NULL);
  if (store(config, (ConfigKey)key, CONFIG_FROM_GAME, given)) return true;
  return complain_value(error, CONFIG_FROM_GAME, &RULES[key], given);
}

void config_forget_game(Config *config) {
  for (int key = 0; key < KEY_COUNT; key++) {
    if (config->values[key].source == CONFIG_FROM_GAME)
      set_default(config, (ConfigKey)key);
  }
}

static bool set_variable(Config *config, const char *variable, ConfigError *error) {
  const char *equals = strchr(variable, '=');
  if (equals == NULL || equals[1] == '\0')
    return true;  // an empty value counts as not
                  // set
  size_t size = (size_t)(equals - variable);
  if (size >= NAME_SIZE) return true;
  char upper[NAME_SIZE] = {0}, name[NAME_SIZE];
  memcpy(upper, variable, size);
  spell(name, upper, tolower);
  int key = find_key(name);
  if (key >= 0)
    return store_text(config, (ConfigKey)key, CONFIG_FROM_ENVIRONMENT, equals + 1,
                      error);
  if (nearest(name, NULL) == NULL) return true;
  return complain_unknown(error, CONFIG_FROM_ENVIRONMENT, name, NULL);
}

bool config_set_environment(Config *config, const char *const *environment,
                            ConfigError *error) {
  const size_t prefix = strlen(ENVIRONMENT_PREFIX);
  for (; *environment != NULL; environment++) {
    if (strncmp(*environment, ENVIRONMENT_PREFIX, prefix) != 0) continue;
    if (!set_variable(config, *environment + prefix, error)) return false;
  }
  return true;
}

bool config_set_flag(Config *config, char **argv, int *at, const char *const *others,
                     ConfigError *error) {
  const char *flag = argv[(*at)++] + 2;
  const char *value = strchr(flag, '=');
  char written[NAME_SIZE] = {0}, name[NAME_SIZE];
  size_t size = value != NULL ? (size_t)(value - flag) : strlen(flag);
  memcpy(written, flag, size < NAME_SIZE ? size : NAME_SIZE - 1);
  spell(name, written, to_underscore);
  int key = find_key(name);
  if (key < 0 && value == NULL && strncmp(name, "no_", 3) == 0) {
    key = find_key(name + 3);
    if (key >= 0)
      return store_text(config, (ConfigKey)key, CONFIG_FROM_FLAG, "off", error);
  }
  if (key < 0) return complain_unknown(error, CONFIG_FROM_FLAG, name, others);
  if (value != NULL) {
    value++;
  } else if (RULES[key].type == CONFIG_SWITCH) {
    value = "on";
  } else if (argv[*at] != NULL) {
    value = argv[(*at)++];
  } else {
    return complain(error, "--%s needs a value", written);
  }
  return store_text(config, (ConfigKey)key, CONFIG_FROM_FLAG, value, error);
}

bool config_set_program(Config *config, const char *name, const char *text,
                        ConfigError *error) {
  int key = find_key(name);
  if (key < 0) return complain_unknown(error, CONFIG_FROM_PROGRAM, name, NULL);
  return store_text(config, (ConfigKey)key, CONFIG_FROM_PROGRAM, text, error);
}

// --- Readers ---

double config_number(const Config *config, ConfigKey key) {
  return config->values[key].number;
}

bool config_is_on(const Config *config, ConfigKey key) {
  return config->values[key].number != 0;
}

uint32_t config_ms(const Config *config, ConfigKey key) {
  return (uint32_t)(config->values[key].number * 1000 + 0.5);
}

const char *config_text(const Config *config, ConfigKey key) {
  return config->values[key].text;
}

bool config_is_same(const Config *a, const Config *b, ConfigKey key) {
  const ConfigValue *x = &a->values[key], *y = &b->values[key];
  if ((x->text == NULL) != (y->text == NULL)) return false;
  return x->text != NULL ? strcmp(x->text, y->text) == 0 : x->number == y->number;
}

static uint32_t whole(const Config *config, ConfigKey key) {
  return (uint32_t)config->values[key].number;
}

NetLimits config_net_limits(const Config *config) {
  return (NetLimits){
      .max_payload = whole(config, KEY_MAX_PAYLOAD),
      .channel_capacity = whole(config, KEY_CHANNEL_CAPACITY),
      .overflow = (Overflow)whole(config, KEY_OVERFLOW),
      .batch_hz = whole(config, KEY_BATCH_HZ),
      .handshake_timeout_ms = config_ms(config, KEY_HANDSHAKE_TIMEOUT),
      .allows_plain_udp = config_is_on(config, KEY_UDP_PLAIN),
  };
}

// Values of the setting `accounts`, in the order of its words.
enum { ACCOUNTS_OFF, ACCOUNTS_ON, ACCOUNTS_REQUIRED };

static bool config_has_accounts(const Config *config) {
  return whole(config, KEY_ACCOUNTS) != ACCOUNTS_OFF;
}

SessionLimits config_session_limits(const Config *config) {
  double tick_rate = config_number(config, KEY_TICK_RATE);
  return (SessionLimits){
      .max_clients = whole(config, KEY_MAX_CLIENTS),
      .max_clients_per_address = whole(config, KEY_MAX_CLIENTS_PER_ADDRESS),
      .max_payload = whole(config, KEY_MAX_PAYLOAD),
      .idle_timeout_ms = config_ms(config, KEY_IDLE_TIMEOUT),
      .resume_timeout_ms = config_ms(config, KEY_RESUME_TIMEOUT),
      .ping_interval_ms = config_ms(config, KEY_PING_INTERVAL),
      .handshake_timeout_ms = config_ms(config, KEY_HANDSHAKE_TIMEOUT),
      .rate_limit = whole(config, KEY_RATE_LIMIT),
      .rate_limit_kicks = config_is_on(config, KEY_RATE_LIMIT_KICK),
      .tick_rate = tick_rate < 1 ? 1 : (uint16_t)(tick_rate + 0.5),
      .unique_names = (UniqueNames)whole(config, KEY_UNIQUE_NAMES),
      .has_accounts = config_has_accounts(config),
      .allows_insecure_accounts = config_is_on(config, KEY_ACCOUNTS_INSECURE),
      .has_no_text_commands = !config_is_on(config, KEY_TEXT_COMMANDS),
  };
}

RelayLimits config_relay_limits(const Config *config) {
  return (RelayLimits){
      .max_rooms = whole(config, KEY_MAX_ROOMS),
      .max_bots = whole(config, KEY_MAX_BOTS),
      .max_payload = whole(config, KEY_MAX_PAYLOAD),
      .tick_rate = config_number(config, KEY_TICK_RATE),
      .slice_us = (uint64_t)(config_number(config, KEY_SCRIPT_SLICE) * 1e6),
      .delivery = (uint64_t)config_number(config, KEY_DELIVERY_LIMIT),
      .client_broadcast = config_is_on(config, KEY_CLIENT_BROADCAST),
  };
}

ScriptLimits config_script_limits(const Config *config) {
  return (ScriptLimits){
      .handler_us = (uint64_t)(config_number(config, KEY_HANDLER_BUDGET) * 1e6),
      .memory = (size_t)config_number(config, KEY_MEMORY_LIMIT),
      .rollback_errors = (uint32_t)config_number(config, KEY_ROLLBACK_ERRORS),
      .may_write = config_is_on(config, KEY_ADMIN_WRITE),
      .shows_source = config_is_on(config, KEY_MCP_SOURCE),
      .http_hosts = config_text(config, KEY_HTTP_HOSTS),
      .http_max_bytes = (size_t)config_number(config, KEY_HTTP_MAX_BYTES),
      .has_accounts = config_has_accounts(config),
      .needs_account = whole(config, KEY_ACCOUNTS) == ACCOUNTS_REQUIRED,
      .accounts_per_minute = whole(config, KEY_ACCOUNTS_PER_MINUTE),
      .account_token_days = whole(config, KEY_ACCOUNT_TOKEN_DAYS),
      .jwt_issuer = config_text(config, KEY_JWT_ISSUER),
      .jwt_audience = config_text(config, KEY_JWT_AUDIENCE),
      .jwt_keys = config_text(config, KEY_JWT_KEYS),
      .mcp_tools = config_text(config, KEY_MCP_TOOLS),
      .drops_invalid = whole(config, KEY_INVALID_MESSAGES) == 1,
      .may_break_schema = whole(config, KEY_SCHEMA_CHANGE) == 1,
      .is_watched = config_is_on(config, KEY_WATCH),
  };
}

ScriptStore config_script_store(const Config *config) {
  return (ScriptStore){
      .place = config_text(config, KEY_STORE),
      .delay_ms = config_ms(config, KEY_STORE_DELAY),
      .timeout_ms = config_ms(config, KEY_STORE_TIMEOUT),
      .cache = (size_t)config_number(config, KEY_STORE_CACHE),
      .save_s = config_number(config, KEY_SAVE_INTERVAL),
      .version = (uint32_t)config_number(config, KEY_VERSION),
      .is_durable = config_number(config, KEY_DURABLE) != 0,
      .has_accounts = config_has_accounts(config),
  };
}

// --- Help ---

void config_print_help(FILE *out) {
  static const char *const VALUES[] = {
      [CONFIG_TEXT] = " TEXT",       [CONFIG_TEXTS] = " TEXT,...",
      [CONFIG_WHOLE] = " N",         [CONFIG_NUMBER] = " N",
      [CONFIG_SECONDS] = " SECONDS", [CONFIG_BYTES] = " SIZE",
      [CONFIG_SWITCH] = "",          [CONFIG_PORT] = " PORT",
      [CONFIG_CHOICE] = " WORD",     [CONFIG_ADDRESS] = " ADDRESS",
  };
  for (int key = 0; key < KEY_COUNT; key++) {
    const Rule *rule = &RULES[key];
    char name[NAME_SIZE], flag[SPELT_SIZE], words[80] = "";
    spell(name, rule->name, to_dash);
    snprintf(flag, sizeof flag, "--%s%s", name, VALUES[rule->type]);
    if (*rule->words != '\0') rule_print_words(words, sizeof words, rule->words);
    fprintf(out, "  %-35s %s%s%s", flag, rule->help, *words ? ": " : "", words);
    if (*rule->fallback != '\0') fprintf(out, " [%s]", rule->fallback);
    fputc('\n', out);
  }
}
