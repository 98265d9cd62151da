--- Writes encoders in C: see c_walk.lua.

local c_code = require "perigee.schema.c_code"
local c_walk = require "perigee.schema.c_walk"
local layout = require "perigee.schema.layout"

local function expect(self, of, condition, path, got, ...)
  self:refuse(condition, path, "%p: expected " .. layout.expected(of) .. (got and ", got " .. got or ""), ...)
end

local function put_bits(self, value, count)
  self:emit("perigee_put_bits(w, %s, %d);", value, count)
end

local BITS = {}

function BITS.bool(self, _, x)
  put_bits(self, x .. " ? 1u : 0u", 1)
end


function BITS.optional(self, _, _, _, has)
  put_bits(self, has .. " ? 1u : 0u", 1)
end


function BITS.enum(self, of, x, path)
  expect(self, of, ("!perigee_is_below((size_t)%s, %d)"):format(x, #of.values), path, "%d", "(int)" .. x)
  put_bits(self, "(uint64_t)" .. x, of.bits)
end


function BITS.steps(self, of, x, path)
  local least, most = c_code.double(of.min), c_code.double(of.max)
  expect(self, of, ("!(%s >= %s && %s <= %s)"):format(x, least, x, most), path, "%g", x)
  put_bits(self, ("(uint64_t)(perigee_round(%s %s) - INT64_C(%.0f))"):format(x,
    of.per and "* " .. c_code.double(of.per) or "/ " .. c_code.double(of.by), of.low), of.bits)
end

-- Fills up the last byte with zeros.
local function bit_part(self, count, _, write)
  write()
  if count > 0 then
    self:emit "perigee_end_bits(w);"
  end
end

local BYTES = {}

-- What the type in C has that the schema has not.
local function check_whole(self, of, x, path)
  local least, most = layout.limits(of)
  local condition = ("%s > INT64_C(%s)"):format(x, most)
  if of.signed then
    condition = ("%s < INT64_C(%s) || %s"):format(x, least, condition)
  else
    condition = condition:gsub("INT64_C", "UINT64_C")
  end
  expect(self, of, condition, path, of.signed and "%lld" or "%llu",
    ("(%s long long)%s"):format(of.signed and "signed" or "unsigned", x))
end


function BYTES.int(self, of, x, path)
  if of.bytes == 8 then
    check_whole(self, of, x, path)
  end
  self:emit("perigee_put_int(w, (uint64_t)%s, %d);", x, of.bytes)
end


function BYTES.varint(self, of, x, path)
  check_whole(self, of, x, path)
  self:emit("perigee_put_%s(w, %s);", of.name, x)
end


function BYTES.float(self, of, x, path)
  local name = of.name
  expect(self, of, ("!perigee_is_%s(%s)"):format(name, x), path, "%g", "(double)" .. x)
  self:emit("perigee_put_%s(w, %s);", name, x)
end


function BYTES.string(self, of, x, path)
  expect(self, of, ("!perigee_is_text(%s, %d)"):format(x, of.most), path)
  self:emit("perigee_put_sized(w, %s.data, %s.size);", x, x)
end


function BYTES.bytes(self, of, x, path)
  expect(self, of, ("%s.size > %d || (%s.data == NULL && %s.size > 0)"):format(x, of.most, x, x), path)
  self:emit("perigee_put_sized(w, %s.data, %s.size);", x, x)
end


function BYTES.list(self, of, x, path)
  expect(self, of, ("%s.count > %d || (%s.items == NULL && %s.count > 0)"):format(x, of.most, x, x), path)
  self:emit("perigee_put_uvarint(w, %s.count);", x)
  BYTES.elements(self, of, x .. ".items", path, x .. ".count")
end

local walk = c_walk(BITS, BYTES, bit_part)


--- The statements that encode a value into `w`.
---@param types table as c_types makes them
---@param of table
---@param x string the value, in C
---@param path string of it, for faults, as printf takes it
---@param has string? whether it is there, where it is optional
---@return string
return function(types, of, x, path, has)
  return walk(types, "w", of, x, path, has):text()
end
