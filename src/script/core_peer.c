// perigee.core: the properties of peers. They can be read until the peer's disconnect
// has been handled; after that, each function returns nil.
#include <lauxlib.h>
#include <sodium.h>
#include <stdio.h>

#include "base/err.h"
#include "net/udp.h"
#include "relay/describe.h"
#include "script/core.h"

static Peer *find_peer(lua_State *L, int at) {
  return session_find(relay_session(core_host(L)->relay), core_id(L, at));
}

static int core_peer_name(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  Text name = relay_peer_name(core_host(L)->relay, peer);
  lua_pushlstring(L, name.bytes, name.size);
  return 1;
}

// peer_set_name(peer, name): gives the peer a name when the handler has ended
static int core_peer_set_name(lua_State *L) {
  int result = relay_rename(core_host(L)->relay, core_id(L, 1), core_text(L, 2));
  switch (result) {
    case ERR_EXISTS:
      return core_fail(L, NAME_IN_USE_TEXT, "Exists");
    case ERR_INVALID:
      return core_fail(L, "names are " TEXT_PEER_NAME_RULE, "Invalid");
    default:
      return core_peer_result(L, result);
  }
}

// peer_name_problem(peer, name): returns an error text if the peer cannot be accepted
// under the name, or nil if it can. If `name` is nil, checks the peer's own name.
static int core_peer_name_problem(lua_State *L) {
  Text name = {0};
  if (!lua_isnoneornil(L, 2)) name = core_text(L, 2);
  if (relay_name_is_free(core_host(L)->relay, core_id(L, 1), name)) return 0;
  lua_pushliteral(L, NAME_IN_USE_TEXT);
  return 1;
}

// peer_is_name(text): returns whether the text is a valid name for a peer
static int core_peer_is_name(lua_State *L) {
  Text text = core_text(L, 1);
  lua_pushboolean(L, text_is_peer_name(text.bytes, text.size));
  return 1;
}

static int core_peer_address(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  lua_pushstring(L, peer_address(peer));
  return 1;
}

static int core_peer_port(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  lua_pushinteger(L, peer->port);
  return 1;
}

static int core_peer_session(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  char text[2 * UUID_SIZE + 5], *at = text;
  for (int i = 0; i < UUID_SIZE; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    at += snprintf(at, 3, "%02x", peer->session[i]);
  }
  lua_pushstring(L, text);
  return 1;
}

static int core_peer_transport(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  lua_pushstring(L, peer_transport(peer));
  return 1;
}

static int core_peer_token(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  Text token = peer_token(peer);
  lua_pushlstring(L, token.bytes, token.size);
  return 1;
}

// peer_is_secure(id): returns whether nobody reads what the client sends
static int core_peer_is_secure(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  lua_pushboolean(L, peer != NULL && peer->is_secure);
  return 1;
}

// peer_token_is(id, text): returns whether the peer's token is `text`. The comparison
// takes constant time for a given size.
static int core_peer_token_is(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  Text text = core_text(L, 2), token = peer ? peer_token(peer) : (Text){0};
  lua_pushboolean(L, peer != NULL && token.size == text.size &&
                         sodium_memcmp(token.bytes, text.bytes, text.size) == 0);
  return 1;
}

static int core_peer_latency_ms(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  lua_pushnumber(L, peer->latency_us / 1000.0);
  return 1;
}

static int core_peer_connected(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  lua_pushboolean(L, peer != NULL && peer_is_reachable(peer));
  return 1;
}

static int core_peer_rooms(lua_State *L) {
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  lua_createtable(L, peer->relay.room_count, 0);
  for (int i = 0; i < peer->relay.room_count; i++) {
    lua_pushnumber(L, peer->relay.rooms[i].room);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// Sets the field `udp` of the table on top of the stack if the connection uses UDP.
static void set_udp_figures(lua_State *L, const Net *net, ConnId conn) {
  UdpFigures udp;
  if (!net_udp_figures(net, conn, &udp)) return;
  lua_createtable(L, 0, 8);
  core_set_switch(L, "passes", udp.passes);
  core_set_number(L, "rtt_ms", udp.rtt_us / 1000.0);
  core_set_number(L, "datagrams_in", (double)udp.received);
  core_set_number(L, "bytes_in", (double)udp.received_bytes);
  core_set_number(L, "datagrams_out", (double)udp.sent);
  core_set_number(L, "bytes_out", (double)udp.sent_bytes);
  core_set_number(L, "lost", (double)udp.lost);
  core_set_number(L, "resent_bytes", (double)udp.resent_bytes);
  lua_setfield(L, -2, "udp");
}

static int core_peer_stats(lua_State *L) {
  const Host *host = core_host(L);
  const Peer *peer = find_peer(L, 1);
  if (peer == NULL) return 0;
  NetSent sent = session_sent(relay_session(host->relay), peer);
  NetSent queued = net_queued(host->net, peer->conn);
  lua_createtable(L, 0, 12);
  core_set_number(L, "latency_ms", peer->latency_us / 1000.0);
  core_set_number(L, "packets_in", (double)peer->packets_in);
  core_set_number(L, "packets_out", (double)sent.packets);
  core_set_number(L, "bytes_in", (double)peer->bytes_in);
  core_set_number(L, "bytes_out", (double)sent.bytes);
  core_set_number(L, "dropped", (double)peer->dropped);
  core_set_number(L, "resent", peer->resume.stream.resent);
  core_set_number(L, "queued", (double)queued.packets);
  core_set_number(L, "queued_bytes", (double)queued.bytes);
  uint64_t silent_ms = net_now_ms(host->net) - peer->last_packet_ms;
  core_set_number(L, "last_activity", (double)silent_ms / 1000.0);
  set_udp_figures(L, host->net, peer->conn);
  return 1;
}

// describe_peer(id): returns JSON
static int core_describe_peer(lua_State *L) {
  Buf json = {0};
  describe_peer(&json, core_host(L)->relay, find_peer(L, 1));
  lua_pushlstring(L, (const char *)json.data, json.size);
  buf_deinit(&json);
  return 1;
}

const luaL_Reg core_peer_functions[] = {{"peer_name_problem", core_peer_name_problem},
                                        {"peer_set_name", core_peer_set_name},
                                        {"peer_is_name", core_peer_is_name},
                                        {"peer_name", core_peer_name},
                                        {"peer_address", core_peer_address},
                                        {"peer_port", core_peer_port},
                                        {"peer_session", core_peer_session},
                                        {"peer_transport", core_peer_transport},
                                        {"peer_token", core_peer_token},
                                        {"peer_is_secure", core_peer_is_secure},
                                        {"peer_token_is", core_peer_token_is},
                                        {"peer_latency_ms", core_peer_latency_ms},
                                        {"peer_connected", core_peer_connected},
                                        {"peer_rooms", core_peer_rooms},
                                        {"peer_stats", core_peer_stats},
                                        {"describe_peer", core_describe_peer},
                                        {NULL, NULL}};
