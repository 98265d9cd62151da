// perigee.core: leaderboards. The Lua half checks names, scores and data. These
// functions check everything on which the store's thread relies.
#include <math.h>

#include "base/text.h"
#include "script/core.h"
#include "script/store.h"

// board_define(token, index, name, is_low, keep): creates a leaderboard with the number
// `index`
static int core_board_define(lua_State *L) {
  const Host *host = core_host(L);
  Board board = {.name = luaL_checkstring(L, 3),
                 .is_low = lua_toboolean(L, 4),
                 .keep = (BoardKeep)luaL_checkinteger(L, 5)};
  if (host->store != NULL)
    store_define_board(host->store, core_id(L, 1), core_id(L, 2), &board);
  return 0;
}

static StoreStep read_step(lua_State *L, StoreStepType type) {
  StoreStep step = {.type = (uint8_t)type,
                    .collection = core_id(L, 1),
                    .id = core_text(L, 2),
                    .version = (int64_t)luaL_checknumber(L, 3)};
  luaL_argcheck(L,
                step.id.size > 0 && step.id.size <= STORE_ID_MAX &&
                    text_is_utf8(step.id.bytes, step.id.size),
                2, "not a key");
  return step;
}

// Adds a write to the unit of a request if argument 6 is true, otherwise to the
// handler's unit.
static int add(lua_State *L, const StoreStep *step) {
  if (!lua_toboolean(L, 6)) return core_store_write(L, step);
  unit_push(&core_host(L)->unit, step);
  lua_pushboolean(L, 1);
  return 1;
}

// board_submit(index, id, period, score, json, is_of_request): submits a score. Returns
// true, or nil, message, code.
static int core_board_submit(lua_State *L) {
  StoreStep step = read_step(L, STORE_SCORE);
  step.score = luaL_checknumber(L, 4);
  step.value = core_text(L, 5);
  luaL_argcheck(L, isfinite(step.score), 4, "not finite");
  luaL_argcheck(L, step.value.size <= BOARD_DATA_MAX, 5, "too large");
  return add(L, &step);
}

// board_remove(index, id, period, nil, nil, is_of_request): removes an entry. Returns
// the same as board_submit.
static int core_board_remove(lua_State *L) {
  StoreStep step = read_step(L, STORE_REMOVE_SCORE);
  return add(L, &step);
}

// board_read(token, index, id, period, count): requests the first entries, or those
// around an id. The store gets the request when the handler waits.
static int core_board_read(lua_State *L) {
  int64_t period = (int64_t)luaL_checknumber(L, 4);
  uint32_t count = core_id(L, 5);
  luaL_argcheck(L, count <= BOARD_ROWS_MAX, 5, "too many");
  return core_store_request(L, (Command){.flags = STORE_REQUEST_BOARD,
                                         .room = core_id(L, 2),
                                         .name = core_text(L, 3),
                                         .key = (uint64_t)period,
                                         .code = count});
}

const luaL_Reg core_board_functions[] = {{"board_define", core_board_define},
                                         {"board_submit", core_board_submit},
                                         {"board_remove", core_board_remove},
                                         {"board_read", core_board_read},
                                         {NULL, NULL}};
