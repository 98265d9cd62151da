// The Relay, and the functions of this folder that have no header of their own.
#pragma once

#include "base/buf.h"
#include "base/names.h"
#include "base/slots.h"
#include "base/sorted.h"
#include "relay/batch.h"
#include "relay/channels.h"
#include "relay/emit.h"
#include "relay/handler.h"
#include "relay/kinds.h"
#include "relay/members.h"
#include "relay/relay.h"
#include "relay/room.h"
#include "relay/schedule.h"

enum {
  QUEUED_MAX = 64,  // waiting events of a peer; with more, the peer is throttled
  QUEUED_BYTES = 256 << 10,  // waiting bytes of a peer; with more, the peer is
                             // throttled
  QUEUED_LOW = 32,  // a throttled peer is read again when at most QUEUED_LOW events and
                    // half of QUEUED_BYTES wait
  JOIN_OPTIONS_BYTES = 4096,
  SHRINK_BYTES = 4 << 20,  // size above which an empty buffer is freed
};

struct Relay {
  RelayLimits limits;
  Session *session;       // not owned
  Net *net;               // not owned
  const RelayHost *host;  // not owned
  void *host_data;
  RelayAccept *accept;          // on_accept of the script
  RelayAccept *program_accept;  // on_accept of the program, or NULL
  void *program_data;           // its argument; not owned
  RelayKeep *keep;              // NULL: sessions are not kept
  bool is_scripted;
  bool is_draining;   // true from relay_begin_drain to the end of the slice
  bool is_over;       // the server has stopped; only ends of connections are handled
  bool has_released;  // this drain has released a throttled peer
  uint32_t program_hooks;  // argument of relay_set_program_hooks
  uint32_t game_hooks;     // hooks of the program and of the script together
  Slots rooms;             // Room by id; owned
  Names room_names;        // name -> id of a reserved, created or open room
  Sorted listed;           // open rooms that are not hidden
  uint32_t open_rooms, failed_rooms;
  uint32_t bots;  // bots that are reserved or in a room
  Kinds kinds;
  Kinds next_kinds;  // kinds set between relay_kinds_begin and relay_kinds_end
  PluginChannels channels;
  GroupId all[FORM_COUNT];  // groups of all peers by form; 0 until the first message to
                            // all peers
  uint32_t broadcast_number;  // number of the last broadcast; see PeerRelay.excluded
  Schedule schedule;
  Captured captured;
  uint32_t ended_peer;  // peer whose DISCONNECT is being handled; freed afterwards
  uint32_t ended_room;  // room whose ROOM_DELETE is being handled; freed afterwards
  Handler handler;      // running handler
  Batches batches;      // commands of handlers that have ended
  ScriptJoins joins;
  Ticker ticker;  // ticker of the game
  Buf scratch;    // one payload; reused
  Buf except;     // ConnIds of one write; reused
  RelayStats stats;
};

/// Reports a change of a peer's membership of the room before the peer is notified.
static inline void relay_keep_member(const Relay *relay, const Room *room,
                                     const Peer *peer) {
  if (relay->keep && room->kind.is_durable) relay->keep(relay->host_data, peer);
}

// --- query.c ---

/// Returns a room that exists and is open, or NULL.
Room *room_find_open(const Relay *relay, uint32_t id);

/// Returns the peer's place in the room, or NULL.
RoomRef *member_find(const Peer *peer, uint32_t room);

/// Returns whether the room (may be NULL) or the game has a handler for `hook`, which
/// is HOOK_MESSAGE or HOOK_TEXT.
bool relay_has_hook(const Relay *relay, const Room *room, uint32_t hook);

// --- bots.c ---

/// Adds a bot to its room's list, or removes it.
void bot_enter(Relay *relay, Room *room, Peer *bot);
void bot_leave(Relay *relay, Room *room, Peer *bot);

/// Returns whether too many events wait for a bot; counts a dropped message if so.
bool bot_is_busy(Relay *relay, Peer *bot);

/// Returns whether the room (NULL: the server) has bots.
static inline bool has_bots(const Relay *relay, const Room *room) {
  return room ? room->first_bot != NULL : relay->bots > 0;
}

/// bots_hear passes an EVENT_BOT_MESSAGE to the brains of the room's bots (NULL: of all
/// bots). It skips bots that the running broadcast excludes. bot_hear passes the event
/// to the brain of one bot. Relayed bytes have CHANNEL_CONTROL, with the sender (0: the
/// script) in `a`.
void bots_hear(Relay *relay, const Room *room, const Event *heard);
void bot_hear(Relay *relay, Peer *bot, const Event *heard);

/// Queues a tick for each bot of a room that has BOT_TICKS, after the room's own tick.
void bots_tick(Relay *relay, const Event *tick);

// --- schedule.c ---

void schedule_init(Relay *relay);
void schedule_deinit(Relay *relay);

/// Queues an event of `peer` (may be NULL). Returns the source whose queue contains the
/// event, or NULL if the event is urgent or in the first class.
const Source *schedule_push(Relay *relay, const Event *event, Peer *peer);

/// Removes the next event; returns false when no event may be handled in this slice.
bool schedule_take(Relay *relay, Event *event);
bool schedule_is_empty(const Relay *relay);

void schedule_begin(Relay *relay, uint64_t now_us);
void schedule_end(Relay *relay);

/// Counts pieces of work that were done without a handler. Returns whether the slice
/// has time left.
bool schedule_work(Relay *relay, uint64_t pieces);
bool schedule_is_over(const Relay *relay);

/// Returns the bytes of the peer's events in the second class.
size_t schedule_waiting_bytes(const Peer *peer);

/// Removes the source of a room before the room is freed.
void source_end(Relay *relay, Source *source);

// --- drain.c ---

/// Implement SessionEvents.packet, .line and .disconnect. They handle the event at
/// once, or queue it behind earlier events of the peer.
void drain_packet(void *data, Peer *peer, const Packet *packet);
void drain_line(void *data, Peer *peer, const char *text, size_t size);
void drain_disconnect(void *data, Peer *peer, Code reason);

// --- control.c and lines.c ---

/// Packet without the flag REQUEST. Replaces the request where none exists, as for a
/// text peer's lines.
extern const Packet NO_REQUEST;

/// Handle a packet or line. No earlier event of the peer may wait.
void relay_packet(Relay *relay, Peer *peer, const Packet *packet);
void relay_line(Relay *relay, Peer *peer, Text text);

// --- ticks.c ---

/// Starts, changes or stops a ticker; `rate` is ticks a second, 0 stops it.
void ticker_set(Relay *relay, Ticker *ticker, uint32_t room, double rate);

/// Start or stop the ticker of a room or of the game according to hooks and limits.
void ticker_refresh_room(Relay *relay, Room *room);
void ticker_refresh_game(Relay *relay);

/// Reports that the event of a tick was taken, so that the next tick may be queued.
void tick_taken(Relay *relay, const Event *event);
