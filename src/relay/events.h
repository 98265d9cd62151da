// Events for the script, and queues of them. A queue is one run of memory with the events
// and their data. schedule.c decides which queue is served next.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

// X(constant, name): core.events contains these names for the Lua half. The comments
// list the fields of an event; "verdict" marks events that the script must answer. In
// RESUME, `b` counts missed unreliable messages, `ref` counts packets sent again, and
// `flags` is 1 if an earlier process had the session, so that `b` is unknown. In
// JOIN, `a` is 0 if a client joins. Otherwise `a` is the id of the ScriptJoin, and `b`
// is its token. The `data` of JOIN is the JSON of the options.
#define EVENT_MAP(X)                                                                  \
  X(EVENT_DEFERRED, "deferred")           /* the relay's own: a waiting packet */     \
  X(EVENT_DEFERRED_LINE, "deferred_line") /* the relay's own: a waiting line */       \
  X(EVENT_LOST, "lost")                   /* the relay's own: a lost connection */    \
  X(EVENT_GONE, "gone")                   /* the relay's own: a waiting disconnect */ \
  X(EVENT_CONNECT, "connect")             /* peer; verdict */                         \
  X(EVENT_SIGN_IN, "sign_in")             /* peer, flags, ref, data: JSON; verdict */ \
  X(EVENT_DISCONNECT, "disconnect")       /* peer, a: code */                         \
  X(EVENT_JOIN, "join")           /* peer, room, flags, ref, a, b, data; verdict */   \
  X(EVENT_LEAVE, "leave")         /* peer, room, a: code */                           \
  X(EVENT_RENAME, "rename")       /* peer, data: the name; verdict */                 \
  X(EVENT_MESSAGE, "message")     /* peer, room, type, flags, ref, data: body */      \
  X(EVENT_TEXT, "text")           /* peer, room, data: the line */                    \
  X(EVENT_RESPONSE, "response")   /* peer, ref, type, data: body */                   \
  X(EVENT_PACKET, "packet")       /* peer, channel, type, flags, ref, data */         \
  X(EVENT_BROADCAST, "broadcast") /* peer, room, data; verdict */                     \
  X(EVENT_BACKPRESSURE, "backpressure") /* peer, room or 0, a: dropped, b: queued */  \
  X(EVENT_JOINED, "joined")             /* peer, room, a: token of COMMAND_JOIN */    \
  X(EVENT_NOT_JOINED, "not_joined")     /* as JOINED; b: code, data: the reason */    \
  X(EVENT_CREATE, "create")             /* room; opens when the handler has ended */  \
  X(EVENT_ROOM_CREATE, "room_create")   /* room; is open now */                       \
  X(EVENT_ROOM_DELETE, "room_delete")   /* room, data: its name */                    \
  X(EVENT_TICK, "tick")       /* room or 0, a: us since the last, b: skipped */       \
  X(EVENT_SUSPEND, "suspend") /* peer, a: code */                                     \
  X(EVENT_RESUME, "resume")   /* peer, room, flags, ref, a: ms, b: missed */          \
  X(EVENT_CHANNEL, "channel") /* as PACKET, on a channel of the script */             \
  X(EVENT_CHANNEL_OPEN, "channel_open") /* peer, flags, ref, data: name; verdict */   \
  X(EVENT_CHANNEL_CLOSED, "channel_closed") /* peer, channel */                       \
  X(EVENT_BOT_TICK, "bot_tick")             /* peer: the bot; room, a, b as TICK */   \
  X(EVENT_BOT_MESSAGE, "bot_message")       /* as PACKET; peer: the bot */

/// Types from EVENT_TYPE_COUNT on belong to the layer above (see RelayHost), except
/// EVENT_PROGRAM.
typedef enum EventType {
#define X(constant, name) constant,
  EVENT_MAP(X)
#undef X
      EVENT_TYPE_COUNT,
  EVENT_PROGRAM = UINT8_MAX,  // the program that embeds the server wants to give
                              // commands
} EventType;

/// Order of an event of the layer above.
typedef enum EventOrder {
  ORDER_FIRST,       // precedes messages and packets
  ORDER_BACKGROUND,  // alternates with the events of peers; all background work is one
                     // source
  ORDER_URGENT,      // precedes all other events
} EventOrder;

typedef struct Event {
  uint32_t peer;
  uint32_t room;
  uint32_t a, b;
  uint8_t type;      // EventType, or a type of the layer above
  uint8_t priority;  // priority of the event's packet
  uint8_t flags;
  uint8_t order;  // EventOrder; set only for types of the layer above
  uint16_t channel;
  uint16_t packet_type;
  uint16_t ref;
  Text data;  // valid until the next event is taken
} Event;

typedef struct Events {
  Buf bytes;
  size_t at;  // offset of the first event in `bytes`
} Events;

void events_deinit(Events *events);

/// Appends an event and a copy of its data. Invalidates the data of taken events.
void events_push(Events *events, const Event *event);

static inline bool events_is_empty(const Events *events) {
  return events->at == events->bytes.size;
}

static inline size_t events_bytes(const Events *events) {
  return events->bytes.size - events->at;
}

/// Reads the first event without taking it; returns false when the queue is empty.
bool events_peek(const Events *events, Event *event);

/// Takes the first event; returns false when the queue is empty. Its data stays valid
/// until the next push or trim.
bool events_next(Events *events, Event *event);

/// Frees the memory of a queue that is empty but was long.
void events_trim(Events *events);
