// The parts and remotes of a Net: shared settings, and sums of counters.
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "net/counters.h"
#include "net/internal.h"

typedef struct Shared {
  NetLimits limits;
  uint64_t hashes[NET_HASHES_MAX];
  uint32_t hash_count;
} Shared;

static void run_set(Net *net, const void *body) {
  const Shared *shared = body;
  net->limits = shared->limits;
  net_set_hashes(net, shared->hashes, shared->hash_count);
}

static void share_settings(const Net *net, Remote *remote) {
  static const RemoteCall SET = {.run = run_set};
  Shared *shared = remote->ops->post(remote, &SET, sizeof *shared);
  *shared = (Shared){.limits = net->limits, .hash_count = net->hash_count};
  memcpy(shared->hashes, net->hashes, sizeof shared->hashes);
}

void net_set_limits(Net *net, const NetLimits *limits) {
  net->limits = *limits;
  for (uint32_t i = 0; i < net->remote_count; i++) share_settings(net, net->remotes[i]);
}

void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count) {
  assert(count <= NET_HASHES_MAX);
  if (count > 0) memcpy(net->hashes, hashes, count * sizeof *hashes);
  net->hash_count = count;
  for (uint32_t i = 0; i < net->remote_count; i++) share_settings(net, net->remotes[i]);
}

void net_add_part(Net *net, NetPart *part, const NetPartOps *ops) {
  NetPart **at = &net->parts;
  while (*at) at = &(*at)->next;
  *part = (NetPart){.ops = ops};
  *at = part;
}

void net_share(const Net *net, const NetPart *part) {
  for (uint32_t i = 0; i < net->remote_count; i++)
    part->ops->share(part, net->remotes[i]);
}

void net_add_remote(Net *net, Remote *remote) {
  net->remotes = mem_grow(net->remotes, (net->remote_count + 1) * sizeof *net->remotes);
  net->remotes[net->remote_count++] = remote;
  share_settings(net, remote);
  for (const NetPart *part = net->parts; part; part = part->next)
    if (part->ops->share) part->ops->share(part, remote);
}

Remote *net_pick_remote(const Net *net) {
  Remote *best = NULL;
  uint64_t least = 0;
  for (uint32_t i = 0; i < net->remote_count; i++) {
    uint64_t load = net->remotes[i]->ops->load(net->remotes[i]);
    if (best && load >= least) continue;
    best = net->remotes[i];
    least = load;
  }
  return best;
}

// --- Counters ---

NetCounters net_own_counters(const Net *net) {
  NetCounters counters = {.replaced = net->replaced};
  memcpy(counters.sent, net->sent, sizeof counters.sent);
  for (const NetPart *part = net->parts; part; part = part->next)
    if (part->ops->add_counters) part->ops->add_counters(part, &counters);
  return counters;
}

NetCounters net_counters(const Net *net) {
  NetCounters counters = net_own_counters(net);
  for (uint32_t i = 0; i < net->remote_count; i++)
    net->remotes[i]->ops->add_counters(net->remotes[i], &counters);
  return counters;
}
