// The in-memory transport and its loop. A Pipe connects a client with the server's
// Conn. It exists before the Conn is made and after the Conn is freed. A queue contains
// the pipes with input for the server, in the order of arrival.
#include "net/sim.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "net/conn.h"

enum {
  ITERATIONS_MAX = 100000,  // iterations in one call of net_sim_iterate
  SIM_FIRST_PORT = 49152,   // first port of simulated clients, as in real systems
  SIM_PORTS = 16384,
  KEEP_BYTES = 64 << 10,      // size above which empty buffers are freed
  UNIX_START_S = 1700000000,  // Unix time at SIM_START_MS
};

typedef struct SimConn SimConn;

typedef struct Pipe {
  uint32_t id;
  SimConn *conn;  // connection; NULL: not accepted yet, or closed
  Buf input;      // bytes to the server
  size_t taken;   // bytes of `input` that the server has read
  Buf output;     // bytes to the client
  size_t window;
  uint8_t framing;  // Framing
  uint8_t ending;   // SimEnding of the server's side
  uint8_t over;     // SimEnding of the client's side
  bool is_new;      // the server has not accepted the client yet
  bool is_queued;
  bool is_first;  // used while the queue is being ordered
  char address[ADDRESS_SIZE];
} Pipe;

struct SimConn {
  Conn conn;
  Transport transport;
  Pipe *pipe;
  bool is_reading;
  bool has_ended;   // read_end was reported
  bool is_writing;  // `left` bytes at `rest` must be written, or reported as written
  const uint8_t *rest;
  size_t left;
};

struct Sim {
  bool (*end)(Net *net, uint64_t now_us);  // ends an iteration
  uint64_t now_ms;
  Timers timers;
  uint64_t random[4];
  Slots pipes;
  List queue;    // Pipes with input
  List polled;   // the queue of the current iteration
  List closing;  // SimConns to be freed at the end of the iteration
  bool is_more;  // the last iteration left work to do
};

static Pipe *pipe_find(const Net *net, SimId id) {
  assert(net->sim);
  return slots_find(&net->sim->pipes, id);
}

// --- Time and randomness ---

static uint64_t now_ms(const Net *net) { return net->sim->now_ms; }

static uint64_t clock_us(const Net *net) { return net->sim->now_ms * 1000; }

static uint64_t unix_us(const Net *net) {
  return (uint64_t)UNIX_START_S * 1000000 + (net->sim->now_ms - SIM_START_MS) * 1000;
}

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

// Derives several seeds from one with SplitMix64.
static uint64_t spread(uint64_t *seed) {
  uint64_t z = *seed += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Returns the next number of xoshiro256** (Blackman and Vigna, 2018).
static uint64_t next_random(Sim *sim) {
  uint64_t *s = sim->random;
  uint64_t result = rotate(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

static void fill_random(Net *net, void *bytes, size_t size) {
  uint8_t *at = bytes;
  while (size > 0) {
    uint64_t word = next_random(net->sim);
    size_t count = size < sizeof word ? size : sizeof word;
    memcpy(at, &word, count);
    at += count;
    size -= count;
  }
}

// --- The queue ---

static void enqueue(Net *net, Pipe *pipe) {
  if (pipe->is_queued) return;
  pipe->is_queued = true;
  list_add(&net->sim->queue, pipe);
}

static size_t unread(const Pipe *pipe) { return pipe->input.size - pipe->taken; }

// Returns whether the server has input to read.
static bool is_readable(const Pipe *pipe) {
  const SimConn *sim = pipe->conn;
  return sim && sim->is_reading &&
         (unread(pipe) > 0 || (pipe->over != SIM_OPEN && !sim->has_ended));
}

static void empty(Buf *buf) {
  buf->size = 0;
  if (buf->capacity > KEEP_BYTES) buf_deinit(buf);
}

static void forget_input(Pipe *pipe) {
  pipe->taken = 0;
  empty(&pipe->input);
}

// --- The transport ---

static SimConn *sim_of(Transport *transport) {
  return (SimConn *)((char *)transport - offsetof(SimConn, transport));
}

static void sim_read_start(Transport *transport) {
  SimConn *sim = sim_of(transport);
  sim->is_reading = true;
  if (is_readable(sim->pipe)) enqueue(sim->conn.net, sim->pipe);
}

static void sim_read_stop(Transport *transport) {
  sim_of(transport)->is_reading = false;
}

// Takes as many bytes as fit into the client's window.
static size_t push(Pipe *pipe, const void *bytes, size_t size) {
  size_t room = pipe->window > pipe->output.size ? pipe->window - pipe->output.size : 0;
  if (size > room) size = room;
  if (size > 0) buf_append(&pipe->output, bytes, size);
  return size;
}

static int sim_try_write(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  Pipe *pipe = sim_of(transport)->pipe;
  if (pipe->over == SIM_RESET) return UV_ECONNRESET;
  size_t total = 0;
  for (unsigned i = 0; i < count; i++) {
    size_t pushed = push(pipe, bufs[i].base, bufs[i].len);
    total += pushed;
    if (pushed < bufs[i].len) break;
  }
  return total > 0 ? (int)total : UV_EAGAIN;
}

static void push_rest(SimConn *sim) {
  size_t pushed = push(sim->pipe, sim->rest, sim->left);
  sim->rest += pushed;
  sim->left -= pushed;
  if (sim->left == 0) enqueue(sim->conn.net, sim->pipe);
}

static int sim_write(Transport *transport, uint8_t *bytes, size_t size) {
  SimConn *sim = sim_of(transport);
  if (sim->pipe->over == SIM_RESET) return UV_ECONNRESET;
  sim->is_writing = true;
  sim->rest = bytes;
  sim->left = size;
  push_rest(sim);
  return 0;
}

static bool sim_shutdown(Transport *transport) {
  Pipe *pipe = sim_of(transport)->pipe;
  if (pipe->ending == SIM_OPEN) pipe->ending = SIM_ENDED;
  return true;
}

// Closes the server's side. Sends a reset if input is left unread, as the kernel does.
static void sim_close(Transport *transport) {
  SimConn *sim = sim_of(transport);
  Pipe *pipe = sim->pipe;
  if (unread(pipe) > 0)
    pipe->ending = SIM_RESET;
  else if (pipe->ending == SIM_OPEN)
    pipe->ending = SIM_ENDED;
  pipe->conn = NULL;
  list_add(&sim->conn.net->sim->closing, sim);
}

static const TransportKind SIM = {
    .name = TRANSPORT_TCP,
    .read_start = sim_read_start,
    .read_stop = sim_read_stop,
    .try_write = sim_try_write,
    .write = sim_write,
    .shutdown = sim_shutdown,
    .close = sim_close,
};

// --- The iteration ---

static void accept_pipe(Net *net, Pipe *pipe) {
  SimConn *sim = mem_zalloc(sizeof *sim);
  sim->pipe = pipe;
  pipe->is_new = false;
  pipe->conn = sim;
  sim->transport.kind = &SIM;
  conn_init(&sim->conn, net, &sim->transport, (Framing)pipe->framing);
  ConnInfo info = {.framing = (Framing)pipe->framing,
                   .port = (uint16_t)(SIM_FIRST_PORT + pipe->id % SIM_PORTS)};
  memcpy(info.address, pipe->address, sizeof info.address);
  if (net_accepts(net, &info) && conn_add(&sim->conn))
    conn_open(&sim->conn, &info);
  else
    conn_destroy(&sim->conn);
}

// Reads once, as from a socket.
static void read_pipe(SimConn *sim) {
  Transport *transport = &sim->transport;
  Pipe *pipe = sim->pipe;
  size_t size = unread(pipe);
  if (size > READ_BUFFER_BYTES) size = READ_BUFFER_BYTES;
  if (size == 0) {
    sim->has_ended = true;
    transport->user->read_end(transport->user_data,
                              pipe->over == SIM_ENDED ? UV_EOF : UV_ECONNRESET);
    return;
  }
  const uint8_t *bytes = pipe->input.data + pipe->taken;
  pipe->taken += size;
  transport->user->read(transport->user_data, bytes, size);
  if (size == READ_BUFFER_BYTES && pipe->conn)
    transport->user->used_share(transport->user_data);
  if (pipe->conn && unread(pipe) == 0) forget_input(pipe);
}

static void poll_pipe(Net *net, Pipe *pipe) {
  if (pipe->is_new) {
    accept_pipe(net, pipe);
    return;
  }
  SimConn *sim = pipe->conn;
  if (is_readable(pipe)) read_pipe(sim);
  if (!pipe->conn) return;
  if (sim->is_writing && sim->left > 0 && pipe->over != SIM_RESET) push_rest(sim);
  if (sim->is_writing && (sim->left == 0 || pipe->over == SIM_RESET)) {
    sim->is_writing = false;
    sim->transport.user->written(sim->transport.user_data,
                                 sim->left == 0 ? 0 : UV_ECONNRESET);
  }
  if (is_readable(pipe)) enqueue(net, pipe);
}

static void poll_pipes(Net *net) {
  Sim *sim = net->sim;
  List polled = sim->queue;
  sim->queue = sim->polled;
  sim->polled = polled;
  for (uint32_t i = 0; i < polled.count; i++) {
    Pipe *pipe = polled.items[i];
    pipe->is_queued = false;
    poll_pipe(net, pipe);
  }
  sim->polled.count = 0;
}

// Frees closed connections and their input. This waits for the end of the iteration,
// because a connection may be closed while its input is being read.
static void free_closing(Sim *sim) {
  for (uint32_t i = 0; i < sim->closing.count; i++) {
    SimConn *closing = sim->closing.items[i];
    forget_input(closing->pipe);
    closing->transport.user->closed(closing->transport.user_data);
  }
  sim->closing.count = 0;
}

static bool has_work(const Net *net) {
  const Sim *sim = net->sim;
  return sim->is_more || sim->queue.count > 0 ||
         timers_next_ms(net->timers) <= sim->now_ms;
}

// Runs one iteration of the loop: prepare, sockets, check.
static void turn_once(Net *net) {
  Sim *sim = net->sim;
  sim->end(net, clock_us(net));
  poll_pipes(net);
  timers_run(net->timers, sim->now_ms);
  sim->is_more = sim->end(net, clock_us(net));
  free_closing(sim);
}

bool net_sim_iterate(Net *net, uint64_t now_ms) {
  Sim *sim = net->sim;
  if (now_ms > sim->now_ms) sim->now_ms = now_ms;
  for (int i = 0; i < ITERATIONS_MAX; i++) {
    turn_once(net);
    if (!has_work(net)) return true;
  }
  return false;
}

uint64_t net_sim_due(const Net *net) {
  return has_work(net) ? net->sim->now_ms : timers_next_ms(net->timers);
}

// --- Clients ---

SimId net_sim_connect(Net *net, Framing framing, const char *address) {
  Pipe *pipe = mem_zalloc(sizeof *pipe);
  pipe->id = slots_add(&net->sim->pipes, pipe);
  if (pipe->id == 0) {
    mem_free(pipe);
    return 0;
  }
  pipe->framing = (uint8_t)framing;
  pipe->window = SIM_WINDOW_BYTES;
  strncpy(pipe->address, address, sizeof pipe->address - 1);
  pipe->is_new = !net->is_stopping;
  if (pipe->is_new)
    enqueue(net, pipe);
  else
    pipe->ending = SIM_RESET;
  return pipe->id;
}

void net_sim_set_clock(Net *net, uint64_t now_ms) { net->sim->now_ms = now_ms; }

bool net_sim_is_client(const Net *net, SimId id) { return pipe_find(net, id) != NULL; }

void net_sim_write(Net *net, SimId id, const void *bytes, size_t size) {
  Pipe *pipe = pipe_find(net, id);
  if (!pipe || pipe->over != SIM_OPEN || size == 0) return;
  if (!pipe->conn && !pipe->is_new) {
    pipe->ending = SIM_RESET;  // a closed socket answers bytes with a reset
    return;
  }
  buf_append(&pipe->input, bytes, size);
  if (is_readable(pipe)) enqueue(net, pipe);
}

const uint8_t *net_sim_peek(const Net *net, SimId id, size_t *size) {
  const Pipe *pipe = pipe_find(net, id);
  *size = pipe ? pipe->output.size : 0;
  return pipe ? pipe->output.data : NULL;
}

SimEnding net_sim_take(Net *net, SimId id) {
  Pipe *pipe = pipe_find(net, id);
  if (!pipe) return SIM_RESET;
  empty(&pipe->output);
  if (pipe->conn && pipe->conn->is_writing) enqueue(net, pipe);
  return (SimEnding)pipe->ending;
}

static void end_client(Net *net, SimId id, SimEnding how) {
  Pipe *pipe = pipe_find(net, id);
  if (!pipe || pipe->over >= how) return;
  pipe->over = (uint8_t)how;
  if (pipe->conn) enqueue(net, pipe);
}

void net_sim_shutdown(Net *net, SimId id) { end_client(net, id, SIM_ENDED); }

void net_sim_reset(Net *net, SimId id) {
  Pipe *pipe = pipe_find(net, id);
  end_client(net, id, SIM_RESET);
  if (!pipe) return;
  empty(&pipe->output);
  pipe->ending = SIM_RESET;
}

void net_sim_window(Net *net, SimId id, size_t bytes) {
  Pipe *pipe = pipe_find(net, id);
  if (!pipe) return;
  pipe->window = bytes;
  if (pipe->conn && pipe->conn->is_writing) enqueue(net, pipe);
}

void net_sim_order(Net *net, const SimId *ids, size_t count) {
  List *queue = &net->sim->queue, ordered = {0};
  for (size_t i = 0; i < count; i++) {
    Pipe *pipe = pipe_find(net, ids[i]);
    if (!pipe || !pipe->is_queued || pipe->is_first) continue;
    pipe->is_first = true;
    list_add(&ordered, pipe);
  }
  for (uint32_t i = 0; i < queue->count; i++) {
    Pipe *pipe = queue->items[i];
    if (!pipe->is_first) list_add(&ordered, pipe);
    pipe->is_first = false;
  }
  list_deinit(queue);
  *queue = ordered;
}

// --- Start and stop ---

void sim_init(Net *net, uint64_t seed, bool (*end)(Net *net, uint64_t now_us)) {
  static const NetClock CLOCK = {.now_ms = now_ms,
                                 .clock_us = clock_us,
                                 .unix_us = unix_us,
                                 .random = fill_random};
  Sim *sim = net->sim = mem_zalloc(sizeof *sim);
  net->clock = &CLOCK;
  net->timers = &sim->timers;
  sim->end = end;
  sim->now_ms = SIM_START_MS;
  for (int i = 0; i < 4; i++) sim->random[i] = spread(&seed);
}

void sim_stop(Net *net) {
  uint32_t cursor = 0;
  for (Pipe *pipe; (pipe = slots_next(&net->sim->pipes, &cursor));) {
    if (pipe->is_new) pipe->ending = SIM_RESET;
    pipe->is_new = false;
  }
}

void sim_free(Net *net) {
  Sim *sim = net->sim;
  uint32_t cursor = 0;
  for (Pipe *pipe; (pipe = slots_next(&sim->pipes, &cursor));) {
    if (pipe->conn) conn_destroy(&pipe->conn->conn);
  }
  free_closing(sim);
  cursor = 0;
  for (Pipe *pipe; (pipe = slots_next(&sim->pipes, &cursor));) {
    buf_deinit(&pipe->input);
    buf_deinit(&pipe->output);
    mem_free(pipe);
  }
  timers_deinit(&sim->timers);
  slots_deinit(&sim->pipes);
  list_deinit(&sim->queue);
  list_deinit(&sim->polled);
  list_deinit(&sim->closing);
  mem_free(sim);
  net->sim = NULL;
}
