// The servicer's loop: listening, the end of each turn, timers, start and stop.
#include "net/net.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/internal.h"

uv_loop_t *net_loop(Net *net) { return &net->loop; }

uint64_t net_now_ms(const Net *net) { return uv_now(&net->loop); }

uint64_t net_clock_us(void) { return uv_hrtime() / 1000; }

uint64_t net_unix_us(void) {
  uv_timeval64_t now;
  uv_gettimeofday(&now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

Timers *net_timers(Net *net) { return &net->timers; }

void net_set_limits(Net *net, const NetLimits *limits) { net->limits = *limits; }

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
static bool resume_waiting(Net *net) {
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

static void on_idle(uv_idle_t *idle) { (void)idle; }

// Input is in: the layers above act on it, then their output leaves.
static void end_turn(Net *net) {
  void *data = net->events.turn_data ? net->events.turn_data : net->data;
  bool is_more = net->events.turn(data, net_now_ms(net));
  is_more |= flush_turn(net);
  is_more |= tell_ended(net);
  is_more |= resume_waiting(net);
  if (is_more)
    uv_idle_start(&net->idle, on_idle);
  else
    uv_idle_stop(&net->idle);
  arm_clock(net);
}

static void on_prepare(uv_prepare_t *prepare) {
  Net *net = prepare->data;
  end_turn(net);
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
  if (conn) conn->max_payload = bytes;
}

uint32_t net_queued(const Net *net, ConnId id) {
  const Conn *conn = conn_find(net, id);
  return conn && conn->backlog ? conn->backlog->droppable + conn->backlog->kept : 0;
}

// --- Listening ---

void net_warn_accept(Net *net, const char *error) {
  uint64_t now_ms = net_now_ms(net);
  if (net->accept_warned_ms && now_ms - net->accept_warned_ms < 1000) return;
  net->accept_warned_ms = now_ms;
  log_warn("connections cannot be accepted", log_str("error", error));
}

static void on_connection(uv_stream_t *server, int status) {
  Listener *listener = server->data;
  Net *net = listener->net;
  if (status == 0) {
    conn_accept(listener);
    return;
  }
  net_warn_accept(net, uv_strerror(status));
}

static void on_listener_closed(uv_handle_t *handle) { mem_free(handle->data); }

// Numeric addresses and names alike; blocking is fine, this runs before the loop.
static int resolve(const char *host, uint16_t port, struct sockaddr_storage *address) {
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *found;
  if (getaddrinfo(host, service, &hints, &found) != 0) return ERR_ADDRESS;
  memcpy(address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return 0;
}

static int bound_port(const uv_tcp_t *tcp, uint16_t *port) {
  struct sockaddr_storage address;
  int size = sizeof address;
  int err = uv_tcp_getsockname(tcp, (struct sockaddr *)&address, &size);
  if (err) return err;
  // The port is at the same place for both families.
  *port = ntohs(((struct sockaddr_in *)&address)->sin_port);
  return 0;
}

int net_listen(Net *net, const char *host, uint16_t *port, Framing framing) {
  struct sockaddr_storage address;
  int err = resolve(host, *port, &address);
  if (err) return err;
  Listener *listener = mem_zalloc(sizeof *listener);
  *listener = (Listener){.net = net, .framing = framing};
  uv_tcp_init(&net->loop, &listener->tcp);
  listener->tcp.data = listener;
  err = uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
  if (!err)
    err = uv_listen((uv_stream_t *)&listener->tcp, LISTEN_BACKLOG, on_connection);
  if (!err) err = bound_port(&listener->tcp, port);
  if (err) {
    uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
    return err;
  }
  listener->next = net->listeners;
  net->listeners = listener;
  return 0;
}

// --- Start and stop ---

// The loop's own handles do not keep it running.
static void open_handles(Net *net) {
  uv_loop_init(&net->loop);
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
}

static uint64_t descriptor_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data) {
  Net *net = mem_zalloc(sizeof *net);
  net->limits = *limits;
  net->events = *events;
  net->data = data;
  net->stamp = 1;
  net->descriptors = descriptor_limit();
  net->clock_due_ms = UINT64_MAX;
  open_handles(net);
  return net;
}

void net_stop(Net *net) {
  if (net->is_stopping) return;
  net->is_stopping = true;
  while (net->listeners) {
    Listener *listener = net->listeners;
    net->listeners = listener->next;
    uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
  }
  uint32_t cursor = 0;
  for (Conn *conn; (conn = slots_next(&net->conns, &cursor));) net_close(net, conn->id);
}

void net_run(Net *net) { uv_run(&net->loop, UV_RUN_DEFAULT); }

static void close_handle(uv_handle_t *handle, void *data) {
  Net *net = data;
  if (uv_is_closing(handle)) return;
  if (handle->type == UV_TCP)
    conn_destroy(handle->data);
  else if (handle->data == net)
    uv_close(handle, NULL);
}

void net_free(Net *net) {
  net_stop(net);
  uv_walk(&net->loop, close_handle, net);
  uv_run(&net->loop, UV_RUN_DEFAULT);
  int err = uv_loop_close(&net->loop);
  assert(err == 0 && "a handle is still open");
  (void)err;
  uint32_t cursor = 0;
  for (Group *group; (group = slots_next(&net->groups, &cursor));)
    net_group_close(net, group->id);
  slots_deinit(&net->conns);
  slots_deinit(&net->groups);
  timers_deinit(&net->timers);
  frame_pool_free(net);
  list_deinit(&net->dirty_groups);
  list_deinit(&net->dirty_conns);
  list_deinit(&net->ended);
  list_deinit(&net->resumed);
  list_deinit(&net->dropping);
  mem_free(net);
}
