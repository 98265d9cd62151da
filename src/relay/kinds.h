// Room kinds by name.
#pragma once

#include "base/names.h"
#include "relay/relay.h"

enum {
  // Of a room whose kind the game does not name, the game's own handlers take these.
  HOOKS_OF_ROOMS = HOOK_JOIN | HOOK_LEAVE | HOOK_BROADCAST | HOOK_BACKPRESSURE |
                   HOOK_RESUME | HOOK_ROOM_CREATE | HOOK_ROOM_DELETE,
};

typedef struct Kinds {
  Names names;  // 1 + index
  RoomKind *list;
  uint32_t count, capacity;
  uint32_t script_hooks;  // of the game's own table
} Kinds;

void kinds_init(Kinds *kinds);
void kinds_deinit(Kinds *kinds);

/// Returns the kind of a room of this name, or NULL when the game does not declare it.
const RoomKind *kind_find(const Relay *relay, Text name);

/// Stores the kind of its name in the room.
void kind_apply(const Relay *relay, Room *room);
