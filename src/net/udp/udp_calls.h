// What the rest of net asks of UDP.
#pragma once

#include "net/internal.h"

/// The port at which the client of a conn may attach; 0 where there is none for it.
uint16_t udp_port_to_attach(const Conn *conn);
