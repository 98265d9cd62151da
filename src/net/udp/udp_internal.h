// The internal header of UDP. The table has a UdpEntry for each connection by UDP. The
// entry is a UdpPeer if this Net serves the connection, and a UdpProxy (proxy.c) if a
// remote does. A UdpPeer has a link (wire/udp/link.h), which does not use sockets, and
// the way to the other side. It belongs to a Conn, alone or attached. After the end of
// the Conn, the UdpPeer stays for a while to repeat its CLOSE.
#pragma once

#include <stddef.h>

#include "net/address.h"
#include "net/conn.h"
#include "net/udp.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

enum {
  SOCKET_BYTES = 4 << 20,  // size of each of the kernel's two buffers
  LINKS_PER_PATH = 8,      // connections by UDP alone from one address and port
  ATTACH_MAX = 8,          // attachments of one connection in ATTACH_MS
  ATTACH_MS = 2 * UDP_COOKIE_SLOT_S * 1000,  // longest life of a cookie
  // Bytes of packets that may wait in a link. Overflow of the backlog cannot drop these
  // bytes.
  STAGED_BYTES = 4 * UDP_DATAGRAM_MAX,
  OVER_MS = 3000,        // time in which CLOSE is repeated
  OVER_MAX = 1024,       // ended connections that repeat CLOSE at a time
  PATH_CHECK_MS = 1000,  // interval between two PATH_CHALLENGEs
};

typedef struct UdpEntry UdpEntry;
typedef struct UdpPeer UdpPeer;
typedef struct UdpProxy UdpProxy;
typedef struct Egress Egress;    // egress.c
typedef struct Ingress Ingress;  // ports.c

/// The two addresses of a datagram: the other side's address, and the address of this
/// host that the other side uses. Answers must leave from this host's address.
typedef struct UdpWay {
  SocketAddress remote;
  struct in6_addr local;  // address of this host; zeros: the socket has only one
                          // address
} UdpWay;

/// Room for the control data of a message: an address and the size of segments.
typedef struct ControlRoom {
  _Alignas(struct cmsghdr) uint8_t bytes[64];
} ControlRoom;

typedef struct UdpSocket {
  uv_poll_t poll;  // handle, whose data is the socket
  UdpServer *server;
  int fd;
  uint16_t port;
  uint8_t family;  // address family if the socket is bound to all addresses; otherwise
                   // AF_UNSPEC
  uint32_t peers;  // connections at this port
  int32_t first, last;  // indexes of the socket's datagrams in the egress; -1: none
} UdpSocket;

/// The first connections of two lists, by address and by channel.
typedef struct UdpBucket {
  UdpEntry *by_path, *by_channel;
} UdpBucket;

/// Connections by address and by channel.
typedef struct UdpTable {
  UdpBucket *buckets;
  uint32_t mask, count;
  uint64_t key[2];
} UdpTable;

/// The part of a UDP connection that the table and the handshake use. It is the first
/// member of UdpPeer and of UdpProxy.
struct UdpEntry {
  UdpServer *server;
  Remote *remote;  // remote that serves the connection; NULL: this is a UdpPeer
  uint16_t port;   // port of the connection here or at the remote
  UdpWay way;
  UdpOrigin path;  // key of way.remote
  uint8_t channel[UDP_CHANNEL_SIZE];
  bool is_attached;   // the datagrams are beside a stream; false: alone
  uint16_t sequence;  // server's first sequence number, which ACCEPTED contains
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t server_key[UDP_KEY_SIZE];  // server's public key, for a connection by UDP
                                     // alone
  UdpEntry *next_path, *next_channel;
};

struct UdpPeer {
  UdpEntry entry;
  Transport transport;  // transport of a conn that is alone
  Datagrams datagrams;
  UdpSocket *socket;
  UdpProxy *proxy;  // this connection's proxy, owned by the Net behind net->home; NULL:
                    // none
  Conn *conn;       // connection; NULL: it has ended
  UdpLink *link;
  bool is_touched;  // the peer is in server->touched
  bool passes;      // datagrams get through; always true by UDP alone
  bool is_writing;  // `left` bytes at `rest` must be written, or reported as written
  bool is_shut;     // CLOSE follows the rest of the stream
  const uint8_t *rest;
  size_t left;
  UdpWay asked;        // way to which PATH_CHALLENGE was sent
  uint64_t challenge;  // value of the open PATH_CHALLENGE; 0: none
  uint64_t challenged_ms;
  uint64_t over_ms;  // time at which the peer is freed, monotonic; 0: it has not ended
  Timer timer;
};

/// A connection by UDP alone that a remote serves; see proxy.c.
struct UdpProxy {
  UdpEntry entry;
  bool is_entered;  // events.leave must follow
};

/// Returns the peer of an entry; NULL for a proxy.
static inline UdpPeer *udp_peer_of(UdpEntry *entry) {
  return entry->remote ? NULL : (UdpPeer *)entry;
}

/// A cookie and client's key that have been used to attach.
typedef struct Attachment {
  uint8_t cookie[UDP_COOKIE_SIZE];
  uint8_t client_key[UDP_KEY_SIZE];
  uint64_t used_ms;
} Attachment;

/// The connection that a peer may attach to, with its key.
typedef struct UdpOffer {
  uint32_t peer;
  ConnId conn;
  uint64_t nonce;    // nonce of the key
  Attachment *used;  // ATTACH_MAX attachments; owned; NULL: none
} UdpOffer;

/// A bound port that another Net will serve.
typedef struct UdpPort {
  int fd;
  uint16_t port;
  uint8_t family;  // UdpSocket.family
  uint8_t secret[UDP_KEY_SIZE];
} UdpPort;

struct UdpServer {
  NetPart part;
  Net *net;
  UdpSocket *sockets;
  uint32_t socket_count;
  uint32_t alone_count;    // number of conns by UDP alone
  uint16_t *remote_ports;  // ports of the remotes; owned
  bool is_stopping;
  bool has_segments;  // the kernel splits one buffer into datagrams
  UdpTable table;
  List touched;         // peers to be served at the end of the iteration
  List closing;         // peers whose conns are freed at the end of the iteration
  uint32_t over_count;  // number of ended peers that are not freed yet
  uint8_t secret[UDP_KEY_SIZE];  // udp_offer_key derives keys from it
  UdpOffer *offers;              // offers by the index of the peer's number
  uint32_t offer_capacity;
  UdpCookies cookies;
  UdpTotals totals;  // totals without the losses of current connections
  UdpTotals losses;  // losses of current connections when last summed
  uint64_t losses_ms;
  Buf input;  // stream bytes that are being passed up
  Egress *egress;
  Ingress *ingress;
};

// --- table.c ---

/// Converts an address to a key of the table, which is the same for both families.
void origin_of(const SocketAddress *from, UdpOrigin *origin);
bool origin_is_same(const UdpOrigin *a, const UdpOrigin *b);
void table_init(UdpTable *table, Net *net);
void table_deinit(UdpTable *table);
void table_add(UdpTable *table, UdpEntry *entry);
void table_remove(UdpTable *table, UdpEntry *entry);
/// Return the first connection at `path`, and the connection after `entry`; or NULL.
UdpEntry *table_first(const UdpTable *table, const UdpOrigin *path);
UdpEntry *table_next(const UdpEntry *entry);
/// Return the first connection with `channel`, and the connection after `entry`; or
/// NULL.
UdpEntry *table_first_of(const UdpTable *table,
                         const uint8_t channel[UDP_CHANNEL_SIZE]);
UdpEntry *table_next_of(const UdpEntry *entry);
/// Returns any connection in the table, or NULL.
UdpEntry *table_any(const UdpTable *table);
/// Calls `visit` with each connection. `visit` must not change the table.
void table_visit(const UdpTable *table, void (*visit)(void *data, UdpEntry *entry),
                 void *data);

// --- offer.c ---

/// Implements EndpointOps.udp_offer.
uint16_t udp_offer(Conn *conn, uint32_t peer, uint64_t nonce);

/// Returns the offer to a peer, or NULL.
UdpOffer *udp_find_offer(const UdpServer *server, uint32_t peer);
void udp_free_offers(UdpServer *server);

// --- proxy.c ---

/// Passes a connection by UDP alone to the remote of `proxy`.
void udp_hand_over(UdpProxy *proxy, const UdpLinkParams *params, const ConnInfo *info);
/// Makes the home of `net` free the proxy.
void udp_proxy_is_over(const Net *net, UdpProxy *proxy);
void udp_free_proxy(UdpProxy *proxy);

// --- egress.c ---

Egress *egress_new(void);
/// Returns UDP_DATAGRAM_MAX bytes of room for the next datagram.
uint8_t *egress_room(UdpServer *server);
/// Queues the `size` bytes that the caller wrote to egress_room.
void egress_add(UdpServer *server, UdpSocket *socket, const UdpWay *to, size_t size);
/// Passes all datagrams to the kernel.
void egress_send(UdpServer *server);

// --- local.c ---

/// Makes the kernel report the address that a datagram was sent to.
void local_ask(const UdpSocket *socket);
/// Returns the address that the message was sent to; zeros if it is unknown.
struct in6_addr local_of(struct msghdr *message);
/// Writes control data to `control`, which make a datagram leave from `local`. Returns
/// the number of bytes, or 0 if the datagram needs no control data.
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

/// Makes the conn use the peer for its datagrams.
void udp_join(UdpPeer *peer, Conn *conn);

/// Adds a peer to the table. Its address, path, keys and numbers must be set.
void udp_peer_add(UdpPeer *peer, const UdpLinkParams *params);
/// Returns the code that CLOSE carries for a closing conn.
Code udp_end_code(const Conn *conn);
/// Ends the connection with CLOSE and `code`.
void udp_peer_end(UdpPeer *peer, Code code);
void udp_peer_free(UdpPeer *peer);
/// Handles a datagram from `path`; returns false if it is not authentic.
bool udp_peer_receive(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path,
                      uint8_t *bytes, size_t size);
bool udp_is_alone(const Conn *conn);
/// Makes a Conn for a peer by UDP alone; the caller must call conn_open. Returns NULL
/// if too many connections exist.
Conn *udp_conn_new(UdpPeer *peer);
/// Serves a peer at the end of an iteration; returns whether it passed input up.
bool udp_peer_serve(UdpPeer *peer);
/// Makes the end of the iteration serve the peer.
void udp_touch(UdpPeer *peer);
