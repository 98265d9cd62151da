// Functions that send to peers and rooms.
#pragma once

#include "relay/members.h"

// --- notify.c ---

/// Returns the control packet `type` with relay->scratch as its payload.
Outgoing notice_of(const Relay *relay, ControlType type);

/// Sends a notice to one peer as the answer to `request` (may be NULL). The notice
/// keeps its order with the broadcasts.
void notify_peer(Relay *relay, Peer *peer, Outgoing notice, const Packet *request);

/// Sends JOINED to a peer before it is added to the room, and PEER_JOINED to the members.
void notify_join(Relay *relay, Room *room, Peer *peer, const Packet *request);

/// Sends JOINED to a peer before it is added to the room, or after it has resumed.
void notify_joined(Relay *relay, const Room *room, Peer *peer, const Packet *request);

/// Sends LEFT to a peer after it was removed from the room, and PEER_LEFT to the members.
void notify_leave(Relay *relay, Room *room, Peer *peer, const Leave *leave);

/// Answers a ROOM_QUERY with ROOMS_META or an ERROR. A text peer gets the line of a
/// ROOMS instead of ROOMS_META.
void notify_query(Relay *relay, Peer *peer, Text json, const Packet *request);

/// Sends ROOMS to a peer.
void notify_rooms(Relay *relay, Peer *peer, const Packet *request);

/// Sends FAULT to a peer as the answer to `request`.
void notify_fault(Relay *relay, Peer *peer, const Fault *fault, const Packet *request);

/// Sends PEER_RENAMED to a peer and to the members of its rooms. The peer must still
/// have its old name.
void notify_name(Relay *relay, Peer *peer, Text name);

// --- broadcast.c ---

enum {
  FORMS_ALL = (1 << FORM_COUNT) - 1,
  FORMS_JSON = 1 << FORM_JSON | 1 << FORM_TEXT
};

/// Receivers of a packet: the members of a room, or all peers. Excludes peers whose
/// form is not in `forms`, and connections in `except`.
typedef struct Audience {
  const Room *room;  // room whose members receive; NULL: all peers
  unsigned forms;    // mask of 1 << Form
  const ConnId *except;
  uint32_t except_count;
} Audience;

/// Counts a message before it is written to a room, or to all peers (NULL). Suspended
/// peers miss an unreliable message.
void audience_count(Relay *relay, Room *room, uint8_t packet_flags);

/// Excludes a peer from the last counted message.
void audience_exclude(Relay *relay, Peer *peer, const Room *room, uint8_t packet_flags);

/// Sends a packet to an audience; text peers get its line.
void audience_send(Relay *relay, const Audience *audience, const Outgoing *outgoing);

/// Relays a broadcast of `peer` to the other members of the room (NULL: to all other
/// peers).
void room_relay(Relay *relay, Room *room, Peer *peer, uint8_t priority, uint8_t flags,
                Text data);

/// Relays a BROADCAST of a peer or a line of a text peer. If the room has on_broadcast,
/// queues an event for that handler instead.
void broadcast_from(Relay *relay, Peer *peer, Room *room, const Packet *packet,
                    Text data);

/// Opens the groups of all peers unless they exist.
void all_ensure(Relay *relay);

/// Adds an accepted peer to the groups of all peers if they exist.
void all_add(Relay *relay, const Peer *peer);

// --- suspended.c ---

/// Implement SessionEvents.suspend and .resume.
void suspended_begin(void *data, Peer *peer, Code reason);
void suspended_end(void *data, Peer *peer, const Resumption *resumption);

/// Removes a suspended peer from the rooms that do not keep suspended members.
void suspended_leave(Relay *relay, Peer *peer);

/// Removes all suspended members of a room.
void suspended_leave_room(Relay *relay, Room *room);
