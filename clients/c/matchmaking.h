// Reports of the server about queues and parties, which are messages with fixed names.
#pragma once

#include "internal.h"

/// Makes a message without a room an event about queues or parties if its name is the
/// name of a report: sets the event's type and numbers, and `parts->text`, whose bytes
/// are in `text`.
void matchmaking_read(PerigeeEvent *event, EventParts *parts, Buf *text);
