#include "script/guard/collector.h"

#include "script/guard/jit_frame.h"

enum {
  IN_C = -2,             // value of the member while a C function runs
  PLACES = 46 * 2,       // count of 32-bit numbers before the members of jit_frame.h
  GARBAGE_BYTES = 1000,  // size of the block whose release shows the collector at work
};

typedef struct Probe {
  Collector places[PLACES];  // places that may contain the member
  uint32_t count;
  lua_Alloc allocate;  // the state's own allocator and its data
  void *data;
} Probe;

// Watches the collector free the garbage. Drops the places whose values do not show at
// that moment that the collector is running.
static void *allocate(void *data, void *block, size_t old_size, size_t size) {
  Probe *probe = data;
  uint32_t left = 0;
  for (uint32_t i = 0; i < probe->count && size == 0 && old_size >= GARBAGE_BYTES; i++)
    if (collector_is_running(&probe->places[i]))
      probe->places[left++] = probe->places[i];
  if (size == 0 && old_size >= GARBAGE_BYTES) probe->count = left;
  return probe->allocate(probe->data, block, old_size, size);
}

static int probe_state(lua_State *L) {
  Probe *probe = lua_touserdata(L, 1);
  const int32_t *numbers = jit_frame_global(L);
  for (int i = 0; i < PLACES && numbers != NULL; i++)
    if (numbers[i] == IN_C) probe->places[probe->count++].activity = &numbers[i];
  lua_newuserdata(L, GARBAGE_BYTES);
  lua_settop(L, 0);
  probe->allocate = lua_getallocf(L, &probe->data);
  lua_setallocf(L, allocate, probe);
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_setallocf(L, probe->allocate, probe->data);
  return 0;
}

void collector_open(Collector *collector, lua_State *L) {
  Probe probe = {.count = 0};
  lua_State *co = lua_newthread(L);
  lua_pushcfunction(co, probe_state);
  lua_pushlightuserdata(co, &probe);
  bool is_found = lua_resume(co, 1) == 0 && probe.count == 1;
  lua_pop(L, 1);
  *collector = is_found ? probe.places[0] : (Collector){0};
}
