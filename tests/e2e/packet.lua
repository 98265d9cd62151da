--- The wire protocol, written only from docs/protocol.md: converts bytes to tables and back. It shares no
--- code with the server, so every end-to-end test also checks the page. The decoder also checks: a packet
--- that breaks the page is a fault of the server.
local bit = require "bit"
local cjson = require "cjson"

local packet = {}

packet.RELIABLE = 1
packet.REQUEST = 2
packet.RESPONSE = 4
packet.HEADER_SIZE = 12

packet.PRIORITY = { critical = 0, high = 1, normal = 2, low = 3 }

packet.CLIENT = {
  HELLO = 1,
  JOIN = 2,
  LEAVE = 3,
  BROADCAST = 4,
  PING = 5,
  PONG = 6,
  ACK = 7,
  CHANNEL_OPEN = 8,
  CHANNEL_CLOSE = 9,
  ROOM_LIST = 10,
  BYE = 11,
  SIGN_IN = 12,
  TOOL_ADD = 13,
  TOOL_REMOVE = 14,
  JOIN_WITH = 15,
  ROOM_QUERY = 16,
}

packet.SERVER = {
  [5] = "PING",
  [6] = "PONG",
  [7] = "ACK",
  [13] = "TOOL_ADD",
  [14] = "TOOL_REMOVE",
  [129] = "WELCOME",
  [130] = "JOINED",
  [131] = "LEFT",
  [132] = "BROADCAST",
  [133] = "PEER_JOINED",
  [134] = "PEER_LEFT",
  [135] = "ERROR",
  [136] = "REJECTED",
  [137] = "CLOSING",
  [138] = "CHANNEL_OPENED",
  [139] = "ROOMS",
  [140] = "REDIRECT",
  [141] = "DEV_ASSET",
  [142] = "DEV_ERROR",
  [143] = "SIGNED_IN",
  [144] = "PEER_RENAMED",
  [145] = "ROOMS_META",
  [146] = "FAULT",
}

packet.CODES = {
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
}

packet.NO_UUID = ("\0"):rep(16)


-- Numbers are little-endian; a u64 is eight bytes of which a Lua number fills the lower 53 bits.
local function unsigned(value, size)
  local bytes = {}
  for i = 1, size do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end


function packet.u8(value)
  return unsigned(value, 1)
end


function packet.u16(value)
  return unsigned(value, 2)
end


function packet.u32(value)
  return unsigned(value, 4)
end


function packet.u64(value)
  return unsigned(value, 8)
end


function packet.str8(text)
  return packet.u8(#text) .. text
end


function packet.str16(text)
  return packet.u16(#text) .. text
end


--- Returns a header. `length` may be wrong for the payload that follows.
---@param p table { channel, type, priority, flags, ref }, all optional but type
---@param length integer
---@return string
function packet.header(p, length)
  return packet.u16(p.channel or 0)
    .. packet.u16(p.type)
    .. packet.u8(p.priority or 2)
    .. packet.u8(p.flags or 0)
    .. packet.u16(p.ref or 0)
    .. packet.u32(length)
end


--- Returns a whole packet.
---@param p table as for `header`, and `payload`
---@return string
function packet.encode(p)
  local payload = p.payload or ""
  return packet.header(p, #payload) .. payload
end


--- Returns the payload of a HELLO.
---@param o table { version, hash (a number or 8 bytes), name, token, resume, received }, all optional
---@return string
function packet.hello(o)
  return packet.u16(o.version or 1)
    .. (type(o.hash) == "string" and o.hash or packet.u64(o.hash or 0))
    .. packet.str8(o.name or "")
    .. packet.str16(o.token or "")
    .. (o.resume or packet.NO_UUID)
    .. packet.u32(o.received or 0)
end


--- Returns the payload of a message of type 0 on channel 2.
---@param room integer 0: none
---@param name string
---@param value any nil is null
---@return string
function packet.message(room, name, value)
  if value == nil then value = cjson.null end
  return packet.u32(room) .. cjson.encode { name, value }
end


-- Returns a reader of one payload. Reading past the end is a fault of the sender.
local Reader = {}
Reader.__index = Reader


function Reader:bytes(count)
  if self.at + count - 1 > #self.data then
    error(("payload of %d bytes ends inside a field at %d"):format(#self.data, self.at - 1), 0)
  end
  local bytes = self.data:sub(self.at, self.at + count - 1)
  self.at = self.at + count
  return bytes
end


function Reader:number(size)
  local bytes, value = self:bytes(size), 0
  for i = size, 1, -1 do
    value = value * 256 + bytes:byte(i)
  end
  return value
end


function Reader:u8()
  return self:number(1)
end


function Reader:u16()
  return self:number(2)
end


function Reader:u32()
  return self:number(4)
end


function Reader:str8()
  return self:bytes(self:u8())
end


function Reader:str16()
  return self:bytes(self:u16())
end


function Reader:rest()
  return self:bytes(#self.data - self.at + 1)
end


function Reader:code()
  local number = self:u16()
  local name = packet.CODES[number]
  if not name then error(("code %d is not on the list"):format(number), 0) end
  return name
end


local function ending(r, e)
  e.code, e.text = r:code(), r:str16()
  if e.code == "Unavailable" then e.retry = r:u16() end
end


-- The fields of each payload that a server sends, in the order of the page.
local FIELDS = {
  PING = function(r, e)
    e.value = r:bytes(8)
  end,
  PONG = function(r, e)
    e.value = r:bytes(8)
  end,
  ACK = function(r, e)
    e.count = r:u32()
  end,
  WELCOME = function(r, e)
    e.version = r:u16()
    e.peer = r:u32()
    e.session = r:bytes(16)
    e.resume = r:bytes(16)
    e.time_us = r:number(8)
    e.max_payload = r:u32()
    e.ping_interval_ms = r:u32()
    e.tick_rate = r:u16()
    e.resumed = r:u8()
    e.received = r:u32()
    e.udp_port = r:u16()
    e.udp_key = r:bytes(32)
    if e.resumed > 2 then error("`resumed` is 0, 1 or 2", 0) end
  end,
  TOOL_ADD = function() end,
  TOOL_REMOVE = function() end,
  JOINED = function(r, e)
    e.room, e.room_name, e.peer = r:u32(), r:str8(), r:u32()
    e.members = {}
    for i = 1, r:u16() do
      e.members[i] = { id = r:u32(), name = r:str8() }
    end
  end,
  LEFT = function(r, e)
    e.room, e.code = r:u32(), r:code()
  end,
  BROADCAST = function(r, e)
    e.room, e.sender, e.data = r:u32(), r:u32(), r:rest()
  end,
  PEER_JOINED = function(r, e)
    e.room, e.peer, e.peer_name = r:u32(), r:u32(), r:str8()
  end,
  PEER_RENAMED = function(r, e)
    e.room, e.peer, e.peer_name = r:u32(), r:u32(), r:str8()
  end,
  PEER_LEFT = function(r, e)
    e.room, e.peer = r:u32(), r:u32()
  end,
  ERROR = function(r, e)
    e.code, e.text = r:code(), r:str16()
  end,
  FAULT = function(r, e)
    e.fault, e.value = r:str8(), cjson.decode(r:rest())
  end,
  REJECTED = ending,
  CLOSING = ending,
  CHANNEL_OPENED = function(r, e)
    e.opened, e.channel_name = r:u16(), r:str8()
  end,
  ROOMS = function(r, e)
    e.rooms = {}
    for i = 1, r:u16() do
      e.rooms[i] = { id = r:u32(), name = r:str8(), members = r:u32() }
    end
  end,
  SIGNED_IN = function(r, e)
    e.value = cjson.decode(r:rest())
  end,
  ROOMS_META = function(r, e)
    e.answer = cjson.decode(r:rest())
  end,
  REDIRECT = function(r, e)
    e.host, e.port = r:str8(), r:u16()
  end,
  DEV_ASSET = function(r, e)
    e.path = r:str8()
  end,
  DEV_ERROR = function(r, e)
    e.text = r:str16()
  end,
}


local function decode_message(reader, event, has_schema)
  event.room = reader:u32()
  if event.type ~= 0 then
    if not has_schema then error("a message type of a schema, and there is none", 0) end
    return
  end
  local body = cjson.decode(reader:rest())
  if type(body) ~= "table" or type(body[1]) ~= "string" or #body ~= 2 then
    error('a message body is not ["name", value]', 0)
  end
  event.message, event.value = body[1], body[2]
end


local function check_header(e)
  if e.priority > 3 then error(("priority %d"):format(e.priority), 0) end
  if bit.band(e.flags, bit.bnot(7)) ~= 0 then error(("flags 0x%02x"):format(e.flags), 0) end
  local paired = bit.band(e.flags, packet.REQUEST + packet.RESPONSE)
  if paired == 6 then error("REQUEST and RESPONSE together", 0) end
  if paired == 0 and e.ref ~= 0 then error(("ref %d without a request"):format(e.ref), 0) end
end


--- Reads the packet that begins at `from` in a buffer of received bytes.
---@param buffer string
---@param from? integer
---@param has_schema? boolean messages may be those of a schema, which are left as they are
---@return table? event nil while the packet is not whole; event.name says what it is
---@return integer next where the next one begins
function packet.decode(buffer, from, has_schema)
  from = from or 1
  if #buffer < from - 1 + packet.HEADER_SIZE then return nil, from end
  local header = setmetatable({ data = buffer, at = from }, Reader)
  local event = {
    channel = header:u16(),
    type = header:u16(),
    priority = header:u8(),
    flags = header:u8(),
    ref = header:u16(),
  }
  local length = header:u32()
  local next_from = header.at + length
  if #buffer < next_from - 1 then return nil, from end
  event.payload = header:bytes(length)
  event.raw = buffer:sub(from, next_from - 1)
  check_header(event)

  local reader = setmetatable({ data = event.payload, at = 1 }, Reader)
  if event.channel == 0 then
    event.name = packet.SERVER[event.type]
    if not event.name then error(("control type %d"):format(event.type), 0) end
    FIELDS[event.name](reader, event)
    if reader.at <= #reader.data then error(event.name .. " is longer than its fields", 0) end
  elseif event.channel == 2 then
    event.name = "MESSAGE"
    decode_message(reader, event, has_schema)
  else
    event.name = "PACKET"
  end
  return event, next_from
end


return packet
