// The calls of the rest of net for UDP.
#pragma once

#include "net/internal.h"

/// Returns the port at which the client of a conn may attach, or 0.
uint16_t udp_port_to_attach(const Conn *conn);
