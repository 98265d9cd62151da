// The events of a thread's Net, which the thread posts to the main thread. If an event
// needs an answer of the layer above, only its connection waits. The thread continues
// with other connections.
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "net/io_threads/internal.h"

// --- Flow ---

void served_resume_flow(IoThread *thread) {
  if (!thread->is_awaiting || mailbox_takes(&thread->events) == thread->takes) return;
  thread->is_awaiting = false;
  const ConnId *ids = (const ConnId *)thread->flow.data;
  size_t count = thread->flow.size / sizeof *ids;
  for (size_t i = 0; i < count; i++) {
    Conn *conn = conn_find(thread->net, ids[i]);
    if (conn) conn_start(conn, STOP_FLOW);
  }
  buf_deinit(&thread->flow);
}

void served_post(IoThread *thread) {
  bool is_new = thread->flow.size > 0 && !thread->is_awaiting;
  mailbox_post(&thread->events, is_new);
  if (!is_new) return;
  thread->is_awaiting = true;
  thread->takes = thread->events.takes_seen;
}

// --- Events ---

static void *add_event(IoThread *thread, const RemoteCall *call, Proxy *proxy,
                       UpHandler *hand_up, size_t size) {
  UpEvent *event = mailbox_add(&thread->events, call, size);
  *event = (UpEvent){.proxy = proxy, .hand_up = hand_up};
  return event;
}

// Stops the connection after its first input, or if too many bytes of events wait.
static void judge_input(IoThread *thread, UpEvent *event, size_t size) {
  Proxy *proxy = event->proxy;
  Conn *conn = conn_find(thread->net, proxy->local);
  assert(conn);
  if (!proxy->has_spoken) {
    proxy->has_spoken = event->is_first = true;
    conn_stop(conn, STOP_FIRST);
  }
  if (proxy->share_at != thread->events.takes_seen) proxy->share = 0;
  proxy->share_at = thread->events.takes_seen;
  proxy->share += size;
  bool is_too_much =
      proxy->share > EVENTS_SHARE || mailbox_pending(&thread->events) > EVENTS_MAX;
  if (!is_too_much || conn->stops & STOP_FLOW) return;
  conn_stop(conn, STOP_FLOW);
  buf_append(&thread->flow, &conn->self.id, sizeof conn->self.id);
}

// Accepts every connection, because the main thread called events.enter before it
// posted the connection.
static const char *on_enter(void *data, const char *address) {
  (void)data, (void)address;
  return NULL;
}

static void on_leave(void *data, const char *address) {
  IoThread *thread = data;
  memcpy(mailbox_add(&thread->events, &PROXY_LEAVE, ADDRESS_SIZE), address,
         ADDRESS_SIZE);
}

static void *on_open(void *data, ConnId id, const ConnInfo *info) {
  IoThread *thread = data;
  Conn *conn = conn_find(thread->net, id);
  Proxy *proxy = mem_zalloc(sizeof *proxy);
  proxy->thread = thread;
  proxy->local = id;
  proxy->port = udp_port_to_attach(conn);
  UpOpen *up = add_event(thread, &PROXY_OPEN, proxy, NULL, sizeof *up);
  up->info = *info;
  conn_stop(conn, STOP_OPEN);
  return proxy;
}

void served_publish(const Conn *conn) {
  Counters *counters = &((Proxy *)conn->self.data)->counters;
  counters_set(counters, conn->out.sent, conn_queued(conn));
  UdpFigures figures;
  if (conn->datagrams) conn->datagrams->ops->figures(conn->datagrams, &figures);
  if (conn->datagrams || counters->has_udp)
    counters_set_udp(counters, conn->datagrams ? &figures : NULL);
}

static UpEvent *add_packet(IoThread *thread, const RemoteCall *call, Proxy *proxy,
                           UpHandler *hand_up, const Packet *packet) {
  UpPacket *up = add_event(thread, call, proxy, hand_up, sizeof *up + packet->length);
  up->packet = *packet;
  if (packet->length > 0) memcpy(up + 1, packet->payload, packet->length);
  return &up->head;
}

static void on_packet(void *data, void *conn_data, const Packet *packet) {
  UpEvent *event = add_packet(data, &PROXY_INPUT, conn_data, proxy_packet, packet);
  judge_input(data, event, sizeof(UpPacket) + packet->length);
}

// Drops the packet if the mailbox has no room. The network may drop such packets, too.
static void on_unreliable_packet(void *data, void *conn_data, const Packet *packet) {
  IoThread *thread = data;
  if (mailbox_pending(&thread->events) <= EVENTS_MAX)
    add_packet(thread, &PROXY_UNRELIABLE, conn_data, proxy_unreliable_packet, packet);
}

static const char *on_refuse(void *data, const char *address) {
  (void)data, (void)address;
  return "this port is for those who attach: come to the first one";
}

static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  UpLine *up = add_event(data, &PROXY_INPUT, conn_data, proxy_line, sizeof *up + size);
  up->size = size;
  memcpy(up + 1, text, size);
  judge_input(data, &up->head, sizeof *up + size);
}

static void on_fault(void *data, void *conn_data, Code code, const char *text) {
  const IoThread *thread = data;
  Proxy *proxy = conn_data;
  size_t size = strlen(text) + 1;
  UpFault *up = add_event(data, &PROXY_INPUT, proxy, proxy_fault, sizeof *up + size);
  up->code = code;
  memcpy(up + 1, text, size);
  conn_stop(conn_find(thread->net, proxy->local), STOP_FAULT);
}

static void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  UpDrops *up = add_event(data, &PROXY_NEWS, conn_data, proxy_drops, sizeof *up);
  up->tag = tag;
  up->dropped = dropped;
  up->queued = queued;
}

// Lets the main thread end the connection, because the main thread may still have
// output for it.
static void on_ending(void *data, void *conn_data, Code code) {
  UpFault *up = add_event(data, &PROXY_INPUT, conn_data, proxy_close, sizeof *up);
  up->code = code;
}

static bool on_iteration(void *data, uint64_t now_us) {
  (void)data, (void)now_us;
  return false;
}

NetEvents served_events(void) {
  return (NetEvents){
      .enter = on_enter,
      .leave = on_leave,
      .open = on_open,
      .packet = on_packet,
      .unreliable_packet = on_unreliable_packet,
      .refuse = on_refuse,
      .line = on_line,
      .fault = on_fault,
      .drops = on_drops,
      .ending = on_ending,
      .iteration = on_iteration,
  };
}
