// Events on their way to the script.
#pragma once

#include "base/buf.h"
#include "relay/relay.h"

/// Events that handlers and queued packets cause. They precede queued events.
typedef struct Captured {
  Buf events;    // stack of Event structs, which own their data
  size_t end;    // offset where the events of the running handler begin
  uint32_t row;  // number of captured events taken since the last queued event, in this
                 // drain
  void *taken_data;  // data of the last taken event; NULL: none
  // Destination of the first event that a queued packet causes. NULL: the relay is not
  // handling a queued packet, or that packet has already caused an event.
  Event *receiver;
  bool has_kept_waiting;  // queued events had to wait for remaining commands
} Captured;

/// Queues an event of `peer` (NULL: of no peer) behind earlier queued events.
void event_queue(Relay *relay, Peer *peer, const Event *event);

/// Returns whether waiting events of that type count towards their peer's limits.
bool event_is_counted(uint8_t type);

/// Returns whether a captured event concerns the peer of `event`, one of that peer's
/// rooms, or the event's room.
bool captured_concerns(const Relay *relay, const Event *event);

/// Moves the events of the last handler before those of earlier handlers.
void captured_put_newest_first(Relay *relay);

/// Removes the next captured event, which must exist. Its data stays valid until the
/// next call.
void captured_take(Relay *relay, Event *event);

/// Adds `change` to the `captured` counts of the event's peer (may be NULL) and of its
/// room.
void captured_count(Relay *relay, Peer *peer, const Event *event, int change);

/// Frees the data of the captured event that was taken last.
void captured_free_data(Relay *relay);

/// Frees all captured events.
void captured_free(Relay *relay);

/// Returns the event that passes a packet to the script.
Event relay_packet_event(EventType type, const Peer *peer, const Packet *packet);
