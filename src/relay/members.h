// Rooms and their members: what the files of this folder share about them.
#pragma once

#include "relay/room.h"

// --- room.c ---

/// Creates a room in ROOM_RESERVED. Returns NULL with `err` set: ERR_EXISTS, ERR_FULL,
/// ERR_INVALID.
Room *room_reserve(Relay *relay, Text name, int *err);

/// Starts the creation of a room that no handler sees yet: calls on_create, or the room
/// appears at once.
void room_begin(Relay *relay, Room *room);

/// Frees the rooms whose on_create failed, once no join waits for them.
void room_free_failed(Relay *relay);

/// Frees a reserved room and its name.
void room_unreserve(Relay *relay, Room *room);

/// Soft-deletes a room that is open or being created. An empty one ends at once.
void room_delete(Relay *relay, Room *room);

/// Ends an empty room that is deleted, and starts or stops the timer of auto_delete.
void room_check_empty(Relay *relay, Room *room);

/// Frees a room in whatever state.
void room_free(Relay *relay, Room *room);

// --- member.c ---

void member_add(Relay *relay, Room *room, Peer *peer);

/// Has the peer's new connection get what the room is sent from now on.
void member_join_group(Relay *relay, Room *room, const Peer *peer);
void member_remove(Relay *relay, Room *room, Peer *peer);

/// Returns the open room that a packet of the peer is for; NULL after an ERROR when there
/// is no such room or the peer is not in it.
Room *member_room(Relay *relay, Peer *peer, uint32_t room, const Packet *request);

// --- join.c ---

/// Returns why the peer cannot join the room (may be NULL) now, or CODE_CLOSED when it can.
Code join_fault(const Peer *peer, const Room *room, const char **why);

/// Handles JOIN by name; `request` has flags and ref.
void join_by_name(Relay *relay, Peer *peer, Text name, const Packet *request);

/// Checks the capacity, passes the join to on_join if that exists, and then sends JOINED.
/// `join` is an EVENT_JOIN.
void join_room(Relay *relay, const Event *join);

/// Returns whether an EVENT_JOIN that was taken goes to the script. If not, it has been
/// handled, or waits for the end of on_create.
bool join_is_due(Relay *relay, const Event *join);

/// Why a peer leaves a room.
typedef struct Leave {
  Code code;
  const char *reason;  // in words, "" or NULL for none; shown to text peers and logged
  const Packet *request;  // LEAVE, or NULL
} Leave;

/// Removes the peer from the room: LEFT, PEER_LEFT and the event.
void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave);

/// Removes a closed peer from all its rooms.
void leave_all(Relay *relay, Peer *peer, Code code);
