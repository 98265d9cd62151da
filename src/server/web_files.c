// Finds a game's public files, which net/protocol/http serves.
#include "server/web_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "net/web.h"
#include "server/game_path.h"
#include "server/web_script.h"
#include "wire/http.h"
#include "wire/http_host.h"

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Writes the path of the folder without checking that it exists, because it may be
// created later.
bool web_files_folder(const char *game, char folder[PATH_MAX]) {
  if (game == NULL) return false;
  const char *slash = strrchr(game, '/');
  int size = is_folder(game) ? (int)strlen(game) : slash ? (int)(slash - game) : -1;
  const char *place = size < 0 ? "." : game;
  if (size < 0) size = 1;
  return snprintf(folder, PATH_MAX, "%.*s/public", size, place) < PATH_MAX;
}

// Warns of invalid origins, because the reason for refused pages is hard to find
// otherwise.
static void check_origins(const char *list) {
  Text bad;
  char origin[256];
  if (!http_find_bad_origin(list, &bad)) return;
  snprintf(origin, sizeof origin, "%.*s", (int)bad.size, bad.bytes);
  log_warn(
      "allowed_origins names what no page has; write it as browsers do, "
      "https://game.example",
      log_str("origin", origin));
}

// Writes the names by which browsers may call the server, separated by commas: the
// names in the settings, and this machine's name, alone and with .local. Only machines
// in the same network can resolve this machine's name to it.
static void put_hosts(Buf *list, const Config *config) {
  const char *hosts = config_text(config, KEY_HOSTS);
  char machine[HOST_NAME_MAX + 1] = "";
  Text bad;
  if (http_find_bad_name(hosts, &bad))
    log_warn(
        "hosts names what is no host; write it without scheme and port, "
        "game.example or *.game.example",
        log_bytes("host", bad.bytes, bad.size));
  buf_printf(list, "%s,%s", hosts, config_text(config, KEY_HOST));
  if (gethostname(machine, sizeof machine) != 0) machine[0] = '\0';
  int label = (int)strcspn(machine, ".");
  if (label > 0) buf_printf(list, ",%s,%.*s.local", machine, label, machine);
  buf_u8(list, '\0');
}

void web_files_apply(Net *net, const Config *config, const char *game) {
  char folder[PATH_MAX], name[GAME_NAME_SIZE];
  game_name(name, game);
  const WebModule modules[] = {{"perigee.js", web_script, web_script_size},
                               {"lockstep.js", web_lockstep, web_lockstep_size},
                               {0}};
  Buf hosts = {0};
  put_hosts(&hosts, config);
  WebOptions options = {
      .name = name,
      .hosts = (const char *)hosts.data,
      .folder = web_files_folder(game, folder) ? folder : NULL,
      .origins = config_text(config, KEY_ALLOWED_ORIGINS),
      .modules = modules,
      .is_watched = config_is_on(config, KEY_WATCH),
  };
  check_origins(options.origins);
  net_set_web(net, &options);
  buf_deinit(&hosts);
}
