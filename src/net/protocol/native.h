// Packets or lines, by `conn->in.framing`.
#pragma once

#include "net/protocol.h"

extern const Protocol NATIVE;
