--- Random packets: most of them are valid for a client, with ids that the server has sent.
local bit = require "bit"
local packet = require "tests.e2e.packet"

local packets = {}

local ROOMS = { "hall", "slow:", "slow:bad", "slow:shut", "pit:", "match:", "nothing:", "lobby" }
local MESSAGES = {
  "echo", "nap", "oops", "quiz", "name", "into", "out", "kick", "flood", "reliable", "make", "move", "sum",
  "riddle", "text", "figures", "poke", "said", "nobody",
}
local CHANNELS = { "maps", "slow maps", "no", "ide", "" }
local TOKENS = { "", "slow", "no", "later", "fail", "in", "named" }


local function room_of(a) return a.dice:chance(85) and a.dice:pick(a.known.rooms) or a.dice:edge() end
local function peer_of(a) return a.dice:chance(85) and a.dice:pick(a.known.peers) or a.dice:edge() end


--- Returns the name of a room, which may not exist.
function packets.room_name(a)
  local name = a.dice:pick(ROOMS)
  if name:sub(-1) == ":" then return name .. a.dice.roll(6) end
  return a.dice:chance(90) and name or a.dice:name()
end


--- Returns the fields of a HELLO.
function packets.hello_fields(a)
  local dice = a.dice
  local fields = { name = dice:chance(80) and "guest " .. dice.roll(100) or dice:name():sub(1, 255) }
  if dice:chance(30) then fields.token = dice:pick(TOKENS) end
  if dice:chance(3) then fields.version = dice:edge() % 65536 end
  return fields
end


--- Returns a HELLO. Most have no hash; the others have the hash of the game or another one.
---@param fields? table
function packets.hello(a, fields)
  local payload = packet.hello(fields or packets.hello_fields(a))
  if a.dice:chance(20) then
    local hash = a.dice:chance(80) and a.target.hash or a.dice:spoil(a.target.hash .. "xxxxxxxx"):sub(1, 8)
    payload = payload:sub(1, 2) .. hash .. payload:sub(3 + #hash)
  end
  return packet.encode { type = 1, payload = payload }
end


local function inputs(a)
  local parts, count = {}, a.dice:number(0, 5)
  for i = 1, count do parts[i] = packet.str16(a.dice:bytes(20)) end
  return packet.u8(a.dice:chance(90) and count or a.dice.roll(255)) .. table.concat(parts)
end


local function hashes(a)
  local count = a.dice:number(0, 3)
  return packet.u8(count) .. packet.u32(a.dice.roll(99)):rep(count)
end


-- Packets of channel 3, as members of a match send them, by type.
local LOCKSTEP = {
  function(a) -- ENTER
    local knows = a.dice:chance(20)
    return packet.u8(1) .. packet.u8(a.dice:pick { 0, 0, 1, 2, 3, 128 })
      .. (knows and a.dice:pick(a.known.tokens) or packet.NO_UUID)
      .. packet.u32(knows and 1 or 0) .. packet.u32(knows and a.dice.roll(50) or 0)
  end,
  function(a) -- INPUT
    local turn = (a.turn or 0) + a.dice:number(0, 3)
    return packet.u32(a.start or 1) .. packet.u32(turn) .. packet.u32(turn) .. hashes(a)
      .. packet.u32(turn + a.dice.roll(3)) .. inputs(a)
  end,
  function(a) return packet.u32(a.dice:chance(80) and a.dice.roll(100) or a.dice:edge()) end,
  function(a) -- SNAPSHOT
    return packet.u32(a.request or a.dice.roll(5)) .. packet.u32(a.turn or 1)
      .. packet.u32(a.dice:pick { 10, 100, 2 ^ 20, 2 ^ 32 - 1 }) .. packet.u32(a.dice:pick { 0, 10, 2 ^ 31 })
      .. a.dice:bytes(100)
  end,
  function(a) return packet.u32(a.turn or 1) .. a.dice:json() end,
  function() return "" end,
}


--- Returns a packet of lockstep.
function packets.lockstep(a, packet_type)
  packet_type = packet_type or a.dice.roll(6)
  return packet.encode {
    channel = 3, type = packet_type, flags = packet_type == 2 and 0 or packet.RELIABLE, priority = 0,
    payload = packet.u32(room_of(a)) .. LOCKSTEP[packet_type](a),
  }
end


-- The payloads of control packets, by type.
local CONTROL = {
  function(a) return packets.hello(a):sub(packet.HEADER_SIZE + 1) end,
  function(a) return packet.str8(packets.room_name(a):sub(1, 255)) end,
  function(a) return packet.u32(room_of(a)) end,
  function(a) return packet.u32(room_of(a)) .. a.dice:bytes(300) end,
  function(a) return a.dice:bytes(8) .. packet.u64(a.dice.roll(1000)) end,
  function(a) return packet.u64(a.dice.roll(1000)) end,
  function(a) return packet.u32(a.dice:number(0, 60)) end,
  function(a) return packet.str8(a.dice:pick(CHANNELS)) end,
  function(a) return packet.u16(a.dice:pick(a.known.channels)) end,
  function() return "" end,
  function() return "" end,
}
local CONTROL_TYPES = {
  { 1, 1 }, { 20, 2 }, { 12, 3 }, { 15, 4 }, { 5, 5 }, { 1, 6 }, { 2, 7 }, { 6, 8 }, { 4, 9 }, { 6, 10 },
  { 1, 11 },
}


local function flags_of(a)
  local flags = a.dice:pick { 0, 0, 0, packet.RELIABLE, packet.REQUEST, packet.REQUEST + packet.RELIABLE }
  local ref = bit.band(flags, packet.REQUEST) ~= 0 and a.dice.roll(65535) or 0
  if a.dice:chance(4) then return packet.RESPONSE, a.dice.roll(100) end
  return flags, ref
end


local KINDS = {
  { 40, function(a, p)
    p.type = a.dice:pick_weighted(CONTROL_TYPES)
    p.payload = CONTROL[p.type](a)
    if p.type == 5 then p.payload = p.payload:sub(-8) end
  end },
  { 30, function(a, p)
    p.channel, p.type = 2, 0
    p.payload = packet.u32(a.dice:chance(50) and 0 or room_of(a))
      .. ('["%s",%s]'):format(a.dice:pick(MESSAGES), a.dice:json())
  end },
  { 6, function(a, p) -- messages with and without a schema
    p.channel, p.type = 2, a.dice.roll(9)
    p.payload = packet.u32(a.dice:chance(50) and 0 or room_of(a)) .. a.dice:bytes(60)
  end },
  { 8, function(a, p)
    p.channel, p.type = a.dice:pick(a.known.channels), a.dice.roll(9)
    p.payload = packet.u32(peer_of(a)) .. a.dice:bytes(60)
  end },
  { 3, function(a, p)
    p.channel, p.type = a.dice:number(1999, 2010), a.dice:number(0, 9)
    p.payload = a.dice:json()
  end },
  { 3, function(a, p)
    p.channel, p.type, p.payload = a.dice:pick { 4, 998, 999, 3000, 3001, 65535 }, 1, a.dice:bytes(100)
  end },
  { 1, function(a, p)
    p.channel, p.type = a.dice:edge() % 65536, a.dice:edge() % 65536
    p.payload = a.dice:bytes(50)
  end },
}


--- Returns a packet.
---@return string
function packets.any(a)
  if a.dice:chance(8) then return packets.lockstep(a) end
  local p = { priority = a.dice.roll(4) - 1 }
  p.flags, p.ref = flags_of(a)
  a.dice:pick_weighted(KINDS)(a, p)
  return packet.encode(p)
end


return packets
