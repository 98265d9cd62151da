// Functions about rooms and their members, for the files of this folder.
#pragma once

#include "relay/room.h"

// --- room.c ---

/// Creates a room in ROOM_RESERVED. Returns NULL with `err` set: ERR_EXISTS, ERR_FULL,
/// ERR_INVALID.
Room *room_reserve(Relay *relay, Text name, int *err);

/// Starts the creation of a room that no handler sees yet: queues its on_create, or opens
/// it at once.
void room_begin(Relay *relay, Room *room);

/// Reads the fault that on_create has raised; returns false if it has raised none.
bool room_get_fault(const Room *room, Fault *fault);

/// Frees rooms whose on_create failed and for which no join waits.
void room_free_failed(Relay *relay);

/// Frees a reserved room and its name.
void room_unreserve(Relay *relay, Room *room);

/// Soft-deletes a room that is open or being created. An open room without players ends
/// at once.
void room_delete(Relay *relay, Room *room);

/// Ends an empty deleted room, or starts or stops the timer of auto_delete.
void room_check_empty(Relay *relay, Room *room);

/// Applies changed settings of a room that is open or soft-deleted.
void room_refresh(Relay *relay, Room *room);

/// Frees a room in any state.
void room_free(Relay *relay, Room *room);

// --- member.c ---

void member_add(Relay *relay, Room *room, Peer *peer);

/// Adds the peer's connection to the group that gets the room's broadcasts.
void member_join_group(Relay *relay, Room *room, const Peer *peer);
void member_remove(Relay *relay, Room *room, Peer *peer);

/// Returns the open room of that id. Sends an ERROR and returns NULL if the room does
/// not exist or the peer is not a member.
Room *member_room(Relay *relay, Peer *peer, uint32_t room, const Packet *request);

// --- join.c ---

/// Returns CODE_CLOSED if the peer can join the room (may be NULL) now. Otherwise
/// returns the code of the refusal, and sets `why` to its text.
Code join_fault(const Peer *peer, const Room *room, const char **why);

/// Handles JOIN by name; `request` contains flags and ref. `options` is the JSON of an object,
/// or empty.
void join_by_name(Relay *relay, Peer *peer, Text name, Text options,
                  const Packet *request);

/// Handles JOIN_WITH. Checks the options first.
void join_with_options(Relay *relay, Peer *peer, Text name, Text options,
                       const Packet *request);

/// Ends an EVENT_JOIN that on_join has refused. The peer already has the answer.
void join_end_refused(Relay *relay, const Event *join, const char *why);

/// Checks an EVENT_JOIN, and passes it to on_join or admits the peer.
void join_room(Relay *relay, const Event *join);

/// Returns the share of RELAY_ROOMS_PER_PEER that a waiting join takes.
static inline uint16_t join_weight(const Event *join) {
  return (uint16_t)(1 + join->data.size / 1024);
}

/// Returns true if a taken EVENT_JOIN must go to the script. Otherwise the join has
/// been handled, or waits for the end of on_create.
bool join_is_due(Relay *relay, const Event *join);

/// Reason why a peer leaves a room.
typedef struct Leave {
  Code code;
  const char *reason;     // text for text peers and the log; "" or NULL: no text
  const Packet *request;  // the peer's LEAVE, or NULL
} Leave;

/// Removes the peer from the room, sends LEFT and PEER_LEFT, and queues EVENT_LEAVE.
void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave);

/// Removes a closed peer from all its rooms.
void leave_all(Relay *relay, Peer *peer, Code code);
