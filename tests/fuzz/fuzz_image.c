// Any bytes as an image: they are refused, or they are data whose own image has the
// same value. No byte outside of the input is accessed.
#include <assert.h>
#include <lauxlib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "script/image.h"

enum { AT_SAME = 1, OBJECTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Finds the object of a text, which is the text itself. A part of the objects is gone.
static int find_object(lua_State *L) {
  lua_settop(L, 1);
  if (lua_objlen(L, 1) % OBJECTS == 0) lua_pushnil(L);
  return 1;
}

static int no_name(lua_State *L) {
  (void)L;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (!L) {
    L = luaL_newstate();
    lua_pushcfunction(L, no_name);
    lua_pushcfunction(L, find_object);
  }
  uint8_t *exact = malloc(size > 0 ? size : 1);  // has exactly its size, for ASan
  if (size > 0) memcpy(exact, data, size);
  lua_settop(L, AT_SAME + 1);
  bool is_image = image_read(L, AT_SAME + 1, exact, size);
  assert(lua_gettop(L) == AT_SAME + 1 + is_image);
  Buf image = {0};
  if (is_image) {
    ImageResult result = image_take(L, AT_SAME + 2, AT_SAME, &image);
    assert(result != IMAGE_NO_DATA);
    if (result == IMAGE_TAKEN)
      assert(image_read(L, AT_SAME + 1, image.data, image.size));
  }
  lua_settop(L, AT_SAME + 1);
  buf_deinit(&image);
  free(exact);
  return 0;
}
