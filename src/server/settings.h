// The settings. `perigee run --help` prints the first text of a row.
// scripts/settings.lua generates docs/settings.md from both texts, and the annotations
// of `config` for editors.
#pragma once

#include "net/io_threads.h"

// X(constant, name, type, default, least, most, time at which a change takes effect,
// meaning, words of a CONFIG_CHOICE, further text for docs/settings.md)
#define SETTINGS(X)                                                                    \
  X(KEY_HOST, host, TEXT, "0.0.0.0", 0, 0, START, "address to listen on", "",          \
    "`\"::\"` listens on IPv6.")                                                       \
  X(KEY_PORT, port, WHOLE, "7777", 0, 65535, START,                                    \
    "TCP port; 0 takes any free one and prints it", "", "")                            \
  X(KEY_TEXT_PORT, text_port, PORT, "off", 0, 65535, START,                            \
    "port for lines of text; 4000 by convention", "", "For `nc`.")                     \
  X(KEY_TEXT_HOST, text_host, TEXT, "", 0, 0, START,                                   \
    "address for lines of text; empty: that of host", "",                              \
    "`\"127.0.0.1\"` accepts connections from this machine alone.")                    \
  X(KEY_TEXT_COMMANDS, text_commands, SWITCH, "true", 0, 1, LIVE,                      \
    "whether lines that begin with / are commands, and connections are greeted", "",   \
    "`false` makes every line a message, also an empty one, for programs that speak "  \
    "lines of their own: see [lines without commands]"                                 \
    "(recipes.md#lines-without-commands).")                                            \
  X(KEY_UDP_PORTS, udp_ports, WHOLE, "1", 0, 1024, START,                              \
    "UDP ports, from the number of the TCP port on; 0: no UDP", "",                    \
    "See [UDP](operating.md#udp).")                                                    \
  X(KEY_UDP_PLAIN, udp_plain, SWITCH, "false", 0, 1, LIVE,                             \
    "whether clients may leave their datagrams unencrypted", "", "")                   \
  X(KEY_IO_THREADS, io_threads, WHOLE, "0", 0, NET_IO_THREADS_MAX, START,              \
    "threads that serve connections; 0: the main one does", "",                        \
    "See [threads](operating.md#threads).")                                            \
  X(KEY_MAX_CLIENTS, max_clients, WHOLE, "1024", 1, 1000000, LIVE,                     \
    "clients at a time", "", "")                                                       \
  X(KEY_MAX_CLIENTS_PER_ADDRESS, max_clients_per_address, WHOLE, "0", 0, 1000000,      \
    LIVE, "connections from one address; 0: no limit", "",                             \
    "An IPv6 address counts as its /64 network, because one subscriber has all "       \
    "addresses of it.")                                                                \
  X(KEY_MAX_PAYLOAD, max_payload, BYTES, "64 KiB", 128, 4 << 20, LIVE,                 \
    "size of one packet's payload or of one line", "",                                 \
    "A new value applies to connections made after it.")                               \
  X(KEY_IDLE_TIMEOUT, idle_timeout, SECONDS, "31", 0, 604800, LIVE,                    \
    "silence that ends a connection; 0: none does", "", "")                            \
  X(KEY_PING_INTERVAL, ping_interval, SECONDS, "13", 0, 604800, LIVE,                  \
    "interval of PINGs, each to be answered before the next; 0: off", "", "")          \
  X(KEY_HANDSHAKE_TIMEOUT, handshake_timeout, SECONDS, "5", 0.01, 3600, LIVE,          \
    "time to say HELLO", "", "The head of an HTTP request has the same time.")         \
  X(KEY_RESUME_TIMEOUT, resume_timeout, SECONDS, "30", 0, 604800, LIVE,                \
    "how long a session survives a lost connection; 0: not at all", "",                \
    "See [lost connections](operating.md#lost-connections).")                          \
  X(KEY_CHANNEL_CAPACITY, channel_capacity, WHOLE, "1024", 1, 1000000, LIVE,           \
    "messages that may wait for one peer", "", "")                                     \
  X(KEY_OVERFLOW, overflow, CHOICE, "drop_newest", 0, 0, LIVE,                         \
    "effect of more messages than channel_capacity",                                   \
    "drop_newest|drop_oldest|disconnect", "")                                          \
  X(KEY_MAX_ROOMS, max_rooms, WHOLE, "4096", 1, 1000000, LIVE, "rooms at a time", "",  \
    "")                                                                                \
  X(KEY_MAX_BOTS, max_bots, WHOLE, "1000", 0, 1000000, LIVE,                           \
    "bots of `room:bot` at a time", "",                                                \
    "They do not count as clients: see [bots](bots-in-rooms.md).")                     \
  X(KEY_CLIENT_BROADCAST, client_broadcast, SWITCH, "false", 0, 1, LIVE,               \
    "whether clients may broadcast bytes to all peers, not only in rooms", "",         \
    "For small games among friends: a stranger could fill all connections.")           \
  X(KEY_UNIQUE_NAMES, unique_names, CHOICE, "text", 0, 0, LIVE,                        \
    "whether no two peers have the same name; text: no two text peers",                \
    "text|true|false",                                                                 \
    "A suspended session keeps its name. With `true`, a HELLO with a name in "         \
    "use is refused unless `on_connect` gives another name. See "                      \
    "[names](scripting.md#names).")                                                    \
  X(KEY_RATE_LIMIT, rate_limit, WHOLE, "500", 0, 1000000, LIVE,                        \
    "packets a second from one peer, twice that in a burst; 0: no limit", "",          \
    "The server reads more slowly from a peer that sends more: see [who waits "        \
    "for whom](operating.md#who-waits-for-whom).")                                     \
  X(KEY_RATE_LIMIT_KICK, rate_limit_kick, SWITCH, "false", 0, 1, LIVE,                 \
    "whether a peer over rate_limit is disconnected instead of throttled", "",         \
    "The reason is RateLimited.")                                                      \
  X(KEY_BATCH_HZ, batch_hz, WHOLE, "60", 0, 1000, LIVE,                                \
    "output flushes a second; 0: one at the end of every iteration of the loop", "",   \
    "")                                                                                \
  X(KEY_TICK_RATE, tick_rate, NUMBER, "20", 0.01, 1000, LIVE,                          \
    "calls of on_tick a second", "", "")                                               \
  X(KEY_HANDLER_BUDGET, handler_budget, SECONDS, "0.05", 0.001, 60, LIVE,              \
    "time that one handler call may take", "", "See [scripts](operating.md#scripts).") \
  X(KEY_SCRIPT_SLICE, script_slice, SECONDS, "0.004", 0.0005, 60, LIVE,                \
    "time of scripts until the server looks at its sockets again", "",                 \
    "See [who waits for whom](operating.md#who-waits-for-whom).")                      \
  X(KEY_DELIVERY_LIMIT, delivery_limit, BYTES, "64 MiB", 1 << 10, 1ull << 40, LIVE,    \
    "bytes that one handler may send to all receivers together", "",                   \
    "A message counts once for each peer that gets it. See "                           \
    "[scripts](operating.md#scripts).")                                                \
  X(KEY_VERDICT_TIMEOUT, verdict_timeout, SECONDS, "5", 0.01, 3600, LIVE,              \
    "time for a verdict or an answer that the host program gives later", "",           \
    "See [embedding.md](embedding.md).")                                               \
  X(KEY_MEMORY_LIMIT, memory_limit, BYTES, "256 MiB", 8 << 20, 1ull << 36, LIVE,       \
    "size of the Lua heap", "", "See [scripts](operating.md#scripts).")                \
  X(KEY_ROLLBACK_ERRORS, rollback_errors, WHOLE, "10", 0, 1000000, LIVE,               \
    "errors in the 5 s after a reload that bring the old version back; 0: off", "",    \
    "")                                                                                \
  X(KEY_INVALID_MESSAGES, invalid_messages, CHOICE, "disconnect", 0, 0, LIVE,          \
    "effect of bytes that are not a message of the schema", "disconnect|drop",         \
    "The sender is disconnected, or the bytes are dropped; both are counted. "         \
    "See [schema.md](schema.md#what-does-not-fit).")                                   \
  X(KEY_PROTOCOL, protocol, TEXT, "", 0, 0, LIVE,                                      \
    "text that becomes part of the protocol hash, such as a version of the game", "",  \
    "Clients that were made for another text are refused. See "                        \
    "[versions](schema.md#versions-without-a-schema).")                                \
  X(KEY_SCHEMA_CHANGE, schema_change, CHOICE, "refuse", 0, 0, LIVE,                    \
    "effect of a reload that changes messages of connected clients",                   \
    "refuse|reconnect",                                                                \
    "The reload is refused, or these clients are disconnected so that they "           \
    "connect again. See [changes](schema.md#changes).")                                \
  X(KEY_WATCH, watch, SWITCH, "true", 0, 1, LIVE,                                      \
    "reload when a file of the game changes; off with --prod", "", "")                 \
  X(KEY_TLS_CERT, tls_cert, TEXT, "", 0, 0, LIVE, "PEM file of the certificate", "",   \
    "With this and `tls_key`, the server serves TLS on the same port. See "            \
    "[TLS](operating.md#tls).")                                                        \
  X(KEY_TLS_KEY, tls_key, TEXT, "", 0, 0, LIVE, "PEM file of the certificate's key",   \
    "", "")                                                                            \
  X(KEY_ALLOWED_ORIGINS, allowed_origins, TEXTS, "", 0, 0, LIVE,                       \
    "WebSocket origins besides the server's own", "",                                  \
    "As browsers name them (`\"https://game.example\"`); `\"*\"` allows all. "         \
    "See [browsers](operating.md#browsers).")                                          \
  X(KEY_HOSTS, hosts, TEXTS, "", 0, 0, LIVE,                                           \
    "names by which browsers may call the server besides localhost; *: all", "",       \
    "`\"*.game.example\"` allows one label more. The server's addresses, this "        \
    "machine's name and the names in `tls_cert` are always known. See "                \
    "[browsers](operating.md#browsers).")                                              \
  X(KEY_HTTP_HOSTS, http_hosts, TEXTS, "", 0, 0, LIVE,                                 \
    "hosts that the game may ask with perigee.http; empty: none", "",                  \
    "`\"api.example.org\"` allows all its ports, `\"api.example.org:8443\"` only "     \
    "one, "                                                                            \
    "and `\"*.example.org\"` each name with one label more. See "                      \
    "[requests to other servers](operating.md#requests-to-other-servers).")            \
  X(KEY_HTTP_MAX_BYTES, http_max_bytes, BYTES, "1 MiB", 1 << 10, 16 << 20, LIVE,       \
    "size of the body of an answer to perigee.http", "",                               \
    "At most 32 answers are in memory at a time.")                                     \
  X(KEY_STORE, store, PLACE, "data/game.db", 0, 0, START,                              \
    "place of what the game keeps: a file, :memory: or postgres://USER@HOST/DB", "",   \
    "A file's path is relative to the game's folder. The file is created when the "    \
    "game first uses [perigee.store](store.md). With `false`, that use is an error.")  \
  X(KEY_STORE_DELAY, store_delay, SECONDS, "0.02", 0, 60, START,                       \
    "time between a write and its commit, which many writes share", "",                \
    "A crash loses the writes of this time at most.")                                  \
  X(KEY_STORE_TIMEOUT, store_timeout, SECONDS, "10", 0.1, 3600, START,                 \
    "time that a call waits for a store that does not work", "", "")                   \
  X(KEY_STORE_CACHE, store_cache, BYTES, "16 MiB", 0, 1 << 30, START,                  \
    "memory for documents that were read or written last", "", "")                     \
  X(KEY_SAVE_INTERVAL, save_interval, SECONDS, "5", 0.1, 3600, LIVE,                   \
    "time after which changed rooms and peers are saved", "",                          \
    "See [durable rooms](durable.md). A crash loses the changes of this time at "      \
    "most.")                                                                           \
  X(KEY_DURABLE, durable, SWITCH, "false", 0, 1, LIVE,                                 \
    "whether perigee.state survives the end of the server", "",                        \
    "See [durable rooms](durable.md).")                                                \
  X(KEY_VERSION, version, WHOLE, "0", 0, 1000000000, LIVE,                             \
    "version of the form of what durable rooms save", "",                              \
    "The game increases it when its states change their form, and on_upgrade gets "    \
    "both versions. See [durable rooms](durable.md#the-start).")                       \
  X(KEY_ACCOUNTS, accounts, CHOICE, "false", 0, 0, LIVE,                               \
    "whether clients can sign in; required: they have to", "false|true|required",      \
    "See [accounts.md](accounts.md).")                                                 \
  X(KEY_ACCOUNTS_INSECURE, accounts_insecure, SWITCH, "false", 0, 1, LIVE,             \
    "whether clients may sign in without TLS from other machines", "",                 \
    "Others on the way could read passwords and tokens.")                              \
  X(KEY_ACCOUNTS_PER_MINUTE, accounts_per_minute, WHOLE, "20", 0, 1000000, LIVE,       \
    "accounts that one address may make in a minute; 0: no limit", "",                 \
    "Counts accounts of devices and names. See [safety](accounts.md#safety).")         \
  X(KEY_ACCOUNT_TOKEN_DAYS, account_token_days, WHOLE, "30", 1, 3650, LIVE,            \
    "days until an unused sign-in ends", "",                                           \
    "When half of the time is used, a client gets a new token as it connects.")        \
  X(KEY_JWT_ISSUER, jwt_issuer, TEXT, "", 0, 0, LIVE,                                  \
    "issuer (`iss`) whose JWTs clients may sign in with", "", "")                      \
  X(KEY_JWT_AUDIENCE, jwt_audience, TEXT, "", 0, 0, LIVE,                              \
    "audience (`aud`) that these JWTs must have", "", "")                              \
  X(KEY_JWT_KEYS, jwt_keys, TEXT, "", 0, 0, LIVE,                                      \
    "file with the issuer's keys: PEM or JWKS", "",                                    \
    "The path is relative to the folder in which perigee was started. The server "     \
    "reads the file again when it has changed. See "                                   \
    "[JWTs](accounts.md#jwts).")                                                       \
  X(KEY_ADMIN, admin, ADDRESS, "127.0.0.1:7778", 0, 0, START,                          \
    "address for operators and tools: the control API under /api, MCP under /mcp", "", \
    "`false` switches it off. If another server has the default port already, "        \
    "the server warns, and has no such address. A server inside another "              \
    "program has it where it has a game, or where `admin` is set. See [the control "   \
    "API](operating.md#the-control-api) and [mcp.md](mcp.md).")                        \
  X(KEY_ADMIN_TOKEN, admin_token, TEXT, "", 0, 0, START,                               \
    "secret that requests to `admin` must carry", "",                                  \
    "A request carries it as `Authorization: Bearer TOKEN`. It has 16 characters "     \
    "or more. Without a token, `admin` has to be an address of this "                  \
    "machine alone. Give it as `PERIGEE_ADMIN_TOKEN`, because others can read "        \
    "flags and the game's source.")                                                    \
  X(KEY_ADMIN_HOSTS, admin_hosts, TEXTS, "", 0, 0, START,                              \
    "names by which `admin` may be called besides localhost", "",                      \
    "`\"*.game.example\"` allows one label more. They count in `Host` and in "         \
    "`Origin`. `127.0.0.1`, `[::1]` and the host of `admin` are always known.")        \
  X(KEY_ADMIN_WRITE, admin_write, SWITCH, "false", 0, 1, LIVE,                         \
    "whether the control API without admin_token and the server's own MCP tools may "  \
    "change something",                                                                \
    "",                                                                                \
    "With an `admin_token` the control API may always. `mcp_write` is the same "       \
    "setting, by its older name.")                                                     \
  X(KEY_MCP_SOURCE, mcp_source, SWITCH, "false", 0, 1, LIVE,                           \
    "whether MCP shows the game's sources to those without admin_token", "",           \
    "Clients that give the `admin_token` may always read them.")                       \
  X(KEY_MCP_TOOLS, mcp_tools, TEXTS, "*", 0, 0, LIVE,                                  \
    "MCP tools that may be used: name, start*; -name excludes a tool", "",             \
    "The last entry that fits a tool decides. See [mcp.md](mcp.md).")                  \
  X(KEY_LOG_LEVEL, log_level, CHOICE, "info", 0, 0, LIVE,                              \
    "least level that is logged", "debug|info|warn|error|off", "")                     \
  X(KEY_LOG_FORMAT, log_format, CHOICE, "text", 0, 0, LIVE, "form of the log",         \
    "text|json", "")
