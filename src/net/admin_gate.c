// Who may ask the admin listener. A page of anywhere can have a browser send requests to
// this machine, under a name of its own that it has made point here; such a request names
// that page's host, in Host and in Origin, so both have to be known ones.
#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "net/admin_internal.h"
#include "wire/http_host.h"

// --- Names ---

static bool is_known_name(const AdminPort *port, Text host) {
  Text name = http_host_name(host);
  return http_is_listed_name(name, "localhost,127.0.0.1,::1") ||
         http_is_listed_name(name, port->host) ||
         http_is_listed_name(name, port->names);
}

static bool is_known_origin(const AdminPort *port, Text origin) {
  static const char *const SCHEMES[] = {"http://", "https://"};
  for (int i = 0; i < 2; i++) {
    uint32_t size = (uint32_t)strlen(SCHEMES[i]);
    if (origin.size > size && strncasecmp(origin.bytes, SCHEMES[i], size) == 0)
      return is_known_name(port, (Text){origin.bytes + size, origin.size - size});
  }
  return false;
}

bool net_is_loopback(const char *host) {
  struct in_addr v4;
  struct in6_addr v6;
  if (strcasecmp(host, "localhost") == 0) return true;
  if (inet_pton(AF_INET, host, &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// --- Tokens ---

static GateFailure *find_failure(AdminPort *port, const char *address) {
  for (int i = 0; i < GATE_ADDRESSES_MAX; i++)
    if (strcmp(port->failures[i].address, address) == 0) return &port->failures[i];
  return NULL;
}

// In the place of the one that was longest ago.
static GateFailure *add_failure(AdminPort *port, const char *address) {
  GateFailure *oldest = &port->failures[0];
  for (int i = 1; i < GATE_ADDRESSES_MAX; i++)
    if (port->failures[i].last_ms < oldest->last_ms) oldest = &port->failures[i];
  *oldest = (GateFailure){.count = 0};
  strcpy(oldest->address, address);
  return oldest;
}

static bool is_locked(const GateFailure *failure, uint64_t now_ms) {
  return failure && failure->count >= ADMIN_FAILURES_MAX &&
         now_ms < failure->last_ms + ADMIN_LOCK_MS;
}

// Takes as long for a token that is nearly right as for any other of its length.
static bool is_token(const char *token, Text given) {
  static const char SCHEME[] = "bearer ";
  uint32_t skip = sizeof SCHEME - 1;
  if (given.size <= skip || strncasecmp(given.bytes, SCHEME, skip) != 0) return false;
  size_t size = strlen(token);
  return given.size - skip == size &&
         CRYPTO_memcmp(given.bytes + skip, token, size) == 0;
}

static int check_token(AdminPort *port, const char *address, const HttpRequest *request,
                       uint64_t now_ms, const char **why) {
  const Text *given = http_field(request, "authorization");
  GateFailure *failure = find_failure(port, address);
  if (is_locked(failure, now_ms)) {
    *why = "too many wrong tokens; wait half a minute";
    return 429;
  }
  if (!given) {
    *why = "a token is needed: Authorization: Bearer TOKEN (admin_token)";
    return 401;
  }
  if (is_token(port->token, *given)) {
    if (failure) *failure = (GateFailure){.count = 0};
    return 0;
  }
  if (!failure) failure = add_failure(port, address);
  failure->count++;
  failure->last_ms = now_ms;
  *why = "the token is wrong";
  return 401;
}

// --- All of it ---

int gate_check(AdminPort *port, const char *address, const HttpRequest *request,
               uint64_t now_ms, const char **why) {
  const Text *host = http_field(request, "host");
  const Text *origin = http_field(request, "origin");
  if (!host || !is_known_name(port, *host)) {
    *why = "this server is not known by that name; admin_hosts can add it";
    return 403;
  }
  if (origin && !is_known_origin(port, *origin)) {
    *why = "pages from elsewhere may not ask; admin_hosts can add their host";
    return 403;
  }
  return port->token ? check_token(port, address, request, now_ms, why) : 0;
}
