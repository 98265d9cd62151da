// The running handler and its queued commands.
#pragma once

#include "relay/relay.h"

typedef struct Handler {
  Commands commands;
  bool has_join;      // a command may make peers join rooms before later commands are
                      // carried out
  bool has_new_room;  // commands contain a COMMAND_ROOM_CREATE
  bool has_meta;      // commands contain a COMMAND_ROOM_META
  bool has_settings;  // commands contain a COMMAND_ROOM_SET
  bool has_room_message;  // commands contain a message to a room
  Buf names;              // names that the handler has given to peers (names.c)
  uint64_t delivery;  // bytes that the commands deliver, counted once for each receiver
} Handler;

/// Clears the commands after they have been carried out.
void handler_clear(Handler *handler);

/// Sets the rooms that the commands create to ROOM_CREATING. Other handlers do not see
/// such rooms.
void handler_claim_rooms(Relay *relay);

/// Subtracts a COMMAND_ROOM_META from its room's counts, because the relay carries it
/// out or discards it.
void handler_unqueue_meta(Relay *relay, const Command *command);

/// Subtracts a COMMAND_BOT from its room's count, because the relay carries it out or
/// discards it.
void bot_unqueue(Relay *relay, const Command *command);

/// Carries out a command.
void command_execute(Relay *relay, const Command *command);

// --- names.c ---

/// Releases the name that a COMMAND_RENAME has reserved.
void name_release(Relay *relay, const Command *command);

/// Sets a peer's name, which the caller has checked. Notifies the peer and the members
/// of its rooms.
void name_set(Relay *relay, Peer *peer, Text name);

/// Handles a text peer's request for another name.
void name_request(Relay *relay, Peer *peer, Text name);
