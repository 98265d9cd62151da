// The protocols with which connections begin.
#pragma once

#include "net/protocol.h"

/// By Framing.
extern const Protocol *const PROTOCOLS[];
