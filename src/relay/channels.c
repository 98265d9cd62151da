// Plugin channels (docs/protocol.md, section 8): a client or the script serves a channel under a
// name, and answers packets of other clients. A name keeps its number while the server runs.

#include <string.h>

#include "base/err.h"
#include "net/address.h"
#include "relay/internal.h"
#include "relay/notify.h"

static PluginChannel *channel_at(const Relay *relay, uint32_t number) {
  return (PluginChannel *)&relay->channels.list[number - CHANNEL_SERVED_FIRST];
}

// Returns the channel of a number, or NULL if no channel has the number. Below
// CHANNEL_PLUGIN_FIRST, only numbers with a name are channels.
static PluginChannel *find(const Relay *relay, uint16_t number) {
  if (number < CHANNEL_SERVED_FIRST || number > CHANNEL_PLUGIN_LAST) return NULL;
  PluginChannel *channel = channel_at(relay, number);
  return number >= CHANNEL_PLUGIN_FIRST || channel->has_name ? channel : NULL;
}

uint32_t channel_server(const Relay *relay, uint16_t channel) {
  const PluginChannel *found = find(relay, channel);
  return found ? found->peer : 0;
}

static bool is_served(const PluginChannel *channel) {
  return channel->peer != 0 || channel->is_scripts;
}

bool channel_is_vacant(const Relay *relay, uint16_t channel) {
  const PluginChannel *found = find(relay, channel);
  return found && !is_served(found);
}

// --- Numbers ---

// Returns the number of a name, or 0.
static uint16_t number_of(const Relay *relay, Text name) {
  return (uint16_t)names_find(&relay->channels.names, name.bytes, name.size);
}

static const ChannelSpan *span_at(const Relay *relay, size_t at) {
  return (const ChannelSpan *)(const void *)(relay->channels.spans.data + at);
}

// Returns the span of a name. A span for the whole name precedes a span for a part
// before ':'.
static const ChannelSpan *find_span(const Relay *relay, Text name) {
  const ChannelSpan *found = NULL;
  for (size_t at = 0; at < relay->channels.spans.size; at += sizeof *found) {
    const ChannelSpan *span = span_at(relay, at);
    if (name.size < span->name_size) continue;
    if (memcmp(name.bytes, span->name, span->name_size) != 0) continue;
    if (name.size == span->name_size) return span;
    if (name.bytes[span->name_size] == ':') found = span;
  }
  return found;
}

static bool is_in_a_span(const Relay *relay, uint32_t number) {
  for (size_t at = 0; at < relay->channels.spans.size; at += sizeof(ChannelSpan)) {
    const ChannelSpan *span = span_at(relay, at);
    if (number >= span->first && number <= span->last) return true;
  }
  return false;
}

// Returns the next number for a new name, or 0.
static uint16_t next_number(const Relay *relay, Text name) {
  const ChannelSpan *span = find_span(relay, name);
  uint32_t number = span ? span->first : CHANNEL_PLUGIN_FIRST;
  uint32_t last = span ? span->last : CHANNEL_PLUGIN_LAST;
  for (; number <= last; number++)
    if (!channel_at(relay, number)->has_name && (span || !is_in_a_span(relay, number)))
      return (uint16_t)number;
  return 0;
}

static void number_give(Relay *relay, Text name, uint16_t number) {
  names_set(&relay->channels.names, name.bytes, name.size, number);
  channel_at(relay, number)->has_name = true;
  relay->channels.count += number >= CHANNEL_PLUGIN_FIRST;
}

static const NamesEntry *entry_of(const Relay *relay, uint16_t number) {
  const Names *names = &relay->channels.names;
  for (uint32_t i = 0; i < names->capacity; i++)
    if (names->entries[i].text && names->entries[i].value == number)
      return &names->entries[i];
  return NULL;
}

bool relay_channel_name(const Relay *relay, uint16_t number, Text *name) {
  const NamesEntry *entry = entry_of(relay, number);
  if (entry) *name = (Text){entry->text, entry->size};
  return entry != NULL;
}

// Frees a number whose channel is not served.
static void number_take(Relay *relay, uint16_t number) {
  const NamesEntry *entry = entry_of(relay, number);
  names_remove(&relay->channels.names, entry->text, entry->size);
  relay->channels.count -= number >= CHANNEL_PLUGIN_FIRST;
}

void relay_channel_spans_begin(Relay *relay) { relay->channels.spans.size = 0; }

void relay_channel_span(Relay *relay, Text name, uint16_t first, uint16_t last) {
  ChannelSpan span = {.name_size = (uint8_t)name.size, .first = first, .last = last};
  memcpy(span.name, name.bytes, name.size);
  buf_append(&relay->channels.spans, &span, sizeof span);
}

// --- Served by clients ---

// Returns why a client may not add a name, or NULL. Names have one limit for each
// network and one for all clients, because a name keeps its number after its client has
// left.
static const char *new_name_fault(Relay *relay, const Peer *peer) {
  char network[ADDRESS_SIZE];
  address_network(peer_address(peer), network);
  uint32_t made = names_find(&relay->channels.networks, network, strlen(network));
  if (made < RELAY_NAMES_PER_ADDRESS && relay->channels.count < RELAY_NAMES_OF_CLIENTS)
    return NULL;
  relay->stats.names_refused++;
  return made < RELAY_NAMES_PER_ADDRESS
             ? "there are too many channel names; serve one that has been served before"
             : "too many new channel names from your address; serve one of those "
               "before";
}

// Returns why the peer may not serve the channel of that name, or NULL.
static const char *open_fault(Relay *relay, const Peer *peer, Text name, Code *code) {
  uint16_t number = number_of(relay, name);
  const PluginChannel *channel = find(relay, number);
  *code = CODE_CHANNEL_TAKEN;
  if (channel && channel->is_scripts) return "the script serves this channel";
  if (channel && channel->peer) return "the channel is served already";
  *code = CODE_SERVER_FULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < CHANNEL_SERVED_COUNT; i++)
    count += relay->channels.list[i].peer == peer->id;
  if (count >= RELAY_CHANNELS_PER_PEER) return "you serve too many channels; close one";
  if (number) return NULL;
  if (!next_number(relay, name)) return "no number is left for this channel";
  return new_name_fault(relay, peer);
}

// Returns whether the relay's own rules let the peer serve the channel; sends an ERROR if not.
static bool check_open(Relay *relay, Peer *peer, Text name, const Packet *request) {
  Code code;
  const char *why = open_fault(relay, peer, name, &code);
  if (why) session_error(relay->session, peer, request, code, why);
  return !why;
}

static void serve(Relay *relay, Peer *peer, Text name, const Packet *request) {
  uint16_t number = number_of(relay, name);
  if (!number) {
    char network[ADDRESS_SIZE];
    address_network(peer_address(peer), network);
    names_add(&relay->channels.networks, network, strlen(network), 1);
    number = next_number(relay, name);
    number_give(relay, name, number);
  }
  find(relay, number)->peer = peer->id;
  relay->channels.changes++;
  Buf *buf = &relay->scratch;
  buf->size = 0;
  buf_u16(buf, number);
  buf_str8(buf, name.bytes, name.size);
  notify_peer(relay, peer, notice_of(relay, CONTROL_CHANNEL_OPENED), request);
}

void channel_open(Relay *relay, Peer *peer, const Packet *packet) {
  Text name;
  if (!peer_has_session(peer)) return;
  if (control_read_name(packet, &name) < 0) {
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed CHANNEL_OPEN");
    return;
  }
  if (!text_is_name(name.bytes, name.size)) {
    session_error(relay->session, peer, packet, CODE_PROTOCOL,
                  "channel names are " TEXT_NAME_RULE);
    return;
  }
  if (!check_open(relay, peer, name, packet)) return;
  // Asks the script. Without a game, every peer may serve.
  if (relay->is_scripted)
    relay_emit(relay, &(Event){.type = EVENT_CHANNEL_OPEN,
                               .flags = packet->flags,
                               .ref = packet->ref,
                               .peer = peer->id,
                               .data = name});
  else
    serve(relay, peer, name, packet);
}

void relay_serve(Relay *relay, const Event *event) {
  Peer *peer = session_find(relay->session, event->peer);
  Packet request = {.flags = event->flags, .ref = event->ref};
  if (peer && peer_has_session(peer) && check_open(relay, peer, event->data, &request))
    serve(relay, peer, event->data, &request);
}

void channel_close(Relay *relay, Peer *peer, const Packet *packet) {
  uint16_t number;
  if (control_read_u16(packet, &number) < 0) {
    session_kick(relay->session, peer, CODE_PROTOCOL, "malformed CHANNEL_CLOSE");
    return;
  }
  PluginChannel *channel = find(relay, number);
  if (!channel || channel->peer != peer->id) {
    session_error(relay->session, peer, packet, CODE_CHANNEL_NOT_FOUND,
                  "you do not serve this channel");
    return;
  }
  channel->peer = 0;
  relay->channels.changes++;
  // Notifies the script that the answers it expects from this peer will not arrive.
  if (relay->is_scripted)
    relay_emit(
        relay,
        &(Event){.type = EVENT_CHANNEL_CLOSED, .channel = number, .peer = peer->id});
}

void channel_release_all(Relay *relay, const Peer *peer) {
  for (uint32_t i = 0; i < CHANNEL_SERVED_COUNT; i++)
    if (relay->channels.list[i].peer == peer->id) {
      relay->channels.list[i].peer = 0;
      relay->channels.changes++;
    }
}

// --- Served by the script ---

// Gives a name one of the numbers that the script requests. Returns 0 or a negative
// error.
static int number_claim(Relay *relay, Text name, uint16_t first, uint16_t last) {
  uint32_t number = number_of(relay, name);
  if (number) return number >= first && number <= last ? 0 : ERR_TAKEN;
  for (number = first; number <= last; number++)
    if (!channel_at(relay, number)->has_name) {
      number_give(relay, name, (uint16_t)number);
      return 0;
    }
  if (first != last) return ERR_FULL;
  if (is_served(channel_at(relay, first))) return ERR_TAKEN;
  number_take(relay, first);
  number_give(relay, name, first);
  return 0;
}

static int number_ensure(Relay *relay, Text name) {
  if (number_of(relay, name)) return 0;
  uint16_t number = next_number(relay, name);
  if (number) number_give(relay, name, number);
  return number ? 0 : ERR_FULL;
}

uint16_t relay_channel(Relay *relay, Text name, uint16_t first, uint16_t last,
                       int *err) {
  *err = ERR_INVALID;
  if (!text_is_name(name.bytes, name.size)) return 0;
  *err = ERR_EXISTS;
  if (channel_server(relay, number_of(relay, name))) return 0;
  *err = first ? number_claim(relay, name, first, last) : number_ensure(relay, name);
  if (*err < 0) return 0;
  uint16_t number = number_of(relay, name);
  commands_push(&relay->handler.commands,
                &(Command){.type = COMMAND_CHANNEL_OPEN, .id = number});
  return number;
}

uint16_t relay_find_channel(const Relay *relay, Text name, uint32_t *peer) {
  uint16_t number = number_of(relay, name);
  const PluginChannel *channel = find(relay, number);
  *peer = 0;
  if (!channel || !is_served(channel)) return 0;
  *peer = channel->peer;
  return number;
}

uint16_t relay_next_channel(const Relay *relay, uint32_t *cursor, Text *name) {
  const Names *names = &relay->channels.names;
  while (*cursor < names->capacity) {
    const NamesEntry *entry = &names->entries[(*cursor)++];
    if (!entry->text || !is_served(channel_at(relay, entry->value))) continue;
    *name = (Text){entry->text, entry->size};
    return (uint16_t)entry->value;
  }
  return 0;
}

uint32_t relay_channel_changes(const Relay *relay) { return relay->channels.changes; }

void channel_serve_by_script(Relay *relay, uint16_t number) {
  PluginChannel *channel = find(relay, number);
  if (!channel->peer) channel->is_scripts = true;
  relay->channels.changes++;
}

void channel_unserve_by_script(Relay *relay, uint16_t number) {
  PluginChannel *channel = find(relay, number);
  if (channel) channel->is_scripts = false;
  relay->channels.changes++;
}

// --- Packets ---

static void refuse(Relay *relay, Peer *peer, const Packet *packet) {
  session_error(relay->session, peer, packet, CODE_CHANNEL_NOT_FOUND,
                "nobody serves this channel");
}

// Passes a packet to the script, either as a packet on a channel that the script
// serves, or as the response to the script's request.
static void to_server(Relay *relay, Peer *peer, const Packet *packet) {
  EventType type = packet->flags & PACKET_RESPONSE ? EVENT_RESPONSE : EVENT_CHANNEL;
  Event event = relay_packet_event(type, peer, packet);
  relay_emit(relay, &event);
}

static void to_on_packet(Relay *relay, Peer *peer, const Packet *packet) {
  Event event = relay_packet_event(EVENT_PACKET, peer, packet);
  if (relay->game_hooks & HOOK_PACKET)
    relay_emit(relay, &event);
  else
    refuse(relay, peer, packet);
}

// Sends a packet to a channel's server, with the id of the client that sent it, or to a
// client (`sender` is NULL).
static void send_to(Relay *relay, Peer *peer, const Packet *packet,
                    const uint32_t *sender) {
  Outgoing outgoing = {.packet = *packet,
                       .ids = {sender ? *sender : 0},
                       .id_count = sender != NULL,
                       .flags = packet->flags & PACKET_RELIABLE ? OUT_KEEP : 0};
  session_send(relay->session, peer, &outgoing);
  relay->stats.deliveries++;
}

// Passes a packet from the channel's server to the peer that the packet names.
static void from_plugin(Relay *relay, Peer *plugin, const Packet *packet) {
  uint32_t target;
  Text data;
  if (control_read_room_data(packet, &target, &data) < 0) {
    session_kick(relay->session, plugin, CODE_PROTOCOL,
                 "malformed packet of a channel's server");
    return;
  }
  Packet bare = *packet;
  bare.payload = (const uint8_t *)data.bytes;
  bare.length = data.size;
  if (target == 0) {
    if (packet->flags & PACKET_RESPONSE && relay->is_scripted)
      to_server(relay, plugin, &bare);
    else
      to_on_packet(relay, plugin, &bare);
    return;
  }
  Peer *peer = session_find(relay->session, target);
  if (!peer || !peer_has_session(peer) || peer->framing != FRAMING_PACKETS) {
    session_error(relay->session, plugin, packet, CODE_CHANNEL_NOT_FOUND,
                  "there is no such peer to answer");
    return;
  }
  send_to(relay, peer, &bare, NULL);
}

void channel_packet(Relay *relay, Peer *peer, const Packet *packet) {
  const PluginChannel *channel = find(relay, packet->channel);
  Peer *plugin = channel ? session_find(relay->session, channel->peer) : NULL;
  bool is_llm =
      packet->channel >= CHANNEL_LLM_FIRST && packet->channel <= CHANNEL_LLM_LAST;
  if (plugin == peer)
    from_plugin(relay, peer, packet);
  else if (plugin)
    send_to(relay, plugin, packet, &peer->id);
  else if (channel ? channel->is_scripts : is_llm && relay->is_scripted)
    to_server(relay, peer, packet);
  else if (channel || is_llm || packet->channel == CHANNEL_RESERVED)
    refuse(relay, peer, packet);
  else
    to_on_packet(relay, peer, packet);
}
