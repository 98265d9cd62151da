// perigee.core: peers, channels and systems for perigee.world.
#include <lauxlib.h>

#include "script/core.h"
#include "wire/packet.h"

// peers(): returns the ids of accepted peers without bots, in no particular order
static int core_peers(lua_State *L) {
  const Session *session = relay_session(core_host(L)->relay);
  const Peer *peer;
  int count = 0;
  lua_newtable(L);
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));) {
    if (!peer_has_session(peer) || peer->is_bot) continue;
    lua_pushnumber(L, peer->id);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

// peer_activity(id): returns the number of packets sent to the peer, the number
// received from it, and the seconds since the last received packet; nothing if the peer
// is gone
static int core_peer_activity(lua_State *L) {
  const Host *host = core_host(L);
  const Session *session = relay_session(host->relay);
  const Peer *peer = session_find(session, core_id(L, 1));
  if (peer == NULL) return 0;
  uint64_t silent_ms = net_now_ms(host->net) - peer->last_packet_ms;
  lua_pushnumber(L, (double)session_sent(session, peer).packets);
  lua_pushnumber(L, (double)peer->packets_in);
  lua_pushnumber(L, (double)silent_ms / 1000.0);
  return 3;
}

// network(): returns six numbers: packets and bytes sent to all peers, packets and
// bytes received from them, their mean latency in ms, and the number of connected peers
static int core_network(lua_State *L) {
  const Host *host = core_host(L);
  const Session *session = relay_session(host->relay);
  NetSent sent = net_sent_in_all(host->net);
  SessionStats stats = session_stats(session);
  NetSent received = session_received(&stats);
  lua_pushnumber(L, (double)sent.packets);
  lua_pushnumber(L, (double)sent.bytes);
  lua_pushnumber(L, (double)received.packets);
  lua_pushnumber(L, (double)received.bytes);
  lua_pushnumber(L, session_latency_ms(session));
  lua_pushnumber(L, session_count(session));
  return 6;
}

// channels_served(changes): returns a number that changes with the set of served
// channels. If it differs from `changes`, also returns lists of the channels' numbers
// and names.
static int core_channels_served(lua_State *L) {
  const Relay *relay = core_host(L)->relay;
  uint32_t changes = relay_channel_changes(relay);
  lua_pushnumber(L, changes);
  if (changes == luaL_optnumber(L, 1, -1)) return 1;
  uint16_t channel;
  Text name;
  int count = 0;
  lua_newtable(L);
  lua_newtable(L);
  for (uint32_t cursor = 0; (channel = relay_next_channel(relay, &cursor, &name));) {
    count++;
    lua_pushinteger(L, channel);
    lua_rawseti(L, -3, count);
    lua_pushlstring(L, name.bytes, name.size);
    lua_rawseti(L, -2, count);
  }
  return 3;
}

// systems(count): sets the number of events of type `system` that follow each tick
static int core_systems(lua_State *L) {
  core_host(L)->systems = core_id(L, 1);
  return 0;
}

const luaL_Reg core_world_functions[] = {
    {"peers", core_peers},     {"peer_activity", core_peer_activity},
    {"network", core_network}, {"channels_served", core_channels_served},
    {"systems", core_systems}, {NULL, NULL}};
