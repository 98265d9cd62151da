// Plugin channels: their names, and the peers that serve them.
#pragma once

#include "base/names.h"
#include "relay/relay.h"

enum { CHANNEL_PLUGIN_COUNT = CHANNEL_PLUGIN_LAST - CHANNEL_PLUGIN_FIRST + 1 };

typedef struct PluginChannel {
  uint32_t peer;    // the peer that serves it; 0: none does
  bool is_scripts;  // the script serves it
} PluginChannel;

typedef struct PluginChannels {
  Names names;     // 1 + index of each name ever served
  Names networks;  // how many names were new, by the network that they came from
  PluginChannel list[CHANNEL_PLUGIN_COUNT];  // by number, from CHANNEL_PLUGIN_FIRST on
  uint32_t count;                            // names
  uint32_t changes;  // of the set of served channels, modulo 2^32
} PluginChannels;

/// CHANNEL_OPEN and CHANNEL_CLOSE.
void channel_open(Relay *relay, Peer *peer, const Packet *packet);
void channel_close(Relay *relay, Peer *peer, const Packet *packet);

/// Handles a packet that is neither control nor a message: passes it to the peer or script
/// that serves the channel, or to on_packet; answers ERROR ChannelNotFound without either.
void channel_packet(Relay *relay, Peer *peer, const Packet *packet);

/// Ends what the peer serves.
void channel_release_all(Relay *relay, const Peer *peer);

/// Returns the peer that serves the plugin channel, or 0.
uint32_t channel_server(const Relay *relay, uint16_t channel);

/// COMMAND_CHANNEL_OPEN and COMMAND_CHANNEL_CLOSE.
void channel_serve_by_script(Relay *relay, uint16_t channel);
void channel_unserve_by_script(Relay *relay, uint16_t channel);
