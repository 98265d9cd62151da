--- The packets of lockstep that a client sends and reads, for specs that play a client by hand.
--- perigee.lockstep.wire has the other packets.

local wire = require "perigee.lockstep.wire"

local byte, char, concat, sub = string.byte, string.char, table.concat, string.sub
local u16, u32, read_u16, read_u32 = wire.u16, wire.u32, wire.read_u16, wire.read_u32

local client_wire = {}


--- Returns an ENTER. `watches`: takes no slot; `gives`: can give snapshots.
---@param room integer
---@param options table watches, gives, seat, match, turn
---@return string
function client_wire.enter(room, options)
  local flags = (options.watches and 1 or 0) + (options.gives and 2 or 0)
  return u32(room) .. char(wire.VERSION, flags) .. (options.seat or wire.NO_SEAT)
    .. u32(options.match or 0) .. u32(options.turn or 0)
end


--- Returns an INPUT. `hashes` are those of `hash_turn` and of the turns before it.
---@param room integer
---@param start integer the last START's
---@param turn integer
---@param hash_turn integer
---@param hashes integer[]
---@param first integer
---@param inputs string[]
---@return string
function client_wire.input(room, start, turn, hash_turn, hashes, first, inputs)
  local out = { u32(room) .. u32(start) .. u32(turn) .. u32(hash_turn) .. char(#hashes) }
  for i = 1, #hashes do out[#out + 1] = u32(hashes[i]) end
  out[#out + 1] = u32(first) .. char(#inputs)
  for i = 1, #inputs do out[#out + 1] = u16(#inputs[i]) .. inputs[i] end
  return concat(out)
end


---@param room integer
---@param turn integer
---@param json string
---@return string
function client_wire.tree(room, turn, json)
  return u32(room) .. u32(turn) .. json
end


local function read_pace(data, at)
  local interval, speed, delay = read_u32(data, at), read_u16(data, at + 4), byte(data, at + 6)
  if not delay or #data ~= at + 6 then return nil end
  return { interval = interval, speed = speed / 100, delay = delay }
end


---@param data string
---@return table? start
function client_wire.read_start(data)
  local values = read_pace(data, 42)
  if not values then return nil end
  return {
    start = read_u32(data, 5), match = read_u32(data, 9), slot = byte(data, 13),
    seat = sub(data, 14, 29), seed = read_u32(data, 30), how = byte(data, 34),
    turn = read_u32(data, 35), hash_every = byte(data, 39), max_input = read_u16(data, 40),
    pace = values,
  }
end


return client_wire
