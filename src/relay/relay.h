// Rooms, their members, and what they send each other: between the session below and the
// script above. A relay without handlers never enters the script, because it pushes an
// event only where a hook for it is set. This interface names peers and rooms by id; 0 is
// none.
//
// A peer's packets are handled in order: while one of them waits for the script, those
// behind it wait as well.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/commands.h"
#include "relay/events.h"
#include "session/session.h"

typedef struct Relay Relay;
typedef struct Room Room;

// X(constant, bit, name): the names are those that the Lua half sees in core.hooks.
#define HOOK_MAP(X)                                                                    \
  X(HOOK_CONNECT, 0, "connect")                                                        \
  X(HOOK_DISCONNECT, 1, "disconnect")                                                  \
  X(HOOK_MESSAGE, 2, "message") /* any message; without it a message is Unsupported */ \
  X(HOOK_TEXT, 3, "text")       /* the message `text` */                               \
  X(HOOK_PACKET, 4, "packet")                                                          \
  X(HOOK_TICK, 5, "tick")                                                              \
  X(HOOK_ROOM_CREATE, 6, "room_create")                                                \
  X(HOOK_ROOM_DELETE, 7, "room_delete")                                                \
  X(HOOK_JOIN, 8, "join")                                                              \
  X(HOOK_LEAVE, 9, "leave")                                                            \
  X(HOOK_BROADCAST, 10, "broadcast")                                                   \
  X(HOOK_BACKPRESSURE, 11, "backpressure")                                             \
  X(HOOK_SUSPEND, 12, "suspend")                                                       \
  X(HOOK_RESUME, 13, "resume")                                                         \
  X(HOOK_RENAME, 14, "rename")

/// Handlers that exist. For the game: all of them; for a room kind: those of rooms.
enum Hooks {
#define X(constant, bit, name) constant = 1 << bit,
  HOOK_MAP(X)
#undef X
};

enum {
  RELAY_ROOMS_PER_PEER = 256,     // that a peer is in, or waits to join because of an
                                  // on_create or (joins by the script) an on_join
  RELAY_CHANNELS_PER_PEER = 16,   // plugin channels one peer may serve at a time
  RELAY_NAMES_PER_ADDRESS = 100,  // new names of plugin channels from one address, ever
  RELAY_NAMES_OF_CLIENTS = 900,   // numbers; the last ones are for the script's names
  RELAY_COMMANDS_BYTES = 64 << 20,  // what one handler may queue
};

/// The text of ERROR and REJECTED with CODE_INTERNAL.
#define RELAY_FAILED_TEXT "a handler failed; the log has the error"

/// A room kind (the name of a room up to its first ':') as the script declares it.
typedef struct RoomKind {
  uint32_t hooks;
  uint32_t capacity;  // members; 0: no limit
  bool auto_create;
  bool has_auto_delete;
  uint64_t auto_delete_ms;  // until an empty room is deleted
  double tick_rate;         // 0: the game's
} RoomKind;

typedef struct RelayLimits {
  uint32_t max_rooms;
  uint32_t max_payload;
  double tick_rate;
  uint64_t slice_us;  // of a loop's iteration that handlers may take; 0: all
  uint64_t delivery;  // bytes of deliveries that one handler may ask for; 0: any
} RelayLimits;

typedef struct RelayStats {
  uint64_t messages_in;    // broadcasts, messages and packets that clients sent
  uint64_t deliveries;     // messages handed to net, counted once per receiver
  uint64_t dropped;        // of these, dropped by overflow
  uint64_t errors;         // rollbacks: handlers that failed
  uint64_t names_refused;  // new names of plugin channels over what clients may make
  uint32_t peers, rooms;
} RelayStats;

/// The relay's own SessionEvents, to be passed to session_new with the relay as data.
SessionEvents relay_session_events(void);

/// The layer above, as far as events and commands of its own need it. Their types are
/// numbered on from EVENT_TYPE_COUNT and COMMAND_TYPE_COUNT. The relay orders them among
/// its own, and knows no more about them.
typedef struct RelayHost {
  /// An event of its own is about to be handed out. Returns whether it still matters.
  bool (*take)(void *data, const Event *event);
  /// Carries out a command of its own.
  void (*execute)(void *data, const Command *command);
  /// Gives back what a command reserved that will not be carried out.
  void (*discard)(void *data, const Command *command);
} RelayHost;

/// Session and net are not owned and must outlive it.
Relay *relay_new(const RelayLimits *limits);
void relay_attach(Relay *relay, Session *session, Net *net);
void relay_free(Relay *relay);
void relay_set_limits(Relay *relay, const RelayLimits *limits);

/// Must be called before events or commands of the layer above come; `host` is not copied.
void relay_set_host(Relay *relay, const RelayHost *host, void *data);

// --- Events ---

/// Reports that a script exists: from now on it gets disconnects and deleted rooms as well,
/// and has to drain the queue in each iteration.
void relay_set_scripted(Relay *relay);

/// Stores which handlers the program has that embeds the server: Hooks, for the game and
/// for all rooms. They get the events that scripts get. Must be called before all others.
void relay_set_program_hooks(Relay *relay, uint32_t hooks);

/// Returns the hook for which events of a type come; 0: they come without one.
uint32_t relay_hook(uint8_t type);

/// Returns whether the event is one that the program handles, alone or before the script.
bool relay_program_wants(const Relay *relay, const Event *event);

/// Returns whether the script has a handler for the event, or has to know of it.
bool relay_script_wants(const Relay *relay, const Event *event);

/// Queues a copy of an event for the script, and counts it for its peer. During a drain the
/// event is the next one.
void relay_emit(Relay *relay, const Event *event);

/// Begins a drain, which takes a slice of the loop's iteration.
void relay_begin_drain(Relay *relay);

/// Takes the next event for the script in this drain; returns false when no event is
/// left or the slice is over. First carries out the relay's own events and a handler's
/// remaining commands, and skips events whose peer or room is gone.
bool relay_next_event(Relay *relay, Event *event);

/// Reports that a handler has run, from `started_us` to `now_us` by net_clock_us: for
/// `taken`, the event that was taken, as `handled`, which is another one when that woke
/// a handler that waited. Charges both. Returns how many microseconds the source of
/// `handled` has used since the last whole second of the clock.
uint64_t relay_charge(Relay *relay, const Event *taken, const Event *handled,
                      uint64_t started_us, uint64_t now_us);

/// Ends a drain before its time; the events that are left wait for the next one.
void relay_end_drain(Relay *relay);

/// Returns whether events or commands wait for the next drain.
bool relay_has_events(const Relay *relay);

/// Returns whether an ORDER_URGENT event or commands wait.
bool relay_has_urgent(const Relay *relay);

/// Ends all ticks, because the server has stopped.
void relay_set_over(Relay *relay);

// --- Verdicts ---

// For CONNECT, JOIN, RENAME, CHANNEL_OPEN and BROADCAST; carried out at once, before the
// handler's commands.

/// Lets a peer in or refuses it, under a well-formed name (size 0: the one that it
/// has). Returns false when the peer is gone, or was refused because the name is in
/// use. A `reason`, here and below, may be NULL.
bool relay_accept(Relay *relay, uint32_t peer, Text name);
void relay_reject(Relay *relay, uint32_t peer, Code code, const char *reason);

/// Refuses a peer for now: its client may try again after `retry_s` seconds.
void relay_postpone(Relay *relay, uint32_t peer, const char *reason, uint16_t retry_s);

/// Ends the creation of an EVENT_CREATE's room: it appears, or has never existed.
void relay_created(Relay *relay, uint32_t room);
void relay_not_created(Relay *relay, uint32_t room);

/// Answers the JOIN of `event`. Checks again, before it admits, that the room exists
/// and is not full.
void relay_admit(Relay *relay, const Event *event);
void relay_refuse(Relay *relay, const Event *event, Code code, const char *reason);

/// Lets the peer of the CHANNEL_OPEN `event` serve the channel, unless another serves it
/// meanwhile. relay_refuse is the other answer.
void relay_serve(Relay *relay, const Event *event);

/// Gives the text peer of the RENAME event the name it wants. relay_refuse is the other
/// answer.
void relay_allow_name(Relay *relay, const Event *event);

/// Relays `data` as the BROADCAST of `event`'s peer, priority and flags to its room.
/// Does nothing when the peer has left the room by now.
void relay_pass(Relay *relay, const Event *event, Text data);

/// Answers the BROADCAST of `event` with ERROR Internal if that is a REQUEST.
void relay_fail(Relay *relay, const Event *event);

// --- Commands ---

/// Queues a command of the handler that runs. Returns 0, or a negative error
/// (ERR_NOT_FOUND: no such peer, room or member, or it is closed; ERR_TOO_LARGE:
/// over max_payload; ERR_EXISTS, ERR_FULL: a join that cannot be; ERR_FULL: over
/// RELAY_COMMANDS_BYTES; ERR_DELIVERY: over the limit of deliveries; ERR_INVALID: a packet on
/// channel 0) and queues nothing.
/// COMMAND_ROOM_CREATE has a function of its own below. A COMMAND_PACKET for a peer that serves the plugin channel it is on, or for peer 0
/// (the one that serves it), arrives as sent by the server.
int relay_command(Relay *relay, const Command *command);

/// Returns whether a packed message to a peer, a room (`id`) or all needs its JSON form as
/// well, because a peer that gets it may not know the schema. `joining` is the peer that
/// the running handler is about to let in, or 0.
bool relay_needs_json(const Relay *relay, Target target, uint32_t id, uint32_t joining);

/// Returns whether a peer may be in a room once the commands so far are carried out: it
/// is now, it is `joining`, as above, or one of the commands is a join.
bool relay_may_have(const Relay *relay, uint32_t room, uint32_t peer, uint32_t joining);

/// Reserves a room for COMMAND_ROOM_CREATE, which is queued with it. Returns its id, or
/// 0 with `err` set: ERR_EXISTS, ERR_FULL (max_rooms), ERR_INVALID (the name).
uint32_t relay_create(Relay *relay, Text name, int *err);

/// Keeps a room that relay_create has just reserved from appearing. When its on_create has
/// ended, well or not, EVENT_PROGRAM comes; see Room.hold.
void relay_hold_room(Relay *relay, uint32_t room);

/// Ends that after on_create has ended well: the room appears, or (drop) goes at once.
void relay_release_room(Relay *relay, uint32_t room);
void relay_drop_room(Relay *relay, uint32_t room);

/// Reserves a name for a peer and queues its COMMAND_RENAME; nothing for the name that the
/// peer has. Returns 0 or a negative error: ERR_NOT_FOUND (the peer is gone), ERR_INVALID
/// (the name), ERR_EXISTS (it is in use).
int relay_rename(Relay *relay, uint32_t peer, Text name);

/// Returns whether a peer, if it still exists, may be let in under the name (size 0: its
/// own, or the one that the running handler has given it).
bool relay_name_is_free(const Relay *relay, uint32_t peer, Text name);

/// Returns the peer's name as the running handler sees it: the one that it has given
/// last.
Text relay_peer_name(const Relay *relay, const Peer *peer);

/// The number of the plugin channel of that name, which the script will serve
/// (COMMAND_CHANNEL_OPEN is queued) or serves already. 0 with `err` set: ERR_INVALID (the
/// name), ERR_EXISTS (a client serves it), ERR_FULL (all numbers have names).
uint16_t relay_channel(Relay *relay, Text name, int *err);

/// Carries out the handler's commands, in order. Those that wait for the script to
/// handle an event first follow in relay_next_event.
void relay_commit(Relay *relay);

/// The same at the end of a handler: as far as the slice allows, and the rest in the next
/// drains, before any other handler.
void relay_begin_commit(Relay *relay);

/// Begins a handler, whose deliveries are counted from 0.
void relay_begin_handler(Relay *relay);

/// How much has been queued and reserved. The zero value stands for nothing.
typedef struct RelayMark {
  size_t commands, names;
} RelayMark;

/// Returns a mark: the commands that handlers queue from here on can be taken back alone, as
/// long as nothing has been committed.
RelayMark relay_mark(const Relay *relay);

/// Takes back what was queued since, and gives back what was reserved.
void relay_forget(Relay *relay, RelayMark mark);

/// The same because a handler failed, which is counted.
void relay_rollback(Relay *relay, RelayMark mark);

// --- Kinds ---

/// Replaces all kinds: those set between begin and end. Rooms keep the kind of their
/// name.
void relay_kinds_begin(Relay *relay, uint32_t game_hooks);
void relay_kind_set(Relay *relay, Text name, const RoomKind *kind);
void relay_kinds_end(Relay *relay);

// --- Queries ---

Session *relay_session(Relay *relay);

/// The room in whatever state (relay/room.h), or NULL.
Room *relay_room(const Relay *relay, uint32_t room);

/// Returns the number of the plugin channel of that name, 0 when it is not served. `peer`
/// is the peer that serves it, 0: the script does.
uint16_t relay_find_channel(const Relay *relay, Text name, uint32_t *peer);

/// Returns the next plugin channel after `*cursor` (start at 0) that is served, or 0. Its
/// name is valid until a channel gets a new one.
uint16_t relay_next_channel(const Relay *relay, uint32_t *cursor, Text *name);

/// Returns a number that differs after the set of served channels has changed.
uint32_t relay_channel_changes(const Relay *relay);

/// Returns the id of the room that has the name: reserved, being created or open; 0:
/// none.
uint32_t relay_find_room(const Relay *relay, Text name);

/// Returns the next room after `*cursor` (start at 0) that is reserved, being created,
/// open or soft-deleted, or NULL.
Room *relay_next_room(const Relay *relay, uint32_t *cursor);

/// Reads the JSON of what a room's meta has under a key, as the running handler sees it;
/// returns false if there is none.
bool relay_room_meta(const Relay *relay, uint32_t room, Text key, Text *json);

/// Returns whether a peer is in a room.
bool relay_is_member(const Peer *peer, uint32_t room);
RelayStats relay_stats(const Relay *relay);

/// Returns the bytes of deliveries that one handler may ask for.
uint64_t relay_delivery_limit(const Relay *relay);
