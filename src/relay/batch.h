// Commands of handlers that have ended. They wait for another handler, for the next slice,
// or for the outcome of a join.
#pragma once

#include "base/slots.h"
#include "relay/relay.h"

/// The waiting commands of one handler.
typedef struct Batch {
  struct Batch *below;  // next older batch
  uint32_t number;
  Commands commands;
  size_t at;              // offset of the first remaining command in `commands`
  size_t captured_below;  // bytes of Captured.events that are older than the batch's
                          // own events
  bool is_awaiting;       // the batch waits for a handler; false: it waits for the next
                          // slice
} Batch;

typedef struct Batches {
  Batch *top;  // newest batch
  uint32_t count;
  uint32_t last;     // number of the newest batch so far
  uint32_t current;  // number of the running batch; 0: none
  bool is_awaiting;  // the last command of the running batch waits for a handler
  Event payer;  // event of the last handler; its source pays for the remaining commands
} Batches;

/// Queues an event. The commands after the current one wait until the event's handler
/// has ended.
void batch_await(Relay *relay, const Event *event);

/// Returns the number of the next batch.
uint32_t batch_number(Relay *relay);

/// Moves commands into a new batch. That batch precedes all older batches.
Batch *batch_push(Relay *relay, Commands *commands, uint32_t number);

/// Removes and returns the newest batch, which must exist. The caller puts the batch
/// back or frees it.
Batch *batch_pop(Relay *relay);
void batch_put(Relay *relay, Batch *batch);
void batch_free(Batch *batch);

/// Reports that a captured event was taken. A batch may have waited for that event.
void batch_note_taken(Relay *relay);

/// Returns whether the batch of that number still has commands.
bool batch_is_left(const Relay *relay, uint32_t number);
void batch_free_all(Relay *relay);

// --- commit.c ---

/// Carries out the newest batch, which must exist, until a command waits for a handler or
/// the slice ends.
void batch_continue(Relay *relay);

// --- script_join.c ---

/// A join by the script whose outcome is not known yet.
typedef struct ScriptJoin {
  struct ScriptJoin *next;  // next join of the same peer
  uint32_t id;
  uint32_t batch;   // number of its batch
  Command command;  // the COMMAND_JOIN, with its id, room and token
  Commands held;    // later commands of the batch for the same peer
} ScriptJoin;

typedef struct ScriptJoins {
  Slots slots;  // ScriptJoin by id; owned
  Buf early;    // EarlyJoins structs; owned
} ScriptJoins;

/// COMMAND_JOINs of a peer that on_connect has not accepted yet.
typedef struct EarlyJoins {
  uint32_t peer;
  Commands joins;
} EarlyJoins;

/// Carries out COMMAND_JOIN for a peer that has received WELCOME. `peer` is NULL if the
/// peer has ended.
void script_join_begin(Relay *relay, Peer *peer, const Command *command);

/// Reports the outcome of a join. `why` is NULL when the peer has joined. Does nothing for id 0.
void script_join_end(Relay *relay, uint32_t id, Code code, const char *why);

/// Keeps a command behind an undecided join of the same batch and peer. Returns true if
/// it has kept the command.
bool script_join_holds(Relay *relay, const Command *command);

/// Ends the joins of a peer whose session is over.
void script_joins_end_all(Relay *relay, Peer *peer);
void script_joins_free(Relay *relay);

/// Keeps COMMAND_JOIN for a peer that on_connect has not accepted yet.
void script_join_keep(Relay *relay, const Command *command);

/// Moves the kept joins of a peer to the front of the running handler's commands. The
/// peer has just received WELCOME.
void script_joins_welcome(Relay *relay, uint32_t peer);

/// Ends the kept joins of a rejected peer.
void script_joins_forget(Relay *relay, uint32_t peer);
