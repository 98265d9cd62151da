// Room kinds. A reload replaces all kinds in one step, and each room gets the new kind of
// its name.

#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "relay/internal.h"

void kinds_init(Kinds *kinds) {
  *kinds = (Kinds){0};
  names_init(&kinds->names);
}

void kinds_deinit(Kinds *kinds) {
  names_deinit(&kinds->names);
  mem_free(kinds->list);
  *kinds = (Kinds){0};
}

const RoomKind *kind_find(const Relay *relay, Text name) {
  const char *colon = name.size ? memchr(name.bytes, ':', name.size) : NULL;
  size_t size = colon ? (size_t)(colon - name.bytes) : name.size;
  uint32_t place = names_find(&relay->kinds.names, name.bytes, size);
  return place ? &relay->kinds.list[place - 1] : NULL;
}

// Returns the kind of a room without the program's hooks.
static RoomKind script_kind(const Relay *relay, const Room *room) {
  const RoomKind *kind = kind_find(relay, room_name(room));
  return kind ? *kind : (RoomKind){.hooks = relay->kinds.script_hooks & HOOKS_OF_ROOMS};
}

void kind_override(RoomKind *kind, const RoomSettings *own) {
  const RoomKind *values = &own->values;
  if (own->given & SETTING_CAPACITY) kind->capacity = values->capacity;
  if (own->given & SETTING_HIDDEN) kind->is_hidden = values->is_hidden;
  if (own->given & SETTING_LOCKED) kind->is_locked = values->is_locked;
  if (own->given & SETTING_KEEP) kind->keep = values->keep;
  if (own->given & SETTING_AUTO_DELETE) {
    kind->has_auto_delete = values->has_auto_delete;
    kind->auto_delete_ms = values->auto_delete_ms;
    if (!(own->given & SETTING_KEEP)) kind->keep = KEEP_NONE;
  }
  if (own->given & SETTING_PASSWORD) {
    kind->has_password = values->has_password;
    kind->password = values->password;
  }
}

void settings_add(RoomSettings *settings, const RoomSettings *more) {
  kind_override(&settings->values, more);
  settings->given |= more->given;
}

// Sets the room's kind, with the hooks of the program except HOOK_ROOM_CREATE. In a
// kind, that bit means that the kind has on_create, which programs do not have.
void kind_apply(const Relay *relay, Room *room) {
  room->kind = script_kind(relay, room);
  kind_override(&room->kind, &room->own);
  room->kind.hooks |=
      relay->program_hooks & HOOKS_OF_ROOMS & ~(uint32_t)HOOK_ROOM_CREATE;
}

uint32_t relay_hook(uint8_t type) {
  static const uint32_t HOOKS[EVENT_TYPE_COUNT] = {
      [EVENT_CONNECT] = HOOK_CONNECT,
      [EVENT_DISCONNECT] = HOOK_DISCONNECT,
      [EVENT_SUSPEND] = HOOK_SUSPEND,
      [EVENT_RESUME] = HOOK_RESUME,
      [EVENT_JOIN] = HOOK_JOIN,
      [EVENT_LEAVE] = HOOK_LEAVE,
      [EVENT_BROADCAST] = HOOK_BROADCAST,
      [EVENT_BACKPRESSURE] = HOOK_BACKPRESSURE,
      [EVENT_MESSAGE] = HOOK_MESSAGE,
      [EVENT_PACKET] = HOOK_PACKET,
      [EVENT_ROOM_CREATE] = HOOK_ROOM_CREATE,
      [EVENT_ROOM_DELETE] = HOOK_ROOM_DELETE,
  };
  return type < EVENT_TYPE_COUNT ? HOOKS[type] : 0;
}

bool relay_program_wants(const Relay *relay, const Event *event) {
  const Peer *peer = session_find(relay->session, event->peer);
  if (event->type == EVENT_DISCONNECT && peer && peer->is_bot) return false;
  return event->type == EVENT_PROGRAM || relay->program_hooks & relay_hook(event->type);
}

// Returns whether the script gets an event. It always gets disconnects, deletions of
// rooms, and events without a hook.
bool relay_script_wants(const Relay *relay, const Event *event) {
  uint32_t hook =
      relay_hook(event->type) & ~(uint32_t)(HOOK_DISCONNECT | HOOK_ROOM_DELETE);
  if (relay->program_hooks == 0 || hook == 0) return true;
  const Room *room = relay_room(relay, event->room);
  bool is_of_room = room && hook & HOOKS_OF_ROOMS && hook != HOOK_ROOM_CREATE;
  uint32_t hooks = is_of_room ? 0 : relay->kinds.script_hooks;
  if (room && hook != HOOK_ROOM_CREATE) hooks |= script_kind(relay, room).hooks;
  return hooks & hook;
}

void relay_kinds_begin(Relay *relay, uint32_t game_hooks) {
  kinds_deinit(&relay->next_kinds);
  kinds_init(&relay->next_kinds);
  relay->next_kinds.script_hooks = game_hooks;
}

void relay_kind_set(Relay *relay, Text name, const RoomKind *kind) {
  Kinds *kinds = &relay->next_kinds;
  if (kinds->count == kinds->capacity)
    kinds->capacity = array_grow(&kinds->list, kinds->capacity, sizeof *kinds->list, 8);
  kinds->list[kinds->count++] = *kind;
  names_set(&kinds->names, name.bytes, name.size, kinds->count);
}
