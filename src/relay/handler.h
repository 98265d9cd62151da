// The running handler and its queued commands.
#pragma once

#include "relay/relay.h"

typedef struct Handler {
  Commands commands;
  bool has_join;  // a command may make peers join rooms before the following commands
  bool has_new_room;      // commands contain a COMMAND_ROOM_CREATE
  bool has_meta;          // commands contain a COMMAND_ROOM_META
  bool has_settings;      // commands contain a COMMAND_ROOM_SET
  bool has_room_message;  // commands contain a message to a room
  Buf names;              // names that the handler has given to peers (names.c)
  uint64_t delivery;  // bytes that the commands deliver, counted once for each receiver
} Handler;

/// Clears the commands after they have been carried out.
void handler_clear(Handler *handler);

/// Hides the rooms that the commands create from other handlers (ROOM_CREATING).
void handler_claim_rooms(Relay *relay);

/// Subtracts a COMMAND_ROOM_META that is carried out or discarded from its room's
/// count.
void handler_unqueue_meta(Relay *relay, const Command *command);

/// Subtracts a COMMAND_BOT that is carried out or discarded from its room's count.
void bot_unqueue(Relay *relay, const Command *command);

/// Carries out a command.
void command_execute(Relay *relay, const Command *command);

// --- names.c ---

/// Releases the name that a COMMAND_RENAME has reserved.
void name_release(Relay *relay, const Command *command);

/// Sets a peer's checked name, and notifies the peer and the members of its rooms.
void name_set(Relay *relay, Peer *peer, Text name);

/// Handles a text peer's request for another name.
void name_request(Relay *relay, Peer *peer, Text name);
