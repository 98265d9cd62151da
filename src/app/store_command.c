// See store_command.h.
#include "app/store_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/store.h"
#include "app/usage.h"
#include "server/config.h"

extern char **environ;

// Arguments of `perigee store`.
typedef struct StoreArguments {
  Config config;
  const char *words[3];  // action, file and game
  int count;
} StoreArguments;

static bool read_store_arguments(StoreArguments *own, char **arguments,
                                 ConfigError *error) {
  static const char *const OWN_FLAGS[] = {NULL};
  if (!config_set_environment(&own->config, (const char *const *)environ, error))
    return false;
  for (int at = 0; arguments[at] != NULL;) {
    if (arguments[at][0] == '-') {
      if (!config_set_flag(&own->config, arguments, &at, OWN_FLAGS, error))
        return false;
    } else if (own->count == 3) {
      snprintf(error->text, sizeof error->text, "unexpected argument \"%s\"",
               arguments[at]);
      return false;
    } else {
      own->words[own->count++] = arguments[at++];
    }
  }
  return true;
}

static int run_store(const StoreArguments *own) {
  char path[PATH_MAX];
  const char *action = own->count > 0 ? own->words[0] : "";
  bool is_check = strcmp(action, "check") == 0;
  const char *file = own->count > 1 && !is_check ? own->words[1] : NULL;
  const char *place = config_text(&own->config, KEY_STORE);
  if (*place == '\0' || strcmp(place, ":memory:") == 0)
    return usage_fail("store", "this store is not kept");
  store_place(path, sizeof path, own->words[is_check ? 1 : 2], place);
  if (is_check && own->count < 3) return store_check(path);
  if (file != NULL && strcmp(action, "export") == 0) return store_export(path, file);
  if (file != NULL && strcmp(action, "import") == 0) return store_import(path, file);
  if (file != NULL && strcmp(action, "backup") == 0) return store_backup(path, file);
  return usage_fail("store", "needs export, import or backup with a FILE, or check");
}

int store_command(char **arguments) {
  StoreArguments own = {0};
  ConfigError error;
  config_init(&own.config);
  umask(S_IRWXG | S_IRWXO);  // a copy has hashes of passwords, too
  int code = read_store_arguments(&own, arguments, &error)
                 ? run_store(&own)
                 : usage_fail("store", "%s", error.text);
  config_deinit(&own.config);
  return code;
}
