// Standard input for luv.lua, in a thread, because Windows cannot wait for a pipe and sockets at once:
// `bytes, is_over = input()` does not wait.
#include <lauxlib.h>
#include <windows.h>

enum { BYTES_MAX = 1 << 20 };

static CRITICAL_SECTION lock;
static char bytes[BYTES_MAX];
static size_t size;
static BOOL is_over;

static DWORD WINAPI read_input(void *unused) {
  (void)unused;
  HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  char some[4096];
  DWORD got = 0;
  while (!is_over) {
    if (!ReadFile(input, some, sizeof some, &got, NULL)) got = 0;
    EnterCriticalSection(&lock);
    is_over = got == 0 || size + got > sizeof bytes;
    if (!is_over) memcpy(bytes + size, some, got);
    if (!is_over) size += got;
    LeaveCriticalSection(&lock);
  }
  return 0;
}

static int take_input(lua_State *L) {
  EnterCriticalSection(&lock);
  lua_pushlstring(L, bytes, size);
  lua_pushboolean(L, is_over);
  size = 0;
  LeaveCriticalSection(&lock);
  return 2;
}

__declspec(dllexport) int luaopen_input(lua_State *L) {
  InitializeCriticalSection(&lock);
  CloseHandle(CreateThread(NULL, 0, read_input, NULL, 0, NULL));
  lua_pushcfunction(L, take_input);
  return 1;
}
