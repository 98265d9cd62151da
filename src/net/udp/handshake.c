// Requests from unknown addresses, and their answers. wire/udp/handshake.c checks a
// datagram alone. This file checks the other rules, in the order of the table in
// docs/protocol.md, section 16.
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

static uint16_t port_of(const UdpPeer *peer) {
  return peer->remote ? peer->server->remote_ports[peer->remote->index]
                      : peer->socket->port;
}

static void accept_peer(const Request *request, const UdpPeer *peer) {
  answer(request,
         &(UdpAnswer){.type = UDP_ACCEPTED,
                      .sequence = peer->sequence,
                      .port = port_of(peer),
                      .server_key = peer->is_attached ? NULL : peer->server_key});
}

// --- Protocol hashes ---

static bool knows_hash(const Net *net, uint64_t hash) {
  for (uint32_t i = 0; i < net->hash_count; i++)
    if (net->hashes[i] == hash) return true;
  return hash == 0;
}

// --- Connections ---

static bool is_there(const UdpPeer *peer) { return peer->conn || peer->remote; }

// Returns the connection that this request has already made, or NULL.
static UdpPeer *find_made(const Request *request) {
  const UdpExtension *extension = &request->extension;
  bool is_attached = extension->flags & UDP_ATTACH;
  UdpPeer *peer = table_first(&request->socket->server->table, request->path);
  for (; peer; peer = table_next(peer))
    if (is_there(peer) && peer->is_attached == is_attached &&
        memcmp(peer->client_key, extension->client_key, UDP_KEY_SIZE) == 0 &&
        memcmp(peer->cookie, extension->cookie, UDP_COOKIE_SIZE) == 0)
      return peer;
  return NULL;
}

static UdpSocket *emptiest(const UdpServer *server) {
  UdpSocket *best = &server->sockets[0];
  for (uint32_t i = 1; i < server->socket_count; i++)
    if (server->sockets[i].peers < best->peers) best = &server->sockets[i];
  return best;
}

static UdpPeer *make_peer(const Request *request) {
  UdpServer *server = request->socket->server;
  UdpPeer *peer = mem_zalloc(sizeof *peer);
  peer->server = server;
  if (!(request->extension.flags & UDP_ATTACH))
    peer->remote = net_pick_remote(server->net);
  if (!peer->remote) peer->socket = emptiest(server);
  peer->way = *request->from;
  peer->path = *request->path;
  memcpy(peer->cookie, request->extension.cookie, UDP_COOKIE_SIZE);
  memcpy(peer->client_key, request->extension.client_key, UDP_KEY_SIZE);
  net_random(server->net, &peer->sequence, sizeof peer->sequence);
  return peer;
}

// `secret` is known to both sides; `info` describes a client by UDP alone.
static void add_peer(const Request *request, UdpPeer *peer, const uint8_t *secret,
                     const ConnInfo *info) {
  bool is_attached = request->extension.flags & UDP_ATTACH;
  UdpAgreement agreement = {.secret = secret,
                            .cookie = peer->cookie,
                            .client_key = peer->client_key,
                            .server_key = is_attached ? NULL : peer->server_key};
  UdpLinkParams params = {.first_sent = peer->sequence,
                          .first_received = request->read->sequence,
                          .is_attached = is_attached,
                          .is_unencrypted = request->extension.flags & UDP_PLAIN,
                          .is_stranger = true,
                          .queue_capacity = STAGED_BYTES,
                          .overflow = UDP_DROP_NEWEST};
  udp_keys_derive(&params.keys, UDP_SERVER, &agreement);
  if (peer->remote)
    udp_hand_over(peer, &params, info);
  else
    udp_peer_add(peer, &params);
}

// --- Attaching ---

typedef enum Use { USE_NEW, USE_AGAIN, USE_TOO_MANY } Use;

// Stores the keys of an attachment. They must not be used twice, because sequence
// numbers would repeat. An entry becomes free when the cookies of its time have
// expired.
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
  UdpPeer *peer = find_made(request);
  if (peer) {
    accept_peer(request, peer);
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
  peer = make_peer(request);
  udp_join(peer, conn);
  add_peer(request, peer, key, NULL);
  accept_peer(request, peer);
}

// --- Alone ---

// Returns why another client by UDP alone is refused, or NULL.
static const char *find_fault(const Request *request, const char *address) {
  const UdpServer *server = request->socket->server;
  uint32_t count = 0;
  const UdpPeer *peer = table_first(&server->table, request->path);
  for (; peer; peer = table_next(peer)) count += !peer->is_attached && is_there(peer);
  if (server->is_stopping) return "the server is shutting down";
  if (count >= LINKS_PER_PATH)
    return "8 connections from your address and port: close one, or take another port";
  return server->net->events.refuse(server->net->data, address);
}

static void open_conn(const Request *request, UdpPeer *peer, const uint8_t *secret,
                      const ConnInfo *info) {
  const Net *net = peer->server->net;
  Conn *conn = peer->remote ? NULL : udp_conn_new(peer);
  const char *why = conn ? NULL : "the server is full";
  if (peer->remote) why = net->events.enter(net->data, info->address);
  if (why) {
    mem_free(peer);
    reject(request, CODE_SERVER_FULL, why);
    return;
  }
  add_peer(request, peer, secret, info);
  accept_peer(request, peer);
  if (conn) conn_open(conn, info);
}

static void come_alone(const Request *request) {
  UdpPeer *peer = find_made(request);
  if (peer) {
    accept_peer(request, peer);
    return;
  }
  ConnInfo info = {.framing = FRAMING_PACKETS};
  address_text(&request->from->remote, info.address);
  const char *why = find_fault(request, info.address);
  if (why) {
    bool is_stopping = request->socket->server->is_stopping;
    reject(request, is_stopping ? CODE_UNAVAILABLE : CODE_SERVER_FULL, why);
    return;
  }
  uint8_t own[UDP_KEY_SIZE], secret[UDP_KEY_SIZE];
  net_random(request->socket->server->net, own, sizeof own);
  if (!udp_shared_secret(own, request->extension.client_key, secret)) {
    reject(request, CODE_PROTOCOL,
           "this client key gives no secret: make an X25519 key pair");
    return;
  }
  peer = make_peer(request);
  udp_public_key(own, peer->server_key);
  open_conn(request, peer, secret, &info);
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
