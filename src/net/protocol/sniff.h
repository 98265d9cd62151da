// The protocols of connections without input yet; the first byte chooses the next one.
#pragma once

#include "net/protocol.h"

enum { SNIFF_REFUSED_MS = 250 };  // time of a refused connection for its first byte

extern const Protocol SNIFF, SNIFF_ADMIN;

/// Sets the deadline for the first bytes of an unidentified connection.
void sniff_await(Conn *conn);
