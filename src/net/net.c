// A Net's loop: time, the end of each turn, timers, start and stop.
#include "net/net.h"

#include <assert.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/child.h"
#include "net/conn.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/protocol/http/admin_calls.h"
#include "net/protocol/web_calls.h"
#include "net/transport/tls_calls.h"
#include "net/udp/udp_calls.h"
#include "net/worker.h"

uv_loop_t *net_loop(Net *net) {
  assert(net->sim == NULL);
  return &net->loop;
}

// --- Time and randomness ---

bool net_is_simulated(const Net *net) { return net->sim != NULL; }

uint64_t net_now_ms(const Net *net) {
  return net->sim ? sim_now_ms(net->sim) : uv_now(&net->loop);
}

uint64_t net_real_us(void) { return uv_hrtime() / 1000; }

uint64_t net_clock_us(const Net *net) {
  return net->sim ? sim_now_ms(net->sim) * 1000 : net_real_us();
}

uint64_t net_unix_us(const Net *net) {
  if (net->sim) return sim_unix_us(net->sim);
  uv_timeval64_t now;
  uv_gettimeofday(&now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

void net_random(Net *net, void *bytes, size_t size) {
  if (net->sim)
    sim_random(net->sim, bytes, size);
  else
    random_bytes(bytes, size);
}

Timers *net_timers(Net *net) { return &net->timers; }

void net_set_limits(Net *net, const NetLimits *limits) {
  net->limits = *limits;
  if (net->servicers) servicers_share_limits(net);
}

// --- The turn ---

// Only wakes the loop: timers run once the sockets have been looked at.
static void on_clock(uv_timer_t *clock) {
  Net *net = clock->data;
  net->clock_due_ms = UINT64_MAX;
}

static void arm_clock(Net *net) {
  uint64_t due_ms = timers_next_ms(&net->timers);
  if (due_ms == net->clock_due_ms) return;
  net->clock_due_ms = due_ms;
  if (due_ms == UINT64_MAX) {
    uv_timer_stop(&net->clock);
    return;
  }
  uint64_t now_ms = net_now_ms(net);
  uv_timer_start(&net->clock, on_clock, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static bool tell_ended(Net *net) {
  bool is_any = net->ended.count > 0;
  while (net->ended.count) conn_tell_end(net->ended.items[--net->ended.count]);
  return is_any;
}

// Those that pause again meanwhile wait for the next turn.
bool net_resume(Net *net) {
  List list = net->resumed;
  net->resumed = (List){0};
  for (uint32_t i = 0; i < list.count; i++) {
    Conn *conn = list.items[i];
    conn->is_resumed = false;
    conn_resume(conn);
  }
  bool is_any = list.count > 0;
  list_deinit(&list);
  return is_any;
}

bool net_end_turn(Net *net) {
  void *data = net->events.turn_data ? net->events.turn_data : net->data;
  bool is_more = net->events.turn(data, net_now_ms(net));
  is_more |= flush_turn(net);
  is_more |= tell_ended(net);
  is_more |= net_resume(net);
  unfinished_limit(net);
  // A servicer has been told of a client by UDP before that one can know.
  if (net->servicers) servicers_end_turn(net->servicers);
  if (net->udp) is_more |= udp_end_turn(net);
  if (net->servicer) servicer_end_turn(net->servicer);
  return is_more;
}

static void on_idle(uv_idle_t *idle) { (void)idle; }

static void end_turn(Net *net) {
  if (net_end_turn(net))
    uv_idle_start(&net->idle, on_idle);
  else
    uv_idle_stop(&net->idle);
  arm_clock(net);
}

// Polls the sockets first while work is left: scripts get one slice between two polls.
static void on_prepare(uv_prepare_t *prepare) {
  Net *net = prepare->data;
  if (!uv_is_active((uv_handle_t *)&net->idle)) end_turn(net);
  net->polled_ms = net_now_ms(net);
}

// Sockets come before the timers that were due when they were looked at. After a
// handler that took seconds nobody is silent or late whose packets have arrived
// meanwhile.
static void on_check(uv_check_t *check) {
  Net *net = check->data;
  timers_run(&net->timers, net->polled_ms);
  end_turn(net);
}

// --- Writing ---

void net_write(Net *net, ConnId id, const Out *out) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->servicer) {
    client_write(conn, out);
    return;
  }
  Frame *frame = frame_of(net, &conn->direct, out->priority);
  frame_append(frame, out, net->stamp++);
  if (out->flags & OUT_URGENT) conn->is_urgent = true;
  if (!conn->direct.is_dirty) {
    conn->direct.is_dirty = true;
    list_add(&net->dirty_conns, conn);
  }
  if (frame->bytes.size <= NET_FRAME_BYTES) return;
  flush_conn(conn, PRIORITIES_ALL);
  conn_pause(conn);
}

void net_set_max_payload(Net *net, ConnId id, uint32_t bytes) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_set_max_payload(conn, bytes);
  else if (conn)
    conn->max_payload = bytes;
}

void net_set_data(Net *net, ConnId id, void *conn_data) {
  Conn *conn = conn_find(net, id);
  if (conn) conn->data = conn_data;
}

NetSent net_sent(const Net *net, ConnId id) {
  const Conn *conn = conn_find(net, id);
  if (conn && conn->servicer) return client_sent(conn);
  return conn ? conn->sent : (NetSent){0};
}

NetSent net_sent_in_all(const Net *net) {
  NetSent others = servicers_figures(net).sent;
  return (NetSent){net->sent.packets + others.packets, net->sent.bytes + others.bytes};
}

NetSent net_queued(const Net *net, ConnId id) {
  const Conn *conn = conn_find(net, id);
  if (conn && conn->servicer) return client_queued(conn);
  return conn ? conn_queued(conn) : (NetSent){0};
}

NetSent net_queued_in_all(const Net *net) {
  return (NetSent){net->totals->backlog_packets, net->totals->backlog_bytes};
}

void net_warn_accept(Net *net, const char *error) {
  uint64_t now_ms = net_now_ms(net);
  if (net->accept_warned_ms && now_ms - net->accept_warned_ms < 1000) return;
  net->accept_warned_ms = now_ms;
  log_warn("connections cannot be accepted", log_str("error", error));
}

// --- Start and stop ---

// The loop's own handles do not keep it running.
int net_open_loop(Net *net) {
  int err = uv_loop_init(&net->loop);
  if (err) return err;
  uv_prepare_init(&net->loop, &net->prepare);
  uv_check_init(&net->loop, &net->check);
  uv_idle_init(&net->loop, &net->idle);
  uv_timer_init(&net->loop, &net->clock);
  net->prepare.data = net->check.data = net->idle.data = net->clock.data = net;
  uv_prepare_start(&net->prepare, on_prepare);
  uv_check_start(&net->check, on_check);
  uv_unref((uv_handle_t *)&net->prepare);
  uv_unref((uv_handle_t *)&net->check);
  uv_unref((uv_handle_t *)&net->idle);
  uv_unref((uv_handle_t *)&net->clock);
  return 0;
}

static uint64_t descriptor_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

Net *net_make(const NetLimits *limits, const NetEvents *events, void *data) {
  Net *net = mem_zalloc(sizeof *net);
  net->limits = *limits;
  net->events = *events;
  net->data = data;
  net->stamp = 1;
  net->descriptors = descriptor_limit();
  net->clock_due_ms = UINT64_MAX;
  net->totals = &net->own_totals;
  net->own_totals.threads = 1;
  return net;
}

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data) {
  Net *net = net_make(limits, events, data);
  int err = net_open_loop(net);
  assert(err == 0 && "no loop");
  (void)err;
  return net;
}

void net_stop(Net *net) {
  if (net->is_stopping) return;
  net->is_stopping = true;
  net_unlisten(net);
  child_stop_all(net);
  if (net->sim) sim_stop(net);
  uint32_t cursor = 0;
  for (Conn *conn; (conn = slots_next(&net->conns, &cursor));) net_close(net, conn->id);
  udp_stop(net);
  if (net->servicers) servicers_stop(net->servicers);
}

void net_run(Net *net) { uv_run(net_loop(net), UV_RUN_DEFAULT); }

static void close_handle(uv_handle_t *handle, void *data) {
  Net *net = data;
  if (uv_is_closing(handle)) return;
  if (handle->type == UV_TCP)
    conn_destroy(handle->data);
  else if (handle->data == net)
    uv_close(handle, NULL);
}

static void close_loop(Net *net) {
  udp_shut(net);
  uv_walk(&net->loop, close_handle, net);
  uv_run(&net->loop, UV_RUN_DEFAULT);
  int err = uv_loop_close(&net->loop);
  assert(err == 0 && "a handle is still open");
  (void)err;
}

void net_free(Net *net) {
  net_stop(net);
  if (net->servicers) servicers_end(net);
  workers_end(net);
  if (net->sim)
    sim_free(net);
  else
    close_loop(net);
  uint32_t cursor = 0;
  for (Group *group; (group = slots_next(&net->groups, &cursor));)
    net_group_close(net, group->id);
  web_free(net);
  admin_port_free(net);
  tls_server_free(net);
  udp_free(net);
  slots_deinit(&net->conns);
  slots_deinit(&net->groups);
  timers_deinit(&net->timers);
  frame_pool_free(net);
  list_deinit(&net->dirty_groups);
  list_deinit(&net->dirty_conns);
  list_deinit(&net->children);
  list_deinit(&net->workers);
  list_deinit(&net->ended);
  list_deinit(&net->resumed);
  list_deinit(&net->dropping);
  servicers_free(net);
  mem_free(net);
}
