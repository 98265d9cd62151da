// The protocols of connections: unidentified ones at the game's port and at the admin listener,
// whose first byte chooses the next protocol; packets or lines, by `conn->in.framing`; and the
// same in messages of WebSockets. http/http.h has the last one.
#pragma once

#include "net/protocol.h"

enum { SNIFF_REFUSED_MS = 250 };  // time of a refused connection for its first byte

extern const Protocol SNIFF, SNIFF_ADMIN, NATIVE, WEBSOCKET;

/// Sets the deadline for the first bytes of an unidentified connection.
void sniff_await(Conn *conn);
