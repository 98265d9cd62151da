--- Random schemas and values. A seed gives the same ones on each machine.

local bit = require "bit"

local random_schema = {}

local Random = {}
Random.__index = Random

-- xorshift32.
local function next_word(self)
  local x = self.state
  x = bit.bxor(x, bit.lshift(x, 13))
  x = bit.bxor(x, bit.rshift(x, 17))
  x = bit.bxor(x, bit.lshift(x, 5))
  self.state = x
  return x % 2 ^ 32
end


---@param seed integer
function random_schema.random(seed)
  local self = setmetatable({ state = bit.bxor(seed * 2654435761 % 2 ^ 32, 0x5bd1e995) }, Random)
  if self.state == 0 then self.state = 1 end
  return self
end


--- Returns a whole number from 1 to n, or from a to b.
function Random:pick(a, b)
  if not b then a, b = 1, a end
  return a + math.floor(next_word(self) / 2 ^ 32 * (b - a + 1))
end


function Random:one_of(list)
  return list[self:pick(#list)]
end

-- Texts ---------------------------------------------------------------------------------------

local INTS = { "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "varint", "uvarint" }
local STEPS = { 1, 2, 10, 0.5, 0.25, 0.1, 0.01, 0.001 }

local function steps(random)
  local step = random:one_of(STEPS)
  local low = random:pick(-2000, 2000)
  local high = low + random:pick(1, random:one_of { 1, 3, 100, 70000, 2 ^ 31, 2 ^ 32 - 1 })
  local form = step < 1 and "%.3f" or "%.0f"
  return ("f32(%s..%s, %s)"):format(form:format(low * step), form:format(high * step), step)
end

local function base(random, named)
  local kind = random:pick(10)
  if kind <= 3 then
    return random:one_of(INTS)
  elseif kind == 4 then
    return steps(random)
  elseif kind == 5 then
    return random:one_of { "f32", "f64" }
  elseif kind == 6 then
    return random:one_of { "string", "string(9)", "bytes", "bytes(300)" }
  elseif kind >= 9 and #named > 0 then
    return random:one_of(named)
  end
  return "bool"
end

local function any_type(random, named)
  local text = base(random, named)
  local suffix = random:pick(8)
  if suffix == 1 then
    return ("%s[%d]"):format(text, random:pick(4))
  elseif suffix == 2 then
    return text .. random:one_of { "[]", "[..3]" } .. random:one_of { "", "?", "[..2]" }
  elseif suffix == 3 then
    return text .. "?"
  end
  return text
end

local function fields(random, named)
  local list = {}
  for i = 1, random:pick(7) do
    list[i] = ("f%d: %s"):format(i, any_type(random, named))
  end
  return "{ " .. table.concat(list, random:one_of { ", ", "\n", " " }) .. " }"
end

local function enum(random, name)
  local values = {}
  for i = 1, random:one_of { 1, 2, 3, 5, 17 } do values[i] = "v" .. i end
  return ("enum %s { %s }"):format(name, table.concat(values, ", "))
end


--- Returns the text of a schema, and its declarations.
---@return string
---@return string[]
function random_schema.text(random)
  local lines, named = {}, {}
  for i = 1, random:pick(0, 4) do
    local name = "t" .. i
    lines[#lines + 1] = random:pick(3) == 1 and enum(random, name)
      or ("struct %s %s"):format(name, fields(random, named))
    named[#named + 1] = name
  end
  for i = 1, random:pick(3) do
    local value = random:one_of { "", ": " .. any_type(random, named), " " .. fields(random, named) }
    local answer = random:pick(4) == 1 and " -> " .. any_type(random, named) or ""
    lines[#lines + 1] = ("message m%d = %d%s%s"):format(i, i, value, answer)
  end
  return table.concat(lines, "\n"), lines
end

-- Values --------------------------------------------------------------------------------------

local value_of

local VALUE = {}

function VALUE.bool(random) return random:pick(2) == 1 end


local function whole(random, least, most)
  local edge = random:pick(6)
  if edge == 1 then return least end
  if edge == 2 then return most end
  local span = math.min(most - least, random:one_of { 10, 200, 2 ^ 17, 2 ^ 31, 2 ^ 53 })
  local from = math.max(least, -math.floor(span / 2))
  return math.min(most, from + math.floor(next_word(random) / 2 ^ 32 * span))
end


function VALUE.int(random, of)
  local bits = of.bytes * 8 - (of.signed and 1 or 0)
  local most = bits > 53 and 2 ^ 53 - 1 or 2 ^ bits - 1
  return whole(random, of.signed and (bits > 53 and -most or -2 ^ bits) or 0, most)
end


function VALUE.varint(random, of)
  return of.signed and whole(random, -2 ^ 52, 2 ^ 52 - 1) or whole(random, 0, 2 ^ 53 - 1)
end


function VALUE.float(random, of)
  if of.bytes == 4 and random.is_rough then
    return random:one_of {
      0.1, -1 / 3, 2 ^ -150, 2 ^ -150 * 1.000001, 1 + 2 ^ -24, 1 + 3 * 2 ^ -24, 3.4028235677973362e38,
      -0.0, next_word(random) / 7,
    }
  elseif of.bytes == 4 then
    return random:one_of { 0, 1, -1.5, 2 ^ -149, 0.5, 3.4028234663852886e38, -65536.25 }
  end
  return random:one_of { 0, -0.0, 0.1, -1e300, 1.7976931348623157e308, 5e-324, 1 / 3, next_word(random) / 7 }
end


function VALUE.steps(random, of)
  local edge = random:pick(6)
  if edge <= 2 then return edge == 1 and of.min or of.max end
  if random.is_rough then
    local value = of.min + (of.max - of.min) * (next_word(random) / 2 ^ 32)
    return math.max(of.min, math.min(of.max, value))
  end
  local count = of.low + math.floor(next_word(random) / 2 ^ 32 * (of.high - of.low + 1))
  return of.per and count / of.per or count * of.by
end


local LETTERS = { "a", "Z", " ", "\195\169", "\226\130\172", "\240\159\142\178", "\0", "\127" }

function VALUE.string(random, of)
  local text = ""
  for _ = 1, random:pick(0, 12) do
    local letter = random:one_of(LETTERS)
    if #text + #letter <= of.most then text = text .. letter end
  end
  return text
end


function VALUE.bytes(random, of)
  local out = {}
  for i = 1, math.min(of.most, random:pick(0, random:one_of { 5, 200 })) do
    out[i] = string.char(random:pick(0, 255))
  end
  return table.concat(out)
end


function VALUE.enum(random, of) return random:one_of(of.values) end


function VALUE.optional(random, of)
  if random:pick(2) == 1 then return value_of(random, of.of) end
  return nil
end


local function list_of(random, of, count)
  local list = {}
  for i = 1, count do list[i] = value_of(random, of.of) end
  return list
end

function VALUE.list(random, of) return list_of(random, of, random:pick(0, math.min(of.most, 3))) end


function VALUE.array(random, of) return list_of(random, of, of.count) end


function VALUE.record(random, of)
  local record = {}
  for _, field in ipairs(of.fields) do record[field.name] = value_of(random, field.type) end
  return record
end


function value_of(random, of)
  return VALUE[of.kind](random, of)
end


--- Returns a value of a type (as perigee.schema has them); nil for a message without a type. If the random
--- numbers have `is_rough` set, some values are not exact: the encoder rounds them.
---@param of table?
---@return any
function random_schema.value(random, of)
  if of then return value_of(random, of) end
  return nil
end


--- Returns a text with some bytes changed, inserted or removed.
---@param text string
---@return string
function random_schema.damage(random, text)
  for _ = 1, random:pick(3) do
    local at = random:pick(0, #text)
    local what = random:pick(4)
    if what == 1 then
      text = text:sub(1, at) .. string.char(random:pick(0, 255)) .. text:sub(at + 2)
    elseif what == 2 then
      text = text:sub(1, at) .. text:sub(at + 1 + random:pick(3))
    elseif what == 3 then
      local new = random:one_of { "\0", "\255", "\128", "{", "}", "[", "?", "1", ".." }
      text = text:sub(1, at) .. new .. text:sub(at + 1)
    else
      text = text:sub(1, at)
    end
  end
  return text
end

return random_schema
