// What all connections have in common, handed to the servicers when it changes.
#include <string.h>

#include "net/io_threads/io_threads_internal.h"

void servicers_share_limits(Net *net) {
  for (uint32_t i = 0; i < net->servicers->count; i++) {
    NetLimits *down =
        servicer_command(&net->servicers->items[i], DOWN_LIMITS, sizeof *down);
    *down = net->limits;
  }
}

static size_t text_size(const char *text) { return text ? strlen(text) + 1 : 0; }

static char *put_text(char *at, const char *text) {
  if (!text) return at;
  return stpcpy(at, text) + 1;
}

static void share_web(Servicer *servicer, const Web *web) {
  size_t size = text_size(web->name) + text_size(web->folder) +
                text_size(web->origins) + text_size(web->hosts);
  DownWeb *down = servicer_command(servicer, DOWN_WEB, sizeof *down + size);
  *down = (DownWeb){.is_watched = web->is_watched,
                    .has_name = web->name != NULL,
                    .has_folder = web->folder != NULL,
                    .has_origins = web->origins != NULL,
                    .has_hosts = web->hosts != NULL};
  memcpy(down->modules, web->modules, sizeof down->modules);
  char *at = (char *)(down + 1);
  at = put_text(put_text(at, web->name), web->folder);
  put_text(put_text(at, web->origins), web->hosts);
}

void servicers_share_web(Net *net) {
  for (uint32_t i = 0; i < net->servicers->count; i++)
    share_web(&net->servicers->items[i], web_of(net));
}

void servicers_share_schema(Net *net) {
  const Buf *schema = &web_of(net)->schema;
  for (uint32_t i = 0; i < net->servicers->count; i++) {
    DownSchema *down = servicer_command(&net->servicers->items[i], DOWN_SCHEMA,
                                        sizeof *down + schema->size);
    down->size = schema->size;
    memcpy(down + 1, schema->data, schema->size);
  }
}

void servicers_share_hashes(Net *net) {
  for (uint32_t i = 0; i < net->servicers->count; i++) {
    DownHashes *down =
        servicer_command(&net->servicers->items[i], DOWN_HASHES, sizeof *down);
    down->count = net->hash_count;
    memcpy(down->hashes, net->hashes, sizeof down->hashes);
  }
}

void servicers_give_udp(Servicers *servicers, uint32_t index, const UdpPlace *place) {
  Servicer *servicer = &servicers->items[index];
  servicer->udp_port = place->port;
  UdpPlace *down = servicer_command(servicer, DOWN_UDP, sizeof *down);
  *down = *place;
}

void servicers_share_tls(Net *net) {
  for (uint32_t i = 0; i < net->servicers->count; i++) {
    TlsShare *down =
        servicer_command(&net->servicers->items[i], DOWN_TLS, sizeof *down);
    *down = tls_share(net);
  }
}
