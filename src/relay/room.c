// A room's life: reserved, open, soft-deleted, gone. Who is in it is in member.c.

#include "relay/room.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/internal.h"

Room *room_find_open(const Relay *relay, uint32_t id) {
  Room *room = slots_find(&relay->rooms, id);
  return room && room->state == ROOM_OPEN ? room : NULL;
}

static void log_room(const char *message, const Room *room) {
  log_debug(message, log_num("room", room->id),
            log_bytes("name", room->name, room->name_size));
}

Room *room_reserve(Relay *relay, Text name, int *err) {
  *err = !text_is_name(name.bytes, name.size)                    ? ERR_INVALID
         : names_find(&relay->room_names, name.bytes, name.size) ? ERR_EXISTS
         : relay->rooms.count >= relay->limits.max_rooms         ? ERR_FULL
                                                                 : 0;
  if (*err < 0) return NULL;
  Room *room = mem_zalloc(sizeof *room);
  room->id = slots_add(&relay->rooms, room);
  if (room->id == 0) {
    mem_free(room);
    *err = ERR_FULL;
    return NULL;
  }
  room->relay = relay;
  room->state = ROOM_RESERVED;
  memcpy(room->name, name.bytes, name.size);
  room->name_size = (uint8_t)name.size;
  names_set(&relay->room_names, room->name, room->name_size, room->id);
  return room;
}

void room_open(Relay *relay, Room *room) {
  assert(room->state == ROOM_RESERVED);
  room->state = ROOM_OPEN;
  relay->open_rooms++;
  kind_apply(relay, room);
  log_room("room created", room);
  if ((room->kind.hooks | relay->game_hooks) & HOOK_ROOM_CREATE)
    relay_emit(relay, &(Event){.type = EVENT_ROOM_CREATE, .room = room->id});
  ticker_refresh_room(relay, room);
  room_check_empty(relay, room);
}

void room_free(Relay *relay, Room *room) {
  timers_stop(net_timers(relay->net), &room->timer);
  ticker_set(relay, &room->ticker, room->id, 0);
  net_group_close(relay->net, room->packets);
  net_group_close(relay->net, room->plain);
  net_group_close(relay->net, room->lines);
  slots_remove(&relay->rooms, room->id);
  mem_free(room->members);
  mem_free(room);
}

void room_unreserve(Relay *relay, Room *room) {
  assert(room->state == ROOM_RESERVED);
  names_remove(&relay->room_names, room->name, room->name_size);
  room_free(relay, room);
}

// The last member of a deleted room has left. A script is told first, and may read the
// room until it has been.
static void go(Relay *relay, Room *room) {
  log_room("room deleted", room);
  relay->open_rooms--;
  if (!relay->is_scripted) {
    room_free(relay, room);
    return;
  }
  timers_stop(net_timers(relay->net), &room->timer);
  ticker_set(relay, &room->ticker, room->id, 0);
  room->state = ROOM_GONE;
  relay_emit_copy(relay, &(Event){.type = EVENT_ROOM_DELETE,
                                  .room = room->id,
                                  .data = {room->name, room->name_size}});
}

void room_delete(Relay *relay, Room *room) {
  assert(room->state == ROOM_OPEN);
  room->state = ROOM_DELETED;
  names_remove(&relay->room_names, room->name, room->name_size);
  timers_stop(net_timers(relay->net), &room->timer);
  if (room->count == 0) go(relay, room);
}

static void on_auto_delete(void *data, uint64_t now_ms) {
  (void)now_ms;
  Room *room = data;
  room_delete(room->relay, room);
}

void room_check_empty(Relay *relay, Room *room) {
  Timers *timers = net_timers(relay->net);
  if (room->state == ROOM_DELETED && room->count == 0) {
    go(relay, room);
    return;
  }
  if (room->state != ROOM_OPEN) return;
  if (room->count > 0 || !room->kind.has_auto_delete)
    timers_stop(timers, &room->timer);
  else if (!timers_is_set(&room->timer))
    timers_set(timers, &room->timer, net_now_ms(relay->net) + room->kind.auto_delete_ms,
               on_auto_delete, room);
}
