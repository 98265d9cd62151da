// Commands of handlers that have ended: those that wait for another handler, for the next
// slice, or for the outcome of a join.
#pragma once

#include "base/slots.h"
#include "relay/relay.h"

/// Commands of one handler that wait.
typedef struct Batch {
  struct Batch *below;  // continues after this one
  uint32_t number;
  Commands commands;
  size_t at;              // bytes of them that are carried out
  size_t captured_below;  // bytes of captured events below the awaited one
  bool is_awaiting;       // a handler; else it waits for the next slice alone
} Batch;

typedef struct Batches {
  Batch *top;  // the newest
  uint32_t count;
  uint32_t last;     // number of the newest ever
  uint32_t current;  // number of the commands that are being carried out; 0: none
  bool is_awaiting;  // the last of these awaits a handler
  Event payer;  // of the last handler, which the rest of its commands is charged to
} Batches;

/// Queues an event that delays the commands behind the one that is being carried out.
void batch_await(Relay *relay, const Event *event);

/// Returns the number of the next commands.
uint32_t batch_number(Relay *relay);

/// Takes over commands, which come before the remaining ones of other handlers.
Batch *batch_push(Relay *relay, Commands *commands, uint32_t number);

/// Takes the newest batch, of which at least one exists; the caller puts it back or frees
/// it.
Batch *batch_pop(Relay *relay);
void batch_put(Relay *relay, Batch *batch);
void batch_free(Batch *batch);

/// Reports that a captured event, perhaps an awaited one, was taken.
void batch_note_taken(Relay *relay);

/// Returns whether commands of that number are left.
bool batch_is_left(const Relay *relay, uint32_t number);
void batch_free_all(Relay *relay);

// --- commit.c ---

/// Carries out remaining commands, of which at least one exists, until one awaits a
/// handler or the slice ends.
void batch_continue(Relay *relay);

// --- script_join.c ---

/// A join that the script asked for and whose outcome is not known.
typedef struct ScriptJoin {
  struct ScriptJoin *next;  // of the same peer, later
  uint32_t id;
  uint32_t batch;   // number of the commands that it was one of
  Command command;  // id, room and token
  Commands held;    // those behind it that are for the same peer
} ScriptJoin;

typedef struct ScriptJoins {
  Slots slots;  // ScriptJoin by id; owned
  Buf early;    // EarlyJoins
} ScriptJoins;

/// COMMAND_JOINs for a peer that on_connect has not let in yet.
typedef struct EarlyJoins {
  uint32_t peer;
  Commands joins;
} EarlyJoins;

/// Carries out COMMAND_JOIN for a peer that has had WELCOME; NULL: a peer that is gone.
void script_join_begin(Relay *relay, Peer *peer, const Command *command);

/// Reports the outcome of a join; `why` is NULL when the peer is in. Does nothing for
/// id 0.
void script_join_end(Relay *relay, uint32_t id, Code code, const char *why);

/// Keeps a command that follows a join of the same handler and peer whose outcome is
/// not known; returns whether it did.
bool script_join_holds(Relay *relay, const Command *command);

/// Ends the joins of a peer whose session is over.
void script_joins_end_all(Relay *relay, Peer *peer);
void script_joins_free(Relay *relay);

/// Keeps COMMAND_JOIN for a peer that on_connect has not let in yet.
void script_join_keep(Relay *relay, const Command *command);

/// Carries out the kept joins of a peer that has had WELCOME, before on_connect's later
/// commands.
void script_joins_welcome(Relay *relay, uint32_t peer);

/// Ends the kept joins of a peer that was not let in.
void script_joins_forget(Relay *relay, uint32_t peer);
