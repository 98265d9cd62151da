// The site's options, and what net keeps for it.
#include "net/protocol/http/site.h"

#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/io_threads/io_threads_calls.h"
#include "wire/websocket.h"

Web *web_of(Net *net) {
  if (net->web) return net->web;
  net->web = mem_zalloc(sizeof *net->web);
  net_set_schema(net, NULL, 0);
  return net->web;
}

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
  if (net->servicers) servicers_share_web(net);
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
  if (net->servicers) servicers_share_schema(net);
}

WebStats net_web_stats(const Net *net) {
  const Web *web = net->web;
  WebStats stats = servicers_figures(net).web;
  if (!web) return stats;
  stats.requests += web->server.requests;
  stats.refused += web->refused;
  stats.upgraded += web->upgraded;
  stats.stalled += web->server.stalled;
  return stats;
}

void web_free(Net *net) {
  Web *web = net->web;
  if (!web) return;
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
  net->web = NULL;
}
