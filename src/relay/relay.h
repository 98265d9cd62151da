// Rooms, their members, and the messages between them. The session is the layer below,
// the script the layer above. The relay queues an event only if a hook for it is set,
// so a relay without handlers never enters the script. This interface identifies peers
// and rooms by id; 0 is none.
//
// The packets of a peer are handled in order. While one of them waits for the script, later
// ones wait too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "relay/commands.h"
#include "relay/events.h"
#include "session/session.h"

typedef struct Relay Relay;
typedef struct Room Room;

// X(constant, bit, name): core.hooks contains these names for the Lua half.
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
  X(HOOK_RENAME, 14, "rename")                                                         \
  X(HOOK_ACCEPT, 15, "accept")                                                         \
  X(HOOK_SIGN_IN, 16, "sign_in")

/// Bits of existing handlers. A room kind uses the bits of room handlers only.
enum Hooks {
#define X(constant, bit, name) constant = 1 << bit,
  HOOK_MAP(X)
#undef X
};

enum {
  RELAY_ROOMS_PER_PEER = 256,  // limit of a peer's rooms; also, counted separately, of
                               // its joins that wait for on_create and of its joins by
                               // the script that wait for on_join
  RELAY_CHANNELS_PER_PEER = 16,     // plugin channels that one peer serves at a time
  RELAY_NAMES_PER_ADDRESS = 100,    // new names of plugin channels from one address
  RELAY_NAMES_OF_CLIENTS = 900,     // number of names at which clients can add no more;
                                    // the remaining numbers are for the script
  RELAY_BOT_EVENTS = 256,           // limit of events that wait for one bot
  RELAY_TOOL_BYTES = 16 << 10,      // JSON of a TOOL_ADD or TOOL_REMOVE
  RELAY_COMMANDS_BYTES = 64 << 20,  // bytes of commands that one handler may queue
};

/// The text of ERROR and REJECTED with CODE_INTERNAL.
#define RELAY_FAILED_TEXT "a handler failed; the log has the error"

/// Rooms that auto_delete does not delete.
typedef enum Keep {
  KEEP_CREATED,  // rooms that were not created by a join
  KEEP_ALL,
  KEEP_NONE,
} Keep;

/// A room kind as the script declares it. A room's kind is its name up to the first ':'.
typedef struct RoomKind {
  uint32_t hooks;
  uint32_t capacity;  // limit of members; 0: none
  bool auto_create;
  bool has_auto_delete;
  bool is_hidden;   // lists of rooms leave it out
  bool is_locked;   // clients cannot join
  bool loses_lost;  // a member leaves as soon as its connection is lost
  bool is_durable;  // rooms and their members survive the process
  bool has_password;
  uint8_t keep;  // Keep
  Secret password;
  uint64_t auto_delete_ms;  // delay until an empty room is deleted
  double tick_rate;         // ticks a second; 0: the game's rate
} RoomKind;

/// Settings that a room overrides. Only the values whose bits are in `given` are set.
typedef struct RoomSettings {
  uint32_t given;  // mask of RoomSetting
  RoomKind values;
} RoomSettings;

typedef enum RoomSetting {
  SETTING_CAPACITY = 1,
  SETTING_AUTO_DELETE = 2,
  SETTING_HIDDEN = 4,
  SETTING_LOCKED = 8,
  SETTING_KEEP = 16,
  SETTING_PASSWORD = 32,
} RoomSetting;

typedef struct RelayLimits {
  uint32_t max_rooms;
  uint32_t max_bots;
  uint32_t max_payload;
  double tick_rate;
  uint64_t slice_us;  // limit of the time of all handlers in one iteration of the loop;
                      // 0: no limit
  bool client_broadcast;  // whether clients may broadcast to all peers
  uint64_t delivery;      // bytes that one handler may send to peers; 0: no limit
} RelayLimits;

typedef struct RelayStats {
  uint64_t messages_in;    // broadcasts, messages and packets from clients
  uint64_t deliveries;     // messages handed to net, counted once per receiver
  uint64_t dropped;        // deliveries dropped because a queue was full
  uint64_t errors;         // failed handlers
  uint64_t ticks;          // ticks of rooms and of the game
  uint64_t ticks_late;     // ticks that were skipped, because the loop was late or the
                           // tick before still waited
  uint64_t names_refused;  // refused new names of plugin channels
  uint32_t peers, rooms;
} RelayStats;

/// Returns the relay's SessionEvents for session_new. Their `data` must be the relay.
SessionEvents relay_session_events(void);

/// Functions of the layer above for its own events and commands, whose types begin at
/// EVENT_TYPE_COUNT and COMMAND_TYPE_COUNT. The relay orders them together with its
/// own, and does not interpret them.
typedef struct RelayHost {
  /// Checks an event of the layer above before relay_next_event returns it. Returns
  /// false if the event is obsolete.
  bool (*take)(void *data, const Event *event);
  /// Carries out a command of the layer above.
  void (*execute)(void *data, const Command *command);
  /// Releases the reservations of a command that will not be carried out.
  void (*discard)(void *data, const Command *command);
} RelayHost;

/// Creates a relay. Call relay_attach next: it sets session and net, which the relay
/// does not own and which must outlive it.
Relay *relay_new(const RelayLimits *limits);
void relay_attach(Relay *relay, Session *session, Net *net);
void relay_free(Relay *relay);
void relay_set_limits(Relay *relay, const RelayLimits *limits);

/// Sets the functions of the layer above. Must precede that layer's first event or
/// command. `host` is not copied and must stay valid.
void relay_set_host(Relay *relay, const RelayHost *host, void *data);

/// Sets the function that decides about new connections while the script has HOOK_ACCEPT;
/// the function gets the `data` of relay_set_host. It is never called during a handler.
typedef bool RelayAccept(void *data, const char *address, uint16_t port);
void relay_set_accept(Relay *relay, RelayAccept *accept);

/// Sets the program's function that decides about new connections before the script.
void relay_set_program_accept(Relay *relay, RelayAccept *accept, void *data);

/// Sets the function that hears when a session begins, is resumed or ends, or when its
/// durable rooms change; it gets the `data` of relay_set_host. The packet that notifies the
/// client follows (WELCOME, JOINED, LEFT), so the function may hold the connection.
typedef void RelayKeep(void *data, const Peer *peer);
void relay_set_keep(Relay *relay, RelayKeep *keep);

// --- Events ---

/// Reports that a script exists. From now on, the script also gets disconnects and
/// deleted rooms, and must drain the queue in each iteration.
void relay_set_scripted(Relay *relay);

/// Sets the hooks of the program that embeds the server, for the game and for all
/// rooms. The program's handlers get the same events as scripts. Must be called before
/// all other functions.
void relay_set_program_hooks(Relay *relay, uint32_t hooks);

/// Returns the hook that events of a type need; 0: none.
uint32_t relay_hook(uint8_t type);

/// Returns whether the program handles the event, alone or before the script.
bool relay_program_wants(const Relay *relay, const Event *event);

/// Returns whether the script has a handler for the event, or needs the event for its own state.
bool relay_script_wants(const Relay *relay, const Event *event);

/// Queues a copy of an event for the script, and counts the event for its peer. During
/// a drain, the event precedes all queued events.
void relay_emit(Relay *relay, const Event *event);

/// Begins a drain at a time of net_clock_us. It may take one slice of the loop's
/// iteration.
void relay_begin_drain(Relay *relay, uint64_t now_us);

/// Removes the next event for the script in this drain; returns false if no event is
/// left or the slice has ended. First handles the relay's own events and carries out
/// the remaining commands of handlers. Skips events whose peer or room is gone.
bool relay_next_event(Relay *relay, Event *event);

/// Charges the time from `started_us` to `now_us` (net_clock_us) to the sources of two
/// events: `taken`, which relay_next_event returned, and `handled`, the event of the
/// handler that ran. They differ if `taken` has resumed a waiting handler. Returns the
/// microseconds that the source of `handled` has used since the last whole second of
/// the clock.
uint64_t relay_charge(Relay *relay, const Event *taken, const Event *handled,
                      uint64_t started_us, uint64_t now_us);

/// Ends a drain early. The remaining events wait for the next one.
void relay_end_drain(Relay *relay);

/// Returns whether events or commands wait for the next drain.
bool relay_has_events(const Relay *relay);

/// Returns whether an ORDER_URGENT event or a command waits.
bool relay_has_urgent(const Relay *relay);

/// Stops all ticks, because the server has stopped.
void relay_set_over(Relay *relay);

// --- Verdicts ---

// The script's answers to CONNECT, JOIN, RENAME, CHANNEL_OPEN and BROADCAST. An answer
// takes effect at once, before the handler's commands.

/// relay_accept accepts a peer under a well-formed name (size 0: the peer's own name),
/// or rejects it if another peer uses the name. It returns false if the peer was
/// rejected or has ended. relay_reject rejects a peer; its `reason` may be NULL.
bool relay_accept(Relay *relay, uint32_t peer, Text name);
void relay_reject(Relay *relay, uint32_t peer, Code code, const char *reason);

/// Rejects a peer temporarily. Its client may try again after `retry_s` seconds.
void relay_postpone(Relay *relay, uint32_t peer, const char *reason, uint16_t retry_s);

/// Answers the SIGN_IN of `event`.
void relay_answer_sign_in(Relay *relay, const Event *event, const SignInAnswer *answer);

/// End the creation of an EVENT_CREATE's room. relay_created opens the room.
/// relay_not_created removes the room; the peers that wait to join get the fault, or
/// ERROR Internal if `fault` is NULL.
void relay_created(Relay *relay, uint32_t room);
void relay_not_created(Relay *relay, uint32_t room, const Fault *fault);

/// Answer the JOIN of `event`. relay_admit checks again that the room exists and has a
/// free place. The `reason` of relay_refuse may be NULL.
void relay_admit(Relay *relay, const Event *event);
void relay_refuse(Relay *relay, const Event *event, Code code, const char *reason);

/// Grants the CHANNEL_OPEN of `event`, unless the channel has a server by now. To
/// refuse, call relay_refuse.
void relay_serve(Relay *relay, const Event *event);

/// Answers an event with FAULT, even if the event does not carry REQUEST. This refuses
/// a JOIN, RENAME or CHANNEL_OPEN. The event may also be a BROADCAST, MESSAGE, TEXT,
/// PACKET or CHANNEL.
void relay_fault(Relay *relay, const Event *event, const Fault *fault);

/// Grants the name of the RENAME `event`. To refuse, call relay_refuse.
void relay_allow_name(Relay *relay, const Event *event);

/// Relays `data` to the room of the BROADCAST `event`, with its peer, priority and flags.
/// Does nothing when the peer has left the room.
void relay_pass(Relay *relay, const Event *event, Text data);

/// Answers the BROADCAST of `event` with ERROR Internal if it carries REQUEST.
void relay_fail(Relay *relay, const Event *event);

// --- Commands ---

/// Queues a command of the running handler. Returns 0, or queues nothing and returns a
/// negative error:
///  ERR_NOT_FOUND: the peer, room or member does not exist or is closed
///  ERR_TOO_LARGE: the body is larger than max_payload
///  ERR_EXISTS: the peer is in the room already
///  ERR_FULL: the room, the peer's rooms or the room's meta is full
///  ERR_COMMANDS: the handler's commands would have more than RELAY_COMMANDS_BYTES
///  ERR_DELIVERY: the handler would deliver more than its limit
///  ERR_VACANT: neither a peer nor the script serves the plugin channel
///  ERR_INVALID: a packet on channel 0, or an impossible key of meta
/// To create a room, call relay_create. A COMMAND_PACKET with id 0 goes to the peer
/// that serves its plugin channel. That peer gets packets of the script with sender 0.
int relay_command(Relay *relay, const Command *command);

/// Returns whether a packed message also needs its JSON form, because a receiver may
/// not know the schema. `id` is the peer or the room of the target. `joining` is the id
/// of the peer that the running handler may admit; 0: none.
bool relay_needs_json(const Relay *relay, Target target, uint32_t id, uint32_t joining);

/// Returns whether a peer may be in a room after the commands so far: it is a member,
/// it is `joining` (see relay_needs_json), or a command may make it join.
bool relay_may_have(const Relay *relay, uint32_t room, uint32_t peer, uint32_t joining);

/// Reserves a room and queues its COMMAND_ROOM_CREATE. Returns its id, or 0 with `err` set:
/// ERR_EXISTS, ERR_FULL (max_rooms), ERR_INVALID (the name).
uint32_t relay_create(Relay *relay, Text name, int *err);

/// Changes the settings of a room that relay_create has just reserved.
void relay_configure(Relay *relay, uint32_t room, const RoomSettings *settings);

/// Marks a room that relay_create has just reserved as made for a join.
void relay_create_for_join(Relay *relay, uint32_t room);

/// Keeps a room hidden that relay_create has just reserved. EVENT_PROGRAM follows when
/// the room's on_create has ended or failed; see Room.hold.
void relay_hold_room(Relay *relay, uint32_t room);

/// End the hold of a room whose on_create has succeeded. relay_release_room opens the
/// room, relay_drop_room deletes it.
void relay_release_room(Relay *relay, uint32_t room);
void relay_drop_room(Relay *relay, uint32_t room);

/// Handlers of a bot's brain, and whether a joining player may replace the bot.
typedef enum BotFlags {
  BOT_TICKS = 1,
  BOT_MESSAGES = 2,
  BOT_BROADCASTS = 4,
  BOT_PACKETS = 8,
  BOT_FILLS = 16,
} BotFlags;

/// Reserves a bot of a room and queues its COMMAND_BOT, with a token like that of
/// COMMAND_JOIN. An empty name becomes `bot-ID`. Returns the bot's id, or 0 with `err`
/// set: ERR_NOT_FOUND (the room), ERR_INVALID, ERR_EXISTS (the name), ERR_FULL (the
/// room), ERR_TAKEN (max_bots).
uint32_t relay_add_bot(Relay *relay, uint32_t room, Text name, uint8_t flags,
                       uint32_t token, int *err);

/// Changes the flags of a bot except BOT_FILLS, at once.
void relay_set_brain(Relay *relay, uint32_t bot, uint8_t flags);

/// Reserves a name for a peer and queues its COMMAND_RENAME; does nothing if the peer
/// has that name. Returns 0 or a negative error: ERR_NOT_FOUND (the peer is gone),
/// ERR_INVALID (the name), ERR_EXISTS (another peer has the name).
int relay_rename(Relay *relay, uint32_t peer, Text name);

/// Returns whether a peer may be accepted under the name; true if the peer has ended.
/// An empty name means the peer's own name, or the name that the running handler has
/// given it.
bool relay_name_is_free(const Relay *relay, uint32_t peer, Text name);

/// Returns the peer's name, including a change by the running handler.
Text relay_peer_name(const Relay *relay, const Peer *peer);

/// Queues COMMAND_CHANNEL_OPEN, which makes the script serve the channel of that name,
/// under a number from `first` to `last`. If `first` is 0, the channel gets the name's
/// old number, or the next free one. Returns the channel's number, or 0 with `err` set:
/// ERR_INVALID (the name), ERR_EXISTS (a client serves it), ERR_TAKEN (another channel
/// has the number, or the name has another one), ERR_FULL (no number is left).
uint16_t relay_channel(Relay *relay, Text name, uint16_t first, uint16_t last,
                       int *err);

/// relay_channel_spans_begin removes all spans of numbers, relay_channel_span adds one.
/// A span applies to its name and to all names that begin with that name and ':'. Other
/// names do not get its numbers unless the script requests them.
void relay_channel_spans_begin(Relay *relay);
void relay_channel_span(Relay *relay, Text name, uint16_t first, uint16_t last);

/// Carries out the handler's commands, in order. If a command waits for another
/// handler, relay_next_event carries out the remaining commands.
void relay_commit(Relay *relay);

/// Carries out the commands at the end of a handler, but in a drain only until the
/// slice ends. The next drains carry out the remaining commands before any other
/// handler.
void relay_begin_commit(Relay *relay);

/// Begins a handler and resets its count of deliveries.
void relay_begin_handler(Relay *relay);

/// A position among queued commands and reserved names. The zero value is the beginning.
typedef struct RelayMark {
  size_t commands, names;
} RelayMark;

/// Returns the current position. Valid until the next commit.
RelayMark relay_mark(const Relay *relay);

/// Reads the running handler's command at `*at` (start at 0) and advances `*at`; returns
/// false at the end. Pointers are valid until the next command.
bool relay_next_command(const Relay *relay, size_t *at, Command *command);

/// Discards the commands behind the mark, and releases their reservations.
void relay_forget(Relay *relay, RelayMark mark);

/// The commands and reservations of a handler that waits within a transaction.
typedef struct RelayStash RelayStash;

/// Moves the commands and reservations of the running handler to a new stash. The
/// caller passes the stash to relay_unstash or relay_drop_stash.
RelayStash *relay_stash(Relay *relay);

/// Moves the commands and reservations of the stash to the running handler, which must
/// have no commands. Frees the stash.
void relay_unstash(Relay *relay, RelayStash *stash);

/// Discards the stash's commands, releases its reservations, and frees it.
void relay_drop_stash(Relay *relay, RelayStash *stash);

/// Does what relay_forget does, and counts a failed handler.
void relay_rollback(Relay *relay, RelayMark mark);

// --- Kinds ---

/// Replace all kinds with the kinds set between begin and end. Each room gets the new
/// kind of its name.
void relay_kinds_begin(Relay *relay, uint32_t game_hooks);
void relay_kind_set(Relay *relay, Text name, const RoomKind *kind);
void relay_kinds_end(Relay *relay);

// --- Rooms of an earlier process ---

typedef struct KeptRoom {
  uint32_t id;
  Text name;
  RoomSettings own;
  bool is_by_join;  // Room.is_by_join
} KeptRoom;

/// Makes an open room. Returns false if its name or id is impossible or used, or if
/// max_rooms is reached.
bool relay_restore_room(Relay *relay, const KeptRoom *kept);

/// Sets an entry of the meta of a restored room.
void relay_restore_meta(Relay *relay, uint32_t room, Text key, Text json,
                        bool is_public);

/// Makes a restored peer a suspended member of an open room. Returns false if that is
/// impossible.
bool relay_restore_member(Relay *relay, uint32_t peer, uint32_t room);

// --- Queries ---

Session *relay_session(Relay *relay);

/// Returns the room in any state (relay/room.h), or NULL.
Room *relay_room(const Relay *relay, uint32_t room);

/// Returns the number of the plugin channel of that name, or 0 if nobody serves it.
/// Sets `peer` to the serving peer, or to 0 if the script serves the channel.
uint16_t relay_find_channel(const Relay *relay, Text name, uint32_t *peer);

/// Reads the name of a channel's number; returns false if no name has that number.
bool relay_channel_name(const Relay *relay, uint16_t number, Text *name);

/// Returns the next served plugin channel after `*cursor` (start at 0), or 0. Its name is
/// valid until a new name is added.
uint16_t relay_next_channel(const Relay *relay, uint32_t *cursor, Text *name);

/// Returns a number that changes whenever the set of served channels changes.
uint32_t relay_channel_changes(const Relay *relay);

/// Returns the id of the reserved, created or open room of that name; 0: none.
uint32_t relay_find_room(const Relay *relay, Text name);

/// Returns the next room after `*cursor` (start at 0), or NULL. Includes rooms that are
/// reserved, being created, open or soft-deleted.
Room *relay_next_room(const Relay *relay, uint32_t *cursor);

/// Returns the settings of a room, including changes by the running handler.
RoomKind relay_room_settings(const Relay *relay, const Room *room);

/// Reads the JSON of a key of a room's meta, including changes by the running handler;
/// returns false if the key does not exist.
bool relay_room_meta(const Relay *relay, uint32_t room, Text key, Text *json);

/// Returns whether a peer is in a room.
bool relay_is_member(const Peer *peer, uint32_t room);
RelayStats relay_stats(const Relay *relay);

const RelayLimits *relay_limits(const Relay *relay);

/// Returns the limit of bytes that one handler may deliver.
uint64_t relay_delivery_limit(const Relay *relay);
