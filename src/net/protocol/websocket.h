// Packets or lines in messages of WebSockets.
#pragma once

#include "net/protocol.h"

extern const Protocol WEBSOCKET;
