// The internal header of UDP. A UdpPeer is a connection by UDP as the table knows it. One that this
// Net serves has a link (wire/udp/link.h), which knows no sockets, and the way to the other side.
// It belongs to a Conn, alone or attached, until that ends; then it stays for a while to repeat
// its CLOSE. One that a remote serves is a proxy (proxy.c).
#pragma once

#include <stddef.h>

#include "net/address.h"
#include "net/conn.h"
#include "net/udp.h"
#include "net/udp/udp_calls.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

enum {
  SOCKET_BYTES = 4 << 20,  // asked for as the kernel's buffer, each way
  LINKS_PER_PATH = 8,      // connections alone from one address and port
  ATTACH_MAX = 8,          // attachments of one connection
  ATTACH_MS = 2 * UDP_COOKIE_SLOT_S * 1000,  // in this time: no cookie lives longer
  // Of packets handed to a link before their turn; what is handed over cannot be dropped
  // any more.
  STAGED_BYTES = 4 * UDP_DATAGRAM_MAX,
  OVER_MS = 3000,        // how long CLOSE is repeated,
  OVER_MAX = 1024,       // for so many connections at a time
  PATH_CHECK_MS = 1000,  // from one PATH_CHALLENGE to the next
};

typedef struct UdpPeer UdpPeer;
typedef struct Egress Egress;    // see egress.c
typedef struct Ingress Ingress;  // see ports.c

/// The way of a datagram: where the other side is, and which of this host's addresses it
/// knows; answers go out from that one.
typedef struct UdpWay {
  SocketAddress remote;
  struct in6_addr local;  // zeros: the socket has one address only
} UdpWay;

/// What the kernel tells of a message, or is told: an address and the size of segments.
typedef struct ControlRoom {
  _Alignas(struct cmsghdr) uint8_t bytes[64];
} ControlRoom;

typedef struct UdpSocket {
  uv_poll_t poll;  // its data is the socket
  UdpServer *server;
  int fd;
  uint16_t port;
  uint8_t family;       // when it is bound to all addresses of the host; else AF_UNSPEC
  uint32_t peers;       // connections that were given this port
  int32_t first, last;  // of its datagrams in the egress; -1: none
} UdpSocket;

/// The first connections of two chains.
typedef struct UdpBucket {
  UdpPeer *by_path, *by_channel;
} UdpBucket;

/// Connections by where they are and by their channel.
typedef struct UdpTable {
  UdpBucket *buckets;
  uint32_t mask, count;
  uint64_t key[2];
} UdpTable;

struct UdpPeer {
  Transport transport;  // of a conn that is alone
  Datagrams datagrams;
  UdpServer *server;
  UdpSocket *socket;
  Remote
      *remote;  // serves the connection; this is a proxy, without socket, conn and link
  bool is_entered;  // a proxy whose events.leave is due
  UdpPeer *proxy;   // of this one, owned by the Net behind net->home; NULL: none
  Conn *conn;       // NULL: it has ended
  UdpLink *link;
  UdpWay way;
  UdpOrigin path;  // its remote end
  uint8_t channel[UDP_CHANNEL_SIZE];
  bool is_attached;   // else alone
  bool is_touched;    // in server->touched
  bool passes;        // datagrams get through; always so when alone
  bool is_writing;    // `left` bytes at `rest`, or only the news that they are out
  bool is_shut;       // CLOSE follows what the stream still holds
  uint16_t sequence;  // as told in ACCEPTED
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t server_key[UDP_KEY_SIZE];  // when alone
  UdpPeer *next_path, *next_channel;
  const uint8_t *rest;
  size_t left;
  UdpWay asked;        // got PATH_CHALLENGE with this value
  uint64_t challenge;  // 0: none
  uint64_t challenged_ms;
  uint64_t over_ms;  // when it is freed; 0: it has not ended
  Timer timer;
};

/// A key that was used to attach.
typedef struct Attachment {
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint64_t used_ms;
} Attachment;

/// The connection that the peer of a number may attach to.
typedef struct UdpOffer {
  uint32_t peer;
  ConnId conn;
  uint64_t nonce;    // of its key
  Attachment *used;  // ATTACH_MAX keys that were used so far; NULL: none
} UdpOffer;

/// Where a Net serves UDP.
typedef struct UdpPlace {
  int fd;
  uint16_t port;
  uint8_t family;  // as UdpSocket has it
  uint8_t secret[UDP_KEY_SIZE];
} UdpPlace;

struct UdpServer {
  NetPart part;
  Net *net;
  UdpSocket *sockets;
  uint32_t socket_count;
  uint32_t alone_count;    // conns that are
  uint16_t *remote_ports;  // of the remotes, to attach to
  bool is_stopping;
  bool has_segments;  // the kernel cuts one buffer into datagrams
  UdpTable table;
  List touched;                  // peers to be looked at when the iteration ends
  List closing;                  // peers whose conns are freed then
  uint32_t over_count;           // peers that have ended
  uint8_t secret[UDP_KEY_SIZE];  // of keys to attach with
  UdpOffer *offers;              // by the index of the peer's number
  uint32_t offer_capacity;
  UdpCookies cookies;
  UdpTotals totals;  // without losses of the connections that are there,
  UdpTotals losses;  // which were looked at last at
  uint64_t losses_ms;
  Buf input;  // stream bytes while they are handed up
  Egress *egress;
  Ingress *ingress;
};

// --- table.c ---

/// `from` in the form that the table goes by, one for both families.
void origin_of(const SocketAddress *from, UdpOrigin *origin);
bool origin_is_same(const UdpOrigin *a, const UdpOrigin *b);
void table_init(UdpTable *table, Net *net);
void table_deinit(UdpTable *table);
void table_add(UdpTable *table, UdpPeer *peer);
void table_remove(UdpTable *table, UdpPeer *peer);
/// The first connection at `path`, and the one after `peer`; or NULL.
UdpPeer *table_first(const UdpTable *table, const UdpOrigin *path);
UdpPeer *table_next(const UdpPeer *peer);
/// The same by channel.
UdpPeer *table_first_of(const UdpTable *table, const uint8_t channel[UDP_CHANNEL_SIZE]);
UdpPeer *table_next_of(const UdpPeer *peer);
/// Any that is in it, or NULL.
UdpPeer *table_any(const UdpTable *table);
/// Calls `visit` with each; it changes nothing of the table.
void table_visit(const UdpTable *table, void (*visit)(void *data, const UdpPeer *peer),
                 void *data);

// --- offer.c ---

/// As EndpointOps.udp_offer.
uint16_t udp_offer(Conn *conn, uint32_t peer, uint64_t nonce);

/// What the peer may attach to, or NULL.
UdpOffer *udp_find_offer(const UdpServer *server, uint32_t peer);
void udp_free_offers(UdpServer *server);

// --- proxy.c ---

/// Hands a connection that is alone to the remote of `proxy`.
void udp_hand_over(UdpPeer *proxy, const UdpLinkParams *params, const ConnInfo *info);
/// Has the home of `net` free its proxy.
void udp_proxy_is_over(const Net *net, UdpPeer *proxy);
void udp_free_proxy(UdpPeer *proxy);

// --- egress.c ---

Egress *egress_new(void);
/// Where the next datagram may be written, UDP_DATAGRAM_MAX bytes.
uint8_t *egress_room(UdpServer *server);
/// Queues `size` bytes that were written there.
void egress_add(UdpServer *server, UdpSocket *socket, const UdpWay *to, size_t size);
/// Hands all to the kernel.
void egress_send(UdpServer *server);

// --- local.c ---

/// Has datagrams that come at a socket tell which address they came to.
void local_ask(const UdpSocket *socket);
/// The address that a datagram came to; zeros where it does not tell.
struct in6_addr local_of(struct msghdr *message);
/// Has a datagram go out from `local`: writes that at the beginning of `control` and returns
/// the bytes that this took, 0 where there is no choice.
size_t local_put(const UdpSocket *socket, const struct in6_addr *local,
                 ControlRoom *control);

// --- handshake.c ---

/// A datagram that begins with three zero bytes.
void udp_handshake(UdpSocket *socket, const UdpWay *from, const UdpOrigin *path,
                   const uint8_t *bytes, size_t size);

// --- figures.c ---

/// As NetPartOps.add_counters.
void udp_add_counters(const NetPart *part, NetCounters *counters);

// --- peer.c ---

/// The peer of a conn, or NULL.
static inline UdpPeer *udp_of(const Conn *conn) {
  if (!conn->datagrams) return NULL;
  return (UdpPeer *)((char *)conn->datagrams - offsetof(UdpPeer, datagrams));
}

/// The conn has the datagrams of the peer from now on.
void udp_join(UdpPeer *peer, Conn *conn);

/// Puts a peer whose address, path, keys and numbers are filled in into the table.
void udp_peer_add(UdpPeer *peer, const UdpLinkParams *params);
/// What a conn that closes says to the other side.
Code udp_end_code(const Conn *conn);
/// The connection is over, and is told so with `code`.
void udp_peer_end(UdpPeer *peer, Code code);
void udp_peer_free(UdpPeer *peer);
/// A datagram for the peer; false when it was not authentic. `path` is where it comes from.
bool udp_peer_receive(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path,
                      uint8_t *bytes, size_t size);
bool udp_is_alone(const Conn *conn);
/// A Conn for a peer that is alone; NULL when there are too many. Reported by conn_open.
Conn *udp_conn_new(UdpPeer *peer);
/// Does what is to be done at the end of an iteration; returns whether something was handed up.
bool udp_peer_serve(UdpPeer *peer);
/// It is served when the iteration ends.
void udp_touch(UdpPeer *peer);
