// Where a client connects to: an address as people write it, and what its name stands for.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "internal.h"

enum { DEFAULT_PORT = 7777, PORT_DIGITS = 5 };

static bool port_parse(Target *target, const char *text) {
  size_t size = strlen(text);
  if (size < 1 || size > PORT_DIGITS || strspn(text, "0123456789") != size)
    return false;
  long port = strtol(text, NULL, 10);
  snprintf(target->port, sizeof target->port, "%u", (unsigned)port & 0xffff);
  return port >= 1 && port <= UINT16_MAX;
}

static bool set_host(Target *target, const char *host, size_t size) {
  if (size == 0) return false;
  target->host = mem_zalloc(size + 1);
  memcpy(target->host, host, size);
  return true;
}

bool target_parse(Target *target, const char *address) {
  *target = (Target){0};
  snprintf(target->port, sizeof target->port, "%d", DEFAULT_PORT);
  if (address[0] == '[') {
    const char *end = strchr(address, ']');
    if (!end || (end[1] != '\0' && (end[1] != ':' || !port_parse(target, end + 2))))
      return false;
    return set_host(target, address + 1, (size_t)(end - address) - 1);
  }
  if (strpbrk(address, " /[]")) return false;
  const char *colon = strchr(address, ':');
  if (colon && strchr(colon + 1, ':')) colon = NULL;  // an IPv6 address by itself
  if (colon && !port_parse(target, colon + 1)) return false;
  return set_host(target, address, colon ? (size_t)(colon - address) : strlen(address));
}

const struct addrinfo *target_resolve(Target *target, const char **problem) {
  if (target->addresses) return target->addresses;
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  int code = getaddrinfo(target->host, target->port, &hints, &target->addresses);
  if (code == 0) return target->addresses;
  target->addresses = NULL;
  *problem = code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
  return NULL;
}

void target_forget(Target *target) {
  if (target->addresses) freeaddrinfo(target->addresses);
  target->addresses = NULL;
}

void target_deinit(Target *target) {
  target_forget(target);
  mem_free(target->host);
}
