// See jit_frame.h.
#include "script/guard/jit_frame.h"

#include <lualib.h>
#include <stdint.h>

enum {
  BETA = 20100
};  // `jit.version_num` of all betas; later versions have a higher
    // one

typedef struct State State;

// The first members of LuaJIT's global_State, on machines with pointers of 64 bits.
typedef struct Global {
  uint64_t others[46];
  State *running;           // the current coroutine
  uint64_t *compiled_base;  // base of the frame that runs compiled code; NULL:
                            // interpreter
} Global;

struct State {
  uint64_t others[2];
  Global *global;
  uint64_t another;
  uint64_t *base, *top;     // values of the running function
  uint64_t *limit, *stack;  // end and beginning of the stack
};

static bool is_on_stack(const State *state, const uint64_t *base) {
  return base > state->stack && base < state->limit;
}

// Returns whether the members are at the expected places. Runs in a coroutine with one
// value, so that no two members are equal by chance.
static int check(lua_State *L) {
  const State *state = (const State *)L;
  bool is_known = sizeof(void *) == sizeof(uint64_t) && state->top == state->base + 1 &&
                  is_on_stack(state, state->base);
  lua_pushnil(L);
  is_known = is_known && state->top == state->base + 2 &&
             state->global->running == state && state->global->compiled_base == NULL;
  lua_pushboolean(L, is_known);
  return 1;
}

static bool is_known(lua_State *L) {
  lua_State *co = lua_newthread(L);
  lua_pushcfunction(co, check);
  lua_pushnil(co);
  bool result = lua_resume(co, 1) == 0 && lua_toboolean(co, -1);
  lua_pop(L, 1);
  return result;
}

const void *jit_frame_global(lua_State *L) {
  return is_known(L) ? ((const State *)L)->global : NULL;
}

bool jit_frame_open(JitFrame *frame, lua_State *L) {
  lua_getglobal(L, LUA_JITLIBNAME);
  lua_getfield(L, -1, "version_num");
  bool is_needed = lua_tointeger(L, -1) <= BETA;
  lua_pop(L, 2);
  *frame = (JitFrame){0};
  if (!is_needed) return true;
  if (!is_known(L)) return false;
  frame->global = ((const State *)L)->global;
  return true;
}

void jit_frame_update(const JitFrame *frame) {
  const Global *global = frame->global;
  if (global == NULL || global->compiled_base == NULL) return;
  State *state = global->running;
  if (is_on_stack(state, global->compiled_base)) state->base = global->compiled_base;
}
