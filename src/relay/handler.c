// The commands of the running handler. The relay checks a command when the script
// queues it, so that the error has the right line of the script. When the handler ends,
// the relay carries out its commands (execute.c) or discards them.

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "relay/internal.h"

static const Peer *find_peer(const Relay *relay, uint32_t id) {
  const Peer *peer = session_find(relay->session, id);
  if (!peer) return NULL;
  return peer_has_session(peer) || peer->state == PEER_CONNECTING ? peer : NULL;
}

// Returns a room that is open, or that opens after its on_create.
static const Room *find_room(const Relay *relay, uint32_t id) {
  const Room *room = slots_find(&relay->rooms, id);
  return room && room->state <= ROOM_OPEN ? room : NULL;
}

static int check_size(const Relay *relay, const Command *command) {
  uint32_t most = relay->limits.max_payload;
  return command->body.size > most || command->packed.size > most ? ERR_TOO_LARGE : 0;
}

static int check_target(const Relay *relay, const Command *command) {
  bool is_there = command->target == TARGET_ALL ||
                  (command->target == TARGET_PEER && find_peer(relay, command->id)) ||
                  (command->target == TARGET_ROOM && find_room(relay, command->id));
  return is_there ? 0 : ERR_NOT_FOUND;
}

static int check_message(const Relay *relay, const Command *command) {
  int err = check_target(relay, command);
  return err == 0 ? check_size(relay, command) : err;
}

// Returns whether the running handler opens a channel.
static bool opens_channel(const Relay *relay, uint16_t channel) {
  Command command;
  for (size_t at = 0; commands_next(&relay->handler.commands, &at, &command);)
    if (command.type == COMMAND_CHANNEL_OPEN && command.id == channel) return true;
  return false;
}

static int check_packet(const Relay *relay, const Command *command) {
  if (command->channel == CHANNEL_CONTROL) return ERR_INVALID;
  bool is_answer = command->flags & PACKET_RESPONSE;
  if (!is_answer && channel_is_vacant(relay, command->channel) &&
      !opens_channel(relay, command->channel))
    return ERR_VACANT;
  if (command->target != TARGET_PEER) return check_message(relay, command);
  uint32_t peer = command->id ? command->id : channel_server(relay, command->channel);
  return find_peer(relay, peer) ? check_size(relay, command) : ERR_NOT_FOUND;
}

static int check_join(const Relay *relay, const Command *command) {
  const Peer *peer = find_peer(relay, command->id);
  const Room *room = find_room(relay, command->room);
  const char *why;
  if (!peer || !room) return ERR_NOT_FOUND;
  switch (join_fault(peer, room, &why)) {
    case CODE_CLOSED:
      return 0;
    case CODE_ALREADY_IN_ROOM:
      return ERR_EXISTS;
    case CODE_RESET:
      return ERR_NOT_FOUND;
    default:
      return ERR_FULL;
  }
}

static size_t meta_size(const Command *command) {
  return command->flags ? command->name.size + command->body.size : 0;
}

static size_t public_size(const Command *command) {
  return command->flags & META_PUBLIC ? meta_size(command) : 0;
}

// Returns the bytes of a room's public meta without one key.
static size_t public_without(const Room *room, Text key) {
  size_t size = 0;
  RoomMeta meta;
  for (size_t at = 0; room_next_meta(room, &at, &meta);)
    if (meta.is_public && !text_equals(meta.key, key))
      size += meta.key.size + meta.json.size;
  return size;
}

static int check_meta(const Relay *relay, const Command *command) {
  const Room *room = relay_room(relay, command->id);
  RoomMeta old;
  if (!room) return ERR_NOT_FOUND;
  if (command->name.size == 0 || command->name.size > NAME_MAX_BYTES)
    return ERR_INVALID;
  size_t size = room->meta.size + room->queued_meta + meta_size(command);
  if (room_get_meta(room, command->name, &old))
    size -= command->name.size + old.json.size + ROOM_META_EXTRA;
  if (command->flags && size > ROOM_META_BYTES) return ERR_FULL;
  if (!(command->flags & META_PUBLIC)) return 0;
  size =
      public_without(room, command->name) + room->queued_public + public_size(command);
  return size > ROOM_PUBLIC_BYTES ? ERR_FULL : 0;
}

void handler_unqueue_meta(Relay *relay, const Command *command) {
  Room *room = relay_room(relay, command->id);
  if (!room) return;
  room->queued_meta -= meta_size(command);
  room->queued_public -= public_size(command);
}

bool relay_room_meta(const Relay *relay, uint32_t id, Text key, Text *json) {
  const Room *room = relay_room(relay, id);
  RoomMeta meta = {0};
  bool has = room && room_get_meta(room, key, &meta);
  Command command;
  *json = meta.json;
  if (!room || !relay->handler.has_meta) return has;
  for (size_t at = 0; commands_next(&relay->handler.commands, &at, &command);) {
    if (command.type != COMMAND_ROOM_META || command.id != id) continue;
    if (!text_equals(command.name, key)) continue;
    has = command.flags;
    *json = command.body;
  }
  return has;
}

RoomKind relay_room_settings(const Relay *relay, const Room *room) {
  RoomKind kind = room->kind;
  Command command;
  RoomSettings settings;
  if (room->state == ROOM_RESERVED) kind_override(&kind, &room->own);
  if (!relay->handler.has_settings) return kind;
  for (size_t at = 0; commands_next(&relay->handler.commands, &at, &command);) {
    if (command.type != COMMAND_ROOM_SET || command.id != room->id) continue;
    memcpy(&settings, command.body.bytes, sizeof settings);
    kind_override(&kind, &settings);
  }
  return kind;
}

// --- The limit of deliveries ---

static uint64_t count_receivers(const Relay *relay, const Command *command) {
  if (command->target == TARGET_PEER) return 1;
  if (command->target == TARGET_ALL) return session_count(relay->session);
  const Room *room = find_room(relay, command->id);
  return room ? room->count : 0;
}

// Adds a message to the handler's count of deliveries; returns ERR_DELIVERY over the
// limit. The handler's first message to a room always passes.
static int count_delivery(Relay *relay, const Command *command) {
  bool is_message = command->type == COMMAND_MESSAGE ||
                    command->type == COMMAND_RELAY || command->type == COMMAND_PACKET;
  if (!is_message || relay->limits.delivery == 0) return 0;
  bool is_to_room = command->target == TARGET_ROOM;
  uint32_t size = command->packed.size > command->body.size ? command->packed.size
                                                            : command->body.size;
  uint64_t bytes = count_receivers(relay, command) * (PACKET_HEADER_SIZE + size);
  bool is_first = is_to_room && !relay->handler.has_room_message;
  if (is_to_room) relay->handler.has_room_message = true;
  if (relay->handler.delivery + bytes <= relay->limits.delivery)
    relay->handler.delivery += bytes;
  else if (!is_first)
    return ERR_DELIVERY;
  return 0;
}

void relay_begin_handler(Relay *relay) {
  relay->handler.delivery = 0;
  relay->handler.has_room_message = false;
}

static int check(const Relay *relay, const Command *command) {
  if (relay->handler.commands.size + command->body.size + command->packed.size >
      RELAY_COMMANDS_BYTES)
    return ERR_COMMANDS;
  if (command->type >= COMMAND_TYPE_COUNT) return 0;
  const Peer *peer;
  switch ((CommandType)command->type) {
    case COMMAND_MESSAGE:
      return check_message(relay, command);
    case COMMAND_RELAY:
      return check_target(relay, command);
    case COMMAND_PACKET:
      return check_packet(relay, command);
    case COMMAND_ACCEPT:
    case COMMAND_ERROR:
    case COMMAND_RENEW:
    case COMMAND_CLOSE:
      return find_peer(relay, command->id) ? 0 : ERR_NOT_FOUND;
    case COMMAND_JOIN:
      return check_join(relay, command);
    case COMMAND_ACT:
      return find_peer(relay, command->id) ? check_size(relay, command) : ERR_NOT_FOUND;
    case COMMAND_LEAVE:
      peer = session_find(relay->session, command->id);
      return peer && member_find(peer, command->room) ? 0 : ERR_NOT_FOUND;
    case COMMAND_ROOM_DELETE:
    case COMMAND_ROOM_SET:
      return find_room(relay, command->id) ? 0 : ERR_NOT_FOUND;
    case COMMAND_ROOM_META:
      return check_meta(relay, command);
    case COMMAND_CHANNEL_CLOSE:
      return 0;
    case COMMAND_ROOM_CREATE:
    case COMMAND_CHANNEL_OPEN:
    case COMMAND_RENAME:
    case COMMAND_BOT:
    case COMMAND_TYPE_COUNT:
      break;
  }
  assert(!"a command with a function of its own");
  return ERR_INVALID;
}

int relay_command(Relay *relay, const Command *command) {
  int err = check(relay, command);
  if (err == 0) err = count_delivery(relay, command);
  if (err == 0) commands_push(&relay->handler.commands, command);
  if (command->type == COMMAND_JOIN) relay->handler.has_join = true;
  if (command->type == COMMAND_ROOM_SET) relay->handler.has_settings = true;
  if (err == 0 && command->type == COMMAND_ROOM_META) {
    Room *room = relay_room(relay, command->id);
    room->queued_meta += meta_size(command);
    room->queued_public += public_size(command);
    relay->handler.has_meta = true;
  }
  return err;
}

// Checks the forms of the receivers. Assumes that a peer is in the room if it is a
// member, if the handler may admit it, or if an earlier command makes it join.
bool relay_needs_json(const Relay *relay, Target target, uint32_t id,
                      uint32_t joining) {
  if (!session_has_json(relay->session)) return false;
  if (target == TARGET_ALL) return true;
  const Peer *peer = session_find(relay->session, target == TARGET_PEER ? id : joining);
  if (peer && peer_form(peer) != FORM_SCHEMA) return true;
  if (target == TARGET_PEER) return false;
  const Room *room = slots_find(&relay->rooms, id);
  return relay->handler.has_join ||
         (room &&
          (room->groups[FORM_JSON] || room->groups[FORM_TEXT] || room->suspended > 0));
}

bool relay_may_have(const Relay *relay, uint32_t room, uint32_t id, uint32_t joining) {
  const Peer *peer = session_find(relay->session, id);
  if (!peer || !find_room(relay, room)) return false;
  return member_find(peer, room) || id == joining || relay->handler.has_join;
}

// --- Reservations ---

uint32_t relay_create(Relay *relay, Text name, int *err) {
  Room *room = room_reserve(relay, name, err);
  if (!room) return 0;
  relay->handler.has_new_room = true;
  relay->handler.has_join = true;  // because the new room's on_create may make peers
                                   // join
  commands_push(&relay->handler.commands,
                &(Command){.type = COMMAND_ROOM_CREATE, .id = room->id});
  return room->id;
}

void relay_configure(Relay *relay, uint32_t id, const RoomSettings *settings) {
  settings_add(&relay_room(relay, id)->own, settings);
}

void relay_create_for_join(Relay *relay, uint32_t id) {
  relay_room(relay, id)->is_by_join = true;
}

// Returns 0, or why the bot is impossible.
static int check_bot(const Relay *relay, const Room *room, Text name) {
  if (!room || room->state > ROOM_OPEN) return ERR_NOT_FOUND;
  if (relay->bots >= relay->limits.max_bots) return ERR_TAKEN;
  uint32_t capacity = relay_room_settings(relay, room).capacity;
  if (capacity > 0 && room->count + room->queued_bots >= capacity) return ERR_FULL;
  return name.size > 0 ? session_check_bot_name(relay->session, name) : 0;
}

uint32_t relay_add_bot(Relay *relay, uint32_t id, Text name, uint8_t flags,
                       uint32_t token, int *err) {
  Room *room = relay_room(relay, id);
  *err = check_bot(relay, room, name);
  Peer *bot = *err == 0 ? session_add_bot(relay->session, name) : NULL;
  if (!bot) {
    if (*err == 0) *err = ERR_TAKEN;
    return 0;
  }
  bot->relay.home = id;
  bot->relay.bot = flags;
  relay->bots++;
  room->queued_bots++;
  relay->handler.has_join = true;
  commands_push(
      &relay->handler.commands,
      &(Command){.type = COMMAND_BOT, .id = bot->id, .room = id, .token = token});
  return bot->id;
}

void bot_unqueue(Relay *relay, const Command *command) {
  Room *room = relay_room(relay, command->room);
  if (room) room->queued_bots--;
}

static void discard_bot(Relay *relay, const Command *command) {
  bot_unqueue(relay, command);
  relay->bots--;
  session_drop_bot(relay->session, session_find(relay->session, command->id));
}

// Changes the state of the rooms that the commands create, unless they were deleted.
static void set_new_rooms(Relay *relay, const Handler *handler, RoomState from,
                          RoomState to) {
  Command command;
  if (!handler->has_new_room) return;
  for (size_t at = 0; commands_next(&handler->commands, &at, &command);) {
    if (command.type != COMMAND_ROOM_CREATE) continue;
    Room *room = relay_room(relay, command.id);
    if (room->state == from) room->state = to;
  }
}

void handler_claim_rooms(Relay *relay) {
  set_new_rooms(relay, &relay->handler, ROOM_RESERVED, ROOM_CREATING);
}

void handler_clear(Handler *handler) {
  handler->has_join = handler->has_new_room = handler->has_meta = false;
  handler->has_settings = false;
  handler->names.size = 0;
  commands_cut(&handler->commands, 0);
}

RelayMark relay_mark(const Relay *relay) {
  return (RelayMark){relay->handler.commands.size, relay->handler.names.size};
}

bool relay_next_command(const Relay *relay, size_t *at, Command *command) {
  return commands_next(&relay->handler.commands, at, command);
}

static void forget(Relay *relay, Handler *handler, RelayMark mark) {
  Command command;
  for (size_t at = mark.commands; commands_next(&handler->commands, &at, &command);)
    if (command.type >= COMMAND_TYPE_COUNT)
      relay->host->discard(relay->host_data, &command);
    else if (command.type == COMMAND_ROOM_CREATE)
      room_unreserve(relay, relay_room(relay, command.id));
    else if (command.type == COMMAND_BOT)
      discard_bot(relay, &command);
    else if (command.type == COMMAND_RENAME)
      name_release(relay, &command);
    else if (command.type == COMMAND_ROOM_META)
      handler_unqueue_meta(relay, &command);
  handler->names.size = mark.names;
  commands_cut(&handler->commands, mark.commands);
}

void relay_forget(Relay *relay, RelayMark mark) {
  forget(relay, &relay->handler, mark);
}

void relay_rollback(Relay *relay, RelayMark mark) {
  relay_forget(relay, mark);
  relay->stats.errors++;
}

// --- Stashes ---

struct RelayStash {
  Handler handler;
};

RelayStash *relay_stash(Relay *relay) {
  RelayStash *stash = mem_alloc(sizeof *stash);
  handler_claim_rooms(relay);
  stash->handler = relay->handler;
  relay->handler = (Handler){0};
  return stash;
}

void relay_unstash(Relay *relay, RelayStash *stash) {
  assert(relay->handler.commands.size == 0 && "a handler has commands");
  set_new_rooms(relay, &stash->handler, ROOM_CREATING, ROOM_RESERVED);
  buf_deinit(&relay->handler.commands);
  buf_deinit(&relay->handler.names);
  relay->handler = stash->handler;
  mem_free(stash);
}

void relay_drop_stash(Relay *relay, RelayStash *stash) {
  set_new_rooms(relay, &stash->handler, ROOM_CREATING, ROOM_RESERVED);
  forget(relay, &stash->handler, (RelayMark){0});
  buf_deinit(&stash->handler.commands);
  buf_deinit(&stash->handler.names);
  mem_free(stash);
}
