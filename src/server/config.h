// The configuration: one table with every key, its value, and the source of the value.
// The sources, from the weakest to the strongest, are the defaults, game.config, the
// environment (PERIGEE_MAX_CLIENTS=100) and flags (--max-clients 100). Setting a key
// never overrides a stronger source, so the order of the calls does not matter. Each
// wrong name or value gives one sentence.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "net/net.h"
#include "relay/relay.h"
#include "script/script.h"
#include "server/settings.h"
#include "session/session.h"

typedef enum ConfigType {
  CONFIG_TEXT,
  CONFIG_TEXTS,    // a text or a list of texts, stored with commas between them
  CONFIG_WHOLE,    // a whole number
  CONFIG_NUMBER,   // any number
  CONFIG_SECONDS,  // any number; seconds
  CONFIG_BYTES,    // a whole number or "64 KiB"
  CONFIG_SWITCH,   // true or false
  CONFIG_PORT,     // a port, or false, stored as CONFIG_OFF
  CONFIG_ADDRESS,  // "host:port", or false, stored as an empty text
  CONFIG_PLACE,    // any text, or false, stored as an empty text
  CONFIG_CHOICE,   // one of the words in the row's column `words`
} ConfigType;

/// When a new value takes effect on a live server.
typedef enum ConfigChange {
  CHANGE_LIVE,   // immediately
  CHANGE_START,  // a change takes effect at the next start of the server
} ConfigChange;

typedef enum ConfigKey {
#define X(constant, name, type, fallback, least, most, change, help, words, more) \
  constant,
  SETTINGS(X)
#undef X
      KEY_COUNT
} ConfigKey;

typedef enum ConfigSource {
  CONFIG_FROM_DEFAULT,
  CONFIG_FROM_GAME,
  CONFIG_FROM_ENVIRONMENT,
  CONFIG_FROM_FLAG,
  CONFIG_FROM_PROGRAM,  // the program that embeds the server, or a game's test
} ConfigSource;

enum { CONFIG_OFF = -1 };

typedef struct ConfigValue {
  ConfigSource source;
  double number;  // value of a number; 0 for texts; index of the word for choices
  char *text;     // value of a text; owned; NULL for numbers
} ConfigValue;

typedef struct Config {
  ConfigValue values[KEY_COUNT];
} Config;

/// One sentence about an error, without full stop or end of line.
typedef struct ConfigError {
  char text[256];
} ConfigError;

/// Sets all keys to their defaults.
void config_init(Config *config);
void config_deinit(Config *config);

/// Makes `config`, which must be initialized, equal to `from`.
void config_copy(Config *config, const Config *from);

/// Sets a key of game.config. If name or value is wrong, returns false with a sentence.
bool config_set_game(Config *config, const char *name, const ScriptValue *given,
                     ConfigError *error);

/// Removes the values of game.config.
void config_forget_game(Config *config);

/// Sets the keys that `environment` (NAME=value, NULL-terminated) contains with the
/// prefix PERIGEE_. A name that is probably misspelt is an error. Other unknown names
/// are ignored, because they may belong to another program. At the first error, returns
/// false with a sentence.
bool config_set_environment(Config *config, const char *const *environment,
                            ConfigError *error);

/// Reads the flag at `argv[*at]` (`--max-clients 9`, `--max-clients=9`, `--no-watch`)
/// and advances `*at` past it. `others` are the command's flags that are not keys; the
/// sentence about an unknown flag may suggest them. If flag or value is wrong, returns
/// false with a sentence.
bool config_set_flag(Config *config, char **argv, int *at, const char *const *others,
                     ConfigError *error);

/// Sets a key, spelt as in game.config, with precedence over all other sources. `text`
/// has the form of a flag's value. If name or value is wrong, returns false with a
/// sentence.
bool config_set_program(Config *config, const char *name, const char *text,
                        ConfigError *error);

/// Returns the key's name in game.config. Static.
const char *config_name(ConfigKey key);
ConfigChange config_change(ConfigKey key);

/// Returns the value as a number. Returns the index of the word for a CONFIG_CHOICE,
/// and 0 for a text.
double config_number(const Config *config, ConfigKey key);

/// Returns whether a CONFIG_SWITCH is true.
bool config_is_on(const Config *config, ConfigKey key);

/// Returns the value of a CONFIG_SECONDS in milliseconds, rounded.
uint32_t config_ms(const Config *config, ConfigKey key);

/// Returns the value of a text, or the chosen word; never NULL.
const char *config_text(const Config *config, ConfigKey key);

/// Returns whether `a` and `b` have the same value for `key`.
bool config_is_same(const Config *a, const Config *b, ConfigKey key);

NetLimits config_net_limits(const Config *config);
SessionLimits config_session_limits(const Config *config);
RelayLimits config_relay_limits(const Config *config);
ScriptLimits config_script_limits(const Config *config);
ScriptStore config_script_store(const Config *config);

/// Prints one line for each key: flag, meaning and default.
void config_print_help(FILE *out);
