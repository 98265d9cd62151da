// Addresses of the internet, of both families, as sockets have them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "net/net.h"

typedef union SocketAddress {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} SocketAddress;

/// Resolves a numeric address or a name, for a socket of `type`. Blocks, so it is for use before
/// the loop runs. Returns 0 or ERR_ADDRESS.
int address_resolve(const char *host, uint16_t port, int type, SocketAddress *address);

uint16_t address_port(const SocketAddress *address);

/// Writes an address without its port, and one of IPv4 at an IPv6 socket as of IPv4.
void address_text(const SocketAddress *address, char text[ADDRESS_SIZE]);

/// Writes the network that limits for an address count: the first 64 bits of an IPv6
/// address, because one subscriber has all addresses that share them. Link-local and IPv4
/// addresses stand for themselves.
void address_network(const char *text, char network[ADDRESS_SIZE]);
