--- Choices by chance, the same for the same seed: numbers, bytes, names, and ways to spoil what was right.
local random = require "tests.random"

local Dice = {}
Dice.__index = Dice

-- Where lengths, counts and ids change their meaning.
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


--- Another one, whose numbers follow from this one's.
function Dice:child()
  return Dice.new(self.roll(2 ^ 30) + 7919)
end


--- A whole number from `least` to `most`.
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


--- One of { weight, value }.
function Dice:pick_weighted(list)
  local sum = 0
  for _, item in ipairs(list) do sum = sum + item[1] end
  local at = self.roll(sum)
  for _, item in ipairs(list) do
    at = at - item[1]
    if at <= 0 then return item[2] end
  end
end


--- A number of which some reader may think too little.
function Dice:edge()
  return self:pick(EDGES)
end


function Dice:bytes(most)
  local bytes = {}
  for i = 1, self:number(0, most) do bytes[i] = string.char(self.roll(256) - 1) end
  return table.concat(bytes)
end


--- A name, perhaps one that cannot be.
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
  function(dice, bytes) -- something in between
    local at = dice.roll(#bytes)
    return bytes:sub(1, at) .. dice:bytes(8) .. bytes:sub(at + 1)
  end,
  function(dice, bytes) -- four bytes that are a number
    local at, value = dice.roll(#bytes), dice:edge()
    local number = {}
    for i = 1, 4 do
      number[i] = string.char(value % 256)
      value = math.floor(value / 256)
    end
    return bytes:sub(1, at - 1) .. table.concat(number) .. bytes:sub(at + 4)
  end,
}


--- These bytes with one to four faults.
function Dice:spoil(bytes)
  for _ = 1, self:number(1, 4) do
    if #bytes > 0 then bytes = self:pick(SPOIL)(self, bytes) end
  end
  return bytes
end


--- Values as JSON has them, some of them deep, long or odd.
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
