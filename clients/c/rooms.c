// The rooms in which a client is, and their other members.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "internal.h"

enum { FIRST_ROOMS = 2, FIRST_MEMBERS = 8 };

static char *copy_text(const char *text, size_t size) {
  char *copy = mem_alloc(size + 1);
  if (size > 0) memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

static bool is_named(const char *name, const char *text, size_t size) {
  return strlen(name) == size && memcmp(name, text, size) == 0;
}

Room *rooms_find(const Rooms *rooms, uint32_t number) {
  for (uint32_t i = 0; i < rooms->count; i++) {
    if (rooms->list[i]->number == number) return rooms->list[i];
  }
  return NULL;
}

Room *rooms_find_id(const Rooms *rooms, uint32_t id) {
  for (uint32_t i = 0; i < rooms->count; i++) {
    Room *room = rooms->list[i];
    if (room->is_joined && room->id == id) return room;
  }
  return NULL;
}

Room *rooms_find_name(const Rooms *rooms, const char *name, size_t size) {
  for (uint32_t i = rooms->count; i-- > 0;) {  // begins with the newest room, if
                                               // two have this name
    if (is_named(rooms->list[i]->name, name, size)) return rooms->list[i];
  }
  return NULL;
}

Room *rooms_add(Rooms *rooms, const char *name, size_t size) {
  if (rooms->count == rooms->capacity)
    rooms->capacity =
        array_grow(&rooms->list, rooms->capacity, sizeof *rooms->list, FIRST_ROOMS);
  Room *room = mem_zalloc(sizeof *room);
  room->number = ++rooms->last_number;
  room->name = copy_text(name, size);
  names_init(&room->places);
  rooms->list[rooms->count++] = room;
  return room;
}

bool rooms_are_full(const Rooms *rooms) { return rooms->count >= ROOMS_MAX; }

static void room_free(Rooms *rooms, Room *room) {
  match_free(room->match);
  while (room->member_count > 0)
    room_remove_member(rooms, room, &room->members[room->member_count - 1]);
  mem_free(room->members);
  names_deinit(&room->places);
  mem_free(room->name);
  mem_free(room->options);
  mem_free(room);
}

void rooms_remove(Rooms *rooms, Room *room) {
  for (uint32_t i = 0; i < rooms->count; i++) {
    if (rooms->list[i] != room) continue;
    rooms->count--;
    memmove(rooms->list + i, rooms->list + i + 1, (rooms->count - i) * sizeof(Room *));
    break;
  }
  room_free(rooms, room);
}

void rooms_deinit(Rooms *rooms) {
  for (uint32_t i = 0; i < rooms->count; i++) room_free(rooms, rooms->list[i]);
  mem_free(rooms->list);
  *rooms = (Rooms){0};
}

// --- Members ---

static uint32_t place_of(const Room *room, uint32_t peer) {
  return names_find(&room->places, (const char *)&peer, sizeof peer);
}

// Puts a member at `index` and updates the map of peer ids.
static void put(Room *room, uint32_t index, Member member) {
  room->members[index] = member;
  names_set(&room->places, (const char *)&member.peer, sizeof member.peer, index + 1);
}

Member *room_find_member(const Room *room, uint32_t peer) {
  uint32_t place = place_of(room, peer);
  return place ? &room->members[place - 1] : NULL;
}

bool rooms_take_members(const Rooms *rooms, uint32_t count) {
  return rooms->member_count + count <= MEMBERS_MAX;
}

static void append(Room *room, Member member) {
  if (room->member_count == room->member_capacity)
    room->member_capacity = array_grow(&room->members, room->member_capacity,
                                       sizeof *room->members, FIRST_MEMBERS);
  put(room, room->member_count++, member);
}

bool room_add_member(Rooms *rooms, Room *room, uint32_t peer, Text name) {
  Member *known = room_find_member(room, peer);
  if (known && is_named(known->name, name.bytes, name.size)) return false;
  if (known) mem_free(known->name);
  char *copy = copy_text(name.bytes, name.size);
  if (known) {
    known->name = copy;
  } else {
    append(room, (Member){.peer = peer, .name = copy});
    rooms->member_count++;
  }
  return true;
}

void room_remove_member(Rooms *rooms, Room *room, const Member *member) {
  uint32_t index = (uint32_t)(member - room->members);
  names_remove(&room->places, (const char *)&member->peer, sizeof member->peer);
  mem_free(member->name);
  rooms->member_count--;
  if (index != --room->member_count)
    put(room, index, room->members[room->member_count]);
}
