// The configuration: every key in one table, and its value with where it came from.
// Sources in rising order are the defaults, game.config, the environment
// (PERIGEE_MAX_CLIENTS=100) and flags (--max-clients 100); setting a key never
// overrides a stronger source, so the order of the calls does not matter. Each wrong
// name or value gives one sentence.
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
  CONFIG_FROM_PROGRAM,  // which the server is part of, or a test of a game
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

/// One sentence that says what was wrong; no full stop, no end of line.
typedef struct ConfigError {
  char text[256];
} ConfigError;

/// What a game's Lua gave for a key.
typedef struct ConfigGiven {
  enum { GIVEN_TEXT, GIVEN_NUMBER, GIVEN_SWITCH, GIVEN_TEXTS, GIVEN_OTHER } type;
  const char *text;  // TEXT; TEXTS: joined by commas; OTHER: what it is ("a table")
  double number;     // NUMBER; SWITCH: 0 or 1
} ConfigGiven;

/// All defaults.
void config_init(Config *config);
void config_deinit(Config *config);

/// Makes `config` (initialised) equal to `from`.
void config_copy(Config *config, const Config *from);

/// Sets a key of game.config. False, with the sentence, for a name or value that is
/// wrong.
bool config_set_game(Config *config, const char *name, const ConfigGiven *given,
                     ConfigError *error);

/// Forgets what game.config set.
void config_forget_game(Config *config);

/// Sets what `environment` (NAME=value, NULL-terminated) has under PERIGEE_. A name
/// that looks like a slip is an error; others that are no key are passed over, because
/// they may not be for us. False, with the sentence, at the first fault.
bool config_set_environment(Config *config, const char *const *environment,
                            ConfigError *error);

/// Takes the flag at `argv[*at]` (`--max-clients 9`, `--max-clients=9`, `--no-watch`)
/// and moves past it. `others` are flags of the command that are no keys, for the
/// sentence about unknown ones. False, with the sentence, for a flag or value that is
/// wrong.
bool config_set_flag(Config *config, char **argv, int *at, const char *const *others,
                     ConfigError *error);

/// Sets a key, spelt as in game.config, for a test; it is stronger than all others. `text` is
/// what a flag would have. False, with the sentence, for a name or value that is wrong.
bool config_set_program(Config *config, const char *name, const char *text,
                        ConfigError *error);

/// The key as game.config spells it. Static.
const char *config_name(ConfigKey key);
ConfigChange config_change(ConfigKey key);

/// The number; of a CONFIG_CHOICE the index of its word, of a text 0.
double config_number(const Config *config, ConfigKey key);

/// Whether a CONFIG_SWITCH is true.
bool config_is_on(const Config *config, ConfigKey key);

/// A CONFIG_SECONDS in milliseconds, rounded.
uint32_t config_ms(const Config *config, ConfigKey key);

/// The text or the chosen word. Never NULL.
const char *config_text(const Config *config, ConfigKey key);

/// Whether both have the same value for `key`.
bool config_is_same(const Config *a, const Config *b, ConfigKey key);

NetLimits config_net_limits(const Config *config);
SessionLimits config_session_limits(const Config *config);
RelayLimits config_relay_limits(const Config *config);
ScriptLimits config_script_limits(const Config *config);

/// Prints a line for each key: its flag, what it means and its default.
void config_print_help(FILE *out);
