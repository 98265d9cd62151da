// Sending: collects the datagrams of an iteration and passes them to the kernel in as
// few calls as possible. Successive datagrams to one address form one message, which
// the kernel splits (UDP_SEGMENT). For that, all but the last must have the same size.
// Datagrams that the kernel does not take are lost.
#define _GNU_SOURCE  // sendmmsg
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/mem.h"
#include "net/udp/udp_internal.h"

enum {
  EGRESS_MAX = 256,  // datagrams that may wait for the end of the iteration
  EGRESS_BYTES = EGRESS_MAX * UDP_DATAGRAM_MAX,
  SEGMENTS_MAX = 64,      // datagrams in one message; the smallest limit of all kernels
                          // with UDP_SEGMENT
  SEGMENTED_MAX = 64000,  // bytes of one message
};

// A datagram that waits to be sent.
typedef struct Outgoing {
  UdpWay to;
  uint32_t at;  // offset of its bytes
  uint16_t size;
  int32_t next;  // next datagram of the same socket; -1: none
} Outgoing;

// The arguments of one call of the kernel.
typedef struct Call {
  struct mmsghdr messages[EGRESS_MAX];
  struct iovec bytes[EGRESS_MAX];
  uint16_t datagrams[EGRESS_MAX];  // number of datagrams in each message
  ControlRoom controls[EGRESS_MAX];
  unsigned count;
} Call;

struct Egress {
  uint32_t count;
  uint32_t used;  // bytes used in `bytes`
  Outgoing datagrams[EGRESS_MAX];
  Call call;
  uint8_t bytes[EGRESS_BYTES];
};

Egress *egress_new(void) { return mem_zalloc(sizeof(Egress)); }

uint8_t *egress_room(UdpServer *server) {
  Egress *egress = server->egress;
  if (egress->count == EGRESS_MAX || egress->used > EGRESS_BYTES - UDP_DATAGRAM_MAX)
    egress_send(server);
  return egress->bytes + egress->used;
}

void egress_add(UdpServer *server, UdpSocket *socket, const UdpWay *to, size_t size) {
  Egress *egress = server->egress;
  int32_t index = (int32_t)egress->count++;
  egress->datagrams[index] =
      (Outgoing){.to = *to, .at = egress->used, .size = (uint16_t)size, .next = -1};
  egress->used += (uint32_t)size;
  if (socket->first < 0)
    socket->first = index;
  else
    egress->datagrams[socket->last].next = index;
  socket->last = index;
}

static socklen_t address_size(const SocketAddress *address) {
  return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

static bool is_same_way(const UdpWay *a, const UdpWay *b) {
  return memcmp(&a->remote, &b->remote, address_size(&a->remote)) == 0 &&
         memcmp(&a->local, &b->local, sizeof a->local) == 0;
}

// Returns the number of datagrams, from `first` on, that can form one message. Stores
// the sum of their bytes in `total`.
static uint32_t measure(const UdpServer *server, int32_t first, size_t *total) {
  const Outgoing *all = server->egress->datagrams, *head = &all[first];
  uint32_t count = 1;
  *total = head->size;
  if (!server->has_segments) return 1;
  for (int32_t i = head->next; i >= 0 && count < SEGMENTS_MAX; i = all[i].next) {
    const Outgoing *next = &all[i];
    bool follows = next->at == head->at + *total && next->size <= head->size &&
                   is_same_way(&next->to, &head->to);
    if (!follows || *total + next->size > SEGMENTED_MAX) break;
    *total += next->size;
    count++;
    if (next->size < head->size) break;
  }
  return count;
}

static size_t put_segments(ControlRoom *room, size_t at, uint16_t size) {
  struct cmsghdr *control = (struct cmsghdr *)(void *)(room->bytes + at);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof size);
  memcpy(CMSG_DATA(control), &size, sizeof size);
  return CMSG_SPACE(sizeof size);
}

static void put_message(const UdpSocket *socket, Call *call, int32_t first,
                        uint32_t count, size_t total) {
  Egress *egress = socket->server->egress;
  Outgoing *head = &egress->datagrams[first];
  unsigned at = call->count++;
  call->datagrams[at] = (uint16_t)count;
  call->bytes[at] = (struct iovec){egress->bytes + head->at, total};
  ControlRoom *control = &call->controls[at];
  size_t used = local_put(socket, &head->to.local, control);
  if (count > 1) used += put_segments(control, used, head->size);
  call->messages[at].msg_hdr =
      (struct msghdr){.msg_name = &head->to.remote,
                      .msg_namelen = address_size(&head->to.remote),
                      .msg_iov = &call->bytes[at],
                      .msg_iovlen = 1,
                      .msg_control = used ? control : NULL,
                      .msg_controllen = used};
}

static void put_messages(UdpServer *server, const UdpSocket *socket, Call *call) {
  call->count = 0;
  for (int32_t at = socket->first; at >= 0;) {
    size_t total;
    uint32_t count = measure(server, at, &total);
    put_message(socket, call, at, count, total);
    server->totals.sent += count;
    server->totals.sent_bytes += total;
    while (count-- > 0) at = server->egress->datagrams[at].next;
  }
}

// Drops a message that the kernel refuses, and all messages if it accepts none now.
static void send_messages(UdpServer *server, const UdpSocket *socket, Call *call) {
  unsigned at = 0;
  while (at < call->count) {
    int sent = sendmmsg(socket->fd, call->messages + at, call->count - at, 0);
    if (sent > 0) {
      at += (unsigned)sent;
      continue;
    }
    if (errno == EINTR) continue;
    // EIO is the only sign of a device that cannot split messages.
    if (errno == EIO && call->datagrams[at] > 1) server->has_segments = false;
    bool is_full = errno == EAGAIN || errno == ENOBUFS;
    do server->totals.unsent += call->datagrams[at++];
    while (is_full && at < call->count);
  }
}

void egress_send(UdpServer *server) {
  if (server->egress->count == 0) return;
  Call *call = &server->egress->call;
  for (uint32_t i = 0; i < server->socket_count; i++) {
    UdpSocket *socket = &server->sockets[i];
    if (socket->first < 0) continue;
    put_messages(server, socket, call);
    send_messages(server, socket, call);
    socket->first = socket->last = -1;
  }
  server->egress->count = server->egress->used = 0;
}
