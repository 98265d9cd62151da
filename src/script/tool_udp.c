// Binds wire/udp/handshake.h and wire/udp/link.h to Lua. A link is a userdata, so that Lua
// frees it. Times are microseconds.
#include "script/tool_modules.h"

#include <lauxlib.h>
#include <sodium.h>
#include <string.h>

#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

#define LINK_TYPE "perigee.udp.link"

enum { HASH_SIZE = 8, QUEUE_PACKETS = 1024 };

typedef struct ToolLink {
  UdpLink *link;
  uint8_t datagram[UDP_DATAGRAM_MAX + 1];  // last received datagram
} ToolLink;

// --- Arguments ---

static const uint8_t *to_bytes(lua_State *L, int at, const char *name, size_t wanted) {
  size_t size;
  const char *bytes = lua_tolstring(L, at, &size);
  if (bytes == NULL || size != wanted)
    luaL_error(L, "%s: not %d bytes", name, (int)wanted);
  return (const uint8_t *)bytes;
}

// Returns a field of the table at 1, which keeps the bytes alive.
static const uint8_t *field_bytes(lua_State *L, const char *name, size_t wanted) {
  lua_getfield(L, 1, name);
  const uint8_t *bytes = lua_isnil(L, -1) ? NULL : to_bytes(L, -1, name, wanted);
  lua_pop(L, 1);
  return bytes;
}

static const uint8_t *need_bytes(lua_State *L, const char *name, size_t wanted) {
  const uint8_t *bytes = field_bytes(L, name, wanted);
  if (bytes == NULL) luaL_error(L, "%s is missing", name);
  return bytes;
}

static uint32_t field_number(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  lua_Number number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  if (!(number >= 0 && number <= UINT32_MAX)) luaL_error(L, "%s: not a number", name);
  return (uint32_t)number;
}

static uint64_t read_us(lua_State *L, int at) {
  lua_Number us = luaL_checknumber(L, at);
  luaL_argcheck(L, us >= 0 && us < 9e15, at, "no time");
  return (uint64_t)us;
}

static ToolLink *read_link(lua_State *L) { return luaL_checkudata(L, 1, LINK_TYPE); }

static void push_bytes(lua_State *L, const void *bytes, size_t size) {
  lua_pushlstring(L, bytes, size);
}

// --- The handshake ---

// random(size): random bytes from the kernel, at most 32
static int tool_random(lua_State *L) {
  uint8_t bytes[UDP_KEY_SIZE];
  int size = (int)luaL_checkinteger(L, 1);
  luaL_argcheck(L, size >= 1 && size <= UDP_KEY_SIZE, 1, "not 1 to 32");
  randombytes_buf(bytes, (size_t)size);
  push_bytes(L, bytes, (size_t)size);
  return 1;
}

// public_key(secret): the X25519 public key of 32 random bytes
static int tool_public_key(lua_State *L) {
  uint8_t key[UDP_KEY_SIZE];
  udp_public_key(to_bytes(L, 1, "secret", UDP_KEY_SIZE), key);
  push_bytes(L, key, sizeof key);
  return 1;
}

// request{ hash, sequence, client_key, cookie (nil: none yet), peer and udp_key (to attach) }: the
// datagram
static int tool_request(lua_State *L) {
  static const uint8_t NO_COOKIE[UDP_COOKIE_SIZE];
  uint8_t bytes[UDP_REQUEST_MAX], proof[UDP_KEY_SIZE];
  const uint8_t *hash_bytes = need_bytes(L, "hash", HASH_SIZE);
  uint64_t hash = 0;
  for (int i = HASH_SIZE; i-- > 0;) hash = hash << 8 | hash_bytes[i];
  UdpExtension extension = {.cookie = field_bytes(L, "cookie", UDP_COOKIE_SIZE),
                            .client_key = need_bytes(L, "client_key", UDP_KEY_SIZE)};
  const uint8_t *udp_key = field_bytes(L, "udp_key", UDP_KEY_SIZE);
  if (udp_key != NULL) {
    extension.flags = UDP_ATTACH;
    extension.peer = field_number(L, "peer");
    extension.proof = proof;
    udp_proof(udp_key, extension.cookie ? extension.cookie : NO_COOKIE,
              extension.client_key, proof);
  }
  size_t size =
      udp_write_request(bytes, hash, (uint16_t)field_number(L, "sequence"), &extension);
  push_bytes(L, bytes, size);
  return 1;
}

static void set_bytes(lua_State *L, const char *name, const void *bytes, size_t size) {
  push_bytes(L, bytes, size);
  lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, lua_Number number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

// answer(datagram): "accepted", { sequence, port, server_key }; "rejected", { code, text,
// retry (with Unavailable alone) }; "challenge", { cookie }; or nothing for other datagrams
static int tool_answer(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  UdpAnswer answer;
  if (udp_read_answer((const uint8_t *)bytes, size, &answer) != 0) return 0;
  static const char *const TYPES[] = {[UDP_ACCEPTED] = "accepted",
                                      [UDP_REJECTED] = "rejected",
                                      [UDP_CHALLENGE] = "challenge"};
  lua_pushstring(L, TYPES[answer.type]);
  lua_newtable(L);
  if (answer.type == UDP_CHALLENGE) {
    set_bytes(L, "cookie", answer.cookie, UDP_COOKIE_SIZE);
  } else if (answer.type == UDP_REJECTED) {
    set_number(L, "code", answer.code);
    set_bytes(L, "text", answer.text, answer.text_size);
    if (answer.code == CODE_UNAVAILABLE) set_number(L, "retry", answer.retry_s);
  } else {
    set_number(L, "sequence", answer.sequence);
    set_number(L, "port", answer.port);
    if (answer.server_key != NULL)
      set_bytes(L, "server_key", answer.server_key, UDP_KEY_SIZE);
  }
  return 2;
}

// --- A link ---

// link({ secret, cookie, client_key, server_key (nil: attached), first_sent, first_received
// }, now): the link; nil if the server's key is invalid
static int tool_link(lua_State *L) {
  uint8_t shared[UDP_KEY_SIZE];
  UdpAgreement agreement = {.secret = need_bytes(L, "secret", UDP_KEY_SIZE),
                            .cookie = need_bytes(L, "cookie", UDP_COOKIE_SIZE),
                            .client_key = need_bytes(L, "client_key", UDP_KEY_SIZE),
                            .server_key = field_bytes(L, "server_key", UDP_KEY_SIZE)};
  if (agreement.server_key != NULL) {
    if (!udp_shared_secret(agreement.secret, agreement.server_key, shared)) return 0;
    agreement.secret = shared;
  }
  UdpLinkParams params = {.first_sent = (uint16_t)field_number(L, "first_sent"),
                          .first_received = (uint16_t)field_number(L, "first_received"),
                          .is_attached = agreement.server_key == NULL,
                          .queue_capacity = QUEUE_PACKETS,
                          .overflow = UDP_DROP_OLDEST};
  uint64_t now_us = read_us(L, 2);
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  ToolLink *self = lua_newuserdata(L, sizeof *self);
  self->link = udp_link_new(&params, now_us);
  luaL_getmetatable(L, LINK_TYPE);
  lua_setmetatable(L, -2);
  return 1;
}

static int link_free(lua_State *L) {
  ToolLink *self = read_link(L);
  udp_link_free(self->link);
  self->link = NULL;
  return 0;
}

// link:receive(datagram, now): whether the datagram was accepted; nil if it violates the
// protocol. link:next returns its contents.
static int link_receive(lua_State *L) {
  ToolLink *self = read_link(L);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  uint64_t now_us = read_us(L, 3);
  if (size > sizeof self->datagram) size = sizeof self->datagram;
  memcpy(self->datagram, bytes, size);
  UdpTaken taken = udp_link_receive(self->link, now_us, self->datagram, size);
  if (taken == UDP_BROKEN) return 0;
  lua_pushboolean(L, taken != UDP_REFUSED);
  return 1;
}

// link:next(): "packet", its bytes; "stream", bytes; "close", code; nothing
static int link_next(lua_State *L) {
  const ToolLink *self = read_link(L);
  UdpArrival arrival;
  while (udp_link_next(self->link, &arrival)) {
    switch (arrival.kind) {
      case UDP_ARRIVAL_PACKET:  // the header precedes the payload
        lua_pushliteral(L, "packet");
        push_bytes(L, arrival.packet.payload - PACKET_HEADER_SIZE,
                   PACKET_HEADER_SIZE + arrival.packet.length);
        return 2;
      case UDP_ARRIVAL_STREAM:
        lua_pushliteral(L, "stream");
        push_bytes(L, arrival.bytes, arrival.size);
        return 2;
      case UDP_ARRIVAL_CLOSE:
        lua_pushliteral(L, "close");
        lua_pushinteger(L, arrival.code);
        return 2;
      case UDP_ARRIVAL_PATH_RESPONSE:
        break;  // clients send no path requests
    }
  }
  return 0;
}

// link:send(packet): whether it sends the packet unreliably: the packet may be lost, and
// fits into a datagram
static int link_send(lua_State *L) {
  const ToolLink *self = read_link(L);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  Packet packet;
  bool fits = size <= UDP_PACKET_MAX &&
              packet_read((const uint8_t *)bytes, size, UDP_PACKET_MAX, &packet) ==
                  (int64_t)size;
  bool goes = fits && udp_may_be_lost(&packet);
  if (goes) udp_link_send(self->link, bytes, size, 0);
  lua_pushboolean(L, goes);
  return 1;
}

// link:write(bytes): the number of bytes that the stream accepted
static int link_write(lua_State *L) {
  const ToolLink *self = read_link(L);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  lua_pushnumber(L, (lua_Number)udp_link_stream_write(self->link, bytes, size));
  return 1;
}

// link:produce(now): the next datagram to be sent, or nothing
static int link_produce(lua_State *L) {
  const ToolLink *self = read_link(L);
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size = udp_link_produce(self->link, read_us(L, 2), bytes);
  if (size == 0) return 0;
  push_bytes(L, bytes, size);
  return 1;
}

// link:deadline(): the time at which link:produce must be called next; nil: never
static int link_deadline(lua_State *L) {
  uint64_t due_us = udp_link_deadline(read_link(L)->link);
  if (due_us == UDP_NEVER) return 0;
  lua_pushnumber(L, (lua_Number)due_us);
  return 1;
}

// link:passing(now): "passes", "stuck" or "gone"
static int link_passing(lua_State *L) {
  static const char *const NAMES[] = {
      [UDP_PASSES] = "passes", [UDP_STUCK] = "stuck", [UDP_GONE] = "gone"};
  lua_pushstring(L, NAMES[udp_link_passing(read_link(L)->link, read_us(L, 2))]);
  return 1;
}

// link:close(code)
static int link_close(lua_State *L) {
  udp_link_close(read_link(L)->link, (Code)luaL_checkinteger(L, 2));
  return 0;
}

// link:stats(): rtt (the newest) and rtt_smooth in microseconds (0: unknown), and the numbers of
// datagrams sent, received, acknowledged and lost
static int link_stats(lua_State *L) {
  UdpLinkStats stats = udp_link_stats(read_link(L)->link);
  lua_createtable(L, 0, 6);
  set_number(L, "rtt", (lua_Number)stats.rtt_newest_us);
  set_number(L, "rtt_smooth", (lua_Number)stats.rtt_us);
  set_number(L, "sent", (lua_Number)stats.sent);
  set_number(L, "received", (lua_Number)stats.received);
  set_number(L, "acknowledged", (lua_Number)stats.acknowledged);
  set_number(L, "lost", (lua_Number)(stats.lost - stats.spurious));
  return 1;
}

static void add_link_type(lua_State *L) {
  static const luaL_Reg METHODS[] = {
      {"receive", link_receive}, {"next", link_next},
      {"send", link_send},       {"write", link_write},
      {"produce", link_produce}, {"deadline", link_deadline},
      {"passing", link_passing}, {"close", link_close},
      {"stats", link_stats},     {NULL, NULL}};
  luaL_newmetatable(L, LINK_TYPE);
  lua_pushcfunction(L, link_free);
  lua_setfield(L, -2, "__gc");
  lua_newtable(L);
  luaL_register(L, NULL, METHODS);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

int tool_udp_open(lua_State *L) {
  static const luaL_Reg FUNCTIONS[] = {
      {"random", tool_random},   {"public_key", tool_public_key},
      {"request", tool_request}, {"answer", tool_answer},
      {"link", tool_link},       {NULL, NULL}};
  if (udp_keys_init() != 0) return luaL_error(L, "libsodium does not work here");
  add_link_type(L);
  lua_newtable(L);
  luaL_register(L, NULL, FUNCTIONS);
  return 1;
}
