#include "script/transaction.h"

#include "script/host.h"

uint32_t transaction_stash(Host *host) {
  RelayStash *stash = relay_stash(host->relay);
  uint32_t id = slots_add(&host->stashes, stash);
  if (id == 0) relay_unstash(host->relay, stash);
  return id;
}

void transaction_unstash(Host *host, uint32_t id) {
  RelayStash *stash = slots_find(&host->stashes, id);
  if (stash == NULL) return;
  slots_remove(&host->stashes, id);
  relay_unstash(host->relay, stash);
}

void transaction_drop(Host *host, uint32_t id) {
  RelayStash *stash = slots_find(&host->stashes, id);
  if (stash == NULL) return;
  slots_remove(&host->stashes, id);
  relay_drop_stash(host->relay, stash);
}

void transactions_drop_all(Host *host) {
  RelayStash *stash;
  for (uint32_t cursor = 0; (stash = slots_next(&host->stashes, &cursor)) != NULL;)
    relay_drop_stash(host->relay, stash);
  slots_deinit(&host->stashes);
}
