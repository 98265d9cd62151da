// Unfinished packets, lines and messages: their deadlines, and the limit of their
// bytes. Each connection may have one unfinished packet of the largest size. All
// connections together may have UNFINISHED_TOTAL bytes.
//
// If the total is exceeded, the connections with the highest cost end. The cost of a
// connection is its unfinished bytes times the milliseconds since they began to arrive.
// A player's cost is small even on a slow line, because a player sends small packets,
// or a large one for a short time. An attacker must hold many bytes to fill the total.
// To keep a lower cost than a player, it would have to send all these bytes again
// within that short time. Simpler orders would help the attacker. The latest packet is
// usually a player's. The oldest or slowest packet often belongs to a player with a bad
// line.
#include <stdlib.h>

#include "base/mem.h"
#include "net/conn.h"

enum {
  UNFINISHED_TOTAL = 64 << 20,
  // Total of bytes at which no further connections end. It is below the limit, so that
  // the search for connections to end is rare.
  UNFINISHED_AFTER = UNFINISHED_TOTAL / 8 * 7,
};

typedef struct Candidate {
  Conn *conn;
  uint64_t cost;
} Candidate;

// --- Beyond the total ---

// Returns whether this thread must end connections, because both the total and this
// thread's share of it are exceeded. Other threads end theirs in their next iterations.
static bool is_over(const Net *net, uint64_t total) {
  return net->totals->unfinished_bytes > total &&
         (uint64_t)net->unfinished_bytes * net->totals->threads > total;
}

static int by_cost(const void *a, const void *b) {
  uint64_t one = ((const Candidate *)a)->cost, other = ((const Candidate *)b)->cost;
  return (one < other) - (one > other);
}

// Returns bytes times age. A short line that a text peer types slowly therefore costs
// little.
static uint64_t cost_of(const Conn *conn, uint64_t now_ms) {
  uint64_t age_ms = now_ms - conn->in.since_ms;
  if (age_ms > NET_PACKET_DEADLINE_MS) age_ms = NET_PACKET_DEADLINE_MS;
  return conn->in.counted * (age_ms + 1);
}

static uint32_t collect(Net *net, Candidate *candidates) {
  uint32_t count = 0, cursor = 0;
  uint64_t now_ms = net_now_ms(net);
  for (Endpoint *endpoint; (endpoint = slots_next(&net->conns, &cursor));) {
    Conn *conn = endpoint->ops->is_local ? (Conn *)endpoint : NULL;
    if (conn && conn->in.counted > 0)
      candidates[count++] = (Candidate){conn, cost_of(conn, now_ms)};
  }
  return count;
}

static void end(Conn *conn) {
  static const char TEXT[] = "too many packets are unfinished, and this one costs most";
  conn_count_unfinished(conn, 0);
  conn_set_reason(conn, CODE_SERVER_FULL, TEXT);
  if (conn->is_known)
    conn_fault(conn, CODE_SERVER_FULL, TEXT);
  else
    conn_end(conn, END_ORDERLY);
  conn->protocol->drop_input(conn);
}

static void end_slowest(Net *net) {
  Candidate *candidates = mem_alloc(net->conns.count * sizeof *candidates);
  uint32_t count = collect(net, candidates);
  qsort(candidates, count, sizeof *candidates, by_cost);
  for (uint32_t i = 0; i < count && is_over(net, UNFINISHED_AFTER); i++)
    if (candidates[i].conn->in.counted > 0) end(candidates[i].conn);
  mem_free(candidates);
}

void inbox_limit(Net *net) {
  if (is_over(net, UNFINISHED_TOTAL)) end_slowest(net);
}

// --- Deadlines ---

static bool is_begun(const Conn *conn) {
  return conn->protocol->is_begun && conn->protocol->is_begun(conn);
}

static void on_deadline(void *data, uint64_t now_ms) {
  Conn *conn = data;
  bool is_stopped = conn->stops & ~(unsigned)STOP_SHARE;
  if (conn->state != CONN_OPEN || is_stopped || !is_begun(conn)) return;
  uint64_t due_ms = conn->in.since_ms + NET_PACKET_DEADLINE_MS;
  if (now_ms < due_ms) {
    timers_set(conn->net->timers, &conn->timer, due_ms, on_deadline, conn);
    return;
  }
  conn_fault(conn, CODE_IDLE_TIMEOUT,
             conn->in.framing == FRAMING_LINES
                 ? "a line was begun and not finished within 10 s"
                 : "a packet was begun and not finished within 10 s");
}

void inbox_settle(Conn *conn, bool is_new) {
  if (conn->state != CONN_OPEN) return;
  buf_trim(&conn->in.bytes);
  if (is_new) conn->in.since_ms = net_now_ms(conn->net);
  if (is_begun(conn) && !timers_is_set(&conn->timer))
    timers_set(conn->net->timers, &conn->timer,
               conn->in.since_ms + NET_PACKET_DEADLINE_MS, on_deadline, conn);
  conn_count_unfinished(conn, (uint32_t)conn->protocol->unfinished(conn));
  inbox_limit(conn->net);
}
