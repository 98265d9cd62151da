--- Every number and layout of docs/protocol.md that the client needs, each written once.

--- What the fields of a layout are: `u8` to `u64` little-endian integers, `flag` a u8 that is 0 or
--- 1, `str8` and `str16` counted texts, `raw8`, `raw16` and `raw32` that many bytes as they are,
--- `rest` whatever is left; `list` is a u16 count and that many times the fields in `of`. A field with
--- A field with `with_code` exists only where the field `code` has that value.
local PEER = { { "id", "u32" }, { "name", "str8" } }
local ROOM = { { "id", "u32" }, { "name", "str8" }, { "members", "u32" } }
local CODE = { { "code", "u16" }, { "message", "str16" } }
local RETRY = { "retry", "u16", with_code = 24 } -- Unavailable: seconds

return {
  VERSION = 1,
  DEFAULT_PORT = 7777,
  HEADER_SIZE = 12,
  NO_TOKEN = ("\0"):rep(16),

  CHANNEL = { CONTROL = 0, MESSAGES = 2, PLUGIN_FIRST = 1000, PLUGIN_LAST = 1999 },
  PRIORITY = { critical = 0, high = 1, normal = 2, low = 3 },
  FLAG = { RELIABLE = 1, REQUEST = 2, RESPONSE = 4 },
  FLAGS_KNOWN = 7,

  --- Client to server.
  REQUEST = {
    HELLO = {
      number = 1,
      { "version", "u16" },
      { "protocol_hash", "raw8" },
      { "name", "str8" },
      { "token", "str16" },
      { "resume_token", "raw16" },
      { "reliable_received", "u32" },
    },
    JOIN = { number = 2, { "name", "str8" } },
    LEAVE = { number = 3, { "room", "u32" } },
    BROADCAST = { number = 4, { "room", "u32" }, { "data", "rest" } },
    PING = { number = 5, { "value", "raw8" } },
    PONG = { number = 6, { "value", "raw8" } },
    ACK = { number = 7, { "count", "u32" } },
    CHANNEL_OPEN = { number = 8, { "name", "str8" } },
    CHANNEL_CLOSE = { number = 9, { "channel", "u16" } },
    ROOM_LIST = { number = 10 },
    BYE = { number = 11 },
  },

  --- Server to client, by number; `name` is what the event is called.
  EVENT = {
    [5] = { name = "ping", { "value", "raw8" } },
    [6] = { name = "pong", { "value", "raw8" } },
    [7] = { name = "ack", { "count", "u32" } },
    [129] = {
      name = "welcome",
      { "version", "u16" },
      { "id", "u32" },
      { "session", "raw16" },
      { "resume_token", "raw16" },
      { "server_time_us", "u64" },
      { "max_payload", "u32" },
      { "ping_interval_ms", "u32" },
      { "tick_rate", "u16" },
      { "resumed", "flag" },
      { "reliable_received", "u32" },
      { "udp_port", "u16" },
      { "udp_key", "raw32" },
    },
    [130] = {
      name = "joined",
      { "room_id", "u32" },
      { "name", "str8" },
      { "id", "u32" },
      { "peers", "list", of = PEER },
    },
    [131] = { name = "left", { "room_id", "u32" }, { "code", "u16" } },
    [132] = { name = "broadcast", { "room_id", "u32" }, { "sender", "u32" }, { "data", "rest" } },
    [133] = { name = "peer_joined", { "room_id", "u32" }, { "id", "u32" }, { "name", "str8" } },
    [134] = { name = "peer_left", { "room_id", "u32" }, { "id", "u32" } },
    [135] = { name = "error", CODE[1], CODE[2] },
    [136] = { name = "rejected", CODE[1], CODE[2], RETRY },
    [137] = { name = "closing", CODE[1], CODE[2], RETRY },
    [138] = { name = "channel_opened", { "channel", "u16" }, { "name", "str8" } },
    [139] = { name = "rooms", { "rooms", "list", of = ROOM } },
    [140] = { name = "redirect", { "host", "str8" }, { "port", "u16" } },
    [144] = { name = "peer_renamed", { "room_id", "u32" }, { "id", "u32" }, { "name", "str8" } },
  },

  CODES = {
    [0] = "ConnectionClosed",
    "ConnectionReset",
    "IdleTimeout",
    "PingTimeout",
    "PayloadTooLarge",
    "Protocol",
    "Kicked",
    "Rejected",
    "ServerFull",
    "VersionMismatch",
    "ProtocolHashMismatch",
    "NoSuchRoom",
    "NotInRoom",
    "AlreadyInRoom",
    "ChannelNotFound",
    "ChannelTaken",
    "RateLimited",
    "HandshakeTimeout",
    "Unsupported",
    "Internal",
    "Unauthorized",
    "SlowConsumer",
    "Replaced",
    "RoomFull",
    "Unavailable",
  },

  --- A length in a header over this is taken for garbage: no server sends packets this long.
  PACKET_MAX = 64 * 1024 * 1024,
}
