// A client's part in the lockstep match of a room (docs/protocol.md, section 17).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/timers.h"
#include "perigee.h"
#include "wire/packet.h"

enum {
  LOCKSTEP_CHANNEL = 3,
  MATCH_INPUTS = 64,          // turns, that inputs are kept for
  MATCH_AHEAD = 256,          // turns, kept that wait for those before them
  MATCH_QUEUE_MAX = 1 << 20,  // bytes of inputs that wait for their turn
  MATCH_HASHES = 4,           // that are told with each INPUT
  SNAPSHOT_MAX = 64 << 20,    // bytes of a state
};

/// Types of packets.
typedef enum LockstepType {
  UP_ENTER = 1,
  UP_INPUT = 2,
  UP_NEED = 3,
  UP_SNAPSHOT = 4,
  UP_TREE = 5,
  UP_EXIT = 6,
  DOWN_START = 129,
  DOWN_TURNS = 130,
  DOWN_PACE = 131,
  DOWN_SNAPSHOT_ASK = 132,
  DOWN_SNAPSHOT = 133,
  DOWN_TREE_ASK = 134,
  DOWN_DESYNC = 135,
  DOWN_WAITING = 136,
  DOWN_END = 137,
} LockstepType;

/// A turn that has come and waits for those before it.
typedef struct Ahead {
  uint32_t turn;  // 0: none
  Buf bytes;
} Ahead;

typedef struct Match {
  PerigeeClient *client;
  uint32_t room;  // its number
  uint8_t flags;
  uint8_t seat[PERIGEE_SEAT_SIZE];
  bool is_ready;  // has a state
  bool is_over;   // and does not begin again by itself
  uint32_t start;
  uint32_t id;
  uint32_t seed;
  uint32_t turn_us;
  uint16_t speed;  // percent
  uint16_t largest;
  uint8_t slot;
  uint8_t delay;
  uint8_t every;
  uint32_t delivered;  // the newest turn that an event has told of,
  uint32_t done;       // and that the game has simulated
  uint32_t submitted;  // the newest with an input
  uint32_t wanted;     // PERIGEE_GIVES_INPUTS: the newest that the game was asked for
  Buf inputs[MATCH_INPUTS];  // by turn
  Buf queue;                 // inputs that have no turn yet: u16 size, bytes
  Ahead ahead[MATCH_AHEAD];  // by turn
  uint8_t hash_count;
  uint32_t hash_turn;
  uint32_t hashes[MATCH_HASHES];  // of this turn and those before it, the newest first
  Buf snapshot;                   // that is coming
  Timer late;
  Timer need;
  Timer again;  // ENTER, which came too soon
} Match;

/// Asks to take part; in the session that is.
int match_enter(Match *match);

/// The question that ENTER is has failed: it is asked again, or the match is over.
void match_refused(Match *match, int code, const char *text, size_t size);

/// Begins a packet about the match's room; its payload is appended to what is returned.
Buf *match_begin(const Match *match);

/// Sends it; `flags` are PerigeeSendFlags. 0 or a negative PerigeeCode.
int match_send(const Match *match, LockstepType type, uint32_t flags);

/// Tells the server how far the game is, and gives it the inputs that it is owed.
void match_speak(Match *match);

/// Takes the next input that PERIGEE_INPUT_WANTED asked for; PERIGEE_OVER where none is wanted.
int match_take_input(Match *match, const uint8_t *data, size_t size);

/// The session goes on, on another connection.
void match_resume(Match *match);

/// The session is over: nothing is sent until the next START.
void match_pause(Match *match);

/// NULL is allowed.
void match_free(Match *match);

bool take_lockstep(PerigeeClient *client, const Packet *packet);
