// The running handler and its queued commands.
#pragma once

#include "relay/relay.h"

typedef struct Handler {
  Commands commands;
  bool has_join;          // peers may join rooms before one of them
  bool has_new_room;      // COMMAND_ROOM_CREATE is among them
  bool has_meta;          // COMMAND_ROOM_META is among them
  bool has_room_message;  // a message to a room is among them
  Buf names;              // names that it has given to peers (names.c)
  uint64_t delivery;      // bytes that they deliver, counted once per receiver
} Handler;

/// Clears the commands after they have been carried out.
void handler_clear(Handler *handler);

/// Makes the rooms that the commands create invisible to other handlers (ROOM_CREATING).
void handler_claim_rooms(Relay *relay);

/// Reports that a COMMAND_ROOM_META is carried out or forgotten.
void handler_unqueue_meta(Relay *relay, const Command *command);

/// Carries out a command.
void command_execute(Relay *relay, const Command *command);

// --- names.c ---

/// Releases the name that a COMMAND_RENAME has reserved.
void name_release(Relay *relay, const Command *command);

/// Sets a peer's checked name, and notifies the peer and the members of its rooms.
void name_set(Relay *relay, Peer *peer, Text name);

/// Handles a text peer's request for another name.
void name_request(Relay *relay, Peer *peer, Text name);
