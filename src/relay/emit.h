// Events on their way to the script.
#pragma once

#include "base/buf.h"
#include "relay/relay.h"

/// Events that handlers and queued packets cause, which come before queued ones.
typedef struct Captured {
  Buf events;        // Event structs that own their data, a stack
  size_t end;        // offset of those that the running handler causes
  uint32_t row;      // events taken in this drain since the last queued one
  void *taken_data;  // of the event taken last; NULL: it has none
  Event *
      receiver;  // of the first event that the queued packet being handled causes, which
                 // does not wait; NULL: no packet is handled, or it has caused one
  bool has_kept_waiting;  // queued events had to wait for remaining commands
} Captured;

/// Queues an event of `peer` (NULL: of none) outside of drains.
void event_queue(Relay *relay, Peer *peer, const Event *event);

/// Returns whether a peer counts its events of that type while they wait.
bool event_is_counted(uint8_t type);

/// Returns whether a captured event concerns the peer of `event`, one of that peer's
/// rooms, or the event's room.
bool captured_concerns(const Relay *relay, const Event *event);

/// Puts the events that the last handler caused before those of earlier handlers.
void captured_put_newest_first(Relay *relay);

/// Takes the next captured event, of which at least one exists, with its data.
void captured_take(Relay *relay, Event *event);

/// Adds `change` to the captured events of the event's peer (may be NULL) and room.
void captured_count(Relay *relay, Peer *peer, const Event *event, int change);

/// Frees the data of the captured event that was taken last.
void captured_free_data(Relay *relay);

/// Frees all captured events.
void captured_free(Relay *relay);

/// Makes the event that passes a packet to the script.
Event relay_packet_event(EventType type, const Peer *peer, const Packet *packet);
