// Plugin channels: their names, and the peers that serve them.
#pragma once

#include "base/names.h"
#include "relay/relay.h"

enum {
  CHANNEL_SERVED_COUNT = CHANNEL_PLUGIN_LAST - CHANNEL_SERVED_FIRST + 1,
  CHANNEL_PLUGIN_COUNT = CHANNEL_PLUGIN_LAST - CHANNEL_PLUGIN_FIRST + 1,
};

typedef struct PluginChannel {
  uint32_t peer;    // id of the serving peer; 0: none
  bool is_scripts;  // whether the script serves the channel
  bool has_name;    // whether a name has this number
} PluginChannel;

/// Channel numbers that the game declares for a name. They also apply to all names that
/// begin with that name and ':'.
typedef struct ChannelSpan {
  char name[NAME_MAX_BYTES];
  uint8_t name_size;
  uint16_t first, last;
} ChannelSpan;

typedef struct PluginChannels {
  Names names;     // name -> channel number, for all names so far
  Names networks;  // network -> number of new names from its peers
  PluginChannel list[CHANNEL_SERVED_COUNT];  // channel at index number -
                                             // CHANNEL_SERVED_FIRST
  uint32_t count;  // number of names with channel numbers from CHANNEL_PLUGIN_FIRST on
  uint32_t changes;  // number of changes of the set of served channels, modulo 2^32
  Buf spans;         // ChannelSpan structs
} PluginChannels;

/// Handle CHANNEL_OPEN and CHANNEL_CLOSE.
void channel_open(Relay *relay, Peer *peer, const Packet *packet);
void channel_close(Relay *relay, Peer *peer, const Packet *packet);

/// Handles a packet that is neither control nor a message. Passes it to the peer or script
/// that serves its channel, or to on_packet. Otherwise answers ERROR ChannelNotFound.
void channel_packet(Relay *relay, Peer *peer, const Packet *packet);

/// Closes all channels that the peer serves.
void channel_release_all(Relay *relay, const Peer *peer);

/// Returns whether `channel` is a plugin channel that neither a peer nor the script
/// serves.
bool channel_is_vacant(const Relay *relay, uint16_t channel);

/// Returns the peer that serves the plugin channel, or 0.
uint32_t channel_server(const Relay *relay, uint16_t channel);

/// Carry out COMMAND_CHANNEL_OPEN and COMMAND_CHANNEL_CLOSE.
void channel_serve_by_script(Relay *relay, uint16_t channel);
void channel_unserve_by_script(Relay *relay, uint16_t channel);
