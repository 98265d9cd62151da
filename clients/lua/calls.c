// The calls for rooms, messages and channels. `flags` is a sum of PerigeeSendFlags,
// `seconds` a timeout (nil: the client's timeout).
#include <string.h>

#include "core.h"

enum { FLAGS_ALL = PERIGEE_UNRELIABLE | PERIGEE_CRITICAL | PERIGEE_HIGH | PERIGEE_LOW };

static uint16_t number16(lua_State *L, int index) {
  return (uint16_t)core_number(L, index, UINT16_MAX);
}

static uint32_t number32(lua_State *L, int index) {
  return core_number(L, index, UINT32_MAX);
}

static uint32_t flags_at(lua_State *L, int index) {
  return core_number(L, index, FLAGS_ALL);
}

// Returns the PerigeeQuestion at this index: the bytes of an event's field `question`.
static PerigeeQuestion question_at(lua_State *L, int index) {
  size_t size;
  PerigeeQuestion question;
  const char *bytes = luaL_checklstring(L, index, &size);
  luaL_argcheck(L, size == sizeof question, index, "that is no question");
  memcpy(&question, bytes, sizeof question);
  return question;
}

// --- Rooms ---

// join(name, seconds, options): returns a request; `options` is JSON or nil
static int join(lua_State *L) {
  return core_result(
      L, perigee_join_with(core_client(L, 1), core_name(L, 2),
                           luaL_optstring(L, 4, NULL), core_milliseconds(L, 3)));
}

// leave(room): returns a request
static int leave(lua_State *L) {
  return core_result(L, perigee_leave(core_client(L, 1), number32(L, 2)));
}

// list_rooms(seconds): returns a request
static int list_rooms(lua_State *L) {
  return core_result(L, perigee_list_rooms(core_client(L, 1), core_milliseconds(L, 2)));
}

// sign_in(json, seconds): returns a request
static int sign_in(lua_State *L) {
  return core_result(L, perigee_sign_in(core_client(L, 1), luaL_checkstring(L, 2),
                                        core_milliseconds(L, 3)));
}

// query_rooms(json, seconds): returns a request
static int query_rooms(lua_State *L) {
  return core_result(L, perigee_query_rooms(core_client(L, 1), luaL_checkstring(L, 2),
                                            core_milliseconds(L, 3)));
}

// --- Messages ---

// send(room, name, json, flags): sends a message as JSON
static int send(lua_State *L) {
  return core_result(L, perigee_send(core_client(L, 1), number32(L, 2), core_name(L, 3),
                                     luaL_checkstring(L, 4), flags_at(L, 5)));
}

// send_bytes(room, number, bytes, flags): sends a message in binary form
static int send_bytes(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 4, &size);
  return core_result(
      L, perigee_send_bytes(core_client(L, 1), number32(L, 2), number16(L, 3), bytes,
                            size, flags_at(L, 5)));
}

// ask(room, name, json, seconds): returns a request
static int ask(lua_State *L) {
  return core_result(L, perigee_ask(core_client(L, 1), number32(L, 2), core_name(L, 3),
                                    luaL_checkstring(L, 4), core_milliseconds(L, 5)));
}

// ask_bytes(room, number, bytes, seconds): returns a request
static int ask_bytes(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 4, &size);
  return core_result(
      L, perigee_ask_bytes(core_client(L, 1), number32(L, 2), number16(L, 3), bytes,
                           size, core_milliseconds(L, 5)));
}

// answer(question, name, json): answers a request with JSON
static int answer(lua_State *L) {
  PerigeeQuestion question = question_at(L, 2);
  return core_result(L, perigee_answer(core_client(L, 1), &question, core_name(L, 3),
                                       luaL_checkstring(L, 4)));
}

// answer_bytes(question, bytes): answers a request with a value in binary form
static int answer_bytes(lua_State *L) {
  size_t size;
  PerigeeQuestion question = question_at(L, 2);
  const char *bytes = luaL_checklstring(L, 3, &size);
  return core_result(L,
                     perigee_answer_bytes(core_client(L, 1), &question, bytes, size));
}

// relay(room, bytes, flags): sends bytes to the other members, or to all for room 0
static int relay(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 3, &size);
  return core_result(
      L, perigee_relay(core_client(L, 1), number32(L, 2), bytes, size, flags_at(L, 4)));
}

// --- Packets and channels ---

// send_packet(channel, number, bytes, flags): sends a packet on a channel
static int send_packet(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 4, &size);
  return core_result(
      L, perigee_send_packet(core_client(L, 1), number16(L, 2), number16(L, 3), bytes,
                             size, flags_at(L, 5)));
}

// ask_packet(channel, number, bytes, seconds): returns a request
static int ask_packet(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 4, &size);
  return core_result(
      L, perigee_ask_packet(core_client(L, 1), number16(L, 2), number16(L, 3), bytes,
                            size, core_milliseconds(L, 5)));
}

// open_channel(name, seconds): returns a request
static int open_channel(lua_State *L) {
  return core_result(L, perigee_open_channel(core_client(L, 1), core_name(L, 2),
                                             core_milliseconds(L, 3)));
}

// close_channel(channel): stops serving the channel
static int close_channel(lua_State *L) {
  return core_result(L, perigee_close_channel(core_client(L, 1), number16(L, 2)));
}

// send_to(channel, peer, number, bytes, flags): sends a packet to one peer
static int send_to(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 5, &size);
  return core_result(L,
                     perigee_send_to(core_client(L, 1), number16(L, 2), number32(L, 3),
                                     number16(L, 4), bytes, size, flags_at(L, 6)));
}

// ask_peer(channel, peer, number, bytes, seconds): returns a request
static int ask_peer(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 5, &size);
  return core_result(
      L, perigee_ask_peer(core_client(L, 1), number16(L, 2), number32(L, 3),
                          number16(L, 4), bytes, size, core_milliseconds(L, 6)));
}

// add_tool(json, seconds), remove_tool(json, seconds): return a request
static int add_tool(lua_State *L) {
  return core_result(L, perigee_add_tool(core_client(L, 1), luaL_checkstring(L, 2),
                                         core_milliseconds(L, 3)));
}

static int remove_tool(lua_State *L) {
  return core_result(L, perigee_remove_tool(core_client(L, 1), luaL_checkstring(L, 2),
                                            core_milliseconds(L, 3)));
}

// --- The connection ---

// ping(seconds): returns a request
static int ping(lua_State *L) {
  return core_result(L, perigee_ping(core_client(L, 1), core_milliseconds(L, 2)));
}

// sync(seconds): returns a request
static int sync(lua_State *L) {
  return core_result(L, perigee_sync(core_client(L, 1), core_milliseconds(L, 2)));
}

void core_add_calls(lua_State *L) {
  static const luaL_Reg METHODS[] = {{"join", join},
                                     {"leave", leave},
                                     {"list_rooms", list_rooms},
                                     {"query_rooms", query_rooms},
                                     {"sign_in", sign_in},
                                     {"send", send},
                                     {"send_bytes", send_bytes},
                                     {"ask", ask},
                                     {"ask_bytes", ask_bytes},
                                     {"answer", answer},
                                     {"answer_bytes", answer_bytes},
                                     {"relay", relay},
                                     {"send_packet", send_packet},
                                     {"ask_packet", ask_packet},
                                     {"open_channel", open_channel},
                                     {"close_channel", close_channel},
                                     {"send_to", send_to},
                                     {"ask_peer", ask_peer},
                                     {"add_tool", add_tool},
                                     {"remove_tool", remove_tool},
                                     {"ping", ping},
                                     {"sync", sync},
                                     {NULL, NULL}};
  luaL_register(L, NULL, METHODS);
}
