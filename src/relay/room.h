// A room: its name, its members, and the groups that carry its broadcasts. The relay owns
// rooms. A room lists its members by id.
#pragma once

#include <stdint.h>

#include "base/timers.h"
#include "net/net.h"
#include "relay/relay.h"
#include "relay/schedule.h"

typedef enum RoomState {
  ROOM_RESERVED,  // visible only to the running handler, which creates the room
  ROOM_CREATING,  // hidden until on_create has ended; its name is used
  ROOM_OPEN,
  ROOM_DELETED,  // soft-deleted; ends when the last member leaves
  ROOM_DROPPED,  // deleted before the end of its on_create; ends together with
                 // on_create
  ROOM_FAILED,   // on_create failed; exists until its waiting joins are refused
  ROOM_GONE,     // empty and deleted; readable until ROOM_DELETE has been handled
} RoomState;

/// The part of a batch in the decision when a room opens. ROOM_FREE: none.
typedef enum RoomHold {
  ROOM_FREE,
  ROOM_HELD,   // on_create has not ended
  ROOM_READY,  // on_create has ended well
} RoomHold;

/// The repeated tick of a room or of the game.
typedef struct Ticker {
  Timer timer;
  Relay *relay;
  uint32_t room;         // id of the room; 0: the game's ticker
  uint64_t interval_us;  // time between ticks; 0: stopped
  uint64_t last_us;      // time of the last queued tick
  uint64_t next_us;      // time of the next tick
  uint32_t skipped;      // number of ticks skipped since the last queued tick
  bool is_queued;        // the event of the last tick has not been taken
} Ticker;

enum {
  ROOM_META_BYTES = 64 << 10,  // limit of the keys and values of one room
  ROOM_META_EXTRA = 7,  // bytes of an entry in Room.meta besides its key and its value
  ROOM_PUBLIC_BYTES = 4 << 10,  // limit of the public keys and values of one room
};

struct Room {
  uint32_t id;
  uint8_t state;  // RoomState
  uint8_t hold;   // RoomHold
  uint8_t name_size;
  char name[NAME_MAX_BYTES + 1];
  RoomKind kind;     // hooks, and the settings in force; for an undeclared kind, the
                     // game's hooks
  RoomSettings own;  // settings that differ from those of the kind
  GroupId groups[FORM_COUNT];  // groups of members by form; 0 until the first member
                               // of the form
  uint32_t *members;           // peer ids in the order of joining, or 0 for a member
                               // that has left; owned
  uint32_t count;              // number of members
  uint32_t places;             // used places of `members`
  uint32_t capacity;           // places allocated in `members`
  uint32_t suspended;          // number of suspended members
  Peer *first_bot;             // bots in the order of joining, by PeerRelay.next_bot
  Peer *last_bot;
  uint32_t bots;          // number of members that are bots
  uint32_t fillers;       // number of bots with BOT_FILLS
  uint32_t ticking_bots;  // number of bots with BOT_TICKS
  uint32_t queued_bots;   // number of queued COMMAND_BOTs
  Events waiting_joins;   // joins that wait for the end of on_create
  Buf fault;  // fault of on_create in ROOM_FAILED: its code and its JSON, each with a
              // NUL
  Buf meta;  // entries. An entry begins with a byte, which is 1 if the entry is public.
             // Key and JSON value follow, each with a u16 size before it and a NUL
             // behind it
  size_t queued_meta;     // bytes that queued commands will add to `meta`
  size_t queued_public;   // bytes of public meta in `queued_meta`
  uint32_t captured;      // number of captured events of the room
  uint32_t queued_joins;  // number of queued EVENT_JOINs to the room
  uint32_t judged_joins;  // number of joins whose on_join has not ended
  bool is_for_join;       // auto_create made the room, and no player has joined it yet
  bool is_listed;         // the room is in Relay.listed
  bool is_by_join;        // the room was made for a join
  uint32_t batch;         // number of the batch that creates the room; 0: none
  uint32_t unreliable;  // number of unreliable messages to the room so far, modulo 2^32
  Relay *relay;
  Timer timer;  // timer of auto_delete
  Ticker ticker;
  Source source;
};

/// Returns whether auto_delete applies to a room with these settings.
static inline bool room_is_temporary(const Room *room, const RoomKind *settings) {
  bool is_kept =
      settings->keep == KEEP_CREATED ? !room->is_by_join : settings->keep == KEEP_ALL;
  return settings->has_auto_delete && !is_kept;
}

/// Returns the number of connected members.
static inline uint32_t room_present(const Room *room) {
  return room->count - room->suspended - room->bots;
}

/// Returns whether no player is a member.
static inline bool room_is_deserted(const Room *room) {
  return room->count == room->bots;
}

/// Returns whether the capacity permits another bot (is_bot) or another player, which
/// may replace a bot.
static inline bool room_has_place(const Room *room, bool is_bot) {
  uint32_t count = is_bot ? room->count : room->count - room->fillers;
  return room->kind.capacity == 0 || count < room->kind.capacity;
}

static inline Text room_name(const Room *room) {
  return (Text){room->name, room->name_size};
}

/// Returns the id of the first member from `*place` (start at 0) on, and advances
/// `*place`; returns 0 at the end.
static inline uint32_t room_next_member(const Room *room, uint32_t *place) {
  uint32_t member = 0;
  while (member == 0 && *place < room->places) member = room->members[(*place)++];
  return member;
}

/// A key of a room's meta and its value.
typedef struct RoomMeta {
  Text key;
  Text json;       // value; a NUL follows
  bool is_public;  // lists show it to clients
} RoomMeta;

/// Reads a key; returns false if the key does not exist.
bool room_get_meta(const Room *room, Text key, RoomMeta *meta);

/// Stores a value under its key. A value without bytes removes the key.
void room_set_meta(Room *room, const RoomMeta *meta);

/// Reads the entry at `*at` (start at 0) in room->meta and advances `*at`; returns false
/// at the end.
bool room_next_meta(const Room *room, size_t *at, RoomMeta *meta);
