// Dispatches packets of connected clients by channel and type.

#include "relay/internal.h"
#include "relay/notify.h"

const Packet NO_REQUEST = {.priority = PRIORITY_NORMAL};

// Passes TOOL_ADD and TOOL_REMOVE to the script, which keeps the tools that the clients
// of plugin channels offer to LLMs.
static void on_tool(Relay *relay, Peer *peer, const Packet *packet) {
  if (!relay->is_scripted) {
    session_error(relay->session, peer, packet, CODE_UNSUPPORTED,
                  "without a game there are no tools");
  } else if (packet->length > RELAY_TOOL_BYTES) {
    session_error(relay->session, peer, packet, CODE_PAYLOAD_TOO_LARGE,
                  "a tool has at most 16384 bytes of JSON");
  } else {
    Event event = relay_packet_event(EVENT_CHANNEL, peer, packet);
    relay_emit(relay, &event);
  }
}

static void on_leave(Relay *relay, Peer *peer, const Packet *packet) {
  uint32_t id;
  if (control_read_u32(packet, &id) < 0) {
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed LEAVE");
    return;
  }
  Room *room = relay_room(relay, id);
  if (room && member_find(peer, id))
    leave_room(relay, peer, room, &(Leave){.code = CODE_CLOSED, .request = packet});
  else
    member_room(relay, peer, id, packet);
}

static void broadcast_to_all(Relay *relay, Peer *peer, const Packet *packet,
                             Text data) {
  if (relay->limits.client_broadcast)
    room_relay(relay, NULL, peer, packet->priority, packet->flags, data);
  else
    session_error(
        relay->session, peer, packet, CODE_UNAUTHORIZED,
        "the server has client_broadcast = false: clients broadcast in rooms");
}

static void on_broadcast(Relay *relay, Peer *peer, const Packet *packet) {
  uint32_t id;
  Text data;
  if (control_read_room_data(packet, &id, &data) < 0) {
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed BROADCAST");
    return;
  }
  relay->stats.messages_in++;
  if (id == 0) {
    broadcast_to_all(relay, peer, packet, data);
    return;
  }
  Room *room = member_room(relay, peer, id, packet);
  if (room) broadcast_from(relay, peer, room, packet, data);
}

static void on_join_with(Relay *relay, Peer *peer, const Packet *packet) {
  Text name, options;
  if (control_read_name_rest(packet, &name, &options) < 0)
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed JOIN_WITH");
  else
    join_with_options(relay, peer, name, options, packet);
}

static void on_control(Relay *relay, Peer *peer, const Packet *packet) {
  Text name;
  switch (packet->type) {
    case CONTROL_JOIN:
      if (control_read_name(packet, &name) < 0)
        session_kick(relay->session, peer, CODE_PROTOCOL, "malformed JOIN");
      else
        join_by_name(relay, peer, name, (Text){0}, packet);
      break;
    case CONTROL_JOIN_WITH:
      on_join_with(relay, peer, packet);
      break;
    case CONTROL_LEAVE:
      on_leave(relay, peer, packet);
      break;
    case CONTROL_BROADCAST:
      on_broadcast(relay, peer, packet);
      break;
    case CONTROL_CHANNEL_OPEN:
      channel_open(relay, peer, packet);
      break;
    case CONTROL_CHANNEL_CLOSE:
      channel_close(relay, peer, packet);
      break;
    case CONTROL_TOOL_ADD:
    case CONTROL_TOOL_REMOVE:
      on_tool(relay, peer, packet);
      break;
    case CONTROL_ROOM_LIST:
      if (control_read_empty(packet) < 0)
        session_kick(relay->session, peer, CODE_PROTOCOL, "malformed ROOM_LIST");
      else
        notify_rooms(relay, peer, packet);
      break;
    case CONTROL_ROOM_QUERY:
      notify_query(relay, peer, (Text){(const char *)packet->payload, packet->length},
                   packet);
      break;
    default:
      session_error(relay->session, peer, packet, CODE_UNSUPPORTED,
                    "clients do not send this control type");
  }
}

// --- Messages ---

static void on_message(Relay *relay, Peer *peer, const Packet *packet) {
  uint32_t id;
  Text body;
  if (control_read_room_data(packet, &id, &body) < 0) {
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed message");
    return;
  }
  relay->stats.messages_in++;
  bool is_response = packet->flags & PACKET_RESPONSE;
  Event event =
      relay_packet_event(is_response ? EVENT_RESPONSE : EVENT_MESSAGE, peer, packet);
  event.room = id;
  event.data = body;
  if (is_response) {
    if (relay->is_scripted) relay_emit(relay, &event);
    return;
  }
  Room *room = NULL;
  if (id != 0 && !(room = member_room(relay, peer, id, packet))) return;
  if (relay_has_hook(relay, room, HOOK_MESSAGE))
    relay_emit(relay, &event);
  else
    session_error(relay->session, peer, packet, CODE_UNSUPPORTED,
                  "no handler for messages");
}

void relay_packet(Relay *relay, Peer *peer, const Packet *packet) {
  if (packet->channel == CHANNEL_CONTROL) {
    on_control(relay, peer, packet);
    return;
  }
  if (packet->channel == CHANNEL_MESSAGE) {
    on_message(relay, peer, packet);
    return;
  }
  relay->stats.messages_in++;
  channel_packet(relay, peer, packet);
}
