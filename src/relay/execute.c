// Carries out a handler's commands. A command whose peer or room has ended does
// nothing.

#include <string.h>

#include "base/log.h"
#include "relay/internal.h"
#include "relay/notify.h"

// Returns the packet of a command, with the command's body as payload.
static Outgoing outgoing_of(const Command *command, uint16_t channel, uint16_t type) {
  bool is_kept = command->flags & (PACKET_RELIABLE | PACKET_RESPONSE);
  return (Outgoing){
      .packet = {.channel = channel,
                 .type = type,
                 .priority = command->priority,
                 .flags = command->flags,
                 .ref = command->ref,
                 .length = command->body.size,
                 .payload = (const uint8_t *)command->body.bytes},
      .flags = is_kept ? OUT_KEEP : 0,
      .key = command->key,
  };
}

// Returns a message, packed or as JSON.
static Outgoing message_of(const Command *command, uint32_t room, bool is_packed) {
  Outgoing message = outgoing_of(command, CHANNEL_MESSAGE, 0);
  message.ids[0] = room;
  message.id_count = 1;
  message.name = command->name;
  if (is_packed) {
    message.packet.type = command->packet_type;
    message.packet.length = command->packed.size;
    message.packet.payload = (const uint8_t *)command->packed.bytes;
  } else if (command->value_at > 0 && command->value_at < command->body.size) {
    message.detail = (Text){command->body.bytes + command->value_at,
                            command->body.size - command->value_at - 1};
  }
  return message;
}

// Returns what the brains of bots hear of a command: a message (CHANNEL_MESSAGE), relayed
// bytes (CHANNEL_CONTROL) or a packet.
static Event heard_of(const Command *command, uint32_t room, uint16_t channel) {
  bool is_packed = channel == CHANNEL_MESSAGE && command->packet_type != 0;
  return (Event){.type = EVENT_BOT_MESSAGE,
                 .priority = command->priority,
                 .flags = command->flags,
                 .ref = command->ref,
                 .channel = channel,
                 .packet_type = command->packet_type,
                 .room = room,
                 .data = is_packed ? command->packed : command->body};
}

// --- To rooms and all peers ---

// Collects the connections of a command's exceptions in relay->except; returns their number.
static uint32_t collect_except(Relay *relay, const Command *command, Room *room) {
  uint32_t count = 0;
  audience_count(relay, room, command->flags);
  relay->except.size = 0;
  for (uint32_t i = 0; i < command->except_count; i++) {
    uint32_t id;
    memcpy(&id, command->except + i, sizeof id);
    Peer *peer = session_find(relay->session, id);
    if (!peer || !peer_has_session(peer)) continue;
    if (room && !member_find(peer, room->id)) continue;
    if (peer->relay.excluded == relay->broadcast_number)
      continue;  // the exception is listed twice
    audience_exclude(relay, peer, room, command->flags);
    if (peer->conn == 0) continue;
    buf_append(&relay->except, &peer->conn, sizeof peer->conn);
    count++;
  }
  return count;
}

static Audience find_audience(Relay *relay, const Command *command, Room *room) {
  if (!room) all_ensure(relay);
  uint32_t except_count = collect_except(relay, command, room);
  uint32_t whole = room ? room_present(room) : session_count(relay->session);
  relay->stats.deliveries += whole - except_count;
  return (Audience){
      .room = room,
      .forms = FORMS_ALL,
      .except = (const ConnId *)(const void *)relay->except.data,
      .except_count = except_count,
  };
}

static void to_bots(Relay *relay, const Command *command, const Room *room,
                    uint16_t channel) {
  if (!has_bots(relay, room)) return;
  Event heard = heard_of(command, room ? room->id : 0, channel);
  bots_hear(relay, room, &heard);
}

typedef void ToPeer(Relay *, const Command *);
typedef void ToAudience(Relay *, const Command *, Room *);  // NULL: all peers

static void to_target(Relay *relay, const Command *command, ToPeer *to_peer,
                      ToAudience *to_audience) {
  Room *room = room_find_open(relay, command->id);
  if (command->target == TARGET_PEER)
    to_peer(relay, command);
  else if (command->target == TARGET_ALL)
    to_audience(relay, command, NULL);
  else if (room)
    to_audience(relay, command, room);
}

static void message_to_audience(Relay *relay, const Command *command, Room *room) {
  Audience audience = find_audience(relay, command, room);
  uint32_t id = room ? room->id : 0;
  to_bots(relay, command, room, CHANNEL_MESSAGE);
  if (command->packet_type != 0) {
    Outgoing packed = message_of(command, id, true);
    audience.forms = 1 << FORM_SCHEMA;
    audience_send(relay, &audience, &packed);
    audience.forms = FORMS_JSON;
    if (command->body.size == 0) return;
  }
  Outgoing json = message_of(command, id, false);
  audience_send(relay, &audience, &json);
}

// --- To one peer ---

static void to_bot(Relay *relay, Peer *bot, const Command *command, uint16_t channel) {
  Event heard = heard_of(command, command->room, channel);
  bot_hear(relay, bot, &heard);
}

static void message_to_peer(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (!peer || !peer_has_session(peer)) return;
  bool is_for_room = command->room != 0 && !(command->flags & PACKET_RESPONSE);
  if (is_for_room && !member_find(peer, command->room)) return;
  if (peer->is_bot) {
    to_bot(relay, peer, command, CHANNEL_MESSAGE);
    return;
  }
  bool is_packed = command->packet_type != 0 && peer_form(peer) == FORM_SCHEMA;
  Outgoing message = message_of(command, command->room, is_packed);
  relay->stats.deliveries++;
  session_send(relay->session, peer, &message);
}

static void do_message(Relay *relay, const Command *command) {
  to_target(relay, command, message_to_peer, message_to_audience);
}

// Sends bytes to a peer, in packets of at most `most` bytes. If `peer` is NULL, sends
// them to an audience.
static void relay_parts(Relay *relay, const Command *command, Peer *peer,
                        const Audience *audience, uint32_t most) {
  Outgoing relayed = outgoing_of(command, CHANNEL_CONTROL, CONTROL_RELAYED);
  Text rest = command->body;
  relayed.ids[0] = audience->room ? audience->room->id : 0;
  relayed.id_count = 2;
  if (rest.size > most) relayed.key = 0;  // a part must not replace another part
  do {
    uint32_t size = rest.size < most ? rest.size : most;
    relayed.packet.payload = (const uint8_t *)rest.bytes;
    relayed.packet.length = size;
    if (peer)
      session_send(relay->session, peer, &relayed);
    else
      audience_send(relay, audience, &relayed);
    rest = (Text){rest.bytes + size, rest.size - size};
  } while (rest.size > 0);
}

static void relay_to_peer(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (!peer || !peer_has_session(peer)) return;
  if (peer->is_bot) {
    to_bot(relay, peer, command, CHANNEL_CONTROL);
    return;
  }
  bool is_text = peer_form(peer) == FORM_TEXT;
  relay->stats.deliveries++;
  relay_parts(relay, command, peer, &(Audience){0},
              is_text ? UINT32_MAX : relay->limits.max_payload);
}

static void relay_to_audience(Relay *relay, const Command *command, Room *room) {
  Audience audience = find_audience(relay, command, room);
  to_bots(relay, command, room, CHANNEL_CONTROL);
  audience.forms = 1 << FORM_TEXT;
  relay_parts(relay, command, NULL, &audience, UINT32_MAX);
  audience.forms = FORMS_ALL & ~(1 << FORM_TEXT);
  relay_parts(relay, command, NULL, &audience, relay->limits.max_payload);
}

static void do_relay(Relay *relay, const Command *command) {
  to_target(relay, command, relay_to_peer, relay_to_audience);
}

static void packet_to_audience(Relay *relay, const Command *command, Room *room) {
  Audience audience = find_audience(relay, command, room);
  to_bots(relay, command, room, command->channel);
  Outgoing packet = outgoing_of(command, command->channel, command->packet_type);
  audience_send(relay, &audience, &packet);
}

static void packet_to_peer(Relay *relay, const Command *command) {
  uint32_t server = channel_server(relay, command->channel);
  uint32_t id = command->id ? command->id : server;
  Peer *peer = session_find(relay->session, id);
  if (!peer) return;
  if (peer->is_bot) {
    to_bot(relay, peer, command, command->channel);
    return;
  }
  Outgoing packet = outgoing_of(command, command->channel, command->packet_type);
  packet.id_count = id == server;  // 0: the script is the sender
  relay->stats.deliveries++;
  session_send(relay->session, peer, &packet);
}

static void do_packet(Relay *relay, const Command *command) {
  to_target(relay, command, packet_to_peer, packet_to_audience);
}

// Answers a request of the control channel with an empty packet of its type.
static void do_accept(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  Packet request = {.flags = command->flags, .ref = command->ref};
  relay->scratch.size = 0;
  if (peer)
    notify_peer(relay, peer, notice_of(relay, (ControlType)command->packet_type),
                &request);
}

static void do_error(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  Packet request = {.flags = command->flags, .ref = command->ref};
  if (peer)
    session_error(relay->session, peer, &request, (Code)command->code,
                  command->body.bytes);
}

static void do_renew(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (peer) session_renew(relay->session, peer, command->body);
}

static void do_close(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (peer)
    session_kick(relay->session, peer, (Code)command->code, command->body.bytes);
}

// Renames the peer, unless relay_accept has already given it this name.
static void do_rename(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  name_release(relay, command);
  if (peer && peer->state != PEER_CLOSED && !peer_has_name(peer, command->name))
    name_set(relay, peer, command->name);
}

// --- Rooms ---

static void do_join(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (peer && peer->state == PEER_CONNECTING)
    script_join_keep(relay, command);
  else
    script_join_begin(relay, peer, command);
}

static void do_bot(Relay *relay, const Command *command) {
  Peer *bot = session_find(relay->session, command->id);
  bot_unqueue(relay, command);
  if (!bot) {  // another handler has kicked it meanwhile
    relay->bots--;
    return;
  }
  session_start_bot(bot);
  script_join_begin(relay, bot, command);
}

static void do_leave(Relay *relay, const Command *command) {
  Peer *peer = session_find(relay->session, command->id);
  if (!peer || !member_find(peer, command->room)) return;
  Room *room = relay_room(relay, command->room);
  Leave leave = {.code = (Code)command->code, .reason = command->body.bytes};
  if (leave.code == CODE_KICKED)
    log_info("kicked from a room", log_num("peer", peer->id),
             log_bytes("name", peer->name, peer->name_size),
             log_bytes("room", room->name, room->name_size),
             leave.reason[0] != '\0' ? log_str("text", leave.reason) : (LogField){0});
  leave_room(relay, peer, room, &leave);
}

static void do_act(Relay *relay, const Command *command) {
  Peer *bot = session_find(relay->session, command->id);
  if (!bot || bot->state != PEER_BOT || bot_is_busy(relay, bot)) return;
  if (command->channel == CHANNEL_CONTROL) {
    event_queue(
        relay, bot,
        &(Event){.type = EVENT_DEFERRED_LINE, .peer = bot->id, .data = command->body});
    return;
  }
  Buf payload = {0};
  buf_u32(&payload, command->room);
  buf_append(&payload, command->body.bytes, command->body.size);
  Packet packet = {.channel = CHANNEL_MESSAGE,
                   .type = command->packet_type,
                   .priority = PRIORITY_NORMAL,
                   .flags = command->flags,
                   .ref = command->ref,
                   .length = (uint32_t)payload.size,
                   .payload = payload.data};
  Event deferred = relay_packet_event(EVENT_DEFERRED, bot, &packet);
  event_queue(relay, bot, &deferred);
  buf_deinit(&payload);
}

static void do_room_delete(Relay *relay, const Command *command) {
  Room *room = relay_room(relay, command->id);
  if (room && room->state <= ROOM_OPEN) room_delete(relay, room);
}

static void do_room_create(Relay *relay, const Command *command) {
  Room *room = slots_find(&relay->rooms, command->id);
  room->batch = relay->batches.current;
  room_begin(relay, room);
}

// Changes settings of a room. The room may be deleted, or its on_create may be running.
static void do_room_set(Relay *relay, const Command *command) {
  RoomSettings settings;
  Room *room = relay_room(relay, command->id);
  if (!room) return;
  memcpy(&settings, command->body.bytes, sizeof settings);
  settings_add(&room->own, &settings);
  if (room->state == ROOM_OPEN || room->state == ROOM_DELETED)
    room_refresh(relay, room);
  else
    kind_apply(relay, room);
}

static void do_room_meta(Relay *relay, const Command *command) {
  Room *room = relay_room(relay, command->id);
  handler_unqueue_meta(relay, command);
  if (room)
    room_set_meta(room, &(RoomMeta){.key = command->name,
                                    .json = command->flags ? command->body : (Text){0},
                                    .is_public = command->flags & META_PUBLIC});
}

static void do_channel_open(Relay *relay, const Command *command) {
  channel_serve_by_script(relay, (uint16_t)command->id);
}

static void do_channel_close(Relay *relay, const Command *command) {
  channel_unserve_by_script(relay, (uint16_t)command->id);
}

void command_execute(Relay *relay, const Command *command) {
  typedef void Execute(Relay *, const Command *);
  static Execute *const EXECUTE[] = {
      [COMMAND_MESSAGE] = do_message,
      [COMMAND_RELAY] = do_relay,
      [COMMAND_PACKET] = do_packet,
      [COMMAND_ACCEPT] = do_accept,
      [COMMAND_ERROR] = do_error,
      [COMMAND_RENEW] = do_renew,
      [COMMAND_CLOSE] = do_close,
      [COMMAND_RENAME] = do_rename,
      [COMMAND_JOIN] = do_join,
      [COMMAND_LEAVE] = do_leave,
      [COMMAND_BOT] = do_bot,
      [COMMAND_ACT] = do_act,
      [COMMAND_ROOM_CREATE] = do_room_create,
      [COMMAND_ROOM_DELETE] = do_room_delete,
      [COMMAND_ROOM_SET] = do_room_set,
      [COMMAND_ROOM_META] = do_room_meta,
      [COMMAND_CHANNEL_OPEN] = do_channel_open,
      [COMMAND_CHANNEL_CLOSE] = do_channel_close,
  };
  if (command->type >= COMMAND_TYPE_COUNT)
    relay->host->execute(relay->host_data, command);
  else
    EXECUTE[command->type](relay, command);
}
