// Internet addresses of both families, in the form that sockets use.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "net/net.h"

typedef union SocketAddress {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} SocketAddress;

/// Resolves a numeric address or a name, for a socket of `type`. Blocks, so call it
/// only before the loop runs. Returns 0 or ERR_ADDRESS.
int address_resolve(const char *host, uint16_t port, int type, SocketAddress *address);

uint16_t address_port(const SocketAddress *address);

/// Writes an address without its port. An IPv4 address at an IPv6 socket gets its IPv4
/// form.
void address_text(const SocketAddress *address, char text[ADDRESS_SIZE]);

/// Writes the network of an address. Limits apply to networks, not to addresses. For
/// IPv6, the network is the first 64 bits, because one subscriber has all addresses
/// that share them. For link-local and IPv4 addresses, it is the whole address.
void address_network(const char *text, char network[ADDRESS_SIZE]);
