--- Random choices, the same for the same seed: numbers, bytes, names, and ways to spoil valid bytes.
local random = require "tests.random"

local Dice = {}
Dice.__index = Dice

-- Numbers at which lengths, counts and ids change their meaning.
local EDGES = {
  0, 1, 2, 3, 4, 7, 8, 15, 16, 127, 128, 255, 256, 1023, 1024, 4095, 4096, 4097, 65535, 65536, 2 ^ 20,
  2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 2, 2 ^ 32 - 1,
}

local NAMES = {
  "", " ", "a", "ann", "bob", "!bang", "*star", "/slash", "two words", " before", "after ", "a\0b", "a\nb",
  "\r", "\226\128\174evil", "\226\128\168", "\243\160\129\129", "\255\254", "\195", ("x"):rep(64),
  ("x"):rep(65), ("x"):rep(255), ("\195\164"):rep(32), "Kicked: you", "%s%n%x", "../../etc", "\27[2J",
}


---@param seed integer
function Dice.new(seed)
  return setmetatable({ roll = random.from(seed % 2147483646 + 1) }, Dice)
end


--- Returns another dice, whose numbers follow from the numbers of this one.
function Dice:child()
  return Dice.new(self.roll(2 ^ 30) + 7919)
end


--- Returns a whole number from `least` to `most`.
function Dice:number(least, most)
  return least + self.roll(most - least + 1) - 1
end


---@param percent integer
function Dice:chance(percent)
  return self.roll(100) <= percent
end


function Dice:pick(list)
  return list[self.roll(#list)]
end


--- Returns a value of a list of { weight, value }.
function Dice:pick_weighted(list)
  local sum = 0
  for _, item in ipairs(list) do sum = sum + item[1] end
  local at = self.roll(sum)
  for _, item in ipairs(list) do
    at = at - item[1]
    if at <= 0 then return item[2] end
  end
end


--- Returns a number that some reader may forget to handle.
function Dice:edge()
  return self:pick(EDGES)
end


function Dice:bytes(most)
  local bytes = {}
  for i = 1, self:number(0, most) do bytes[i] = string.char(self.roll(256) - 1) end
  return table.concat(bytes)
end


--- Returns a name, which may be invalid.
function Dice:name()
  return self:chance(50) and "guest " .. self.roll(50) or self:pick(NAMES)
end


-- Ways to spoil bytes.
local SPOIL = {
  function(dice, bytes) -- another byte
    local at = dice.roll(#bytes)
    return bytes:sub(1, at - 1) .. string.char(dice.roll(256) - 1) .. bytes:sub(at + 1)
  end,
  function(dice, bytes) return bytes:sub(1, dice.roll(#bytes)) end,
  function(dice, bytes) return bytes:sub(dice.roll(#bytes)) end,
  function(dice, bytes) return bytes .. dice:bytes(20) end,
  function(_, bytes) return bytes .. bytes end,
  function(dice, bytes) -- inserts bytes
    local at = dice.roll(#bytes)
    return bytes:sub(1, at) .. dice:bytes(8) .. bytes:sub(at + 1)
  end,
  function(dice, bytes) -- changes four bytes, which may be a number
    local at, value = dice.roll(#bytes), dice:edge()
    local number = {}
    for i = 1, 4 do
      number[i] = string.char(value % 256)
      value = math.floor(value / 256)
    end
    return bytes:sub(1, at - 1) .. table.concat(number) .. bytes:sub(at + 4)
  end,
}


--- Returns these bytes with one to four faults.
function Dice:spoil(bytes)
  for _ = 1, self:number(1, 4) do
    if #bytes > 0 then bytes = self:pick(SPOIL)(self, bytes) end
  end
  return bytes
end


--- Returns a JSON text, which may be deep, long or unusual.
function Dice:json()
  return self:pick_weighted {
    { 4, tostring(self:number(-5, 100)) },
    { 2, "null" },
    { 2, '"' .. ("x"):rep(self:number(0, 40)) .. '"' },
    { 2, '{"x":1,"y":[1,2,{"z":true}]}' },
    { 1, ("["):rep(self:number(1, 200)) .. ("]"):rep(self:number(1, 200)) },
    { 1, self:pick { "1e309", "-0", "1e", "nul", '"\\ud800"', '"\\u0000"', '"\255"', "[,]", "{}{}", "" } },
  }
end


return Dice
