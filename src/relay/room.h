// A room: its name, its members, and the groups that carry its broadcasts. The relay owns
// rooms. A room lists its members by id.
#pragma once

#include <stdint.h>

#include "base/timers.h"
#include "net/net.h"
#include "relay/relay.h"
#include "relay/schedule.h"

typedef enum RoomState {
  ROOM_RESERVED,  // visible to the running handler alone, which creates it
  ROOM_CREATING,  // hidden until on_create has ended; its name is taken
  ROOM_OPEN,
  ROOM_DELETED,  // soft-deleted: ends when the last member leaves
  ROOM_DROPPED,  // deleted before on_create has ended; ends with it
  ROOM_FAILED,   // on_create failed; exists until its waiting joins are refused
  ROOM_GONE,     // empty and deleted; readable until ROOM_DELETE has been handled
} RoomState;

/// Whether a batch decides when the room appears.
typedef enum RoomHold {
  ROOM_FREE,
  ROOM_HELD,   // its on_create has not ended
  ROOM_READY,  // it has ended well
} RoomHold;

/// The repeated tick of a room or of the game.
typedef struct Ticker {
  Timer timer;
  Relay *relay;
  uint32_t room;         // id of the room; 0: the game's ticker
  uint64_t interval_us;  // time between ticks; 0: stopped
  uint64_t last_us;      // time of the last tick
  uint64_t next_us;      // time of the next tick
  uint32_t skipped;      // ticks skipped since the queued one
  bool is_queued;        // the event of the last tick waits
} Ticker;

enum {
  ROOM_META_BYTES = 64 << 10,  // limit of the keys and values of one room
  ROOM_META_EXTRA = 6,  // bytes of Room.meta for each key besides it and its value
};

struct Room {
  uint32_t id;
  uint8_t state;  // RoomState
  uint8_t hold;   // RoomHold
  uint8_t name_size;
  char name[NAME_MAX_BYTES + 1];
  RoomKind kind;  // settings and hooks; the game's hooks if its kind is not declared
  GroupId groups[FORM_COUNT];  // members by the form of their messages; 0 until the
                               // first one
  uint32_t *members;           // peer ids; owned
  uint32_t count;
  uint32_t capacity;   // places allocated in `members`
  uint32_t suspended;  // suspended members
  Buf waiting_joins;   // Event structs of joins that wait for the end of on_create
  Buf meta;  // keys and the JSON of their values, alternating, each with a u16 size and
             // a NUL
  size_t queued_meta;     // bytes of what queued commands add to it
  uint32_t captured;      // captured events of the room
  uint32_t queued_joins;  // queued EVENT_JOINs to the room
  uint32_t judged_joins;  // joins whose on_join has not ended
  bool is_for_join;       // auto_create made it, and no peer has joined it yet
  uint32_t batch;         // number of the batch that creates the room; 0: none
  uint32_t unreliable;    // unreliable messages to the room so far, modulo 2^32
  Relay *relay;
  Timer timer;  // timer of auto_delete
  Ticker ticker;
  Source source;
};

static inline Text room_name(const Room *room) {
  return (Text){room->name, room->name_size};
}

/// Reads the JSON of the value under a key; returns false if there is none.
bool room_get_meta(const Room *room, Text key, Text *json);

/// Stores the JSON of a value under a key; NULL removes it.
void room_set_meta(Room *room, Text key, const Text *value);

/// Reads the text of room->meta at `*at` (start at 0) and advances `*at`; returns false at
/// the end.
bool room_next_meta(const Room *room, size_t *at, Text *text);
