// The gate of the admin listener. Any page can make its browser send requests to this
// machine. If the DNS entry of the page's host points here, the browser even treats
// this machine as the page's own server. Such requests have the page's host in Host or
// Origin, so both must be known names.
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#include "net/address.h"
#include "net/protocol/http/admin_port.h"
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

// --- Tokens ---

// Returns the entry of a network. A new entry replaces the oldest one.
static GateFailure *failure_of(AdminPort *port, const char *network) {
  GateFailure *oldest = port->failures;
  for (int i = 0; i < GATE_ADDRESSES_MAX; i++) {
    GateFailure *failure = &port->failures[i];
    if (strcmp(failure->network, network) == 0) return failure;
    if (failure->last_ms < oldest->last_ms) oldest = failure;
  }
  *oldest = (GateFailure){.count = 0};
  strcpy(oldest->network, network);
  return oldest;
}

// Compares a token, in the same time for right and wrong tokens of any length.
static bool is_token(const char *token, Text given) {
  static const char SCHEME[] = "bearer ";
  uint32_t skip = sizeof SCHEME - 1;
  uint8_t right[SHA256_DIGEST_LENGTH], theirs[SHA256_DIGEST_LENGTH];
  if (given.size <= skip || strncasecmp(given.bytes, SCHEME, skip) != 0) return false;
  SHA256((const uint8_t *)token, strlen(token), right);
  SHA256((const uint8_t *)given.bytes + skip, given.size - skip, theirs);
  return CRYPTO_memcmp(right, theirs, sizeof right) == 0;
}

Verdict gate_guess(AdminPort *port, const char *address, uint64_t now_ms) {
  char network[ADDRESS_SIZE];
  address_network(address, network);
  GateFailure *failure = failure_of(port, network);
  if (failure->count >= ADMIN_FAILURES_MAX && now_ms < failure->last_ms + ADMIN_LOCK_MS)
    return (Verdict){429, "the token is wrong, and so were too many before it", true};
  failure->count++;
  failure->last_ms = now_ms;
  return (Verdict){401, "the token is wrong", true};
}

// Checks the request's token. Accepts the right token even from an address that has
// sent wrong tokens.
static Verdict check_token(AdminPort *port, const char *token, const char *address,
                           const HttpRequest *request, uint64_t now_ms) {
  const Text *given = http_field(request, "authorization");
  if (!given && !port->token)
    return (Verdict){
        401, "a token is needed; `perigee console` and `perigee dashboard` have it",
        false};
  if (!given)
    return (Verdict){
        401, "a token is needed: Authorization: Bearer TOKEN (admin_token)", false};
  if (is_token(token, *given)) return (Verdict){0};
  return gate_guess(port, address, now_ms);
}

// --- The whole check ---

Verdict gate_check(AdminPort *port, const char *token, const char *address,
                   const HttpRequest *request, uint64_t now_ms) {
  const Text *host = http_field(request, "host");
  const Text *origin = http_field(request, "origin");
  if (!host || !is_known_name(port, *host))
    return (Verdict){
        403, "this server is not known by that name; admin_hosts can add it", false};
  if (origin && !is_known_origin(port, *origin))
    return (Verdict){
        403, "pages from elsewhere may not ask; admin_hosts can add their host", false};
  if (token == NULL || login_is_good(port, request, now_ms)) return (Verdict){0};
  return check_token(port, token, address, request, now_ms);
}
