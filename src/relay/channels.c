// Plugin channels (docs/protocol.md, section 8): a client serves a channel under a
// name, others send to it, it answers. A name keeps its number as long as the server
// runs.

#include "relay/internal.h"

static void refuse(Relay *relay, Peer *peer, const Packet *request, Code code,
                   const char *why) {
  session_error(relay->session, peer, request, code, why);
}

uint32_t channel_server(const Relay *relay, uint16_t channel) {
  if (channel < CHANNEL_PLUGIN_FIRST || channel > CHANNEL_PLUGIN_LAST) return 0;
  return relay->channel_peers[channel - CHANNEL_PLUGIN_FIRST];
}

static uint32_t served_by(const Relay *relay, const Peer *peer) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < relay->channel_count; i++)
    count += relay->channel_peers[i] == peer->id;
  return count;
}

// Serves channel `index`, whose name may be new.
static void serve(Relay *relay, Peer *peer, uint32_t index, Text name,
                  const Packet *request) {
  if (index == relay->channel_count) {
    relay->channel_count++;
    names_set(&relay->channel_names, name.bytes, name.size, 1 + index);
  }
  relay->channel_peers[index] = peer->id;
  Buf *buf = &relay->scratch;
  buf->size = 0;
  buf_u16(buf, (uint16_t)(CHANNEL_PLUGIN_FIRST + index));
  buf_str8(buf, name.bytes, name.size);
  announce_to(relay, peer, CONTROL_CHANNEL_OPENED, request);
}

void channel_open(Relay *relay, Peer *peer, const Packet *packet) {
  Text name;
  if (!peer_is_there(peer)) return;
  if (control_read_name(packet, &name) < 0) {
    relay_malformed(relay, peer, "malformed CHANNEL_OPEN");
    return;
  }
  if (!text_is_name(name.bytes, name.size)) {
    refuse(relay, peer, packet, CODE_PROTOCOL, "channel names are " TEXT_NAME_RULE);
    return;
  }
  uint32_t known = names_find(&relay->channel_names, name.bytes, name.size);
  uint32_t index = known ? known - 1 : relay->channel_count;
  if (known && relay->channel_peers[index]) {
    refuse(relay, peer, packet, CODE_CHANNEL_TAKEN, "the channel is served already");
    return;
  }
  if (index == CHANNEL_PLUGIN_COUNT) {
    refuse(relay, peer, packet, CODE_SERVER_FULL, "there are too many channels");
    return;
  }
  if (served_by(relay, peer) >= RELAY_CHANNELS_PER_PEER) {
    refuse(relay, peer, packet, CODE_SERVER_FULL, "you serve too many channels");
    return;
  }
  serve(relay, peer, index, name, packet);
}

void channel_close(Relay *relay, Peer *peer, const Packet *packet) {
  uint16_t channel;
  if (control_read_u16(packet, &channel) < 0) {
    relay_malformed(relay, peer, "malformed CHANNEL_CLOSE");
    return;
  }
  if (channel_server(relay, channel) != peer->id) {
    refuse(relay, peer, packet, CODE_CHANNEL_NOT_FOUND,
           "you do not serve this channel");
    return;
  }
  relay->channel_peers[channel - CHANNEL_PLUGIN_FIRST] = 0;
}

void channel_release_all(Relay *relay, const Peer *peer) {
  for (uint32_t i = 0; i < relay->channel_count; i++)
    if (relay->channel_peers[i] == peer->id) relay->channel_peers[i] = 0;
}

static uint8_t keep_flag(const Packet *packet) {
  return packet->flags & PACKET_RELIABLE ? OUT_KEEP : 0;
}

// From a client to the one that serves the channel.
static void to_plugin(Relay *relay, Peer *plugin, const Peer *sender,
                      const Packet *packet) {
  Buf *prefix = &relay->scratch;
  prefix->size = 0;
  buf_u32(prefix, sender->id);
  session_send(relay->session, plugin, packet, prefix->data, 4, 0, keep_flag(packet));
  relay->stats.deliveries++;
}

// From the one that serves the channel to whom it names.
static void from_plugin(Relay *relay, Peer *plugin, const Packet *packet) {
  uint32_t target;
  Text data;
  if (control_read_room_data(packet, &target, &data) < 0) {
    relay_malformed(relay, plugin, "malformed packet of a channel's server");
    return;
  }
  Packet bare = *packet;
  bare.payload = (const uint8_t *)data.bytes;
  bare.length = data.size;
  if (target == 0) {
    channel_to_script(relay, plugin, &bare);
    return;
  }
  Peer *peer = session_find(relay->session, target);
  if (!peer || !peer_is_there(peer) || peer->framing != FRAMING_PACKETS) {
    refuse(relay, plugin, packet, CODE_CHANNEL_NOT_FOUND,
           "there is no such peer to answer");
    return;
  }
  session_send(relay->session, peer, &bare, NULL, 0, 0, keep_flag(packet));
  relay->stats.deliveries++;
}

void channel_packet(Relay *relay, Peer *peer, const Packet *packet) {
  Peer *plugin = session_find(relay->session, channel_server(relay, packet->channel));
  if (plugin == peer)
    from_plugin(relay, peer, packet);
  else if (plugin)
    to_plugin(relay, plugin, peer, packet);
  else
    refuse(relay, peer, packet, CODE_CHANNEL_NOT_FOUND, "nobody serves this channel");
}
