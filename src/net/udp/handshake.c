// Requests from unknown addresses, and their answers. wire/udp/handshake.c checks the
// rules that concern only the datagram. This file checks the other rules, in the order
// of the table in docs/protocol.md, section 16.
#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/udp/udp_internal.h"

// A request that may make a connection.
typedef struct Request {
  UdpSocket *socket;  // socket of the request and its answer
  const UdpWay *from;
  const UdpOrigin *path;
  UdpRequest *read;
  UdpExtension extension;
} Request;

static void answer(const Request *request, const UdpAnswer *what) {
  UdpServer *server = request->socket->server;
  size_t size = udp_write_answer(egress_room(server), request->read->size, what);
  egress_add(server, request->socket, request->from, size);
}

static void reject(const Request *request, Code code, const char *text) {
  request->socket->server->totals.rejected++;
  answer(
      request,
      &(UdpAnswer){
          .type = UDP_REJECTED, .code = code, .text = text, .retry_s = STOP_RETRY_S});
}

static void accept_entry(const Request *request, const UdpEntry *entry) {
  answer(request,
         &(UdpAnswer){.type = UDP_ACCEPTED,
                      .sequence = entry->sequence,
                      .port = entry->port,
                      .server_key = entry->is_attached ? NULL : entry->server_key});
}

// --- Protocol hashes ---

static bool knows_hash(const Net *net, uint64_t hash) {
  for (uint32_t i = 0; i < net->hash_count; i++)
    if (net->hashes[i] == hash) return true;
  return hash == 0;
}

// --- Connections ---

static bool is_there(UdpEntry *entry) {
  const UdpPeer *peer = udp_peer_of(entry);
  return !peer || peer->conn;
}

// Returns the connection that this request has already made, or NULL.
static UdpEntry *find_made(const Request *request) {
  const UdpExtension *extension = &request->extension;
  bool is_attached = extension->flags & UDP_ATTACH;
  UdpEntry *entry = table_first(&request->socket->server->table, request->path);
  for (; entry; entry = table_next(entry))
    if (is_there(entry) && entry->is_attached == is_attached &&
        memcmp(entry->client_key, extension->client_key, UDP_KEY_SIZE) == 0 &&
        memcmp(entry->cookie, extension->cookie, UDP_COOKIE_SIZE) == 0)
      return entry;
  return NULL;
}

static UdpSocket *emptiest(const UdpServer *server) {
  UdpSocket *best = &server->sockets[0];
  for (uint32_t i = 1; i < server->socket_count; i++)
    if (server->sockets[i].peers < best->peers) best = &server->sockets[i];
  return best;
}

static void init_entry(UdpEntry *entry, const Request *request) {
  entry->server = request->socket->server;
  entry->way = *request->from;
  entry->path = *request->path;
  memcpy(entry->cookie, request->extension.cookie, UDP_COOKIE_SIZE);
  memcpy(entry->client_key, request->extension.client_key, UDP_KEY_SIZE);
  net_random(entry->server->net, &entry->sequence, sizeof entry->sequence);
}

static UdpPeer *make_peer(const Request *request) {
  UdpPeer *peer = mem_zalloc(sizeof *peer);
  init_entry(&peer->entry, request);
  peer->socket = emptiest(peer->entry.server);
  peer->entry.port = peer->socket->port;
  return peer;
}

// Makes the parameters of a link. Both sides know `secret`, and derive the keys from
// it.
static UdpLinkParams make_params(const Request *request, const UdpEntry *entry,
                                 const uint8_t *secret) {
  bool is_attached = request->extension.flags & UDP_ATTACH;
  UdpAgreement agreement = {.secret = secret,
                            .cookie = entry->cookie,
                            .client_key = entry->client_key,
                            .server_key = is_attached ? NULL : entry->server_key};
  UdpLinkParams params = {.first_sent = entry->sequence,
                          .first_received = request->read->sequence,
                          .is_attached = is_attached,
                          .is_unencrypted = request->extension.flags & UDP_PLAIN,
                          .is_stranger = true,
                          .queue_capacity = STAGED_BYTES,
                          .overflow = UDP_DROP_NEWEST};
  udp_keys_derive(&params.keys, UDP_SERVER, &agreement);
  return params;
}

// --- Attaching ---

typedef enum Use { USE_NEW, USE_AGAIN, USE_TOO_MANY } Use;

// Stores the client's key and cookie of an attachment, unless they were used before.
// Using them twice would repeat sequence numbers under the same keys. An entry becomes
// free when its cookie has expired.
static Use note_use(UdpOffer *offer, const UdpExtension *extension, uint64_t now_ms) {
  if (!offer->used) offer->used = mem_zalloc(ATTACH_MAX * sizeof *offer->used);
  Attachment *unused = NULL;
  for (int i = 0; i < ATTACH_MAX; i++) {
    Attachment *used = &offer->used[i];
    if (used->used_ms == 0 || now_ms - used->used_ms > ATTACH_MS) {
      unused = used;
      continue;
    }
    if (memcmp(used->client_key, extension->client_key, UDP_KEY_SIZE) == 0 &&
        memcmp(used->cookie, extension->cookie, UDP_COOKIE_SIZE) == 0)
      return USE_AGAIN;
  }
  if (!unused) return USE_TOO_MANY;
  memcpy(unused->client_key, extension->client_key, UDP_KEY_SIZE);
  memcpy(unused->cookie, extension->cookie, UDP_COOKIE_SIZE);
  unused->used_ms = now_ms;
  return USE_NEW;
}

static void attach(const Request *request) {
  Net *net = request->socket->server->net;
  const UdpExtension *extension = &request->extension;
  UdpOffer *offer = udp_find_offer(request->socket->server, extension->peer);
  Conn *conn = offer ? conn_find(net, offer->conn) : NULL;
  uint8_t key[UDP_KEY_SIZE];
  bool is_offered = conn && conn->state == CONN_OPEN;
  if (is_offered)
    udp_offer_key(request->socket->server->secret, offer->nonce, conn->self.id, key);
  if (!is_offered || !udp_proof_is_good(key, extension->cookie, extension->client_key,
                                        extension->proof)) {
    reject(request, CODE_UNAUTHORIZED,
           "no such peer, or not its key: use peer id and UDP key of the last WELCOME");
    return;
  }
  UdpEntry *made = find_made(request);
  if (made) {
    accept_entry(request, made);
    return;
  }
  switch (note_use(offer, extension, net_now_ms(net))) {
    case USE_AGAIN:
      reject(request, CODE_UNAUTHORIZED,
             "this client key was used before: make a new one for each connection");
      return;
    case USE_TOO_MANY:
      reject(request, CODE_RATE_LIMITED,
             "more than 8 attachments of a peer in 20 s: wait that long");
      return;
    case USE_NEW:
      break;
  }
  if (conn->datagrams) udp_peer_end(udp_of(conn), CODE_REPLACED);
  UdpPeer *peer = make_peer(request);
  UdpLinkParams params = make_params(request, &peer->entry, key);
  udp_join(peer, conn);
  udp_peer_add(peer, &params);
  accept_entry(request, &peer->entry);
}

// --- Alone ---

// Returns the reason to refuse another client by UDP alone, or NULL.
static const char *find_fault(const Request *request, const char *address) {
  const UdpServer *server = request->socket->server;
  uint32_t count = 0;
  UdpEntry *entry = table_first(&server->table, request->path);
  for (; entry; entry = table_next(entry))
    count += !entry->is_attached && is_there(entry);
  if (server->is_stopping) return "the server is shutting down";
  if (count >= LINKS_PER_PATH)
    return "8 connections from your address and port: close one, or take another port";
  return server->net->events.refuse(server->net->data, address);
}

/// The server's private key for one connection, and the secret that both sides derive.
typedef struct Secrets {
  uint8_t own[UDP_KEY_SIZE], shared[UDP_KEY_SIZE];
} Secrets;

static void open_here(const Request *request, const Secrets *secrets,
                      const ConnInfo *info) {
  UdpPeer *peer = make_peer(request);
  Conn *conn = udp_conn_new(peer);
  if (!conn) {
    mem_free(peer);
    reject(request, CODE_SERVER_FULL, "the server is full");
    return;
  }
  udp_public_key(secrets->own, peer->entry.server_key);
  UdpLinkParams params = make_params(request, &peer->entry, secrets->shared);
  udp_peer_add(peer, &params);
  accept_entry(request, &peer->entry);
  conn_open(conn, info);
}

static void open_at(Remote *remote, const Request *request, const Secrets *secrets,
                    const ConnInfo *info) {
  const UdpServer *server = request->socket->server;
  const char *why = server->net->events.enter(server->net->data, info->address);
  if (why) {
    reject(request, CODE_SERVER_FULL, why);
    return;
  }
  UdpProxy *proxy = mem_zalloc(sizeof *proxy);
  init_entry(&proxy->entry, request);
  proxy->entry.remote = remote;
  proxy->entry.port = server->remote_ports[remote->index];
  udp_public_key(secrets->own, proxy->entry.server_key);
  UdpLinkParams params = make_params(request, &proxy->entry, secrets->shared);
  udp_hand_over(proxy, &params, info);
  accept_entry(request, &proxy->entry);
}

static void come_alone(const Request *request) {
  UdpEntry *made = find_made(request);
  if (made) {
    accept_entry(request, made);
    return;
  }
  ConnInfo info = {.framing = FRAMING_PACKETS};
  address_text(&request->from->remote, info.address);
  info.port = address_port(&request->from->remote);
  Net *net = request->socket->server->net;
  if (!net_may_accept(net)) return;  // the client sends its request again
  if (!net_accepts(net, &info)) return;
  const char *why = find_fault(request, info.address);
  if (why) {
    bool is_stopping = request->socket->server->is_stopping;
    reject(request, is_stopping ? CODE_UNAVAILABLE : CODE_SERVER_FULL, why);
    return;
  }
  Secrets secrets;
  net_random(net, secrets.own, sizeof secrets.own);
  if (!udp_shared_secret(secrets.own, request->extension.client_key, secrets.shared)) {
    reject(request, CODE_PROTOCOL,
           "this client key gives no secret: make an X25519 key pair");
    return;
  }
  Remote *remote = net_pick_remote(net);
  if (remote)
    open_at(remote, request, &secrets, &info);
  else
    open_here(request, &secrets, &info);
}

// --- Requests ---

static void challenge(const Request *request) {
  UdpServer *server = request->socket->server;
  uint8_t cookie[UDP_COOKIE_SIZE];
  udp_cookie_make(&server->cookies, request->path, request->read->hash, cookie);
  server->totals.challenged++;
  answer(request, &(UdpAnswer){.type = UDP_CHALLENGE, .cookie = cookie});
}

void udp_handshake(UdpSocket *socket, const UdpWay *from, const UdpOrigin *path,
                   const uint8_t *bytes, size_t size) {
  UdpServer *server = socket->server;
  Net *net = server->net;
  UdpRequest read;
  if (udp_read_request(bytes, size, &read) < 0) {
    server->totals.refused++;
    return;
  }
  Request request = {.socket = socket, .from = from, .path = path, .read = &read};
  UdpDoor door = {.cookies = &server->cookies,
                  .is_hash_good = knows_hash(net, read.hash),
                  .allows_plain = net->limits.allows_plain_udp};
  UdpFault fault;
  udp_cookies_rotate(&server->cookies, net_clock_us(net));
  switch (udp_judge(&door, &read, path, &request.extension, &fault)) {
    case UDP_CHALLENGE:
      challenge(&request);
      break;
    case UDP_REJECTED:
      reject(&request, fault.code, fault.text);
      break;
    case UDP_ACCEPTED:
      if (request.extension.flags & UDP_ATTACH)
        attach(&request);
      else
        come_alone(&request);
      break;
  }
}
