// Prints output for people, and "ready" for scripts that wait for it.
#define _GNU_SOURCE  // program_invocation_name
#include "app/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_journal.h"
#include "os/service.h"
#include "server/descriptors.h"
#include "server/game_path.h"
#include "server/library/library.h"
#include "server/web_files.h"

enum {
  ADDRESS_TEXT_SIZE = 300,  // bytes of the text of a host with its port
  PROBLEM_SIZE = 16 << 10,  // bytes of an error, which may have a traceback
};

static void put_address(char text[ADDRESS_TEXT_SIZE], const char *host, uint16_t port) {
  bool is_v6 = strchr(host, ':') != NULL;
  snprintf(text, ADDRESS_TEXT_SIZE, "%s%.256s%s:%u", is_v6 ? "[" : "", host,
           is_v6 ? "]" : "", port);
}

// Writes the host and port at which a browser on this machine can open the server.
static void print_host(const Server *server, char text[ADDRESS_TEXT_SIZE]) {
  const char *host = config_text(&server->engine.config, KEY_HOST);
  if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0) host = "localhost";
  put_address(text, host, server->port);
}

static void print_page(const Server *server) {
  char folder[PATH_MAX], host[ADDRESS_TEXT_SIZE];
  if (!web_files_folder(server->options.game, folder) || access(folder, R_OK) != 0)
    return;
  print_host(server, host);
  printf("perigee: open http://%s/\n", host);
}

static const char *text_host(const Server *server) {
  const Config *config = &server->engine.config;
  const char *host = config_text(config, KEY_TEXT_HOST);
  return *host != '\0' ? host : config_text(config, KEY_HOST);
}

static void print_ready(const Server *server) {
  const char *host = config_text(&server->engine.config, KEY_HOST);
  char name[GAME_NAME_SIZE], address[ADDRESS_TEXT_SIZE];
  char token[ADMIN_SECRET_DIGITS + 1] = "";
  game_name(name, server->options.game);
  put_address(address, host, server->port);
  printf("perigee: serving %s on %s\n", name, address);
  put_address(address, text_host(server), server->text_port);
  if (server->text_port != 0) printf("perigee: text on %s\n", address);
  print_page(server);
  if (server->admin.port != 0 && server->options.game != NULL)
    printf("perigee: MCP on http://%s:%u/mcp\n", server->admin.host,
           server->admin.port);
  if (server->admin.port != 0)
    printf("perigee: control API on http://%s:%u/api/\n", server->admin.host,
           server->admin.port);
  // Other users may read the journal, so the token does not go there.
  if (server->admin.port != 0 && !log_journal_is_open())
    net_admin_make_token(server->engine.net, token);
  if (server->admin.port != 0)
    printf("perigee: dashboard on http://%s:%u/%s%s\n", server->admin.host,
           server->admin.port, *token != '\0' ? "#" : "", token);
  if (net_has_tls(server->engine.net)) {
    print_host(server, address);
    printf("perigee: TLS on https://%s and wss://%s/ws\n", address, address);
    if (server->options.has_dev_tls)
      printf("perigee: its certificate is for this run, SHA-256 %s\n",
             server->fingerprint);
  }
  puts("perigee: ready");
  fflush(stdout);
}

static const char *loopback_for(const char *host) {
  if (strcmp(host, "0.0.0.0") == 0) return "127.0.0.1";
  return strcmp(host, "::") == 0 ? "::1" : host;
}

// Shows commands that begin with the name by which this program was called, so that you
// can copy them.
static void log_hint(const Server *server) {
  const char *host = loopback_for(config_text(&server->engine.config, KEY_HOST));
  char line[PATH_MAX], address[ADDRESS_TEXT_SIZE];
  put_address(address, host, server->port);
  snprintf(line, sizeof line, "%s connect %s", program_invocation_name, address);
  log_info("to join from another terminal", log_str("run", line));
  if (server->text_port != 0) {
    snprintf(line, sizeof line, "nc %s %u", loopback_for(text_host(server)),
             server->text_port);
    log_info("to join as lines of text", log_str("run", line));
  }
  if (server->options.game == NULL && game_check(".") == NULL) {
    snprintf(line, sizeof line, "%s run .", program_invocation_name);
    log_info("there is a game.lua in this folder; to serve it", log_str("run", line));
  }
}

int run_server(const perigee_server_config *config) {
  static char problem[PROBLEM_SIZE];
  log_widen_pipe();
  log_journal_open(NULL);
  descriptors_raise();
  perigee_server *server =
      perigee_server_start(config, NULL, NULL, problem, sizeof problem);
  if (server == NULL) {
    fprintf(stderr, "perigee: %s\n", problem);
    if (strstr(problem, ".lua: ") != NULL && game_check(config->game) == NULL)
      fprintf(stderr, "perigee: `perigee check %s` finds mistakes with their lines\n",
              config->game);
    return 1;
  }
  print_ready(server->server);
  log_hint(server->server);
  service_ready(net_loop(server->server->engine.net));
  perigee_server_run(server);
  bool has_lost = server->server->engine.has_lost;
  perigee_server_free(server);
  return has_lost ? 1 : 0;
}
