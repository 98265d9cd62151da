--- Writes decoders in C: see c_walk.lua.

local c_code = require "perigee.schema.c_code"
local c_walk = require "perigee.schema.c_walk"
local layout = require "perigee.schema.layout"

local function expect_bytes(self, path, count)
  self:refuse(("!perigee_has(r, %d)"):format(count), path, "the bytes end at %p")
end

local function bit_part(self, count, path, read)
  if count > 0 then
    expect_bytes(self, path, math.ceil(count / 8))
    read()
  end
  if count % 8 > 0 then
    self:refuse("!perigee_no_bits(r)", path, "%p is not zeros in the bits that fill up its byte")
  end
end

-- A number that the next bits are, at most so large.
local function get_bits(self, of, most, path, expected)
  local value = self:fresh "n"
  self:emit("uint64_t %s = perigee_get_bits(r, %d);", value, of.bits)
  if most < 2 ^ of.bits - 1 then
    self:refuse(("%s > UINT64_C(%.0f)"):format(value, most), path, "%p is not " .. expected)
  end
  return value
end

local BITS = {}

function BITS.bool(self, _, x)
  self:emit("%s = perigee_get_bits(r, 1) != 0;", x)
end


function BITS.optional(self, _, _, _, has)
  self:emit("%s = perigee_get_bits(r, 1) != 0;", has)
end


function BITS.enum(self, of, x, path)
  local value = get_bits(self, of, #of.values - 1, path, "a value of the enum")
  self:emit("%s = (%s)%s;", x, self.types:name(of), value)
end


function BITS.steps(self, of, x, path)
  local value = get_bits(self, of, of.high - of.low, path, layout.expected(of))
  self:emit("%s = (double)((int64_t)%s + INT64_C(%.0f)) %s;", x, value, of.low,
    of.per and "/ " .. c_code.double(of.per) or "* " .. c_code.double(of.by))
end

local BYTES = {}

function BYTES.int(self, of, x, path)
  expect_bytes(self, path, of.bytes)
  self:emit("%s = (%s)perigee_get_int(r, %d);", x, self.types:name(of), of.bytes)
  if of.bytes == 8 then
    local least, most = layout.limits(of)
    self:refuse(of.signed and ("%s < INT64_C(%s) || %s > INT64_C(%s)"):format(x, least, x, most)
      or ("%s > UINT64_C(%s)"):format(x, most), path, "%p is not " .. layout.expected(of))
  end
end


function BYTES.float(self, of, x, path)
  expect_bytes(self, path, of.bytes)
  self:emit("%s = perigee_get_%s(r);", x, of.name)
  self:refuse(("!perigee_is_%s(%s)"):format(of.name, x), path, "%p is not " .. layout.expected(of))
end

local function get_uvarint(self, path)
  local value = self:fresh "n"
  self:emit("uint64_t %s;", value)
  expect_bytes(self, path, 1)
  self:refuse(("!perigee_get_uvarint(r, &%s)"):format(value), path, "%p is not a number")
  return value
end


function BYTES.varint(self, of, x, path)
  local value = get_uvarint(self, path)
  self:emit(of.signed and "%s = perigee_unzigzag(%s);" or "%s = %s;", x, value)
end

-- How many bytes or elements follow, each of which takes a byte or more.
local function get_size(self, of, path)
  local value = get_uvarint(self, path)
  self:refuse(("%s > %d || !perigee_has(r, (size_t)%s)"):format(value, of.most, value), path,
    "%p is not " .. layout.expected(of))
  return "(size_t)" .. value
end

local function check_memory(self, condition, path)
  self:refuse(condition, path, "%p takes more memory than there is")
end

local function copy(self, x, class, size, path)
  self:emit("%s.size = %s;", x, size)
  self:emit("%s.data = (const %s *)perigee_copy(r, %s);", x, class, size)
  check_memory(self, x .. ".data == NULL", path)
end


function BYTES.string(self, of, x, path)
  local size = get_size(self, of, path)
  self:refuse(("!perigee_is_utf8(r->data + r->at, %s)"):format(size), path,
    "%p is not " .. layout.expected(of))
  copy(self, x, "char", size, path)
end


function BYTES.bytes(self, of, x, path)
  copy(self, x, "uint8_t", get_size(self, of, path), path)
end


function BYTES.list(self, of, x, path)
  local count, items, name = get_size(self, of, path), self:fresh "t", self.types:name(of.of)
  self:emit("%s *%s = (%s *)perigee_take(r->memory, %s, sizeof(%s), PERIGEE_ALIGNED);", name, items, name,
    count, name)
  check_memory(self, ("%s == NULL && %s > 0"):format(items, count), path)
  BYTES.elements(self, of, items, path, count)
  self:emit("%s.items = %s;", x, items)
  self:emit("%s.count = %s;", x, count)
end

local walk = c_walk(BITS, BYTES, bit_part)


--- The statements that decode a value from `r`.
---@param types table as c_types makes them
---@param of table
---@param x string the value, in C
---@param path string of it, for faults, as printf takes it
---@param has string? whether it is there, where it is optional
---@return string
return function(types, of, x, path, has)
  local code = walk(types, "r", of, x, path, has)
  code:refuse("r->at != r->size", path, "%p: there are bytes behind the end of the message")
  return code:text()
end
