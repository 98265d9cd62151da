// Room kinds by name.
#pragma once

#include "base/names.h"
#include "relay/relay.h"

enum {
  // Events that the game's own handlers get from rooms of undeclared kinds.
  HOOKS_OF_ROOMS = HOOK_JOIN | HOOK_LEAVE | HOOK_BROADCAST | HOOK_BACKPRESSURE |
                   HOOK_RESUME | HOOK_ROOM_CREATE | HOOK_ROOM_DELETE,
};

typedef struct Kinds {
  Names names;  // name -> 1 + index in `list`
  RoomKind *list;
  uint32_t count, capacity;
  uint32_t script_hooks;  // hooks of the handlers in the game's own table
} Kinds;

void kinds_init(Kinds *kinds);
void kinds_deinit(Kinds *kinds);

/// Returns the kind of a room's name, or NULL if the game does not declare the kind.
const RoomKind *kind_find(const Relay *relay, Text name);

/// Replaces settings of a kind with the settings that one room overrides.
void kind_override(RoomKind *kind, const RoomSettings *own);

/// Adds settings. Settings in `more` replace earlier ones.
void settings_add(RoomSettings *settings, const RoomSettings *more);

/// Sets room->kind from the room's name and the settings that the room overrides.
void kind_apply(const Relay *relay, Room *room);
