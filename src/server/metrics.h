// The pages /metrics, /healthz and /readyz of the admin listener. All families of
// metrics are rows of this table, and their values are counters of the layers below:
// perigee.stats, MCP and the control API read the same ones (script/figures.h).
// scripts/metrics.lua generates docs/metrics.md from the table.
#pragma once

#include "net/admin.h"

typedef struct Server Server;

// X(name without _total and _info, type, unit, labels, part, function of metrics.c that
// writes the samples, meaning). The part is an argument of the function. For put_figure
// it is the name of a figure: of figures_of_server, of `gather` in metrics.c, or
// "udp.NAME" or "store.NAME".
#define METRICS(X)                                                                     \
  X("perigee_build", INFO, "", "version, luajit, libuv, openssl", "", put_build,       \
    "Versions of the server and its libraries.")                                       \
  X("perigee_game", INFO, "", "game, version, hash", "", put_game,                     \
    "The game, and its live version.")                                                 \
  X("perigee_uptime_seconds", GAUGE, "seconds", "", "uptime", put_figure,              \
    "Time since the start of the server.")                                             \
  X("perigee_peers", GAUGE, "", "transport, state", "", put_peers,                     \
    "Peers: connecting, connected or suspended; bots in rooms are connected.")         \
  X("perigee_rooms", GAUGE, "", "kind", "", put_rooms,                                 \
    "Rooms. A kind is the name of a room up to the first colon.")                      \
  X("perigee_connections", COUNTER, "", "", "connections", put_figure,                 \
    "Connections of game clients.")                                                    \
  X("perigee_accepted_peers", COUNTER, "", "", "accepted", put_figure,                 \
    "Peers that the server has accepted.")                                             \
  X("perigee_refused_handshakes", COUNTER, "", "code", "refused", put_ends,            \
    "Connections that the server ended before they were peers.")                       \
  X("perigee_disconnects", COUNTER, "", "code", "disconnected", put_ends,              \
    "Ends of connections of peers, also when the session survives.")                   \
  X("perigee_suspended_sessions", COUNTER, "", "", "suspensions", put_figure,          \
    "Sessions whose connection was lost.")                                             \
  X("perigee_resumed_sessions", COUNTER, "", "", "resumed", put_figure,                \
    "Suspended sessions whose client came back.")                                      \
  X("perigee_expired_sessions", COUNTER, "", "", "expired", put_figure,                \
    "Suspended sessions that ended because their client did not come back.")           \
  X("perigee_latency_seconds", GAUGE, "seconds", "", "latency", put_figure,            \
    "Mean round trip of the connected peers.")                                         \
  X("perigee_received_packets", COUNTER, "", "transport", "received.packets",          \
    put_traffic, "Packets and lines from peers.")                                      \
  X("perigee_received_bytes", COUNTER, "bytes", "transport", "received.bytes",         \
    put_traffic, "Bytes from peers, without the overhead of TLS, WebSockets and IP.")  \
  X("perigee_sent_packets", COUNTER, "", "transport", "sent.packets", put_traffic,     \
    "Packets and lines to peers.")                                                     \
  X("perigee_sent_bytes", COUNTER, "bytes", "transport", "sent.bytes", put_traffic,    \
    "Bytes to peers, without the overhead of TLS, WebSockets and IP.")                 \
  X("perigee_received_messages", COUNTER, "", "", "messages_in", put_figure,           \
    "Broadcasts, messages and packets of clients, without control packets.")           \
  X("perigee_deliveries", COUNTER, "", "", "deliveries", put_figure,                   \
    "Messages that went out, counted once per receiver.")                              \
  X("perigee_dropped_messages", COUNTER, "", "", "dropped", put_figure,                \
    "Messages that were dropped because a peer read too slowly.")                      \
  X("perigee_replaced_messages", COUNTER, "", "", "replaced", put_figure,              \
    "Messages that a newer one with the same key replaced before they left.")          \
  X("perigee_resent_packets", COUNTER, "", "", "resent", put_figure,                   \
    "Reliable packets that were sent again after a lost connection.")                  \
  X("perigee_queued_messages", GAUGE, "", "", "queued", put_figure,                    \
    "Messages that wait because peers read too slowly.")                               \
  X("perigee_queued_bytes", GAUGE, "bytes", "", "queued_bytes", put_figure,            \
    "Bytes of the messages that wait.")                                                \
  X("perigee_throttles", COUNTER, "", "", "throttled", put_figure,                     \
    "Times that the server began to read from a peer more slowly.")                    \
  X("perigee_loop_iteration_seconds", HISTOGRAM, "seconds", "", "iterations",          \
    put_loop, "Times of the main loop's iterations, without its waits.")               \
  X("perigee_loop_lateness_seconds", HISTOGRAM, "seconds", "", "lateness", put_loop,   \
    "Delays of the first due timer in iterations that have one.")                      \
  X("perigee_handler_seconds", HISTOGRAM, "seconds", "handler", "times", put_handlers, \
    "Times of handlers' calls. A handler that waits counts once for each part.")       \
  X("perigee_handler_failures", COUNTER, "", "handler", "failures", put_handlers,      \
    "Calls of handlers that failed.")                                                  \
  X("perigee_failures", COUNTER, "", "", "errors", put_figure,                         \
    "All failures in scripts, also where no handler is to blame.")                     \
  X("perigee_ticks", COUNTER, "", "", "ticks", put_figure,                             \
    "Ticks of rooms and of the game.")                                                 \
  X("perigee_late_ticks", COUNTER, "", "", "late_ticks", put_figure,                   \
    "Ticks that were skipped, because they were too late.")                            \
  X("perigee_timers", GAUGE, "", "", "timers", put_figure,                             \
    "Set timers, and tasks that have not begun.")                                      \
  X("perigee_waiting_tasks", GAUGE, "", "", "waiting", put_figure,                     \
    "Handlers and tasks that wait.")                                                   \
  X("perigee_lua_heap_bytes", GAUGE, "bytes", "", "memory", put_figure,                \
    "Size of the Lua heap.")                                                           \
  X("perigee_lua_collector_seconds", COUNTER, "seconds", "", "collector", put_figure,  \
    "Time of the Lua garbage collector. Within handlers, an estimate by samples.")     \
  X("perigee_reloads", COUNTER, "", "outcome", "", put_reloads,                        \
    "Ends of reloads: taken, refused or rolled_back.")                                 \
  X("perigee_udp_links", GAUGE, "", "", "udp.links", put_figure,                       \
    "Connections by UDP, also of peers that have a stream as well.")                   \
  X("perigee_udp_received_datagrams", COUNTER, "", "", "udp.datagrams_in", put_figure, \
    "Received datagrams.")                                                             \
  X("perigee_udp_received_bytes", COUNTER, "bytes", "", "udp.bytes_in", put_figure,    \
    "Bytes of received datagrams.")                                                    \
  X("perigee_udp_sent_datagrams", COUNTER, "", "", "udp.datagrams_out", put_figure,    \
    "Sent datagrams.")                                                                 \
  X("perigee_udp_sent_bytes", COUNTER, "bytes", "", "udp.bytes_out", put_figure,       \
    "Bytes of sent datagrams.")                                                        \
  X("perigee_udp_lost_datagrams", COUNTER, "", "", "udp.lost", put_figure,             \
    "Sent datagrams that were not acknowledged.")                                      \
  X("perigee_udp_resent_bytes", COUNTER, "bytes", "", "udp.resent_bytes", put_figure,  \
    "Bytes of streams that were sent again, of peers that have UDP alone.")            \
  X("perigee_udp_refused_datagrams", COUNTER, "", "", "udp.refused", put_figure,       \
    "Received datagrams that were unknown, not authentic, or repeated.")               \
  X("perigee_udp_rejected_requests", COUNTER, "", "", "udp.rejected", put_figure,      \
    "Connection requests by UDP that the server rejected.")                            \
  X("perigee_udp_rtt_seconds", GAUGE, "seconds", "", "rtt", put_figure,                \
    "Mean smoothed round trip of the connections by UDP.")                             \
  X("perigee_udp_rtt_max_seconds", GAUGE, "seconds", "", "rtt_max", put_figure,        \
    "Longest smoothed round trip of the connections by UDP.")                          \
  X("perigee_store_queued_writes", GAUGE, "", "", "store.waiting", put_figure,         \
    "Writes that are not on disk yet.")                                                \
  X("perigee_store_writes", COUNTER, "", "", "store.writes", put_figure,               \
    "Writes that are on disk.")                                                        \
  X("perigee_store_commit_seconds", HISTOGRAM, "seconds", "", "", put_commits,         \
    "Times of commits.")                                                               \
  X("perigee_store_failures", COUNTER, "", "code", "", put_store_failures,             \
    "Requests to the store that failed, conflicts included.")                          \
  X("perigee_store_cache_hits", COUNTER, "", "", "store.cache_hits", put_figure,       \
    "Documents that were read without asking the store's thread.")                     \
  X("perigee_queue_tickets", GAUGE, "", "queue", "tickets", put_queues,                \
    "Tickets that wait in a queue of perigee.matchmaker.")                             \
  X("perigee_queue_players", GAUGE, "", "queue", "players", put_queues,                \
    "Players of the tickets that wait in a queue.")                                    \
  X("perigee_queue_matches", COUNTER, "", "queue", "matches", put_queues,              \
    "Matches of a queue.")                                                             \
  X("perigee_queue_wait_seconds", GAUGE, "seconds", "queue", "wait", put_queues,       \
    "Mean wait of the last 20 matched tickets of a queue.")                            \
  X("perigee_log_lost_lines", COUNTER, "", "", "lost_lines", put_figure,               \
    "Lines of the log that nobody read in time.")                                      \
  X("process_cpu_seconds", COUNTER, "seconds", "", "cpu", put_figure,                  \
    "Processor time of the process.")                                                  \
  X("process_resident_memory_bytes", GAUGE, "bytes", "", "resident", put_figure,       \
    "Resident memory of the process.")                                                 \
  X("process_virtual_memory_bytes", GAUGE, "bytes", "", "virtual", put_figure,         \
    "Virtual memory of the process.")                                                  \
  X("process_open_fds", GAUGE, "", "", "descriptors", put_figure,                      \
    "Open file descriptors of the process.")                                           \
  X("process_max_fds", GAUGE, "", "", "descriptors_max", put_figure,                   \
    "Limit of open file descriptors.")                                                 \
  X("process_start_time_seconds", GAUGE, "seconds", "", "started", put_figure,         \
    "Start of the process, in seconds since 1970.")

/// Returns the numbers of rooms by kind, by the numbers of Server.kinds, and at LABELS_MAX
/// those of all further kinds. The caller frees it.
uint32_t *metrics_count_rooms(Server *server);

/// Serves the three pages. The data of the events is the Server.
extern const AdminEvents METRICS_EVENTS;
