// The main thread's side of connections that servicers have. A stand-in for each has the id
// by which the layers above know it; what they do with it becomes a command, and what has
// happened there is told to them here, unless they have ended or held it meanwhile.
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "net/io_threads/udp.h"

// --- What is done with one ---

static void command(Conn *conn, CommandKind kind, uint32_t value) {
  DownConn *down = servicer_command(conn->servicer, kind, sizeof *down);
  *down = (DownConn){client_of(conn)->local, value};
}

void client_write(Conn *conn, const Out *out) {
  uint32_t size = out_size(out);
  DownWrite *down = servicer_command(conn->servicer, DOWN_WRITE, sizeof *down + size);
  *down = (DownWrite){.conn = client_of(conn)->local,
                      .size = size,
                      .key = out->key,
                      .priority = out->priority,
                      .flags = out->flags};
  out_gather(out, (uint8_t *)(down + 1));
}

void client_hold(Conn *conn) {
  conn->stops |= STOP_THROTTLED;
  command(conn, DOWN_HOLD, HOLD_ASKED);
}

void client_release(Conn *conn) {
  if (!(conn->stops & STOP_THROTTLED)) return;
  conn->stops &= (uint8_t)~STOP_THROTTLED;
  command(conn, DOWN_RELEASE, HOLD_ASKED);
  if (client_of(conn)->kept.size > 0) conn_resume_later(conn);
}

void client_set_max_payload(Conn *conn, uint32_t bytes) {
  command(conn, DOWN_MAX_PAYLOAD, bytes);
}

NetSent client_sent(const Conn *conn) {
  return published_sent(&((const Client *)conn)->published);
}

NetSent client_queued(const Conn *conn) {
  const Published *published = &((const Client *)conn)->published;
  return (NetSent){
      atomic_load_explicit(&published->queued_packets, memory_order_relaxed),
      atomic_load_explicit(&published->queued_bytes, memory_order_relaxed)};
}

bool client_udp_figures(const Conn *conn, UdpFigures *figures) {
  const Published *from = &((const Client *)conn)->published;
  *figures = (UdpFigures){.received = from->udp_received,
                          .received_bytes = from->udp_received_bytes,
                          .sent = from->udp_sent,
                          .sent_bytes = from->udp_sent_bytes,
                          .lost = from->udp_lost,
                          .resent_bytes = from->udp_resent_bytes,
                          .rtt_us = from->udp_rtt_us,
                          .passes = from->udp_passes};
  return from->has_udp;
}

ConnId client_local_id(const Conn *conn) { return ((const Client *)conn)->local; }

uint16_t client_offer(Conn *conn, uint32_t peer, uint64_t nonce) {
  DownOffer *down = servicer_command(conn->servicer, DOWN_OFFER, sizeof *down);
  *down = (DownOffer){client_of(conn)->local, peer, nonce};
  return client_of(conn)->is_alone ? 0 : conn->servicer->udp_port;
}

// --- Birth and death ---

static void link_client(Servicer *servicer, Client *client) {
  client->next = servicer->clients;
  client->previous = NULL;
  if (client->next) client->next->previous = client;
  servicer->clients = client;
}

// Its last event has come, and so has what is counted of its last words. It may be in use
// until the turn ends.
static void retire(Client *client) {
  Servicer *servicer = client->conn.servicer;
  NetSent sent = client_sent(&client->conn);
  sent.packets -= client->accounted.packets;
  sent.bytes -= client->accounted.bytes;
  account_add(&client->conn, sent);
  if (client->previous)
    client->previous->next = client->next;
  else
    servicer->clients = client->next;
  if (client->next) client->next->previous = client->previous;
  client->next = servicer->main->servicers->retired;
  servicer->main->servicers->retired = client;
}

static void free_list(Client *client) {
  while (client) {
    Client *next = client->next;
    account_leave(&client->conn);
    buf_deinit(&client->kept);
    mem_free(client->groups);
    mem_free(client);
    client = next;
  }
}

void clients_free_retired(Servicers *servicers) {
  free_list(servicers->retired);
  servicers->retired = NULL;
}

void clients_free_all(Servicer *servicer) {
  free_list(servicer->clients);
  servicer->clients = NULL;
  clients_free_retired(servicer->main->servicers);
}

// From here on the layer above does not know it any more.
static void forget(Conn *conn) {
  Net *net = conn->net;
  Client *client = client_of(conn);
  client->accounted = client_sent(conn);
  account_add(conn, client->accounted);
  slots_remove(&net->conns, conn->id);
  if (conn->listed & LISTED_RESUMED) list_remove(&net->resumed, conn);
  if (conn->listed & LISTED_ENDED) list_remove(&net->ended, conn);
  conn->state = CONN_CLOSED;
  buf_deinit(&client->kept);
  client_leave_all(client);
}

static void command_end(Conn *conn, Code code, const char *text) {
  size_t size = text ? strlen(text) + 1 : 0;
  DownEnd *down = servicer_command(conn->servicer, DOWN_END, sizeof *down + size);
  *down = (DownEnd){.conn = client_of(conn)->local,
                    .code = code,
                    .has_text = text != NULL,
                    .is_refused = client_of(conn)->is_new};
  if (text) memcpy(down + 1, text, size);
}

void client_tell_end(Conn *conn) {
  const Client *client = client_of(conn);
  DownEnd *down = servicer_command(conn->servicer, DOWN_END, sizeof *down);
  *down = (DownEnd){.conn = client->local, .is_told = true};
  forget(conn);
  conn->net->events.close(conn->net->data, conn->data, client->code);
}

void client_end(Conn *conn, Code code, const char *text) {
  command_end(conn, code, text);
  forget(conn);
}

// --- What is told upwards ---

static void open_client(Servicer *servicer, const UpOpen *up) {
  Net *net = servicer->main;
  Client *client = up->head.client;
  Conn *conn = &client->conn;
  conn->net = net;
  conn->servicer = servicer;
  link_client(servicer, client);
  if (client->stub) udp_end_visit(client->stub);
  client->stub = NULL;
  client->is_new = true;
  if (net->is_stopping || !conn_add(conn)) {
    conn->state = CONN_CLOSED;
    command_end(conn, CODE_SERVER_FULL, NULL);
    return;
  }
  ConnInfo info = up->info;
  // Its clock may have been read later than this one.
  if (info.since_ms > net_now_ms(net)) info.since_ms = net_now_ms(net);
  conn->data = net->events.open(net->data, conn->id, &info);
  client->is_new = false;
  if (conn->state == CONN_OPEN) command(conn, DOWN_RELEASE, HOLD_OPEN);
}

static void hand_up_packet(Conn *conn, const UpPacket *up, bool is_loose) {
  const NetEvents *events = &conn->net->events;
  Packet packet = up->packet;
  packet.payload = (const uint8_t *)(up + 1);
  if (is_loose)
    events->loose_packet(conn->net->data, conn->data, &packet);
  else
    events->packet(conn->net->data, conn->data, &packet);
}

// At the end of the turn, as all ends are.
static void take_close(Conn *conn, const UpClose *up) {
  client_of(conn)->code = up->code;
  conn->listed |= LISTED_ENDED;
  list_add(&conn->net->ended, conn);
}

static void hand_up(Conn *conn, const Mail *mail) {
  const NetEvents *events = &conn->net->events;
  void *data = conn->net->data;
  const void *body = mail_body(mail);
  const UpEvent *head = body;
  switch ((EventKind)mail->kind) {
    case UP_PACKET:
    case UP_LOOSE:
      hand_up_packet(conn, body, mail->kind == UP_LOOSE);
      break;
    case UP_LINE: {
      const UpLine *line = body;
      events->line(data, conn->data, (const char *)(line + 1), line->size);
      break;
    }
    case UP_FAULT: {
      const UpFault *fault = body;
      events->fault(data, conn->data, fault->code, (const char *)(fault + 1));
      break;
    }
    case UP_CLOSE:
      take_close(conn, body);
      break;
    default:
      break;
  }
  if (head->is_first && conn->state == CONN_OPEN)
    command(conn, DOWN_RELEASE, HOLD_FIRST);
}

void client_resume(Conn *conn) {
  Client *client = client_of(conn);
  Buf kept = client->kept;
  client->kept = (Buf){0};
  size_t at = 0;
  while (at < kept.size && conn_takes_input(conn)) {
    const Mail *mail = (const Mail *)(kept.data + at);
    at += mail->size;
    hand_up(conn, mail);
  }
  if (conn->state == CONN_OPEN)
    buf_append(&client->kept, kept.data + at, kept.size - at);
  buf_deinit(&kept);
}

static void take_drops(Conn *conn, const UpDrops *up) {
  conn->net->events.drops(conn->net->data, conn->data, up->tag, up->dropped,
                          up->queued);
}

static void take_client_event(const Mail *mail) {
  Client *client = ((const UpEvent *)mail_body(mail))->client;
  Conn *conn = &client->conn;
  bool waits = conn->stops || conn->listed & LISTED_RESUMED || client->kept.size > 0;
  if (conn->state != CONN_OPEN) {
    if (mail->kind == UP_ENDED) retire(client);
  } else if (mail->kind == UP_DROPS) {
    take_drops(conn, mail_body(mail));
  } else if (!waits) {
    hand_up(conn, mail);
  } else if (mail->kind != UP_LOOSE) {
    buf_append(&client->kept, mail, mail->size);
  }
}

static void note_over(Servicers *servicers) {
  if (++servicers->over == servicers->count) uv_unref((uv_handle_t *)&servicers->bell);
}

static void take_event(Servicer *servicer, const Mail *mail) {
  Net *net = servicer->main;
  switch ((EventKind)mail->kind) {
    case UP_LEAVE:
      if (net->servicers->is_deaf) break;
      net->events.leave(net->data, ((const UpLeave *)mail_body(mail))->address);
      break;
    case UP_OPEN:
      open_client(servicer, mail_body(mail));
      break;
    case UP_UDP_OVER:
      udp_free_stub(((const UpUdpOver *)mail_body(mail))->stub);
      break;
    case UP_OVER:
      note_over(net->servicers);
      break;
    default:
      take_client_event(mail);
      break;
  }
}

void servicer_take_events(Servicer *servicer) {
  if (!mailbox_take(&servicer->events)) return;
  size_t at = 0;
  const Mail *mail;
  while ((mail = mailbox_next(&servicer->events, &at))) take_event(servicer, mail);
}
