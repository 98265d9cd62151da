// What the main thread wants of a servicer, done with its own Net.
#include <openssl/ssl.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/io_threads/udp.h"

// --- Connections ---

static void adopt(Servicer *servicer, const DownAdopt *down) {
  servicer->refusal = down->refusal;
  servicer->adopted++;
  bool is_here = tcp_adopt(servicer->net, down->fd, &down->info);
  bool has_entered = down->info.framing == FRAMING_SNIFF && !down->refusal;
  if (!is_here && has_entered) servicer_tell_leave(servicer, down->info.address);
}

static void write_out(Servicer *servicer, const DownWrite *down) {
  Out out = {.parts = {down + 1},
             .sizes = {down->size},
             .priority = down->priority,
             .flags = down->flags,
             .key = down->key};
  net_write(servicer->net, down->conn, &out);
}

static void end(Servicer *servicer, const DownEnd *down) {
  Conn *conn = conn_find(servicer->net, down->conn);
  if (!conn) return;
  Client *client = conn->data;
  if (down->is_told)
    conn_close(conn);
  else
    net_end(servicer->net, down->conn, down->code,
            down->has_text ? (const char *)(down + 1) : NULL);
  if (down->is_refused) conn_limit_refused(conn);
  servicer_tell_ended(servicer, client);
}

static void hold(Servicer *servicer, const DownConn *down) {
  Conn *conn = conn_find(servicer->net, down->conn);
  if (conn) servicer_hold(conn, conn->data, (Hold)down->value);
}

static void release(Servicer *servicer, const DownConn *down) {
  Conn *conn = conn_find(servicer->net, down->conn);
  if (conn) servicer_release(conn, conn->data, (Hold)down->value);
}

// --- Groups ---

// Where the servicer's own id of one of the main thread's groups is.
static GroupId *place_of(Servicer *servicer, GroupId group) {
  uint32_t index = group & SLOTS_MAX;
  servicer->group_capacity = array_reach(&servicer->groups, servicer->group_capacity,
                                         sizeof *servicer->groups, index);
  return &servicer->groups[index];
}

static void close_group(Servicer *servicer, const DownGroup *down) {
  GroupId *place = place_of(servicer, down->group);
  net_group_close(servicer->net, *place);
  *place = 0;
}

static void write_group(Servicer *servicer, const DownGroupWrite *down) {
  const ConnId *except = (const ConnId *)(down + 1);
  Out out = {.parts = {except + down->except_count},
             .sizes = {down->size},
             .priority = down->priority,
             .flags = down->flags,
             .key = down->key};
  net_group_write(servicer->net, *place_of(servicer, down->group), &out, except,
                  down->except_count);
}

static void run_group(Servicer *servicer, CommandKind kind, const DownGroup *down) {
  Net *net = servicer->net;
  switch (kind) {
    case DOWN_GROUP_OPEN:
      *place_of(servicer, down->group) = net_group_open(net, down->value);
      break;
    case DOWN_GROUP_CLOSE:
      close_group(servicer, down);
      break;
    case DOWN_JOIN:
      net_group_join(net, *place_of(servicer, down->group), down->value);
      break;
    default:
      net_group_leave(net, *place_of(servicer, down->group), down->value);
      break;
  }
}

// --- What all connections have in common ---

static const char *take_text(const char **at, bool is_there) {
  if (!is_there) return NULL;
  const char *text = *at;
  *at += strlen(text) + 1;
  return text;
}

static void set_web(Servicer *servicer, const DownWeb *down) {
  const char *at = (const char *)(down + 1);
  WebOptions options = {.modules = down->modules, .is_watched = down->is_watched};
  options.name = take_text(&at, down->has_name);
  options.folder = take_text(&at, down->has_folder);
  options.origins = take_text(&at, down->has_origins);
  options.hosts = take_text(&at, down->has_hosts);
  net_set_web(servicer->net, &options);
}

static void set_schema(Servicer *servicer, const DownSchema *down) {
  net_set_schema(servicer->net, (const char *)(down + 1), down->size);
}

static void set_hashes(Servicer *servicer, const DownHashes *down) {
  net_set_hashes(servicer->net, down->hashes, down->count);
}

static void offer(Servicer *servicer, const DownOffer *down) {
  Conn *conn = conn_find(servicer->net, down->conn);
  if (conn && udp_is_alone(conn))
    udp_link_trust(conn->udp->link);
  else if (conn)
    udp_note_offer(servicer->net, conn, down->peer, down->nonce);
}

static void run_shared(Servicer *servicer, CommandKind kind, const void *body) {
  switch (kind) {
    case DOWN_LIMITS:
      net_set_limits(servicer->net, body);
      break;
    case DOWN_WEB:
      set_web(servicer, body);
      break;
    case DOWN_SCHEMA:
      set_schema(servicer, body);
      break;
    case DOWN_HASHES:
      set_hashes(servicer, body);
      break;
    case DOWN_UDP:
      udp_take_place(servicer->net, body);
      break;
    case DOWN_UDP_PEER:
      udp_take_peer(servicer->net, body);
      break;
    default:
      tls_use_share(servicer->net, body);
      break;
  }
}

// --- All of them ---

// What is left of the loop is what keeps it running.
static void stop(Servicer *servicer) {
  net_stop(servicer->net);
  uv_unref((uv_handle_t *)&servicer->bell);
}

static void run_command(Servicer *servicer, const Mail *mail) {
  const void *body = mail_body(mail);
  const DownConn *conn = body;
  switch ((CommandKind)mail->kind) {
    case DOWN_ADOPT:
      adopt(servicer, body);
      break;
    case DOWN_WRITE:
      write_out(servicer, body);
      break;
    case DOWN_END:
      end(servicer, body);
      break;
    case DOWN_HOLD:
      hold(servicer, conn);
      break;
    case DOWN_RELEASE:
      release(servicer, conn);
      break;
    case DOWN_MAX_PAYLOAD:
      net_set_max_payload(servicer->net, conn->conn, conn->value);
      break;
    case DOWN_GROUP_OPEN:
    case DOWN_GROUP_CLOSE:
    case DOWN_JOIN:
    case DOWN_LEAVE:
      run_group(servicer, (CommandKind)mail->kind, body);
      break;
    case DOWN_GROUP_WRITE:
      write_group(servicer, body);
      break;
    case DOWN_LIMITS:
    case DOWN_WEB:
    case DOWN_SCHEMA:
    case DOWN_HASHES:
    case DOWN_UDP:
    case DOWN_UDP_PEER:
    case DOWN_TLS:
      run_shared(servicer, (CommandKind)mail->kind, body);
      break;
    case DOWN_OFFER:
      offer(servicer, body);
      break;
    case DOWN_TURN:
      flush_turn(servicer->net);
      break;
    case DOWN_STOP:
      stop(servicer);
      break;
    case DOWN_QUIT:
      uv_stop(&servicer->net->loop.uv);
      break;
  }
}

void servicer_run_commands(Servicer *servicer) {
  if (!mailbox_take(&servicer->commands)) return;
  size_t at = 0;
  const Mail *mail;
  while ((mail = mailbox_next(&servicer->commands, &at))) run_command(servicer, mail);
}

void servicer_drop_commands(Servicer *servicer) {
  mailbox_take(&servicer->commands);
  size_t at = 0;
  const Mail *mail;
  while ((mail = mailbox_next(&servicer->commands, &at))) {
    const void *body = mail_body(mail);
    if (mail->kind == DOWN_ADOPT) close(((const DownAdopt *)body)->fd);
    if (mail->kind == DOWN_UDP) close(((const UdpPlace *)body)->fd);
    if (mail->kind == DOWN_TLS) tls_drop_share(body);
  }
}
