--- Finds the end of each packet in a stream, and whether the network may lose the packet, without decoding it
--- (docs/protocol.md).

local bit = require "bit"

local band, byte = bit.band, string.byte
local HEADER_SIZE = 12
local CONTROL = 0 -- channel
local RELIABLE, QUESTIONS = 1, 2 + 4 -- flags
local BROADCAST_UP, BROADCAST_DOWN = 4, 132

local wire = {}


--- Returns fields of the header that begins at `at`. If the packet is incomplete, returns nil as `stop`.
---@param data string
---@param at integer
---@return integer? stop end of the packet
---@return integer channel
---@return integer number
---@return integer flags
function wire.scan(data, at)
  local size = #data - at + 1
  if size < HEADER_SIZE then return nil, 0, 0, 0 end
  local c1, c2, n1, n2, _, flags, _, _, l1, l2, l3, l4 = byte(data, at, at + 11)
  local length = l1 + l2 * 0x100 + l3 * 0x10000 + l4 * 0x1000000
  if size < HEADER_SIZE + length then return nil, 0, 0, 0 end
  return at + HEADER_SIZE + length - 1, c1 + c2 * 0x100, n1 + n2 * 0x100, flags
end


--- Returns whether the network may lose a packet. It may not lose reliable packets, requests, answers, and
--- packets of the control channel (except broadcasts).
---@param channel integer
---@param number integer
---@param flags integer
---@return boolean
function wire.may_be_lost(channel, number, flags)
  if band(flags, RELIABLE + QUESTIONS) ~= 0 then return false end
  return channel ~= CONTROL or number == BROADCAST_UP or number == BROADCAST_DOWN
end


return wire
