// The calls of lockstep matches.
#include "core.h"

static uint32_t room_at(lua_State *L) { return core_number(L, 2, UINT32_MAX); }

// lockstep_enter(room, flags, seat or nil): takes part in the match of a room
static int enter(lua_State *L) {
  size_t size = PERIGEE_SEAT_SIZE;
  const char *seat = luaL_optlstring(L, 4, NULL, &size);
  luaL_argcheck(L, !seat || size == PERIGEE_SEAT_SIZE, 4, "a seat has 16 bytes");
  return core_result(
      L, perigee_lockstep_enter(core_client(L, 1), room_at(L),
                                core_number(L, 3, UINT32_MAX), (const uint8_t *)seat));
}

// lockstep_exit(room): leaves the match
static int leave(lua_State *L) {
  return core_result(L, perigee_lockstep_exit(core_client(L, 1), room_at(L)));
}

static void set_number(lua_State *L, const char *name, lua_Number number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

// lockstep_match(room): returns the properties of the match as a table
static int match(lua_State *L) {
  PerigeeMatch facts;
  int code = perigee_lockstep_match(core_client(L, 1), room_at(L), &facts);
  if (code != 0) return core_result(L, code);
  lua_newtable(L);
  set_number(L, "id", facts.id);
  set_number(L, "seed", facts.seed);
  set_number(L, "interval", facts.turn_us / 1e6);
  set_number(L, "speed", facts.speed_percent / 100.0);
  set_number(L, "max_input", facts.max_input);
  set_number(L, "delay", facts.input_delay);
  set_number(L, "hash_interval", facts.hash_interval);
  set_number(L, "next_input", facts.next_input);
  set_number(L, "last_input", facts.last_input);
  if (facts.slot != PERIGEE_SPECTATOR) set_number(L, "slot", facts.slot);
  lua_pushlstring(L, (const char *)facts.seat, sizeof facts.seat);
  lua_setfield(L, -2, "seat");
  return 1;
}

// lockstep_input(room, bytes): sends an input
static int input(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 3, &size);
  return core_result(
      L, perigee_lockstep_input(core_client(L, 1), room_at(L), bytes, size));
}

// lockstep_done(room, turn, hash): reports that the game has simulated a turn
static int done(lua_State *L) {
  return core_result(L, perigee_lockstep_done(core_client(L, 1), room_at(L),
                                              core_number(L, 3, UINT32_MAX),
                                              core_number(L, 4, UINT32_MAX)));
}

// lockstep_snapshot(room, request, bytes): answers a request for a snapshot
static int snapshot(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 4, &size);
  return core_result(
      L, perigee_lockstep_snapshot(core_client(L, 1), room_at(L),
                                   core_number(L, 3, UINT32_MAX), bytes, size));
}

// lockstep_tree(room, turn, json): sends the tree of hashes of a turn
static int tree(lua_State *L) {
  return core_result(L, perigee_lockstep_tree(core_client(L, 1), room_at(L),
                                              core_number(L, 3, UINT32_MAX),
                                              luaL_optstring(L, 4, NULL)));
}

void core_add_lockstep(lua_State *L) {
  static const luaL_Reg METHODS[] = {
      {"lockstep_enter", enter}, {"lockstep_exit", leave},
      {"lockstep_match", match}, {"lockstep_input", input},
      {"lockstep_done", done},   {"lockstep_snapshot", snapshot},
      {"lockstep_tree", tree},   {NULL, NULL}};
  luaL_register(L, NULL, METHODS);
}
