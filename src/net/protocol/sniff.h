// The protocols of connections that have said nothing yet: the first byte tells what they
// speak.
#pragma once

#include "net/protocol.h"

enum { SNIFF_REFUSED_MS = 250 };  // that a refused connection has for its first byte

extern const Protocol SNIFF, SNIFF_ADMIN;

/// Sets the deadline until which an unidentified connection has to have said what it is.
void sniff_await(Conn *conn);
