// The protocols of connections. Sniffing is for unidentified connections at the game's
// port and the admin listener: the first byte chooses the next protocol. The native
// protocol carries packets or lines (`conn->in.framing`), and WebSocket carries the
// same in messages. HTTP is in http/http.h.
#pragma once

#include "net/protocol.h"

enum {
  SNIFF_REFUSED_MS = 250
};  // time in which a refused connection may send its
    // first byte

extern const Protocol SNIFF, SNIFF_ADMIN, NATIVE, WEBSOCKET;

/// Sets the deadline for the first bytes of an unidentified connection.
void sniff_await(Conn *conn);
