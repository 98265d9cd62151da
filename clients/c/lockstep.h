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
  MATCH_INPUTS = 64,          // turns with stored inputs
  MATCH_AHEAD = 256,          // turns that may wait for the turns before them
  MATCH_QUEUE_MAX = 1 << 20,  // bytes of inputs without a turn
  MATCH_HASHES = 4,           // hashes in each INPUT
  SNAPSHOT_MAX = 64 << 20,    // bytes of a state
};

/// Types of lockstep packets.
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

/// A turn that waits for the turns before it.
typedef struct Ahead {
  uint32_t turn;  // number; 0: unused
  Buf bytes;
} Ahead;

typedef struct Match {
  PerigeeClient *client;
  uint32_t room;  // number of the room
  uint8_t flags;
  uint8_t seat[PERIGEE_SEAT_SIZE];
  bool is_ready;  // the game has a state
  bool is_given;  // the state came from a snapshot, and its hash is not yet known
  bool is_over;   // the match has ended; only perigee_lockstep_enter begins it again
  uint32_t start;
  uint32_t id;
  uint32_t seed;
  uint32_t turn_us;
  uint16_t speed;      // percent
  uint16_t max_input;  // bytes
  uint8_t slot;
  uint8_t input_delay;    // turns
  uint8_t hash_interval;  // turns
  uint32_t delivered;     // newest turn that an event has reported
  uint32_t done;          // newest turn that the game has simulated
  uint32_t submitted;     // newest turn for which an input exists
  uint32_t
      wanted;  // with PERIGEE_GIVES_INPUTS: newest turn whose input the game must give
  Buf inputs[MATCH_INPUTS];  // inputs by turn
  Buf queue;                 // inputs without a turn: u16 size, bytes
  Ahead ahead[MATCH_AHEAD];  // turns by number
  uint8_t hash_count;
  uint32_t hash_turn;
  uint32_t
      hashes[MATCH_HASHES];  // hashes of hash_turn and of turns before it, the newest
                             // first
  Buf snapshot;              // received pieces
  Timer late_timer;          // repeats INPUT while no turn arrives
  Timer need_timer;          // time of the next NEED
  Timer enter_timer;         // repeats an ENTER that was too early
} Match;

/// Sends ENTER in the current session.
int match_enter(Match *match);

/// Handles a refused ENTER: repeats it later, or ends the match.
void match_refused(Match *match, int code, const char *text, size_t size);

/// Ends a match because this client is no longer in the room; `code` is the reason.
void match_lose(Match *match, int code);

/// Begins a packet about the match's room; returns the buffer for its payload.
Buf *match_begin(const Match *match);

/// Sends the packet. `flags`: PerigeeSendFlags. Returns 0 or a negative PerigeeCode.
int match_send(const Match *match, LockstepType type, uint32_t flags);

/// Reports the newest simulated turn to the server, and sends the inputs for which the
/// server waits.
void match_report(Match *match);

/// Takes the next input that PERIGEE_INPUT_WANTED requested. Returns PERIGEE_OVER if
/// none is wanted.
int match_take_input(Match *match, const uint8_t *data, size_t size);

/// Continues after the session was resumed.
void match_resume(Match *match);

/// Stops sending until the next START.
void match_stop(Match *match);

/// Frees the match; NULL is allowed.
void match_free(Match *match);

bool take_lockstep(PerigeeClient *client, const Packet *packet);
