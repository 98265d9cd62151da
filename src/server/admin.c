// Chooses the address of the admin listener, and warns if other machines can reach it.
#include "server/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "server/dashboard_files.h"

typedef struct Address {
  char host[256];  // host without brackets
  uint16_t port;
} Address;

// Splits an address, whose host and port the configuration has checked.
static Address read_address(const char *text) {
  Address address = {.port = 0};
  const char *colon = strrchr(text, ':');
  size_t size = (size_t)(colon - text);
  if (text[0] == '[' && size > 2 && text[size - 1] == ']') text++, size -= 2;
  if (size >= sizeof address.host) size = sizeof address.host - 1;
  memcpy(address.host, text, size);
  address.port = (uint16_t)strtoul(colon + 1, NULL, 10);
  return address;
}

static bool check_token(const char *token, const Address *address, AdminStart *start) {
  if (*token == '\0' && net_is_loopback(address->host)) return true;
  if (*token == '\0')
    snprintf(start->problem, sizeof start->problem,
             "admin is on %.100s, where others can reach it: set admin_token "
             "(PERIGEE_ADMIN_TOKEN), or leave admin on 127.0.0.1",
             address->host);
  else if (strlen(token) < ADMIN_TOKEN_MIN)
    snprintf(start->problem, sizeof start->problem,
             "admin_token is too short: it takes at least %d characters, such as "
             "`openssl rand -hex 16` gives",
             ADMIN_TOKEN_MIN);
  else
    return true;
  return false;
}

static bool is_chosen(const Config *config) {
  return config->values[KEY_ADMIN].source != CONFIG_FROM_DEFAULT;
}

static bool fail_listen(const Config *config, const Address *address, int err,
                        AdminStart *start) {
  if (is_chosen(config)) {
    snprintf(
        start->problem, sizeof start->problem,
        "admin cannot listen on %s: %s; choose another with --admin, or --no-admin",
        config_text(config, KEY_ADMIN),
        err == -EADDRINUSE ? "the port is in use" : err_text(err));
    return false;
  }
  log_warn(
      "the admin listener is off: another server here has their port; --admin "
      "127.0.0.1:PORT chooses one",
      log_num("port", address->port), log_str("error", err_text(err)));
  return true;
}

bool admin_open(Engine *engine, bool is_program, AdminStart *start) {
  const Config *config = &engine->config;
  const char *text = config_text(config, KEY_ADMIN);
  bool has_game = engine->options.script.game != NULL;
  if (*text == '\0' || !(has_game || is_program || is_chosen(config))) return true;
  Address address = read_address(text);
  const char *token = config_text(config, KEY_ADMIN_TOKEN);
  if (!check_token(token, &address, start)) return false;
  AdminOptions options = {.host = address.host,
                          .token = *token != '\0' ? token : NULL,
                          .names = config_text(config, KEY_ADMIN_HOSTS),
                          .files = dashboard_files};
  int err = net_admin_listen(engine->net, &address.port, &options);
  if (err != 0) return fail_listen(config, &address, err, start);
  if (has_game) script_serve_admin(engine->script);
  bool is_v6 = strchr(address.host, ':') != NULL;
  snprintf(start->host, sizeof start->host, "%s%.250s%s", is_v6 ? "[" : "",
           address.host, is_v6 ? "]" : "");
  start->port = address.port;
  return true;
}
