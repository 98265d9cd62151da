// Room kinds: what the script says of rooms by the first part of their name. A reload
// replaces all of them in one step, and every room takes what now holds for its name.

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

void kind_apply(const Relay *relay, Room *room) {
  const RoomKind *kind = kind_find(relay, (Text){room->name, room->name_size});
  room->kind = kind ? *kind : (RoomKind){.hooks = relay->game_hooks & HOOKS_OF_ROOMS};
}

void relay_kinds_begin(Relay *relay, uint32_t game_hooks) {
  kinds_deinit(&relay->next_kinds);
  kinds_init(&relay->next_kinds);
  relay->next_hooks = game_hooks;
}

void relay_kind_set(Relay *relay, const char *name, size_t size, const RoomKind *kind) {
  Kinds *kinds = &relay->next_kinds;
  if (kinds->count == kinds->capacity)
    kinds->capacity = array_grow(&kinds->list, kinds->capacity, sizeof *kinds->list, 8);
  kinds->list[kinds->count++] = *kind;
  names_set(&kinds->names, name, size, kinds->count);
}

void relay_kinds_end(Relay *relay) {
  kinds_deinit(&relay->kinds);
  relay->kinds = relay->next_kinds;
  relay->game_hooks = relay->next_hooks;
  kinds_init(&relay->next_kinds);
  ticker_refresh_game(relay);
  Room *room;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (room->state < ROOM_OPEN) continue;
    bool had_auto_delete = room->kind.has_auto_delete;
    uint64_t old_ms = room->kind.auto_delete_ms;
    kind_apply(relay, room);
    ticker_refresh_room(relay, room);
    if (had_auto_delete && old_ms != room->kind.auto_delete_ms)
      timers_stop(net_timers(relay->net), &room->timer);
    room_check_empty(relay, room);
  }
}
