// What the files of this folder share: the Relay itself and the steps that cross files.
// Functions here begin with the noun they serve: room_, member_, notify_, relay_.
#pragma once

#include "base/buf.h"
#include "base/names.h"
#include "base/slots.h"
#include "relay/relay.h"
#include "relay/room.h"
#include "relay/schedule.h"

enum {
  CHANNEL_PLUGIN_COUNT = CHANNEL_PLUGIN_LAST - CHANNEL_PLUGIN_FIRST + 1,
  QUEUED_MAX = 64,           // events of a peer that wait; with more it is throttled
  QUEUED_BYTES = 256 << 10,  // and with more bytes of them,
  QUEUED_LOW = 32,           // until no more wait than this, and half the bytes
  SHRINK_BYTES = 4 << 20,    // an empty buffer that grew beyond this is given back
  HOOKS_OF_ROOMS = HOOK_JOIN | HOOK_LEAVE | HOOK_BROADCAST | HOOK_BACKPRESSURE |
                   HOOK_RESUME | HOOK_ROOM_CREATE |
                   HOOK_ROOM_DELETE,  // the game's stand in for these
};

// Room kinds by name.
typedef struct Kinds {
  Names names;  // 1 + index
  RoomKind *list;
  uint32_t count, capacity;
} Kinds;

// A plugin channel: by number, from CHANNEL_PLUGIN_FIRST on.
typedef struct PluginChannel {
  uint32_t peer;    // that serves it now; 0: none does
  bool is_scripts;  // the script serves it
} PluginChannel;

// Commands of one handler that wait for a question to be answered, or for the next slice.
typedef struct Batch {
  struct Batch *below;  // goes on after this one
  uint32_t number;
  Commands commands;
  size_t at;              // how far it is
  size_t captured_below;  // bytes of captured events below its question
  bool is_awaiting;       // whose handler has not run; else it waits for time alone
  Buf names;              // that its handler has reserved
} Batch;

// A join that the script asked for and whose outcome is not known.
typedef struct ScriptJoin {
  struct ScriptJoin *next;  // of the same peer, later
  uint32_t id;
  uint32_t batch;   // the commands that it was one of
  Command command;  // id, room and token
  Commands held;    // those behind it that are for the same peer
} ScriptJoin;

// COMMAND_JOINs for a peer that on_connect has not let in yet.
typedef struct EarlyJoins {
  uint32_t peer;
  Commands joins;
} EarlyJoins;

struct Relay {
  RelayLimits limits;
  Session *session;       // not owned
  Net *net;               // not owned
  const RelayHost *host;  // not owned
  void *host_data;
  bool is_scripted;
  bool is_draining;  // between relay_begin_drain and the end of the slice
  bool is_over;      // the server has stopped: only ends of connections are of interest
  bool has_released;       // a peer that was throttled, in this drain
  uint32_t script_hooks;   // of the game's own table
  uint32_t program_hooks;  // see relay_set_program_hooks
  uint32_t game_hooks;     // both
  Slots rooms;             // Room by id; owned
  Names room_names;        // ids of rooms that are open or reserved
  uint32_t open_rooms, failed_rooms;
  Kinds kinds;
  Kinds next_kinds;  // between relay_kinds_begin and relay_kinds_end
  uint32_t next_hooks;
  Names channel_names;   // 1 + index of each name ever served
  Names channel_makers;  // how many of them were new, by the network they came from
  PluginChannel channels[CHANNEL_PLUGIN_COUNT];
  uint32_t channel_count;
  GroupId
      all[FORM_COUNT];  // everybody, as Room.groups; 0 until the first message to all
  uint32_t broadcast_number;  // of the last one; see Peer.excluded
  Schedule schedule;
  Buf captured;  // Event structs that own their data: what handlers cause, which comes next
  Event *
      own;  // receives the first event that the queued packet being handled causes, which
            // is handed out at once; NULL: none is, or it has caused one
  size_t captured_end;    // where what the running handler causes begins, in bytes
  uint32_t captured_row;  // events taken from it in this drain since the last other one
  bool has_kept_waiting;  // other events, because of `batches`
  void *taken_data;       // data of the last event taken from it; NULL: it had none
  uint32_t ended_peer;    // its DISCONNECT is being handled; to be forgotten after that
  uint32_t ended_room;    // the same with ROOM_DELETE
  Commands commands;
  bool has_join;   // peers may join rooms before one of them
  Batch *batches;  // what is left of those of other handlers, the newest first
  uint32_t batch_count;
  uint32_t last_batch;
  uint32_t batch_number;  // of the commands that are being carried out; 0: none are
  bool is_awaiting;       // the last of them was a question
  Slots joins;            // ScriptJoin by id; owned
  Buf early;              // EarlyJoins structs
  uint64_t delivering;    // bytes of deliveries that the running handler has asked for
  bool has_room_message;  // a message to a room is among them
  Event payer;  // of the last handler, which the rest of its commands is charged to
  bool has_new_room;   // COMMAND_ROOM_CREATE is among the running handler's commands
  Buf reserved_names;  // of the handler that runs, see names.c
  Ticker ticker;       // the game's
  Buf scratch;         // one payload or line at a time
  Buf except;          // ConnIds, one write at a time
  RelayStats stats;
};

// --- relay.c: events on their way to the script ---

/// Queues a copy of `event` for the script and counts it for its peer. During a drain
/// the event is the next one.
void relay_emit(Relay *relay, const Event *event);

// --- schedule.c ---

void schedule_init(Relay *relay);
void schedule_deinit(Relay *relay);

/// Queues an event of `peer` (NULL: of none), outside of drains. Returns the source in whose
/// queue it waits, or NULL when it comes before those of all sources.
const Source *schedule_push(Relay *relay, const Event *event, Peer *peer);

/// Takes the next event; returns false when no event may be handled in this slice.
bool schedule_take(Relay *relay, Event *event);
bool schedule_is_empty(const Relay *relay);

void schedule_begin(Relay *relay);
void schedule_end(Relay *relay);

/// Charges pieces of work that were done without a handler. Returns whether time is
/// left.
bool schedule_work(Relay *relay, uint64_t pieces);
bool schedule_is_over(const Relay *relay);

/// Returns the bytes of the peer's events in the second class.
size_t schedule_waiting_bytes(const Peer *peer);

/// Removes the source of a room that is about to be freed.
void source_end(Relay *relay, Source *source);

// --- drain.c ---

/// SessionEvents.packet, .line and .disconnect: handled at once, or in their turn.
void drain_packet(void *data, Peer *peer, const Packet *packet);
void drain_line(void *data, Peer *peer, const char *text, size_t size);
void drain_disconnect(void *data, Peer *peer, Code reason);

/// Returns whether a captured event concerns the peer of `event`, one of that peer's
/// rooms, or the event's room.
bool captured_concerns(const Relay *relay, const Event *event);

/// Returns whether a peer counts its events of that type while they wait.
bool event_is_counted(uint8_t type);

/// Forgets captured events.
void captured_free(Relay *relay);

// --- room.c ---

/// A room that exists and is open, or NULL.
Room *room_find_open(const Relay *relay, uint32_t id);

/// A new room in ROOM_RESERVED; NULL with `err` set: ERR_EXISTS, ERR_FULL, ERR_INVALID.
Room *room_reserve(Relay *relay, Text name, int *err);

/// Starts the creation of a room that no handler sees yet: calls on_create, or the room
/// appears at once.
void room_begin(Relay *relay, Room *room);

/// Ends the reservation of the rooms that the handler which has ended made.
void room_claim_reserved(Relay *relay);

/// Frees the rooms whose on_create failed, once no join waits for them.
void room_free_failed(Relay *relay);

/// A reserved room is given back.
void room_unreserve(Relay *relay, Room *room);

/// Soft-deletes an open room, which goes at once when it is empty, or one that is being
/// created.
void room_delete(Relay *relay, Room *room);

/// After a member left: the end of a deleted room, or the wait of one that deletes
/// itself.
void room_check_empty(Relay *relay, Room *room);

/// Frees a room in whatever state.
void room_free(Relay *relay, Room *room);

// --- member.c ---

/// The peer's place in the room, or NULL.
RoomRef *member_find(const Peer *peer, uint32_t room);

void member_add(Relay *relay, Room *room, Peer *peer);

/// The peer's new connection hears what the room is sent from now on.
void member_join_group(Relay *relay, Room *room, const Peer *peer);
void member_remove(Relay *relay, Room *room, Peer *peer);

/// The open room that a packet of the peer is for; NULL after an ERROR when it is not
/// there or the peer is not in it.
Room *member_room(Relay *relay, Peer *peer, uint32_t room, const Packet *request);

// --- join.c ---

/// Why the peer cannot join the room (may be NULL) now, or CODE_CLOSED when it can.
Code join_fault(const Peer *peer, const Room *room, const char **why);

/// JOIN by name; `request` tells flags and ref.
void join_by_name(Relay *relay, Peer *peer, Text name, const Packet *request);

/// Checks the capacity, asks the script, and then sends JOINED. `join` is an
/// EVENT_JOIN.
void join_room(Relay *relay, const Event *join);

/// Returns whether an EVENT_JOIN whose turn it is goes to the script. If not, it has
/// been handled, or waits for the end of on_create.
bool join_is_due(Relay *relay, const Event *join);

/// Why a peer leaves a room.
typedef struct Leave {
  Code code;
  const char *reason;  // in words, "" or NULL for none; text peers and the log see it
  const Packet *request;  // which asked for it, or NULL
} Leave;

/// LEFT, PEER_LEFT and the event.
void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave);

/// A closed peer leaves everything it was in.
void leave_all(Relay *relay, Peer *peer, Code code);

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

/// A message is about to be written to a room, or (NULL) to everybody: an unreliable one
/// is missed by suspended ones.
static inline void suspended_count(Relay *relay, Room *room, uint8_t packet_flags) {
  relay->broadcast_number++;
  if (room && !(packet_flags & PACKET_RELIABLE)) room->unreliable++;
}

/// This peer does not get the message that suspended_count was told of last.
void suspended_exclude(Relay *relay, Peer *peer, const Room *room,
                       uint8_t packet_flags);

/// Keeps a RELIABLE packet for those who get it, a room's binary members or everybody,
/// suspended ones included.
void suspended_keep(Relay *relay, const Room *room, unsigned forms, const Out *out);

// --- control.c and lines.c ---

/// What stands for the request where there is none.
extern const Packet NO_REQUEST;

/// Handles a packet or line of a peer whose turn it is.
void relay_packet(Relay *relay, Peer *peer, const Packet *packet);
void relay_line(Relay *relay, Peer *peer, Text text);

/// Whether some handler takes messages (HOOK_MESSAGE) or lines (HOOK_TEXT) for the room
/// (or NULL).
bool relay_has_hook(const Relay *relay, const Room *room, uint32_t hook);

/// The event that brings a packet to the script, as it is.
Event relay_packet_event(EventType type, const Peer *peer, const Packet *packet);

/// `what` was malformed: the peer is closed with Protocol.
void relay_malformed(Relay *relay, Peer *peer, const char *what);

// --- channels.c ---

void channel_open(Relay *relay, Peer *peer, const Packet *packet);
void channel_close(Relay *relay, Peer *peer, const Packet *packet);

/// A packet on a plugin channel.
void channel_packet(Relay *relay, Peer *peer, const Packet *packet);
/// A packet on the channel of an LLM's session.
void channel_llm_packet(Relay *relay, Peer *peer, const Packet *packet);

/// The peer serves nothing any more.
void channel_release_all(Relay *relay, const Peer *peer);

/// The peer that serves the plugin channel, or 0.
uint32_t channel_server(const Relay *relay, uint16_t channel);

/// COMMAND_CHANNEL_OPEN and COMMAND_CHANNEL_CLOSE.
void channel_serve_by_script(Relay *relay, uint16_t channel);
void channel_unserve_by_script(Relay *relay, uint16_t channel);

/// A packet for the script, or ERROR ChannelNotFound.
void channel_to_script(Relay *relay, Peer *peer, const Packet *packet);

// --- names.c ---

/// Gives back the names that a handler has reserved beyond the first `mark` bytes.
void rename_release(Relay *relay, Buf *reserved, size_t mark);

/// Gives a peer a name that was checked, and notifies it and the members of its rooms.
void rename_peer(Relay *relay, Peer *peer, Text name);

/// Handles a text peer's request for another name.
void rename_asked(Relay *relay, Peer *peer, Text name);

// --- execute.c and submit.c ---

void command_execute(Relay *relay, const Command *command);

/// Clears the handler's commands and reservations, which have been carried out.
void commands_clear(Relay *relay);

// --- batch.c ---

/// Queues an event that delays the commands behind the one that is being carried out.
void relay_await(Relay *relay, const Event *question);

/// Takes over commands, which come before the remaining ones of other handlers.
void batch_push(Relay *relay, Commands *commands);

/// Carries out remaining commands, of which at least one exists, up to the next
/// question or the end of the slice.
void batch_continue(Relay *relay);

/// Reports that a captured event, perhaps the question of a batch, was taken.
void batch_note_taken(Relay *relay);

/// Returns whether commands of that number are left.
bool batch_is_left(const Relay *relay, uint32_t number);
void batch_free_all(Relay *relay);

// --- script_join.c ---

/// Carries out COMMAND_JOIN for a peer that has had WELCOME; NULL: a peer that is gone.
void script_join_begin(Relay *relay, Peer *peer, const Command *command);

/// Reports the outcome of a join; `why` is NULL when the peer is in. Does nothing for
/// id 0.
void script_join_end(Relay *relay, uint32_t id, Code code, const char *why);

/// Keeps a command that follows a join of the same handler and peer whose outcome is
/// not known; returns whether it did.
bool script_join_holds(Relay *relay, const Command *command);

/// Ends the joins of a peer whose session is over.
void script_joins_end_all(Relay *relay, Peer *peer);
void script_joins_free(Relay *relay);

/// Keeps COMMAND_JOIN for a peer that on_connect has not let in yet.
void script_join_keep(Relay *relay, const Command *command);

/// Carries out the kept joins of a peer that has had WELCOME, before on_connect's later
/// commands.
void script_joins_welcome(Relay *relay, uint32_t peer);

/// Ends the kept joins of a peer that was not let in.
void script_joins_forget(Relay *relay, uint32_t peer);

// --- kinds.c ---

void kinds_init(Kinds *kinds);
void kinds_deinit(Kinds *kinds);

/// What the script says of a room of this name, or NULL when the game does not name its
/// kind.
const RoomKind *kind_find(const Relay *relay, Text name);

/// Takes what holds for the room's name into the room.
void kind_apply(const Relay *relay, Room *room);

// --- ticks.c ---

/// Starts, changes or stops a ticker; `rate` is ticks a second, 0 stops it.
void ticker_set(Relay *relay, Ticker *ticker, uint32_t room, double rate);

/// Starts or stops the room's (or the game's) ticker as hooks and limits say.
void ticker_refresh_room(Relay *relay, Room *room);
void ticker_refresh_game(Relay *relay);

/// Reports that the event of a tick has been taken: the next one may be queued.
void tick_taken(Relay *relay, const Event *event);
