// Sending to peers and rooms.
#pragma once

#include "relay/members.h"

// --- notify.c ---

/// Makes the control packet `type` with relay->scratch as its payload.
Outgoing notice_of(const Relay *relay, ControlType type);

/// Sends one peer a notice, as the answer to `request` (which may be NULL), in its place
/// among broadcasts.
void notify_peer(Relay *relay, Peer *peer, Outgoing notice, const Packet *request);

/// Sends JOINED to a peer that is about to be added to the room, and PEER_JOINED to its
/// members.
void notify_join(Relay *relay, Room *room, Peer *peer, const Packet *request);

/// Sends JOINED to a peer that is about to be added to the room, or was resumed.
void notify_joined(Relay *relay, const Room *room, Peer *peer, const Packet *request);

/// Sends LEFT to a peer that has just been removed from the room, and PEER_LEFT to its
/// members.
void notify_leave(Relay *relay, Room *room, Peer *peer, const Leave *leave);

/// Sends ROOMS to a peer.
void notify_rooms(Relay *relay, Peer *peer, const Packet *request);

/// Sends PEER_RENAMED to a peer that is about to get the name, and to the members of its
/// rooms.
void notify_name(Relay *relay, Peer *peer, Text name);

// --- broadcast.c ---

enum {
  FORMS_ALL = (1 << FORM_COUNT) - 1,
  FORMS_JSON = 1 << FORM_JSON | 1 << FORM_TEXT
};

/// The peers that get a packet: of a room's members, or of all, those of some forms, without
/// those in `except`.
typedef struct Audience {
  const Room *room;  // NULL: everybody
  unsigned forms;    // mask of 1 << Form
  const ConnId *except;
  uint32_t except_count;
} Audience;

/// Counts a message that is about to be written to a room, or (NULL) to everybody: suspended
/// peers miss an unreliable one.
void audience_count(Relay *relay, Room *room, uint8_t packet_flags);

/// Excludes a peer from the message that was counted last.
void audience_exclude(Relay *relay, Peer *peer, const Room *room, uint8_t packet_flags);

/// Sends a packet to an audience; text peers get its line.
void audience_send(Relay *relay, const Audience *audience, const Outgoing *outgoing);

/// Relays a broadcast of `peer` (a member) to the others.
void room_relay(Relay *relay, Room *room, Peer *peer, uint8_t priority, uint8_t flags,
                Text data);

/// Relays a BROADCAST of a peer, or a line of a text peer; pushes an event instead where
/// the room has on_broadcast.
void broadcast_from(Relay *relay, Peer *peer, Room *room, const Packet *packet,
                    Text data);

/// Opens the groups of everybody if they do not exist yet.
void all_ensure(Relay *relay);

/// Adds an accepted peer to them if they exist.
void all_add(Relay *relay, const Peer *peer);

// --- suspended.c ---

/// SessionEvents.suspend and .resume.
void suspended_begin(void *data, Peer *peer, Code reason);
void suspended_end(void *data, Peer *peer, const Resumption *resumption);
