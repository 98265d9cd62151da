// Finds the address that a datagram was sent to, and sends the answer from that
// address, because a host may have several addresses. Clients ignore answers from other
// addresses.
#define _GNU_SOURCE  // in6_pktinfo
#include <assert.h>
#include <string.h>

#include "net/udp/udp_internal.h"

static_assert(sizeof(ControlRoom) >=
                  CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(uint16_t)),
              "an address and the size of segments");

enum {
  IPV4_AT = 12
};  // position of the IPv4 address in an IPv6 address that contains
    // one

void local_ask(const UdpSocket *socket) {
  int on = 1;
  if (socket->family == AF_INET)
    setsockopt(socket->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  else if (socket->family == AF_INET6)
    setsockopt(socket->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
}

// Returns the host's address in a message. For IPv4, uses ipi_spec_dst, which is the
// host's own address even for a multicast datagram.
struct in6_addr local_of(struct msghdr *message) {
  struct in6_addr local = {0};
  struct cmsghdr *at = CMSG_FIRSTHDR(message);
  for (; at; at = CMSG_NXTHDR(message, at)) {
    struct in_pktinfo v4;
    struct in6_pktinfo v6;
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      memcpy(&v4, CMSG_DATA(at), sizeof v4);
      local.s6_addr[10] = local.s6_addr[11] = 0xff;
      memcpy(local.s6_addr + IPV4_AT, &v4.ipi_spec_dst, sizeof v4.ipi_spec_dst);
    } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
      memcpy(&v6, CMSG_DATA(at), sizeof v6);
      local = v6.ipi6_addr;
    }
  }
  return local;
}

static size_t put(ControlRoom *room, int level, int type, const void *info,
                  size_t size) {
  struct cmsghdr *control = (struct cmsghdr *)(void *)room;
  control->cmsg_level = level;
  control->cmsg_type = type;
  control->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(control), info, size);
  return CMSG_SPACE(size);
}

size_t local_put(const UdpSocket *socket, const struct in6_addr *local,
                 ControlRoom *control) {
  if (socket->family == AF_UNSPEC || IN6_IS_ADDR_UNSPECIFIED(local)) return 0;
  if (socket->family == AF_INET6) {
    const struct in6_pktinfo info = {.ipi6_addr = *local};
    return put(control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
  }
  struct in_pktinfo info = {0};
  memcpy(&info.ipi_spec_dst, local->s6_addr + IPV4_AT, sizeof info.ipi_spec_dst);
  return put(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
}
