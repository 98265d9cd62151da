// See address.h.
#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "base/err.h"

int address_resolve(const char *host, uint16_t port, int type, SocketAddress *address) {
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_PASSIVE};
  struct addrinfo *found;
  if (getaddrinfo(host, service, &hints, &found) != 0) return ERR_ADDRESS;
  memset(address, 0, sizeof *address);
  memcpy(address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return 0;
}

uint16_t address_port(const SocketAddress *address) {
  return ntohs(address->v4.sin_port);  // both families have the port at this place
}

void address_text(const SocketAddress *address, char text[ADDRESS_SIZE]) {
  strcpy(text, "unknown");
  uv_ip_name(&address->any, text, ADDRESS_SIZE);
  if (strncmp(text, "::ffff:", 7) == 0 && strchr(text, '.'))
    memmove(text, text + 7, strlen(text + 7) + 1);
}

void address_network(const char *text, char network[ADDRESS_SIZE]) {
  enum { NETWORK_BYTES = 8 };
  struct in6_addr v6;
  snprintf(network, ADDRESS_SIZE, "%s", text);
  if (inet_pton(AF_INET6, text, &v6) != 1 || IN6_IS_ADDR_LINKLOCAL(&v6)) return;
  memset(v6.s6_addr + NETWORK_BYTES, 0, sizeof v6.s6_addr - NETWORK_BYTES);
  inet_ntop(AF_INET6, &v6, network, ADDRESS_SIZE);
}

bool net_is_loopback(const char *host) {
  struct in_addr v4;
  struct in6_addr v6;
  if (strcasecmp(host, "localhost") == 0) return true;
  if (inet_pton(AF_INET, host, &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
