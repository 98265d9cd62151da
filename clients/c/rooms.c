// The rooms that a client is in, and who else is there.
#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum { FIRST_CAPACITY = 8 };

static char *copy_text(const char *text, size_t size) {
  char *copy = mem_alloc(size + 1);
  memcpy(copy, text, size);
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
  for (uint32_t i = rooms->count; i-- > 0;) {  // of two the one that was joined last
    if (is_named(rooms->list[i]->name, name, size)) return rooms->list[i];
  }
  return NULL;
}

Room *rooms_add(Rooms *rooms, const char *name, size_t size) {
  if (rooms->count == rooms->capacity) {
    rooms->capacity = rooms->capacity ? 2 * rooms->capacity : FIRST_CAPACITY;
    rooms->list = mem_grow(rooms->list, rooms->capacity * sizeof(Room *));
  }
  Room *room = mem_zalloc(sizeof *room);
  room->number = ++rooms->last_number;
  room->name = copy_text(name, size);
  rooms->list[rooms->count++] = room;
  return room;
}

static void room_free(Room *room) {
  match_free(room->match);
  room_clear_members(room);
  mem_free(room->members);
  mem_free(room->name);
  mem_free(room);
}

void rooms_remove(Rooms *rooms, Room *room) {
  for (uint32_t i = 0; i < rooms->count; i++) {
    if (rooms->list[i] != room) continue;
    rooms->count--;
    memmove(rooms->list + i, rooms->list + i + 1, (rooms->count - i) * sizeof(Room *));
    break;
  }
  room_free(room);
}

void rooms_deinit(Rooms *rooms) {
  for (uint32_t i = 0; i < rooms->count; i++) room_free(rooms->list[i]);
  mem_free(rooms->list);
  *rooms = (Rooms){0};
}

const Member *room_find_member(const Room *room, uint32_t peer) {
  for (uint32_t i = 0; i < room->member_count; i++) {
    if (room->members[i].peer == peer) return &room->members[i];
  }
  return NULL;
}

bool room_add_member(Room *room, uint32_t peer, Text name) {
  const Member *known = room_find_member(room, peer);
  if (known && is_named(known->name, name.bytes, name.size)) return false;
  if (known) room_remove_member(room, known);
  if (room->member_count == room->member_capacity) {
    room->member_capacity =
        room->member_capacity ? 2 * room->member_capacity : FIRST_CAPACITY;
    room->members = mem_grow(room->members, room->member_capacity * sizeof(Member));
  }
  room->members[room->member_count++] =
      (Member){.peer = peer, .name = copy_text(name.bytes, name.size)};
  return true;
}

void room_remove_member(Room *room, const Member *member) {
  mem_free(member->name);
  room->members[member - room->members] = room->members[--room->member_count];
}

void room_clear_members(Room *room) {
  while (room->member_count > 0) room_remove_member(room, room->members);
}
