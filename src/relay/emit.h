// Events on their way to the script.
#pragma once

#include "base/buf.h"
#include "relay/relay.h"

/// Events that handlers and queued packets cause. They precede queued events.
typedef struct Captured {
  Buf events;        // stack of Event structs, which own their data
  size_t end;        // offset of the events that the running handler causes
  uint32_t row;      // events taken in this drain since the last queued one
  void *taken_data;  // data of the event taken last; NULL: none
  Event
      *receiver;  // place for the first event of the queued packet that is handled now;
                  // NULL: no packet is handled, or it has caused its first event
  bool has_kept_waiting;  // queued events had to wait for remaining commands
} Captured;

/// Queues an event of `peer` (NULL: of none) outside of drains.
void event_queue(Relay *relay, Peer *peer, const Event *event);

/// Returns whether a peer counts its events of that type while they wait.
bool event_is_counted(uint8_t type);

/// Returns whether a captured event concerns the peer of `event`, one of that peer's
/// rooms, or the event's room.
bool captured_concerns(const Relay *relay, const Event *event);

/// Moves the events of the last handler before those of earlier handlers.
void captured_put_newest_first(Relay *relay);

/// Removes the next captured event, which must exist; its data stays until the next one.
void captured_take(Relay *relay, Event *event);

/// Adds `change` to the counts of captured events of the event's peer (may be NULL) and room.
void captured_count(Relay *relay, Peer *peer, const Event *event, int change);

/// Frees the data of the captured event that was taken last.
void captured_free_data(Relay *relay);

/// Frees all captured events.
void captured_free(Relay *relay);

/// Returns the event that passes a packet to the script.
Event relay_packet_event(EventType type, const Peer *peer, const Packet *packet);
