// What the rest of net asks of the admin listener.
#pragma once

#include "net/internal.h"
#include "net/protocol.h"

extern const Protocol ADMIN;

void admin_port_free(Net *net);
