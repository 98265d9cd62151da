// The protocols of connections. Unidentified connections at the game's port and the
// admin listener begin with SNIFF or SNIFF_ADMIN, and their first bytes choose the next
// protocol. NATIVE carries packets or lines (`conn->in.framing`). WEBSOCKET carries
// packets or lines in messages. HTTP is in http/http.h.
#pragma once

#include "net/protocol.h"

enum {
  SNIFF_REFUSED_MS = 250
};  // time in which a refused connection may send its
    // first byte

extern const Protocol SNIFF, SNIFF_ADMIN, NATIVE, WEBSOCKET;

/// Sets the deadline for the first bytes of an unidentified connection.
void sniff_await(Conn *conn);
