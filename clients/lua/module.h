// The entry of the Lua module perigee.client.core, for programs that link it.
#pragma once

struct lua_State;

#if defined(_WIN32)
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility("default")))
#endif
    int luaopen_perigee_client_core(struct lua_State *L);
