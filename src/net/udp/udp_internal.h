// The internal header of UDP. A UdpPeer is a connection by UDP as the table knows it. One that this
// Net serves has a link (wire/udp/link.h), which knows no sockets, and the way to the other side.
// It belongs to a Conn, alone or attached, until that ends; then it stays for a while to repeat
// its CLOSE. One that a remote serves is a proxy (proxy.c).
#pragma once

#include <stddef.h>

#include "net/address.h"
#include "net/conn.h"
#include "net/udp.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

enum {
  SOCKET_BYTES = 4 << 20,  // of the kernel's buffers, each way
  LINKS_PER_PATH = 8,      // connections alone from one address and port
  ATTACH_MAX = 8,          // attachments of one connection
  ATTACH_MS =
      2 * UDP_COOKIE_SLOT_S * 1000,  // in this time, the longest life of a cookie
  // Bytes of packets that a link gets before it can send them; overflow cannot drop them.
  STAGED_BYTES = 4 * UDP_DATAGRAM_MAX,
  OVER_MS = 3000,        // time in which CLOSE is repeated,
  OVER_MAX = 1024,       // for this many connections at a time
  PATH_CHECK_MS = 1000,  // from one PATH_CHALLENGE to the next
};

typedef struct UdpPeer UdpPeer;
typedef struct Egress Egress;    // see egress.c
typedef struct Ingress Ingress;  // see ports.c

/// The way of a datagram: the other side's address, and the one of this host that it uses, from
/// which answers leave.
typedef struct UdpWay {
  SocketAddress remote;
  struct in6_addr local;  // zeros: the socket has one address only
} UdpWay;

/// Room for the control data of a message: an address and the size of segments.
typedef struct ControlRoom {
  _Alignas(struct cmsghdr) uint8_t bytes[64];
} ControlRoom;

typedef struct UdpSocket {
  uv_poll_t poll;  // its data is the socket
  UdpServer *server;
  int fd;
  uint16_t port;
  uint8_t family;  // where it is bound to all addresses of the host; else AF_UNSPEC
  uint32_t peers;  // connections at this port
  int32_t first, last;  // indexes of its datagrams in the egress; -1: none
} UdpSocket;

/// The first connections of two chains.
typedef struct UdpBucket {
  UdpPeer *by_path, *by_channel;
} UdpBucket;

/// Connections by address and by channel.
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
  UdpOrigin path;  // of way.remote
  uint8_t channel[UDP_CHANNEL_SIZE];
  bool is_attached;  // else alone
  bool is_touched;   // in server->touched
  bool passes;       // datagrams get through; always so when alone
  bool is_writing;   // `left` bytes at `rest` are to be written, or reported as written
  bool is_shut;      // CLOSE follows the rest of the stream
  uint16_t sequence;  // of ACCEPTED
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t server_key[UDP_KEY_SIZE];  // when alone
  UdpPeer *next_path, *next_channel;
  const uint8_t *rest;
  size_t left;
  UdpWay asked;        // that got PATH_CHALLENGE with the next value
  uint64_t challenge;  // 0: none
  uint64_t challenged_ms;
  uint64_t over_ms;  // time to free it, monotonic; 0: it has not ended
  Timer timer;
};

/// A key that was used to attach.
typedef struct Attachment {
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint64_t used_ms;
} Attachment;

/// The connection that a peer may attach to.
typedef struct UdpOffer {
  uint32_t peer;
  ConnId conn;
  uint64_t nonce;    // of its key
  Attachment *used;  // owned: ATTACH_MAX used keys; NULL: none
} UdpOffer;

/// A bound port, which another Net is to serve.
typedef struct UdpPort {
  int fd;
  uint16_t port;
  uint8_t family;  // of UdpSocket
  uint8_t secret[UDP_KEY_SIZE];
} UdpPort;

struct UdpServer {
  NetPart part;
  Net *net;
  UdpSocket *sockets;
  uint32_t socket_count;
  uint32_t alone_count;    // conns that are
  uint16_t *remote_ports;  // of the remotes, owned
  bool is_stopping;
  bool has_segments;  // the kernel cuts one buffer into datagrams
  UdpTable table;
  List touched;                  // peers to be served when the iteration ends
  List closing;                  // peers whose conns are freed then
  uint32_t over_count;           // peers that have ended
  uint8_t secret[UDP_KEY_SIZE];  // of keys to attach with
  UdpOffer *offers;              // by the index of the peer's number
  uint32_t offer_capacity;
  UdpCookies cookies;
  UdpTotals totals;  // without losses of current connections,
  UdpTotals losses;  // losses of current connections when they were last summed
  uint64_t losses_ms;
  Buf input;  // stream bytes while they are handed up
  Egress *egress;
  Ingress *ingress;
};

// --- table.c ---

/// Converts an address to the key of the table, the same for both families.
void origin_of(const SocketAddress *from, UdpOrigin *origin);
bool origin_is_same(const UdpOrigin *a, const UdpOrigin *b);
void table_init(UdpTable *table, Net *net);
void table_deinit(UdpTable *table);
void table_add(UdpTable *table, UdpPeer *peer);
void table_remove(UdpTable *table, UdpPeer *peer);
/// Return the first connection at `path`, and the one after `peer`; or NULL.
UdpPeer *table_first(const UdpTable *table, const UdpOrigin *path);
UdpPeer *table_next(const UdpPeer *peer);
/// Return the same by channel.
UdpPeer *table_first_of(const UdpTable *table, const uint8_t channel[UDP_CHANNEL_SIZE]);
UdpPeer *table_next_of(const UdpPeer *peer);
/// Returns any connection in it, or NULL.
UdpPeer *table_any(const UdpTable *table);
/// Calls `visit` with each, which must not change the table.
void table_visit(const UdpTable *table, void (*visit)(void *data, const UdpPeer *peer),
                 void *data);

// --- offer.c ---

/// As EndpointOps.udp_offer.
uint16_t udp_offer(Conn *conn, uint32_t peer, uint64_t nonce);

/// Returns the offer to a peer, or NULL.
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
/// Returns UDP_DATAGRAM_MAX bytes of room for the next datagram.
uint8_t *egress_room(UdpServer *server);
/// Queues `size` bytes that the caller wrote there.
void egress_add(UdpServer *server, UdpSocket *socket, const UdpWay *to, size_t size);
/// Hands all datagrams to the kernel.
void egress_send(UdpServer *server);

// --- local.c ---

/// Has the kernel tell the address that a datagram came to.
void local_ask(const UdpSocket *socket);
/// Returns that address; zeros where it is unknown.
struct in6_addr local_of(struct msghdr *message);
/// Writes to `control` that a datagram leaves from `local`; returns the bytes that it used, 0 where
/// the host has one address.
size_t local_put(const UdpSocket *socket, const struct in6_addr *local,
                 ControlRoom *control);

// --- handshake.c ---

/// Handles a datagram that begins with three zero bytes.
void udp_handshake(UdpSocket *socket, const UdpWay *from, const UdpOrigin *path,
                   const uint8_t *bytes, size_t size);

// --- peer.c ---

/// Returns the peer of a conn, or NULL.
static inline UdpPeer *udp_of(const Conn *conn) {
  if (!conn->datagrams) return NULL;
  return (UdpPeer *)((char *)conn->datagrams - offsetof(UdpPeer, datagrams));
}

/// Gives the conn the datagrams of the peer.
void udp_join(UdpPeer *peer, Conn *conn);

/// Adds a peer, with address, path, keys and numbers, to the table.
void udp_peer_add(UdpPeer *peer, const UdpLinkParams *params);
/// Returns the code of CLOSE for a closing conn.
Code udp_end_code(const Conn *conn);
/// Ends the connection with CLOSE and `code`.
void udp_peer_end(UdpPeer *peer, Code code);
void udp_peer_free(UdpPeer *peer);
/// Handles a datagram from `path`; returns false when it was not authentic.
bool udp_peer_receive(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path,
                      uint8_t *bytes, size_t size);
bool udp_is_alone(const Conn *conn);
/// Makes a Conn for a peer that is alone, which conn_open reports; NULL when there are too many.
Conn *udp_conn_new(UdpPeer *peer);
/// Serves a peer at the end of an iteration; returns whether it handed something up.
bool udp_peer_serve(UdpPeer *peer);
/// Has the peer served when the iteration ends.
void udp_touch(UdpPeer *peer);
