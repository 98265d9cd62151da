// What a servicer's Net would tell upwards, written down for the main thread. What the one
// above would answer at once is waited for without blocking: the connection is held.
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "net/io_threads/udp.h"

// --- Holding ---

void servicer_hold(Conn *conn, Client *client, Hold hold) {
  (void)client;
  conn_stop(conn, (Stop)hold);
}

void servicer_release(Conn *conn, Client *client, Hold hold) {
  (void)client;
  conn_start(conn, (Stop)hold);
}

static void hold_back(Servicer *servicer, Conn *conn, Client *client) {
  if (conn->stops & HOLD_FLOW) return;
  servicer_hold(conn, client, HOLD_FLOW);
  buf_append(&servicer->flow, &client->local, sizeof client->local);
}

void servicer_resume_flow(Servicer *servicer) {
  if (!servicer->is_awaiting || mailbox_takes(&servicer->events) == servicer->takes)
    return;
  servicer->is_awaiting = false;
  const ConnId *ids = (const ConnId *)servicer->flow.data;
  size_t count = servicer->flow.size / sizeof *ids;
  for (size_t i = 0; i < count; i++) {
    Conn *conn = conn_find(servicer->net, ids[i]);
    if (conn) servicer_release(conn, conn->data, HOLD_FLOW);
  }
  buf_deinit(&servicer->flow);
}

void servicer_post_events(Servicer *servicer) {
  bool is_new = servicer->flow.size > 0 && !servicer->is_awaiting;
  mailbox_post(&servicer->events, is_new);
  if (!is_new) return;
  servicer->is_awaiting = true;
  servicer->takes = servicer->events.takes_seen;
}

// --- Figures ---

// Nobody waits for these, or takes anything else from them.
static void put(_Atomic uint64_t *place, uint64_t value) {
  atomic_store_explicit(place, value, memory_order_relaxed);
}

static void publish_sent(Published *to, NetSent sent) {
  put(&to->sent_packets, sent.packets);
  put(&to->sent_bytes, sent.bytes);
}

static void publish_udp(const Conn *conn, Published *to) {
  UdpFigures udp = {0};
  bool has_udp = udp_conn_figures(conn, &udp);
  atomic_store_explicit(&to->has_udp, has_udp, memory_order_relaxed);
  atomic_store_explicit(&to->udp_passes, udp.passes, memory_order_relaxed);
  atomic_store_explicit(&to->udp_rtt_us, udp.rtt_us, memory_order_relaxed);
  put(&to->udp_received, udp.received);
  put(&to->udp_received_bytes, udp.received_bytes);
  put(&to->udp_sent, udp.sent);
  put(&to->udp_sent_bytes, udp.sent_bytes);
  put(&to->udp_lost, udp.lost);
  put(&to->udp_resent_bytes, udp.resent_bytes);
}

void conn_publish(const Conn *conn) {
  Published *to = conn->published;
  NetSent queued = conn_queued(conn);
  publish_sent(to, conn->out.sent);
  publish_sent(&conn->net->published, conn->net->sent);
  put(&to->queued_packets, queued.packets);
  put(&to->queued_bytes, queued.bytes);
  if (conn->udp || to->has_udp) publish_udp(conn, to);
}

// --- Events ---

static void *add_event(Servicer *servicer, EventKind kind, Client *client,
                       size_t size) {
  UpEvent *up = mailbox_add(&servicer->events, kind, size);
  *up = (UpEvent){.client = client};
  return up;
}

// After input was handed up: whether there may be more of it.
static void judge_input(Servicer *servicer, Client *client, UpEvent *up, size_t size) {
  Conn *conn = conn_find(servicer->net, client->local);
  assert(conn);
  if (!client->has_spoken) {
    client->has_spoken = up->is_first = true;
    servicer_hold(conn, client, HOLD_FIRST);
  }
  if (client->counted != servicer->events.takes_seen) client->share = 0;
  client->counted = servicer->events.takes_seen;
  client->share += size;
  if (client->share > EVENTS_SHARE || mailbox_pending(&servicer->events) > EVENTS_MAX)
    hold_back(servicer, conn, client);
}

// The main thread has asked the one above already.
static const char *on_enter(void *data, const char *address) {
  (void)address;
  return ((const Servicer *)data)->refusal;
}

void servicer_tell_leave(Servicer *servicer, const char *address) {
  UpLeave *up = mailbox_add(&servicer->events, UP_LEAVE, sizeof *up);
  memcpy(up->address, address, sizeof up->address);
}

static void on_leave(void *data, const char *address) {
  servicer_tell_leave(data, address);
}

static void *on_open(void *data, ConnId id, const ConnInfo *info) {
  Servicer *servicer = data;
  Conn *conn = conn_find(servicer->net, id);
  Client *client = mem_zalloc(sizeof *client);
  client->local = id;
  client->is_alone = udp_is_alone(conn);
  if (client->is_alone) client->stub = udp_stub_of(conn);
  conn->published = &client->published;
  UpOpen *up = add_event(servicer, UP_OPEN, client, sizeof *up);
  up->info = *info;
  servicer_hold(conn, client, HOLD_OPEN);
  return client;
}

static UpEvent *add_packet(Servicer *servicer, EventKind kind, Client *client,
                           const Packet *packet) {
  UpPacket *up = add_event(servicer, kind, client, sizeof *up + packet->length);
  up->packet = *packet;
  if (packet->length > 0) memcpy(up + 1, packet->payload, packet->length);
  return &up->head;
}

static void on_packet(void *data, void *conn_data, const Packet *packet) {
  UpEvent *up = add_packet(data, UP_PACKET, conn_data, packet);
  judge_input(data, conn_data, up, sizeof(UpPacket) + packet->length);
}

// One for which there is no room is lost, as it may be.
static void on_loose_packet(void *data, void *conn_data, const Packet *packet) {
  Servicer *servicer = data;
  if (mailbox_pending(&servicer->events) <= EVENTS_MAX)
    add_packet(servicer, UP_LOOSE, conn_data, packet);
}

static const char *on_refuse(void *data, const char *address) {
  (void)data, (void)address;
  return "this port is for those who attach: come to the first one";
}

static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  UpLine *up = add_event(data, UP_LINE, conn_data, sizeof *up + size);
  up->size = size;
  memcpy(up + 1, text, size);
  judge_input(data, conn_data, &up->head, sizeof *up + size);
}

static void on_fault(void *data, void *conn_data, Code code, const char *text) {
  const Servicer *servicer = data;
  Client *client = conn_data;
  size_t size = strlen(text) + 1;
  UpFault *up = add_event(data, UP_FAULT, client, sizeof *up + size);
  up->code = code;
  memcpy(up + 1, text, size);
  servicer_hold(conn_find(servicer->net, client->local), client, HOLD_FAULT);
}

static void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  UpDrops *up = add_event(data, UP_DROPS, conn_data, sizeof *up);
  up->tag = tag;
  up->dropped = dropped;
  up->queued = queued;
}

static void on_close(void *data, void *conn_data, Code code) {
  UpClose *up = add_event(data, UP_CLOSE, conn_data, sizeof *up);
  up->code = code;
}

void servicer_tell_ended(Servicer *servicer, Client *client) {
  add_event(servicer, UP_ENDED, client, sizeof(UpEvent));
}

static bool on_turn(void *data, uint64_t now_ms) {
  (void)data, (void)now_ms;
  return false;
}

NetEvents servicer_net_events(void) {
  return (NetEvents){
      .enter = on_enter,
      .leave = on_leave,
      .open = on_open,
      .packet = on_packet,
      .loose_packet = on_loose_packet,
      .refuse = on_refuse,
      .line = on_line,
      .fault = on_fault,
      .drops = on_drops,
      .ending = on_close,
      .turn = on_turn,
  };
}
