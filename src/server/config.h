// The configuration: every key in one table, with its value and the source of that. Sources in
// rising order are the defaults, game.config, the environment (PERIGEE_MAX_CLIENTS=100) and
// flags (--max-clients 100). Setting a key never overrides a stronger source, so the order of
// the calls does not matter. Each wrong name or value gives one sentence.
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
  CONFIG_TEXTS,    // text or a list of texts, kept joined by commas
  CONFIG_WHOLE,    // a whole number
  CONFIG_NUMBER,   // any number
  CONFIG_SECONDS,  // any number, of seconds
  CONFIG_BYTES,    // a whole number or "64 KiB"
  CONFIG_SWITCH,   // true or false
  CONFIG_PORT,     // a port, or false: CONFIG_OFF
  CONFIG_ADDRESS,  // "host:port", or false: the text is empty
  CONFIG_CHOICE,   // one of the words in the table's last column
} ConfigType;

/// When a new value takes effect on a live server.
typedef enum ConfigChange {
  CHANGE_LIVE,   // at once
  CHANGE_START,  // at the next start
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
  CONFIG_FROM_PROGRAM,  // the program that embeds the server, or a test of a game
} ConfigSource;

enum { CONFIG_OFF = -1 };

typedef struct ConfigValue {
  ConfigSource source;
  double number;  // of texts: 0; of choices: the index of the word
  char *text;     // owned; NULL for numbers
} ConfigValue;

typedef struct Config {
  ConfigValue values[KEY_COUNT];
} Config;

/// One sentence about an error, without full stop or end of line.
typedef struct ConfigError {
  char text[256];
} ConfigError;

/// Gives all keys their defaults.
void config_init(Config *config);
void config_deinit(Config *config);

/// Makes `config` (initialised) equal to `from`.
void config_copy(Config *config, const Config *from);

/// Sets a key of game.config. Returns false with a sentence for a wrong name or value.
bool config_set_game(Config *config, const char *name, const ScriptValue *given,
                     ConfigError *error);

/// Removes the values of game.config.
void config_forget_game(Config *config);

/// Sets the keys that `environment` (NAME=value, NULL-terminated) has under PERIGEE_. A name
/// that looks misspelt is an error; other names that are no key are passed over, because they
/// may belong to another program. Returns false with a sentence at the first error.
bool config_set_environment(Config *config, const char *const *environment,
                            ConfigError *error);

/// Reads the flag at `argv[*at]` (`--max-clients 9`, `--max-clients=9`, `--no-watch`) and moves
/// past it. `others` are flags of the command that are no keys, for the sentence about unknown
/// ones. Returns false with a sentence for a wrong flag or value.
bool config_set_flag(Config *config, char **argv, int *at, const char *const *others,
                     ConfigError *error);

/// Sets a key, spelt as in game.config, from the strongest source. `text` is as in a flag.
/// Returns false with a sentence for a wrong name or value.
bool config_set_program(Config *config, const char *name, const char *text,
                        ConfigError *error);

/// Returns the key as game.config spells it. Static.
const char *config_name(ConfigKey key);
ConfigChange config_change(ConfigKey key);

/// Returns the number; of a CONFIG_CHOICE the index of its word, of a text 0.
double config_number(const Config *config, ConfigKey key);

/// Returns whether a CONFIG_SWITCH is true.
bool config_is_on(const Config *config, ConfigKey key);

/// Returns a CONFIG_SECONDS in milliseconds, rounded.
uint32_t config_ms(const Config *config, ConfigKey key);

/// Returns the text or the chosen word, never NULL.
const char *config_text(const Config *config, ConfigKey key);

/// Returns whether both have the same value for `key`.
bool config_is_same(const Config *a, const Config *b, ConfigKey key);

NetLimits config_net_limits(const Config *config);
SessionLimits config_session_limits(const Config *config);
RelayLimits config_relay_limits(const Config *config);
ScriptLimits config_script_limits(const Config *config);

/// Prints a line for each key: its flag, meaning and default.
void config_print_help(FILE *out);
