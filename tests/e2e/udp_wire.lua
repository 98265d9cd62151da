--- The datagrams of UDP, written from docs/protocol.md (sections 5 and 16) alone: requests and answers, keys,
--- and the encryption of data datagrams. The cryptography is libsodium's.
local ffi = require "ffi"
local packet = require "tests.e2e.packet"

ffi.cdef [[
int sodium_init(void);
void randombytes_buf(void *bytes, size_t size);
int crypto_scalarmult_base(unsigned char *out, const unsigned char *secret);
int crypto_scalarmult(unsigned char *out, const unsigned char *secret, const unsigned char *point);
int crypto_generichash(unsigned char *out, size_t out_size, const unsigned char *text,
  unsigned long long size, const unsigned char *key, size_t key_size);
int crypto_aead_chacha20poly1305_ietf_encrypt(unsigned char *out, unsigned long long *out_size,
  const unsigned char *text, unsigned long long size, const unsigned char *head,
  unsigned long long head_size, const unsigned char *none, const unsigned char *nonce,
  const unsigned char *key);
int crypto_aead_chacha20poly1305_ietf_decrypt(unsigned char *out, unsigned long long *out_size,
  unsigned char *none, const unsigned char *text, unsigned long long size,
  const unsigned char *head, unsigned long long head_size, const unsigned char *nonce,
  const unsigned char *key);
]]

local sodium = ffi.load "libsodium.so.23"
assert(sodium.sodium_init() >= 0)

local udp_wire = {}

udp_wire.ATTACH = 1
udp_wire.PLAIN = 2
udp_wire.ZEROS = ("\0"):rep(32)
udp_wire.DATAGRAM_MAX = 1200

local TAG_SIZE = 16


function udp_wire.random(size)
  local bytes = ffi.new("uint8_t[?]", size)
  sodium.randombytes_buf(bytes, size)
  return ffi.string(bytes, size)
end


--- Returns H(key, text, ...) of the page.
function udp_wire.hash(key, ...)
  local out, text = ffi.new "uint8_t[32]", table.concat { ... }
  sodium.crypto_generichash(out, 32, text, #text, key, #key)
  return ffi.string(out, 32)
end


--- Returns a secret and a public key for X25519.
function udp_wire.key_pair()
  local secret, public = udp_wire.random(32), ffi.new "uint8_t[32]"
  sodium.crypto_scalarmult_base(public, secret)
  return secret, ffi.string(public, 32)
end


function udp_wire.shared(secret, public)
  local out = ffi.new "uint8_t[32]"
  assert(sodium.crypto_scalarmult(out, secret, public) == 0)
  return ffi.string(out, 32)
end


--- Returns a request. The extension is a string, or a table of its fields.
---@param o? table { id, version, hash, sequence, extension, type }, all optional
function udp_wire.request(o)
  o = o or {}
  local extension = o.extension or {}
  if type(extension) == "table" then extension = udp_wire.extension(extension) end
  return ("\0"):rep(3)
    .. packet.u8(o.type or 0)
    .. (o.id or "PERIGEE\0")
    .. packet.u32(o.version or 1)
    .. (o.hash or packet.u64(0))
    .. packet.u16(o.sequence or 0)
    .. packet.u8(o.extension_size or #extension)
    .. extension
end


--- Returns the extension of a request, with zeros at its end.
---@param o table { version, flags, cookie, client_key, peer, proof, size }, all optional
function udp_wire.extension(o)
  local bytes = packet.u8(o.version or 1)
    .. packet.u8(o.flags or 0)
    .. (o.cookie or udp_wire.ZEROS)
    .. (o.client_key or udp_wire.ZEROS)
    .. (o.peer and packet.u32(o.peer) or "")
    .. (o.proof or "")
  return bytes .. ("\0"):rep((o.size or 0) - #bytes)
end


local function number(bytes, from, size)
  local value = 0
  for i = from + size - 1, from, -1 do
    value = value * 256 + bytes:byte(i)
  end
  return value
end
udp_wire.number = number


--- Returns the contents of a datagram that begins with three zero bytes. Raises an error if it breaks the
--- page.
function udp_wire.read_answer(bytes)
  assert(bytes:sub(1, 3) == "\0\0\0", "no answer")
  local kind = bytes:byte(4)
  if kind == 1 then
    assert(#bytes == 8 or (#bytes == 41 and bytes:byte(9) == 32), "malformed ACCEPTED")
    return {
      name = "ACCEPTED",
      sequence = number(bytes, 5, 2),
      port = number(bytes, 7, 2),
      server_key = #bytes == 41 and bytes:sub(10) or nil,
    }
  elseif kind == 2 then
    assert(#bytes >= 6, "malformed REJECTED")
    local code = assert(packet.CODES[number(bytes, 5, 2)], "an unknown code")
    if code ~= "Unavailable" then return { name = "REJECTED", code = code, text = bytes:sub(7) } end
    assert(#bytes >= 8, "malformed REJECTED")
    return { name = "REJECTED", code = code, text = bytes:sub(7, -3), retry = number(bytes, #bytes - 1, 2) }
  elseif kind == 3 then
    assert(#bytes == 36, "malformed CHALLENGE")
    return { name = "CHALLENGE", cookie = bytes:sub(5) }
  end
  error(("answer of type %d"):format(kind), 0)
end


--- Returns the keys of a connection.
---@param secret string the UDP key of WELCOME, or what X25519 gave
---@param server_key? string nil when attached
function udp_wire.keys(secret, cookie, client_key, server_key)
  local all = cookie .. client_key .. (server_key or udp_wire.ZEROS)
  local channel = udp_wire.hash(secret, "perigee udp channel", all):sub(1, 3)
  return {
    send = udp_wire.hash(secret, "perigee udp client", all),
    receive = udp_wire.hash(secret, "perigee udp server", all),
    channel = channel == "\0\0\0" and "\1\0\0" or channel,
  }
end


function udp_wire.proof(key, cookie, client_key)
  return udp_wire.hash(key, "perigee udp attach", cookie, client_key)
end


local function nonce_of(count)
  return ("\0"):rep(4) .. packet.u64(count)
end


function udp_wire.seal(key, count, head, body)
  local out, size = ffi.new("uint8_t[?]", #body + TAG_SIZE), ffi.new "unsigned long long[1]"
  sodium.crypto_aead_chacha20poly1305_ietf_encrypt(out, size, body, #body, head, #head, nil,
    nonce_of(count), key)
  return ffi.string(out, #body + TAG_SIZE)
end


--- Returns the decrypted body; nil if it is not authentic.
function udp_wire.open(key, count, head, sealed)
  if #sealed < TAG_SIZE then return nil end
  local out, size = ffi.new("uint8_t[?]", #sealed), ffi.new "unsigned long long[1]"
  local result = sodium.crypto_aead_chacha20poly1305_ietf_decrypt(out, size, nil, sealed, #sealed,
    head, #head, nonce_of(count), key)
  return result == 0 and ffi.string(out, #sealed - TAG_SIZE) or nil
end


return udp_wire
