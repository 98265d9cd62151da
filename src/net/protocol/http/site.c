// The site's options and its state in net.
#include "net/protocol/http/site.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/counters.h"
#include "wire/websocket.h"

// --- A part of the Net ---

/// Options for a remote; their texts and the schema follow this struct.
typedef struct Shared {
  WebModule modules[SITE_MODULES_MAX + 1];
  bool is_watched;
  size_t texts_size, schema_size;
} Shared;

static const char *take_text(const char **at) {
  const char *text = *at;
  *at += strlen(text) + 1;
  return text;
}

static void run_use(Net *net, const void *body) {
  const Shared *shared = body;
  const char *texts = (const char *)(shared + 1), *schema = texts + shared->texts_size;
  WebOptions options = {.modules = shared->modules, .is_watched = shared->is_watched};
  options.name = take_text(&texts);
  options.folder = take_text(&texts);
  options.origins = take_text(&texts);
  options.hosts = take_text(&texts);
  net_set_web(net, &options);
  net_set_schema(net, schema, shared->schema_size);
}

static void share(const NetPart *part, Remote *remote) {
  static const RemoteCall USE = {.run = run_use};
  const Web *web = (const Web *)part;
  size_t size = web->texts.size + web->schema.size;
  Shared *shared = remote->ops->post(remote, &USE, sizeof *shared + size);
  *shared = (Shared){.is_watched = web->is_watched,
                     .texts_size = web->texts.size,
                     .schema_size = web->schema.size};
  memcpy(shared->modules, web->modules, sizeof shared->modules);
  memcpy(shared + 1, web->texts.data, web->texts.size);
  memcpy((char *)(shared + 1) + web->texts.size, web->schema.data, web->schema.size);
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
  buf_deinit(&web->texts);
  mem_free(web);
}

Web *web_of(Net *net) {
  static const NetPartOps PART = {
      .share = share, .free = free_web, .add_counters = add_counters};
  if (net->web) return net->web;
  net->web = mem_zalloc(sizeof *net->web);
  net_add_part(net, &net->web->part, &PART);
  net_set_web(net, &(WebOptions){.name = NULL});
  net_set_schema(net, NULL, 0);
  return net->web;
}

// --- Options ---

static void set_version(HttpVersion *version, const void *bytes, size_t size) {
  uint64_t hash = hash_bytes(NULL, bytes, size);
  snprintf(version->tag, sizeof version->tag, "\"%016llx\"", (unsigned long long)hash);
}

void net_set_web(Net *net, const WebOptions *options) {
  Web *web = web_of(net);
  const char *const texts[] = {options->name, options->folder, options->origins,
                               options->hosts};
  web->texts.size = 0;
  for (int i = 0; i < 4; i++)
    buf_append(&web->texts, texts[i] ? texts[i] : "",
               texts[i] ? strlen(texts[i]) + 1 : 1);
  const char *at = (const char *)web->texts.data;
  web->name = take_text(&at);
  web->folder = take_text(&at);
  web->origins = take_text(&at);
  web->hosts = take_text(&at);
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
