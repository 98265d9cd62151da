// Rooms from the inside: their lives, who joins, who is in them, who leaves.
#pragma once

#include "relay/room.h"

// --- room.c ---

/// A room that exists and is open, or NULL.
Room *room_find_open(const Relay *relay, uint32_t id);

/// A new room in ROOM_RESERVED; NULL with `err` set: ERR_EXISTS, ERR_FULL, ERR_INVALID.
Room *room_reserve(Relay *relay, Text name, int *err);

/// Starts the creation of a room that no handler sees yet: calls on_create, or the room
/// appears at once.
void room_begin(Relay *relay, Room *room);

/// Frees the rooms whose on_create failed, once no join waits for them.
void room_free_failed(Relay *relay);

/// A reserved room is given back.
void room_unreserve(Relay *relay, Room *room);

/// Soft-deletes an open room, which goes at once when it is empty, or one that is being
/// created.
void room_delete(Relay *relay, Room *room);

/// After a member left: the end of a deleted room, or the wait of one that deletes
/// itself.
void room_check_empty(Relay *relay, Room *room);

/// Frees a room in whatever state.
void room_free(Relay *relay, Room *room);

// --- member.c ---

/// The peer's place in the room, or NULL.
RoomRef *member_find(const Peer *peer, uint32_t room);

void member_add(Relay *relay, Room *room, Peer *peer);

/// The peer's new connection hears what the room is sent from now on.
void member_join_group(Relay *relay, Room *room, const Peer *peer);
void member_remove(Relay *relay, Room *room, Peer *peer);

/// The open room that a packet of the peer is for; NULL after an ERROR when it is not
/// there or the peer is not in it.
Room *member_room(Relay *relay, Peer *peer, uint32_t room, const Packet *request);

// --- join.c ---

/// Why the peer cannot join the room (may be NULL) now, or CODE_CLOSED when it can.
Code join_fault(const Peer *peer, const Room *room, const char **why);

/// JOIN by name; `request` tells flags and ref.
void join_by_name(Relay *relay, Peer *peer, Text name, const Packet *request);

/// Checks the capacity, asks the script, and then sends JOINED. `join` is an
/// EVENT_JOIN.
void join_room(Relay *relay, const Event *join);

/// Returns whether an EVENT_JOIN whose turn it is goes to the script. If not, it has
/// been handled, or waits for the end of on_create.
bool join_is_due(Relay *relay, const Event *join);

/// Why a peer leaves a room.
typedef struct Leave {
  Code code;
  const char *reason;  // in words, "" or NULL for none; text peers and the log see it
  const Packet *request;  // which asked for it, or NULL
} Leave;

/// LEFT, PEER_LEFT and the event.
void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave);

/// A closed peer leaves everything it was in.
void leave_all(Relay *relay, Peer *peer, Code code);
