// Limits the bytes of unfinished packets, lines and messages. One connection may have
// one of the largest size, and all together may have UNFINISHED_TOTAL.
//
// Beyond the total, the connections with the highest cost end first. The cost of a connection
// is its unfinished bytes times the milliseconds since they began to arrive. A player's cost
// is small even on a slow line, because a player sends small packets, or a large one for a
// short time. An attacker has to hold many bytes to fill the total; for a lower cost than a
// player's it would have to send all of them again in that short time. Simpler orders would
// help the attacker: the latest packet is always a player's, and the oldest or slowest one is
// often that of a player with a bad line.
#include <stdlib.h>

#include "base/mem.h"
#include "net/conn.h"
#include "net/protocol/web_calls.h"

enum {
  UNFINISHED_TOTAL = 64 << 20,
  // To which it falls when the total is reached, so that looking for the connections to end
  // is rare.
  UNFINISHED_AFTER = UNFINISHED_TOTAL / 8 * 7,
};

typedef struct Candidate {
  Conn *conn;
  uint64_t cost;
} Candidate;

static void set_bytes(Conn *conn, uint32_t bytes) {
  Net *net = conn->net;
  if (bytes == conn->unfinished_bytes) return;
  net->unfinished_bytes += (size_t)bytes - conn->unfinished_bytes;
  net->totals->unfinished_bytes += (uint64_t)bytes - conn->unfinished_bytes;
  conn->unfinished_bytes = bytes;
}

// While reading is paused, the rest of the input may be whole packets that wait for the
// server.
static uint32_t count_bytes(const Conn *conn) {
  if (conn->socket) return (uint32_t)socket_held(conn);
  if (conn->protocol != PROTOCOL_NATIVE) return 0;
  uint32_t size = (uint32_t)conn->in.size;
  return conn_takes_input(conn) || size < conn->unfinished_bytes
             ? size
             : conn->unfinished_bytes;
}

// --- Beyond the total ---

// Each thread ends its own connections. A thread within its share of the total ends
// none; the others do in their next iteration.
static bool is_over(const Net *net, uint64_t total) {
  return net->totals->unfinished_bytes > total &&
         (uint64_t)net->unfinished_bytes * net->totals->threads > total;
}

static int by_cost(const void *a, const void *b) {
  uint64_t one = ((const Candidate *)a)->cost, other = ((const Candidate *)b)->cost;
  return (one < other) - (one > other);
}

// A text peer may take long to type its line, which is short meanwhile.
static uint64_t cost_of(const Conn *conn, uint64_t now_ms) {
  uint64_t age_ms = now_ms - conn->in_since_ms;
  if (age_ms > NET_PACKET_DEADLINE_MS) age_ms = NET_PACKET_DEADLINE_MS;
  return conn->unfinished_bytes * (age_ms + 1);
}

static uint32_t collect(Net *net, Candidate *candidates) {
  uint32_t count = 0, cursor = 0;
  uint64_t now_ms = net_now_ms(net);
  for (Conn *conn; (conn = slots_next(&net->conns, &cursor));)
    if (conn->unfinished_bytes > 0)
      candidates[count++] = (Candidate){conn, cost_of(conn, now_ms)};
  return count;
}

static void end(Conn *conn) {
  static const char TEXT[] = "too many packets are unfinished, and this one costs most";
  set_bytes(conn, 0);
  if (conn->socket) socket_set_end(conn, CODE_SERVER_FULL, TEXT);
  if (conn->is_known)
    conn_fault(conn, CODE_SERVER_FULL, TEXT);
  else
    conn_end(conn, 0);
  if (conn->socket)
    socket_drop_input(conn);
  else
    buf_deinit(&conn->in);
}

static void end_slowest(Net *net) {
  Candidate *candidates = mem_alloc(net->conns.count * sizeof *candidates);
  uint32_t count = collect(net, candidates);
  qsort(candidates, count, sizeof *candidates, by_cost);
  for (uint32_t i = 0; i < count && is_over(net, UNFINISHED_AFTER); i++)
    if (candidates[i].conn->unfinished_bytes > 0) end(candidates[i].conn);
  mem_free(candidates);
}

void unfinished_limit(Net *net) {
  if (is_over(net, UNFINISHED_TOTAL)) end_slowest(net);
}

void unfinished_count(Conn *conn) {
  set_bytes(conn, count_bytes(conn));
  unfinished_limit(conn->net);
}

void unfinished_forget(Conn *conn) { set_bytes(conn, 0); }
