// The configuration: every key in one table, and its value with where it came from.
// Sources in rising order are the defaults, game.config, the environment
// (PERIGEE_MAX_CLIENTS=100) and flags (--max-clients 100); setting a key never
// overrides a stronger source, so the order of the calls does not matter. Each wrong
// name or value gives one sentence.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "net/io_threads.h"
#include "net/net.h"
#include "relay/relay.h"
#include "script/script.h"
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

// X(constant, name, type, default, least, most, when it changes, help, words of a
// CONFIG_CHOICE)
#define CONFIG_MAP(X)                                                                 \
  X(KEY_HOST, host, TEXT, "0.0.0.0", 0, 0, START, "address to listen on", "")         \
  X(KEY_PORT, port, WHOLE, "7777", 0, 65535, START,                                   \
    "TCP port; 0 takes any free one and prints it", "")                               \
  X(KEY_TEXT_PORT, text_port, PORT, "off", 0, 65535, START,                           \
    "port for lines of text; 4000 by convention", "")                                 \
  X(KEY_TEXT_HOST, text_host, TEXT, "", 0, 0, START,                                  \
    "address for lines of text; empty: that of host", "")                             \
  X(KEY_UDP_PORTS, udp_ports, WHOLE, "1", 0, 1024, START,                             \
    "UDP ports, from the number of the TCP port on; 0: no UDP", "")                   \
  X(KEY_UDP_PLAIN, udp_plain, SWITCH, "false", 0, 1, LIVE,                            \
    "whether clients may do without sealing datagrams", "")                           \
  X(KEY_IO_THREADS, io_threads, WHOLE, "0", 0, NET_SERVICERS_MAX, START,              \
    "threads that serve connections; 0: the main one does", "")                       \
  X(KEY_MAX_CLIENTS, max_clients, WHOLE, "1024", 1, 1000000, LIVE,                    \
    "clients at a time", "")                                                          \
  X(KEY_MAX_CLIENTS_PER_ADDRESS, max_clients_per_address, WHOLE, "0", 0, 1000000,     \
    LIVE, "connections from one address; 0: no limit", "")                            \
  X(KEY_MAX_PAYLOAD, max_payload, BYTES, "64 KiB", 128, 4 << 20, LIVE,                \
    "size of one packet's payload or of one line", "")                                \
  X(KEY_IDLE_TIMEOUT, idle_timeout, SECONDS, "31", 0, 604800, LIVE,                   \
    "silence that ends a connection; 0: none does", "")                               \
  X(KEY_PING_INTERVAL, ping_interval, SECONDS, "13", 0, 604800, LIVE,                 \
    "from PING to PING, the one before answered by then; 0: off", "")                 \
  X(KEY_HANDSHAKE_TIMEOUT, handshake_timeout, SECONDS, "5", 0.01, 3600, LIVE,         \
    "time to say HELLO", "")                                                          \
  X(KEY_RESUME_TIMEOUT, resume_timeout, SECONDS, "30", 0, 604800, LIVE,               \
    "how long a lost session waits; 0: not at all", "")                               \
  X(KEY_CHANNEL_CAPACITY, channel_capacity, WHOLE, "1024", 1, 1000000, LIVE,          \
    "messages that may wait for one peer", "")                                        \
  X(KEY_OVERFLOW, overflow, CHOICE, "drop_newest", 0, 0, LIVE,                        \
    "what happens past channel_capacity", "drop_newest|drop_oldest|disconnect")       \
  X(KEY_MAX_ROOMS, max_rooms, WHOLE, "4096", 1, 1000000, LIVE, "rooms at a time", "") \
  X(KEY_UNIQUE_NAMES, unique_names, CHOICE, "text", 0, 0, LIVE,                       \
    "among whom no two peers have the same name: text peers, all, or nobody",         \
    "text|true|false")                                                                \
  X(KEY_RATE_LIMIT, rate_limit, WHOLE, "500", 0, 1000000, LIVE,                       \
    "packets a second from one peer, twice that in a burst; 0: no limit", "")         \
  X(KEY_RATE_LIMIT_KICK, rate_limit_kick, SWITCH, "false", 0, 1, LIVE,                \
    "whether a peer that sends more is disconnected, and not throttled", "")          \
  X(KEY_BATCH_HZ, batch_hz, WHOLE, "60", 0, 1000, LIVE,                               \
    "output frames a second; 0: one at the end of every loop turn", "")               \
  X(KEY_TICK_RATE, tick_rate, NUMBER, "20", 0.01, 1000, LIVE, "on_tick a second", "") \
  X(KEY_HANDLER_BUDGET, handler_budget, SECONDS, "0.05", 0.001, 60, LIVE,             \
    "time that one handler call may take", "")                                        \
  X(KEY_SCRIPT_SLICE, script_slice, SECONDS, "0.004", 0.0005, 60, LIVE,               \
    "time of scripts until the loop looks at sockets again", "")                      \
  X(KEY_DELIVERY_LIMIT, delivery_limit, BYTES, "64 MiB", 1 << 10, 1ull << 40, LIVE,   \
    "bytes that one handler may send, for all who get them", "")                      \
  X(KEY_MEMORY_LIMIT, memory_limit, BYTES, "256 MiB", 8 << 20, 1ull << 36, LIVE,      \
    "size of the Lua heap", "")                                                       \
  X(KEY_ROLLBACK_ERRORS, rollback_errors, WHOLE, "10", 0, 1000000, LIVE,              \
    "errors in the 5 s after a reload that bring the old version back; 0: off", "")   \
  X(KEY_INVALID_MESSAGES, invalid_messages, CHOICE, "disconnect", 0, 0, LIVE,         \
    "what comes of bytes that are no message of the schema", "disconnect|drop")       \
  X(KEY_SCHEMA_CHANGE, schema_change, CHOICE, "refuse", 0, 0, LIVE,                   \
    "what comes of a reload that changes messages which clients know",                \
    "refuse|reconnect")                                                               \
  X(KEY_WATCH, watch, SWITCH, "true", 0, 1, LIVE,                                     \
    "reload when a file of the game changes; off with --prod", "")                    \
  X(KEY_TLS_CERT, tls_cert, TEXT, "", 0, 0, LIVE, "PEM file of the certificate", "")  \
  X(KEY_TLS_KEY, tls_key, TEXT, "", 0, 0, LIVE, "PEM file of its key", "")            \
  X(KEY_ALLOWED_ORIGINS, allowed_origins, TEXTS, "", 0, 0, LIVE,                      \
    "WebSocket origins besides the server's own", "")                                 \
  X(KEY_HOSTS, hosts, TEXTS, "", 0, 0, LIVE,                                          \
    "names by which browsers may call the server besides localhost; *: all", "")      \
  X(KEY_ADMIN, admin, ADDRESS, "127.0.0.1:7778", 0, 0, START,                         \
    "address for tools: MCP under /mcp", "")                                          \
  X(KEY_ADMIN_TOKEN, admin_token, TEXT, "", 0, 0, START,                              \
    "what requests to it carry; needed where others can reach it", "")                \
  X(KEY_ADMIN_HOSTS, admin_hosts, TEXTS, "", 0, 0, START,                             \
    "names by which it may be called besides localhost", "")                          \
  X(KEY_MCP_WRITE, mcp_write, SWITCH, "false", 0, 1, LIVE,                            \
    "whether MCP tools of the server's own may change something", "")                 \
  X(KEY_MCP_SOURCE, mcp_source, SWITCH, "false", 0, 1, LIVE,                          \
    "whether MCP shows the game's sources to those without admin_token", "")          \
  X(KEY_MCP_TOOLS, mcp_tools, TEXTS, "*", 0, 0, LIVE,                                 \
    "MCP tools that may be used: names, starts*, and -name for none of these", "")    \
  X(KEY_LOG_LEVEL, log_level, CHOICE, "info", 0, 0, LIVE,                             \
    "least level that is logged", "debug|info|warn|error|off")                        \
  X(KEY_LOG_FORMAT, log_format, CHOICE, "text", 0, 0, LIVE, "form of the log",        \
    "text|json")

typedef enum ConfigKey {
#define X(constant, name, type, fallback, least, most, change, help, words) constant,
  CONFIG_MAP(X)
#undef X
      KEY_COUNT
} ConfigKey;

typedef enum ConfigSource {
  CONFIG_FROM_DEFAULT,
  CONFIG_FROM_GAME,
  CONFIG_FROM_ENVIRONMENT,
  CONFIG_FROM_FLAG,
  CONFIG_FROM_TEST,  // of a game, which has its own
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
bool config_set_test(Config *config, const char *name, const char *text,
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
