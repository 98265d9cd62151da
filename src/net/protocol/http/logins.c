// Browsers that are signed in to the dashboard. A one-time token, which the operator
// gets from `perigee run` or `perigee dashboard`, is exchanged for a cookie and a key.
// Requests need both. Scripts cannot read the cookie (HttpOnly), and no page of another
// site makes a browser send it (SameSite=Strict). However, browsers send a cookie to all
// ports of a host. The key is in the storage of the page's own origin, so servers on
// other ports of this machine, and their pages, do not get it.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/protocol/http/admin_port.h"

enum { LOGIN_BODY_MAX = 256 };  // bytes of the body of a login

void login_make_digits(Net *net, char digits[ADMIN_SECRET_DIGITS + 1]) {
  uint8_t bytes[ADMIN_SECRET_DIGITS / 2];
  net_random(net, bytes, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) sprintf(digits + 2 * i, "%02x", bytes[i]);
}

static bool is_live(const AdminLogin *login, uint64_t now_ms) {
  return login->is_set && now_ms < login->last_ms + LOGIN_MS;
}

// Returns an unused entry, or the one that has not been used for longest.
static AdminLogin *find_free(AdminLogin *logins, int count, uint64_t now_ms) {
  AdminLogin *oldest = logins;
  for (int i = 0; i < count; i++) {
    if (!is_live(&logins[i], now_ms)) return &logins[i];
    if (logins[i].last_ms < oldest->last_ms) oldest = &logins[i];
  }
  return oldest;
}

void net_admin_make_token(Net *net, char token[ADMIN_SECRET_DIGITS + 1]) {
  AdminPort *port = net->admin;
  uint64_t now_ms = net_now_ms(net);
  *token = '\0';
  if (!port) return;
  login_make_digits(net, token);
  *find_free(port->tokens, LOGIN_TOKENS_MAX, now_ms) = (AdminLogin){
      .is_set = true, .last_ms = now_ms, .key = secret_of(token, ADMIN_SECRET_DIGITS)};
}

// Removes a one-time token; returns whether it existed.
static bool take_token(AdminPort *port, Text given, uint64_t now_ms) {
  Secret key = secret_of(given.bytes, given.size);
  bool is_good = false;
  for (int i = 0; i < LOGIN_TOKENS_MAX; i++) {
    AdminLogin *token = &port->tokens[i];
    if (!is_live(token, now_ms) || !secret_equals(&token->key, &key)) continue;
    token->is_set = false;
    is_good = true;
  }
  return is_good;
}

// Returns the value of this listener's cookie; empty without one.
static Text find_cookie(const AdminPort *port, const HttpRequest *request) {
  char name[32];
  uint32_t size = (uint32_t)snprintf(name, sizeof name, "perigee_%u=", port->port);
  const Text *field = http_field(request, "cookie");
  Text rest = field ? *field : (Text){0};
  while (rest.size > 0) {
    const char *end = memchr(rest.bytes, ';', rest.size);
    uint32_t part = end ? (uint32_t)(end - rest.bytes) : rest.size;
    if (part > size && memcmp(rest.bytes, name, size) == 0)
      return (Text){rest.bytes + size, part - size};
    while (part < rest.size && (rest.bytes[part] == ';' || rest.bytes[part] == ' '))
      part++;
    rest = (Text){rest.bytes + part, rest.size - part};
  }
  return (Text){0};
}

bool login_is_good(AdminPort *port, const HttpRequest *request, uint64_t now_ms) {
  const Text *given = http_field(request, "x-perigee-key");
  const Text *origin = http_field(request, "origin"),
             *host = http_field(request, "host");
  Text cookie = find_cookie(port, request);
  if (!given || cookie.size == 0) return false;
  if (origin && !http_is_same_origin(*origin, *host)) return false;
  Secret key = secret_of(given->bytes, given->size);
  Secret secret = secret_of(cookie.bytes, cookie.size);
  bool is_good = false;
  for (int i = 0; i < LOGINS_MAX; i++) {
    AdminLogin *login = &port->logins[i];
    if (!is_live(login, now_ms) || !secret_equals(&login->key, &key) ||
        !secret_equals(&login->cookie, &secret))
      continue;
    login->last_ms = now_ms;
    is_good = true;
  }
  return is_good;
}

static void answer_login(Conn *conn, uint64_t now_ms) {
  AdminPort *port = conn->net->admin;
  char cookie[ADMIN_SECRET_DIGITS + 1], key[ADMIN_SECRET_DIGITS + 1];
  Buf fields = {0}, body = {0};
  login_make_digits(conn->net, cookie);
  login_make_digits(conn->net, key);
  *find_free(port->logins, LOGINS_MAX, now_ms) =
      (AdminLogin){.is_set = true,
                   .last_ms = now_ms,
                   .cookie = secret_of(cookie, ADMIN_SECRET_DIGITS),
                   .key = secret_of(key, ADMIN_SECRET_DIGITS)};
  http_put_field(&fields, "Set-Cookie",
                 "perigee_%u=%s; Path=/; HttpOnly; SameSite=Strict", port->port,
                 cookie);
  buf_printf(&body, "{\"key\":\"%s\"}\n", key);
  log_info("a browser has signed in to the dashboard",
           log_str("address", conn->info->address));
  http_answer(conn, &(HttpAnswer){.status = 200,
                                  .type = "application/json",
                                  .fields = http_text(&fields),
                                  .body = http_text(&body)});
  buf_deinit(&fields);
  buf_deinit(&body);
}

void login_handle(Conn *conn, const HttpRequest *request) {
  AdminPort *port = conn->net->admin;
  uint64_t now_ms = net_now_ms(conn->net);
  const Text *origin = http_field(request, "origin"),
             *host = http_field(request, "host");
  Text token = http_text(&http_of(conn)->text);
  if (origin && !http_is_same_origin(*origin, *host)) {
    http_refuse(conn, 403, "only the dashboard's own page may sign in");
    return;
  }
  bool is_good = token.size <= LOGIN_BODY_MAX && take_token(port, token, now_ms);
  if (is_good) {
    answer_login(conn, now_ms);
    return;
  }
  Verdict verdict = gate_guess(port, conn->info->address, now_ms);
  http_refuse_late(conn, verdict.status, verdict.why);
}
