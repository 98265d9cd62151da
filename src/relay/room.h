// One room: a name, its members, and the groups that carry its broadcasts. The relay
// owns rooms; a room lists its members by id.
#pragma once

#include <stdint.h>

#include "base/timers.h"
#include "net/net.h"
#include "relay/relay.h"
#include "relay/schedule.h"

typedef enum RoomState {
  ROOM_RESERVED,  // only the running handler, which creates it, sees it
  ROOM_CREATING,  // until on_create has ended: hidden, but its name is taken
  ROOM_OPEN,
  ROOM_DELETED,  // soft-deleted: goes when the last member leaves
  ROOM_DROPPED,  // deleted before on_create has ended; goes when that ends
  ROOM_FAILED,   // on_create failed; kept until all joins that wait for it are refused
  ROOM_GONE,     // empty and deleted; readable until ROOM_DELETE has been handled
} RoomState;

/// Whether somebody else decides when a room appears.
typedef enum RoomHold {
  ROOM_FREE,
  ROOM_HELD,   // its on_create has not ended
  ROOM_READY,  // it has ended well
} RoomHold;

/// A tick that repeats, of a room or of the game.
typedef struct Ticker {
  Timer timer;
  Relay *relay;
  uint32_t room;         // 0: the game's
  uint64_t interval_us;  // 0: stopped
  uint64_t last_us;      // when the last one was
  uint64_t next_us;      // when the next one should be
  uint32_t skipped;      // ticks since the one that is queued
  bool is_queued;        // the last one's event waits
} Ticker;

enum {
  ROOM_META_BYTES = 64 << 10,  // of keys and values of one room
  ROOM_META_EXTRA = 6,  // bytes of Room.meta for each key besides it and its value
};

struct Room {
  uint32_t id;
  uint8_t state;  // RoomState
  uint8_t hold;   // RoomHold
  uint8_t name_size;
  char name[NAME_MAX_BYTES + 1];
  RoomKind
      kind;  // what holds for this room; the game's hooks where its kind is not named
  GroupId groups[FORM_COUNT];  // members by the form of their messages; 0 until the
                               // first one comes
  uint32_t *members;           // peer ids; owned
  uint32_t count;
  uint32_t capacity;   // allocated
  uint32_t suspended;  // members that are suspended
  Buf waiting_joins;   // Event structs: joins that wait for the end of on_create
  Buf meta;  // keys and the JSON of their values in turns, each with a u16 size and a NUL
  size_t queued_meta;     // bytes of what queued commands add to it
  uint32_t captured;      // events of it that handlers have caused and that come next
  uint32_t queued_joins;  // joins that are on their way to here as EVENT_JOIN
  uint32_t judged_joins;  // joins whose on_join has not ended
  bool is_for_join;       // auto_create made it, and no peer has joined it yet
  uint32_t batch;         // the commands that create it, where a script does
  uint32_t unreliable;    // unreliable messages to it so far, modulo 2^32
  Relay *relay;
  Timer timer;  // auto_delete
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

/// Reads the next text of room->meta at `*at` (start at 0); false at the end.
bool room_next_meta(const Room *room, size_t *at, Text *text);
