--- Writes encoders in C: see c_code.lua.

local c_code = require "perigee.schema.c_code"
local layout = require "perigee.schema.layout"

local write_bits, write_bytes

local function write_scope(self, of, x, path, has)
  write_bits(self, of, x, path, has)
  if c_code.bits(of) > 0 then
    self:emit "perigee_end_bits(w);"
  end
  write_bytes(self, of, x, path, has)
end

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


function BITS.record(self, of, x, path)
  self:each_field(of, x, path, write_bits)
end


function BITS.array(self, of, x, path)
  if layout.is_bits(of) then
    self:each(of.count, function(index)
      write_bits(self, of.of, ("%s[%s]"):format(x, index), path .. "[%zu]")
    end)
  end
end


function write_bits(self, of, x, path, has)
  if BITS[of.kind] then
    BITS[of.kind](self, of, x, path, has)
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


function BYTES.optional(self, of, x, path, has)
  self:open("if (%s) {", has)
  write_scope(self, of.of, x, path)
  self:close()
end


function BYTES.record(self, of, x, path)
  self:each_field(of, x, path, write_bytes)
end


function BYTES.list(self, of, x, path)
  expect(self, of, ("%s.count > %d || (%s.items == NULL && %s.count > 0)"):format(x, of.most, x, x), path)
  self:emit("perigee_put_uvarint(w, %s.count);", x)
  self:each(x .. ".count", function(index)
    local item = ("%s.items[%s]"):format(x, index)
    write_scope(self, of.of, of.of.kind == "array" and item .. ".items" or item, path .. "[%zu]")
  end)
end


function BYTES.array(self, of, x, path)
  if not layout.is_bits(of) then
    self:each(of.count, function(index)
      write_scope(self, of.of, ("%s[%s]"):format(x, index), path .. "[%zu]")
    end)
  end
end


function write_bytes(self, of, x, path, has)
  if BYTES[of.kind] then
    BYTES[of.kind](self, of, x, path, has)
  end
end


--- The statements that encode a value into `w`.
---@param types table as c_types makes them
---@param of table
---@param x string the value, in C
---@param path string of it, for faults, as printf takes it
---@param has string? whether it is there, where it is optional
---@return string
return function(types, of, x, path, has)
  local self = c_code.new(types)
  self.state = "w"
  write_scope(self, of, x, path, has)
  return self:text()
end
