// Peers and rooms as JSON objects, for operators and tools.
#pragma once

#include "relay/relay.h"

/// Appends `"key":"text"`.
void describe_text(Buf *json, const char *key, Text text);

/// Appends the members of a room's object, without its braces.
void describe_room(Buf *json, const Room *room);

/// Appends an object with the meta of a room, or only with its public part.
void describe_meta(Buf *json, const Room *room, bool is_public);

/// Appends an open room in the form for clients' lists.
void describe_listed(Buf *json, const Room *room);

/// Appends a peer's object.
void describe_peer(Buf *json, const Relay *relay, const Peer *peer);
