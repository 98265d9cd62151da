--- Pseudo-random numbers from a seed, for the conditions of the simulated network. Each connection has its
--- own generator, so that an additional client does not change the conditions of the other clients.

local bit = require "bit"

local bxor, lshift, rshift, tobit = bit.bxor, bit.lshift, bit.rshift, bit.tobit

---@class perigee.testing.Random
local Random = {}
Random.__index = Random

local random = {}


-- Mixes the bits of a number, so that adjacent seeds give unrelated streams.
local function mix(value)
  value = tobit(value)
  for _ = 1, 3 do
    value = bxor(value, lshift(value, 13))
    value = bxor(value, rshift(value, 17))
    value = bxor(tobit(value + 0x6d2b79f5), lshift(value, 5))
  end
  return value
end


--- Returns a generator. The same arguments give the same stream.
---@param ... integer
---@return perigee.testing.Random
function random.new(...)
  local state = 0x2545f491
  for _, number in ipairs { ... } do state = mix(bxor(state, mix(number))) end
  return setmetatable({ _state = state == 0 and 1 or state }, Random)
end


--- Returns a number from 0 to just below 1.
---@return number
function Random:fraction()
  local state = self._state
  state = bxor(state, lshift(state, 13))
  state = bxor(state, rshift(state, 17))
  state = bxor(state, lshift(state, 5))
  self._state = state
  return (state % 0x100000000) / 0x100000000
end


--- Returns a whole number from 1 to `count`.
---@param count integer
---@return integer
function Random:pick(count)
  return math.floor(self:fraction() * count) + 1
end


--- Puts a list into another order, in place.
---@param list any[]
function Random:shuffle(list)
  for i = #list, 2, -1 do
    local other = self:pick(i)
    list[i], list[other] = list[other], list[i]
  end
end


return random
