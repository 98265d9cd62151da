// perigee.core: passwords, tokens, JWTs and the count of guesses. Passwords and tokens
// are never logged.
#include <sodium.h>
#include <string.h>

#include "account/jwt.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/admin.h"
#include "script/core.h"

void accounts_deinit(Accounts *accounts) {
  passwords_close(accounts->passwords);
  guesses_free(accounts->guesses);
  keys_free(accounts->keys);
  sodium_memzero(accounts, sizeof *accounts);
}

// --- Passwords ---

static void on_password(void *data, const PasswordAnswer *answer) {
  seam_push(data, (Event){.type = EVENT_PASSWORD,
                          .a = answer->token,
                          .b = answer->is_right,
                          .data = text_from(answer->hash)});
}

static Passwords *passwords_of(Host *host) {
  if (!host->accounts.passwords) {
    Loop *loop = net_is_simulated(host->net) ? NULL : net_loop(host->net);
    host->accounts.passwords = passwords_open(loop, on_password, host);
  }
  return host->accounts.passwords;
}

static Text password_at(lua_State *L, int at) {
  Text password = core_text(L, at);
  luaL_argcheck(L, password.size <= PASSWORD_MAX, at, "too long");
  return password;
}

// password_hash(token, password): makes a hash, which EVENT_PASSWORD reports. Returns
// false if too many passwords wait.
static int core_password_hash(lua_State *L) {
  Text password = password_at(L, 2);
  lua_pushboolean(L,
                  passwords_hash(passwords_of(core_host(L)), core_id(L, 1), password));
  return 1;
}

// password_check(token, password, hash): compares a password with a hash; see
// passwords_check
static int core_password_check(lua_State *L) {
  Text password = password_at(L, 2);
  lua_pushboolean(L, passwords_check(passwords_of(core_host(L)), core_id(L, 1),
                                     password, core_text(L, 3)));
  return 1;
}

// --- Guesses ---

static Guesses *guesses_of(Host *host) {
  if (!host->accounts.guesses) host->accounts.guesses = guesses_new();
  return host->accounts.guesses;
}

// guesses_left(name, network): returns the number of failures that may still follow,
// and, if that is 0, the seconds to wait
static int core_guesses_left(lua_State *L) {
  Host *host = core_host(L);
  uint32_t wait_s = 0;
  lua_pushnumber(L, guesses_left(guesses_of(host), core_text(L, 1), core_text(L, 2),
                                 net_now_ms(host->net), &wait_s));
  lua_pushnumber(L, wait_s);
  return 2;
}

// guess_failed(name, network): counts a failure
static int core_guess_failed(lua_State *L) {
  Host *host = core_host(L);
  guesses_fail(guesses_of(host), core_text(L, 1), core_text(L, 2),
               net_now_ms(host->net));
  return 0;
}

// network_of(address): returns the network of a subscriber, which has the address; and
// whether the address belongs to this machine
static int core_network_of(lua_State *L) {
  char network[ADDRESS_SIZE];
  const char *address = luaL_checkstring(L, 1);
  address_network(address, network);
  lua_pushstring(L, network);
  lua_pushboolean(L, net_is_loopback(address));
  return 2;
}

// --- Tokens ---

// account_key(seed): sets the key of tokens, from 64 hexadecimal digits
static int core_account_key(lua_State *L) {
  Host *host = core_host(L);
  Text hex = core_text(L, 1);
  uint8_t seed[TOKEN_SEED_SIZE];
  size_t size;
  luaL_argcheck(
      L,
      sodium_hex2bin(seed, sizeof seed, hex.bytes, hex.size, NULL, &size, NULL) == 0 &&
          size == sizeof seed,
      1, "no seed");
  token_key_from(&host->accounts.key, seed);
  host->accounts.has_key = true;
  sodium_memzero(seed, sizeof seed);
  return 0;
}

// account_token(id, generation, sign_in, issued, expires): returns a token. The id has
// 32 hexadecimal digits, times are Unix time.
static int core_account_token(lua_State *L) {
  const Host *host = core_host(L);
  Text id = core_text(L, 1);
  TokenClaims claims = {.generation = core_id(L, 2),
                        .sign_in = core_id(L, 3),
                        .issued_s = (uint64_t)luaL_checknumber(L, 4),
                        .expires_s = (uint64_t)luaL_checknumber(L, 5)};
  size_t size;
  char token[TOKEN_SIZE + 1];
  luaL_argcheck(L,
                sodium_hex2bin(claims.account, sizeof claims.account, id.bytes, id.size,
                               NULL, &size, NULL) == 0 &&
                    size == ACCOUNT_ID_SIZE && host->accounts.has_key,
                1, "no id");
  token_make(&host->accounts.key, &claims, token);
  lua_pushlstring(L, token, TOKEN_SIZE);
  return 1;
}

// account_claims(token): returns id, generation, sign_in, issued and expires; nothing
// if the token is invalid
static int core_account_claims(lua_State *L) {
  const Host *host = core_host(L);
  TokenClaims claims;
  char id[2 * ACCOUNT_ID_SIZE + 1];
  if (!host->accounts.has_key ||
      !token_read(&host->accounts.key, core_text(L, 1), &claims))
    return 0;
  lua_pushstring(L, sodium_bin2hex(id, sizeof id, claims.account, ACCOUNT_ID_SIZE));
  lua_pushnumber(L, claims.generation);
  lua_pushnumber(L, claims.sign_in);
  lua_pushnumber(L, (lua_Number)claims.issued_s);
  lua_pushnumber(L, (lua_Number)claims.expires_s);
  return 5;
}

// --- JWTs ---

const char *accounts_read_keys(Host *host) {
  Accounts *accounts = &host->accounts;
  const char *path = host->deadline.limits.jwt_keys, *why = NULL;
  char signature[FILE_SIGNATURE_SIZE];
  if (!path || *path == '\0') return NULL;
  file_signature(path, signature);
  if (*signature != '\0' && strcmp(signature, accounts->signature) == 0) return NULL;
  memcpy(accounts->signature, signature, sizeof signature);
  Buf text = {0};
  Keys *keys = NULL;
  if (file_read(path, &text) < 0)
    why = "cannot be read";
  else
    keys = keys_read((Text){(const char *)text.data, (uint32_t)text.size}, &why);
  buf_deinit(&text);
  if (!keys) return why;
  keys_free(accounts->keys);
  accounts->keys = keys;
  return NULL;
}

// jwt_check(jwt): returns subject, expiry (Unix time) and id ("" if it has none); or
// nil and the reason of the refusal
static int core_jwt_check(lua_State *L) {
  Host *host = core_host(L);
  const ScriptLimits *limits = &host->deadline.limits;
  const char *why = accounts_read_keys(host);
  if (why)
    log_error("jwt_keys stays as it was", log_str("file", limits->jwt_keys),
              log_str("reason", why));
  if (!host->accounts.keys) {
    lua_pushnil(L);
    lua_pushliteral(L, "cannot be checked: this server has no jwt_keys");
    return 2;
  }
  JwtPolicy policy = {limits->jwt_issuer, limits->jwt_audience, host->accounts.keys};
  JwtClaims claims;
  why = jwt_check(&policy, core_text(L, 1), net_unix_us(host->net) / 1000000, &claims);
  if (why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
  } else {
    lua_pushlstring(L, (const char *)claims.subject.data, claims.subject.size);
    lua_pushnumber(L, (lua_Number)claims.expires_s);
    lua_pushlstring(L, (const char *)claims.id.data, claims.id.size);
  }
  jwt_claims_deinit(&claims);
  return why ? 2 : 3;
}

// --- Answers ---

// renew(peer, json): sends SIGNED_IN to the peer
static int core_renew(lua_State *L) {
  Command command = {
      .type = COMMAND_RENEW, .id = core_id(L, 1), .body = core_text(L, 2)};
  return core_peer_result(L, relay_command(core_host(L)->relay, &command));
}

const luaL_Reg core_account_functions[] = {{"password_hash", core_password_hash},
                                           {"password_check", core_password_check},
                                           {"guesses_left", core_guesses_left},
                                           {"guess_failed", core_guess_failed},
                                           {"network_of", core_network_of},
                                           {"account_key", core_account_key},
                                           {"account_token", core_account_token},
                                           {"account_claims", core_account_claims},
                                           {"jwt_check", core_jwt_check},
                                           {"renew", core_renew},
                                           {NULL, NULL}};
