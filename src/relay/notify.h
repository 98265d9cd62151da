// What goes out to peers and rooms.
#pragma once

#include "relay/members.h"

// --- notify.c ---

/// Makes the control packet `type` with relay->scratch as its payload.
Outgoing notice_of(const Relay *relay, ControlType type);

/// Sends one peer a notice, as the answer to `request` (which may be NULL), in its place
/// among broadcasts.
void notify_peer(Relay *relay, Peer *peer, Outgoing notice, const Packet *request);

/// JOINED to a peer that is about to be added to the room, and PEER_JOINED to those in
/// it.
void notify_join(Relay *relay, Room *room, Peer *peer, const Packet *request);

/// JOINED to a peer: one that is about to be added to the room, or was resumed.
void notify_joined(Relay *relay, const Room *room, Peer *peer, const Packet *request);

/// LEFT to a peer that has just been removed from the room, and PEER_LEFT to those in
/// it.
void notify_leave(Relay *relay, Room *room, Peer *peer, const Leave *leave);

/// ROOMS to a peer.
void notify_rooms(Relay *relay, Peer *peer, const Packet *request);

/// PEER_RENAMED to a peer that is about to get the name, and to the members of its rooms.
void notify_name(Relay *relay, Peer *peer, Text name);

// --- broadcast.c ---

enum {
  FORMS_ALL = (1 << FORM_COUNT) - 1,
  FORMS_JSON = 1 << FORM_JSON | 1 << FORM_TEXT
};

/// Who gets a packet: of a room's members or of everybody those of some forms, but those
/// in `except`.
typedef struct Audience {
  const Room *room;  // NULL: everybody
  unsigned forms;    // mask of 1 << Form
  const ConnId *except;
  uint32_t except_count;
} Audience;

void audience_send(Relay *relay, const Audience *audience, const Outgoing *outgoing);

/// What a client broadcasts: from `peer` (a member) to the others.
void room_relay(Relay *relay, Room *room, Peer *peer, uint8_t priority, uint8_t flags,
                Text data);

/// BROADCAST from a peer, or its plain line: relayed, or an event where there is a
/// hook.
void broadcast_from(Relay *relay, Peer *peer, Room *room, const Packet *packet,
                    Text data);

/// The groups of everybody, made now if they are not there yet.
void all_ensure(Relay *relay);

/// Adds an accepted peer to them when they are there.
void all_add(Relay *relay, const Peer *peer);

// --- suspended.c ---

/// SessionEvents.suspend and .resume.
void suspended_begin(void *data, Peer *peer, Code reason);
void suspended_end(void *data, Peer *peer, const Resumption *resumption);

/// Counts a message that is about to be written to a room, or (NULL) to everybody: suspended
/// peers miss an unreliable one.
void suspended_count(Relay *relay, Room *room, uint8_t packet_flags);

/// This peer does not get the message that suspended_count was told of last.
void suspended_exclude(Relay *relay, Peer *peer, const Room *room,
                       uint8_t packet_flags);

/// Keeps a RELIABLE packet for those who get it, a room's binary members or everybody,
/// suspended ones included.
void suspended_keep(Relay *relay, const Room *room, unsigned forms, const Out *out);
