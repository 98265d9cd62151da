// The states of a room: reserved, being created, open, soft-deleted, gone.

#include "relay/room.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/internal.h"
#include "relay/listing.h"

static void log_room(const char *message, const Room *room) {
  log_debug(message, log_num("room", room->id),
            log_bytes("name", room->name, room->name_size));
}

Room *room_reserve(Relay *relay, Text name, int *err) {
  *err = !text_is_name(name.bytes, name.size)            ? ERR_INVALID
         : relay_find_room(relay, name)                  ? ERR_EXISTS
         : relay->rooms.count >= relay->limits.max_rooms ? ERR_FULL
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

void room_free(Relay *relay, Room *room) {
  room->state = ROOM_GONE;
  listing_update(relay, room);
  timers_stop(net_timers(relay->net), &room->timer);
  ticker_set(relay, &room->ticker, room->id, 0);
  for (int i = 0; i < FORM_COUNT; i++) net_group_close(relay->net, room->groups[i]);
  source_end(relay, &room->source);
  slots_remove(&relay->rooms, room->id);
  mem_free(room->members);
  events_deinit(&room->waiting_joins);
  buf_deinit(&room->fault);
  buf_deinit(&room->meta);
  mem_free(room);
}

// Queues the joins that waited for the end of on_create, before other events.
static void requeue_joins(Relay *relay, Room *room) {
  for (Event join; events_next(&room->waiting_joins, &join);) {
    Peer *peer = session_find(relay->session, join.peer);
    if (peer) peer->relay.waiting_joins -= join_weight(&join);
    room->queued_joins++;
    relay_emit(relay, &join);
  }
  events_deinit(&room->waiting_joins);
}

// Frees a reserved room and its name. Queues the joins that wait for the room again:
// peers may wait to join it if its creator waits within a transaction.
void room_unreserve(Relay *relay, Room *room) {
  assert(room->state == ROOM_RESERVED);
  names_remove(&relay->room_names, room->name, room->name_size);
  requeue_joins(relay, room);
  room_free(relay, room);
}

// Ends a deleted room that has no players, and ends its bots. A script can read the
// room until ROOM_DELETE has been handled.
static void end(Relay *relay, Room *room) {
  log_room("room deleted", room);
  relay->open_rooms--;
  room->state = ROOM_GONE;
  while (room->first_bot)
    session_kick(relay->session, room->first_bot, CODE_CLOSED, NULL);
  if (!relay->is_scripted) {
    room_free(relay, room);
    return;
  }
  timers_stop(net_timers(relay->net), &room->timer);
  ticker_set(relay, &room->ticker, room->id, 0);
  relay_emit(
      relay,
      &(Event){.type = EVENT_ROOM_DELETE, .room = room->id, .data = room_name(room)});
}

void room_delete(Relay *relay, Room *room) {
  assert(room->state <= ROOM_OPEN);
  bool is_open = room->state == ROOM_OPEN;
  room->state = is_open ? ROOM_DELETED : ROOM_DROPPED;
  listing_update(relay, room);
  names_remove(&relay->room_names, room->name, room->name_size);
  timers_stop(net_timers(relay->net), &room->timer);
  if (!is_open)
    requeue_joins(relay, room);
  else if (room_is_deserted(room))
    end(relay, room);
}

// --- Being created ---

// Opens a room. A room that was deleted meanwhile ends at once.
static void appear(Relay *relay, Room *room) {
  bool is_wanted = room->state == ROOM_CREATING;
  room->state = is_wanted ? ROOM_OPEN : ROOM_DELETED;
  relay->open_rooms++;
  kind_apply(relay, room);
  listing_update(relay, room);
  log_room("room created", room);
  if (relay->game_hooks & HOOK_ROOM_CREATE)
    relay_emit(relay, &(Event){.type = EVENT_ROOM_CREATE, .room = room->id});
  if (is_wanted) ticker_refresh_room(relay, room);
  requeue_joins(relay, room);
  room_check_empty(relay, room);
}

static void appear_or_wait(Relay *relay, Room *room) {
  if (room->hold == ROOM_FREE) {
    appear(relay, room);
    return;
  }
  room->hold = ROOM_READY;
  relay_emit(relay, &(Event){.type = EVENT_PROGRAM});
}

void relay_hold_room(Relay *relay, uint32_t id) {
  relay_room(relay, id)->hold = ROOM_HELD;
}

void relay_release_room(Relay *relay, uint32_t id) {
  Room *room = relay_room(relay, id);
  room->hold = ROOM_FREE;
  appear(relay, room);
}

void relay_drop_room(Relay *relay, uint32_t id) {
  Room *room = relay_room(relay, id);
  if (room->state == ROOM_CREATING) room_delete(relay, room);
  relay_release_room(relay, id);
}

// Begins the creation of a room. Keeps ROOM_DROPPED, because a handler between two
// commands of the creator may have deleted the room.
void room_begin(Relay *relay, Room *room) {
  assert(room->state <= ROOM_CREATING || room->state == ROOM_DROPPED);
  if (room->state == ROOM_RESERVED) room->state = ROOM_CREATING;
  kind_apply(relay, room);
  if (room->kind.hooks & HOOK_ROOM_CREATE)
    batch_await(relay, &(Event){.type = EVENT_CREATE, .room = room->id});
  else
    appear_or_wait(relay, room);
}

void relay_created(Relay *relay, uint32_t id) {
  appear_or_wait(relay, relay_room(relay, id));
}

static void keep_fault(Room *room, const Fault *fault) {
  buf_append(&room->fault, fault->code.bytes, fault->code.size);
  buf_u8(&room->fault, 0);
  buf_append(&room->fault, fault->json.bytes, fault->json.size);
  buf_u8(&room->fault, 0);
}

bool room_get_fault(const Room *room, Fault *fault) {
  if (room->fault.size == 0) return false;
  fault->code = text_from((const char *)room->fault.data);
  fault->json = text_from(fault->code.bytes + fault->code.size + 1);
  return true;
}

void relay_not_created(Relay *relay, uint32_t id, const Fault *fault) {
  Room *room = relay_room(relay, id);
  log_room("room not created", room);
  if (fault) keep_fault(room, fault);
  if (fault && !room->is_for_join)
    log_warn("room not created: its on_create raised a fault",
             log_bytes("name", room->name, room->name_size),
             log_bytes("fault", fault->code.bytes, fault->code.size));
  if (room->state == ROOM_CREATING)
    names_remove(&relay->room_names, room->name, room->name_size);
  room->state = ROOM_FAILED;
  relay->failed_rooms++;
  if (room->hold == ROOM_HELD) relay_emit(relay, &(Event){.type = EVENT_PROGRAM});
  requeue_joins(relay, room);
  room_free_failed(relay);
}

void room_free_failed(Relay *relay) {
  Room *room;
  if (relay->failed_rooms == 0) return;
  for (uint32_t cursor = 0; (room = slots_next(&relay->rooms, &cursor));) {
    if (room->state != ROOM_FAILED || room->queued_joins > 0) continue;
    if (batch_is_left(relay, room->batch)) continue;
    relay->failed_rooms--;
    room_free(relay, room);
  }
}

// --- Meta ---

static void append_meta(Buf *buf, const RoomMeta *meta) {
  buf_u8(buf, meta->is_public);
  buf_str16(buf, meta->key.bytes, meta->key.size);
  buf_u8(buf, 0);
  buf_str16(buf, meta->json.bytes, meta->json.size);
  buf_u8(buf, 0);
}

static Text read_meta_text(Reader *reader) {
  Text text = reader_str16(reader);
  reader_u8(reader);
  return text;
}

bool room_next_meta(const Room *room, size_t *at, RoomMeta *meta) {
  if (*at == room->meta.size) return false;
  Reader reader = reader_of(room->meta.data + *at, room->meta.size - *at);
  meta->is_public = reader_u8(&reader);
  meta->key = read_meta_text(&reader);
  meta->json = read_meta_text(&reader);
  *at = room->meta.size - reader_left(&reader);
  return true;
}

bool room_get_meta(const Room *room, Text key, RoomMeta *meta) {
  for (size_t at = 0; room_next_meta(room, &at, meta);)
    if (text_equals(meta->key, key)) return true;
  return false;
}

void room_set_meta(Room *room, const RoomMeta *meta) {
  Buf kept = {0};
  RoomMeta old;
  for (size_t at = 0; room_next_meta(room, &at, &old);)
    if (!text_equals(old.key, meta->key)) append_meta(&kept, &old);
  if (meta->json.size > 0) append_meta(&kept, meta);
  buf_deinit(&room->meta);
  room->meta = kept;
}

// --- Being empty ---

static void on_auto_delete(void *data, uint64_t now_ms) {
  (void)now_ms;
  Room *room = data;
  room_delete(room->relay, room);
}

void room_refresh(Relay *relay, Room *room) {
  bool had_auto_delete = room->kind.has_auto_delete;
  uint64_t old_ms = room->kind.auto_delete_ms;
  kind_apply(relay, room);
  listing_update(relay, room);
  ticker_refresh_room(relay, room);
  if (had_auto_delete && old_ms != room->kind.auto_delete_ms)
    timers_stop(net_timers(relay->net), &room->timer);
  room_check_empty(relay, room);
}

void room_check_empty(Relay *relay, Room *room) {
  Timers *timers = net_timers(relay->net);
  if (room->state == ROOM_DELETED && room_is_deserted(room)) {
    end(relay, room);
    return;
  }
  if (room->state != ROOM_OPEN) return;
  if (!room_is_deserted(room) || !room_is_temporary(room, &room->kind))
    timers_stop(timers, &room->timer);
  else if (!timers_is_set(&room->timer))
    timers_set(timers, &room->timer, net_now_ms(relay->net) + room->kind.auto_delete_ms,
               on_auto_delete, room);
}
