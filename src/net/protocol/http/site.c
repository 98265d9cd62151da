// The site's options, and what net keeps for it.
#include "net/protocol/http/site.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "wire/websocket.h"

// --- A part of the Net ---

static size_t text_size(const char *text) { return text ? strlen(text) + 1 : 0; }

// What another place gets: the options, whose texts follow, each with its NUL, and the schema.
typedef struct Shared {
  WebModule modules[SITE_MODULES_MAX + 1];
  bool is_watched, has_name, has_folder, has_origins, has_hosts;
  size_t schema_size;
} Shared;

static char *put_text(char *at, const char *text) {
  return text ? stpcpy(at, text) + 1 : at;
}

static const char *take_text(const char **at, bool is_there) {
  if (!is_there) return NULL;
  const char *text = *at;
  *at += strlen(text) + 1;
  return text;
}

static void run_use(Net *net, const void *body) {
  const Shared *shared = body;
  const char *at = (const char *)(shared + 1);
  WebOptions options = {.modules = shared->modules, .is_watched = shared->is_watched};
  options.name = take_text(&at, shared->has_name);
  options.folder = take_text(&at, shared->has_folder);
  options.origins = take_text(&at, shared->has_origins);
  options.hosts = take_text(&at, shared->has_hosts);
  net_set_web(net, &options);
  net_set_schema(net, at, shared->schema_size);
}

static void share(const NetPart *part, Remote *remote) {
  static const RemoteCall USE = {.run = run_use};
  const Web *web = (const Web *)part;
  size_t size = text_size(web->name) + text_size(web->folder) +
                text_size(web->origins) + text_size(web->hosts) + web->schema.size;
  Shared *shared = remote->ops->post(remote, &USE, sizeof *shared + size);
  *shared = (Shared){.is_watched = web->is_watched,
                     .has_name = web->name != NULL,
                     .has_folder = web->folder != NULL,
                     .has_origins = web->origins != NULL,
                     .has_hosts = web->hosts != NULL,
                     .schema_size = web->schema.size};
  memcpy(shared->modules, web->modules, sizeof shared->modules);
  char *at = (char *)(shared + 1);
  at = put_text(put_text(at, web->name), web->folder);
  at = put_text(put_text(at, web->origins), web->hosts);
  memcpy(at, web->schema.data, web->schema.size);
}

static void add_counters(const NetPart *part, NetCounters *counters) {
  const Web *web = (const Web *)part;
  counters_add(counters, &(NetCounters){.web = web->server.stats});
}

static void free_web(NetPart *part) {
  Web *web = (Web *)part;
  for (uint32_t i = 0; i < web->readers.count; i++)
    ws_reader_free(web->readers.items[i]);
  list_deinit(&web->readers);
  buf_deinit(&web->scratch);
  buf_deinit(&web->schema);
  mem_free(web->name);
  mem_free(web->folder);
  mem_free(web->origins);
  mem_free(web->hosts);
  mem_free(web);
}

Web *web_of(Net *net) {
  static const NetPartOps PART = {
      .share = share, .free = free_web, .add_counters = add_counters};
  if (net->web) return net->web;
  net->web = mem_zalloc(sizeof *net->web);
  net_add_part(net, &net->web->part, &PART);
  net_set_schema(net, NULL, 0);
  return net->web;
}

// --- Options ---

static void set_version(HttpVersion *version, const void *bytes, size_t size) {
  uint64_t hash = hash_bytes(NULL, bytes, size);
  snprintf(version->tag, sizeof version->tag, "\"%016llx\"", (unsigned long long)hash);
}

static void set_text(char **text, const char *value) {
  char *copy = value ? mem_strdup(value) : NULL;
  mem_free(*text);
  *text = copy;
}

void net_set_web(Net *net, const WebOptions *options) {
  Web *web = web_of(net);
  set_text(&web->name, options->name);
  set_text(&web->folder, options->folder);
  set_text(&web->origins, options->origins);
  set_text(&web->hosts, options->hosts);
  web->is_watched = options->is_watched;
  for (int i = 0; options->modules && options->modules[i].name; i++) {
    assert(i < SITE_MODULES_MAX);
    const WebModule *module = &options->modules[i];
    web->modules[i] = *module;
    set_version(&web->module_versions[i], module->text, module->size);
  }
  net_share(net, &web->part);
}

void net_set_schema(Net *net, const char *text, size_t size) {
  static const char NONE[] = "export const schema = null;\n";
  Web *web = web_of(net);
  web->schema.size = 0;
  if (size > 0)
    buf_append(&web->schema, text, size);
  else
    buf_append(&web->schema, NONE, sizeof NONE - 1);
  set_version(&web->schema_version, web->schema.data, web->schema.size);
  net_share(net, &web->part);
}
