// perigee.core: hashes and random bytes.
#include <sodium.h>

#include "script/core.h"
#include "script/guard/deadline.h"

enum { RANDOM_MAX = 65536 };  // most bytes of one call

// Pushes bytes as hexadecimal digits.
static void push_hex(lua_State *L, const uint8_t *bytes, size_t size) {
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  char *hex = luaL_prepbuffer(&buffer);
  sodium_bin2hex(hex, LUAL_BUFFERSIZE, bytes, size);
  luaL_addsize(&buffer, 2 * size);
  luaL_pushresult(&buffer);
}

// sha256(bytes, key): returns the SHA-256 in hexadecimal; with a key, the HMAC-SHA-256.
// libsodium takes about 5 ns for each byte, so each byte costs a step of the deadline.
static int core_sha256(lua_State *L) {
  size_t size, key_size = 0;
  const uint8_t *bytes = (const uint8_t *)luaL_checklstring(L, 1, &size);
  const uint8_t *key = (const uint8_t *)luaL_optlstring(L, 2, NULL, &key_size);
  deadline_charge(core_host(L), L, (uint32_t)(size + key_size));
  uint8_t hash[crypto_hash_sha256_BYTES];
  if (key == NULL) {
    crypto_hash_sha256(hash, bytes, size);
  } else {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, key_size);
    crypto_auth_hmacsha256_update(&state, bytes, size);
    crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(&state, sizeof state);
  }
  push_hex(L, hash, sizeof hash);
  return 1;
}

// random_bytes(count): returns random bytes, 1 to 65536 of them
static int core_random_bytes(lua_State *L) {
  lua_Integer count = luaL_checkinteger(L, 1);
  luaL_argcheck(L, count >= 1 && count <= RANDOM_MAX, 1, "1 to 65536 bytes");
  Host *host = core_host(L);
  deadline_charge(host, L, (uint32_t)count);
  uint8_t *bytes = lua_newuserdata(L, (size_t)count);
  net_random(host->net, bytes, (size_t)count);
  lua_pushlstring(L, (const char *)bytes, (size_t)count);
  return 1;
}

const luaL_Reg core_bytes_functions[] = {
    {"sha256", core_sha256}, {"random_bytes", core_random_bytes}, {NULL, NULL}};
