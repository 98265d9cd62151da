// perigee_server_config: the settings, and additional keys for the start.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/library/library.h"

perigee_server_config *perigee_server_config_new(void) {
  perigee_server_config *config = mem_zalloc(sizeof *config);
  config_init(&config->config);
  return config;
}

void perigee_server_config_free(perigee_server_config *config) {
  if (config == NULL) return;
  config_deinit(&config->config);
  mem_free(config->game);
  mem_free(config->lua_path);
  mem_free(config);
}

static int set_text(char **text, const char *value) {
  mem_free(*text);
  *text = *value == '\0' ? NULL : mem_strdup(value);
  return PERIGEE_SERVER_OK;
}

static int set_switch(perigee_server_config *config, const char *key, const char *value,
                      bool *is_on) {
  *is_on = strcmp(value, "true") == 0;
  if (*is_on || strcmp(value, "false") == 0) return PERIGEE_SERVER_OK;
  snprintf(config->error.text, sizeof config->error.text,
           "%s must be true or false, not \"%.100s\"", key, value);
  return PERIGEE_SERVER_INVALID;
}

int perigee_server_config_set(perigee_server_config *config, const char *key,
                              const char *value) {
  if (strcmp(key, "game") == 0) return set_text(&config->game, value);
  if (strcmp(key, "lua_path") == 0) return set_text(&config->lua_path, value);
  if (strcmp(key, "thread") == 0)
    return set_switch(config, key, value, &config->has_thread);
  if (strcmp(key, "jit") == 0) {
    bool has_jit = true;
    int code = set_switch(config, key, value, &has_jit);
    config->has_no_jit = !has_jit;
    return code;
  }
  bool is_good = config_set_program(&config->config, key, value, &config->error);
  return is_good ? PERIGEE_SERVER_OK : PERIGEE_SERVER_INVALID;
}

const char *perigee_server_config_error(const perigee_server_config *config) {
  return config->error.text;
}
