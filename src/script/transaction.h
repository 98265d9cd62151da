// The commands of transactions (perigee.store.transaction) that wait for the store.
// Other handlers run meanwhile, so these commands are set aside as a stash.
#pragma once

#include <stdint.h>

typedef struct Host Host;

/// Sets the commands of the running handler aside. Returns the stash's id, or 0 if there
/// are too many.
uint32_t transaction_stash(Host *host);

/// Makes the commands of a stash those of the running handler, which must have none, and
/// ends the stash.
void transaction_unstash(Host *host, uint32_t id);

/// Discards the commands of a stash, if it exists.
void transaction_drop(Host *host, uint32_t id);

void transactions_drop_all(Host *host);
