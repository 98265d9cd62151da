--- Writes encoders; see generator.lua.

local generator = require "perigee.schema.generator"
local layout = require "perigee.schema.layout"

jit.off(true, true) -- as in generator.lua

local Encoder = generator.class "write"


function Encoder:bits(leaf)
  if leaf.element then
    return self:loop(leaf)
  end
  self:emit(self.steps.check[leaf.type.kind], leaf)
  leaf.value = self:fill(self.steps.bits[leaf.type.kind], leaf)
  self:emit(self.steps.put_bits, leaf)
end


function Encoder:bytes(leaf)
  local type = leaf.type
  if leaf.size then
    self:emit(self.steps[type.name], leaf)
    self.offset = self.offset + leaf.size
    return
  end
  self:advance()
  if type.kind == "list" or type.kind == "array" then
    self:loop(leaf)
  else
    self:emit(self.steps[type.name or type.kind], leaf)
  end
  if type.kind == "optional" then
    self:scope(leaf.inner, leaf.x)
    self:emit(self.dialect.done)
  end
  if leaf.room > 0 and (type.of or type.kind == "varint") then
    self:emit(self.steps.reserve, { need = leaf.room })
  end
end

-- Sets `room` of each leaf to the largest number of bytes that the later parts of the scope need.
local function measure_rooms(scope)
  local room = 0
  for i = #scope.bytes, 1, -1 do
    scope.bytes[i].room = room
    room = room + (scope.bytes[i].size or 8)
  end
end


function Encoder:scope(scope, x)
  self:advance()
  measure_rooms(scope)
  self:emit(self.steps.reserve, { need = scope.room + 8 })
  if scope.bit_count > 0 then
    self:emit(self.steps.begin_bits)
    self:visit(scope.shape, x, "bits")
    self:emit(self.steps.end_bits, scope)
    self.offset = scope.bit_bytes
  end
  self:visit(scope.shape, x, "bytes")
  self:advance()
end


--- Returns the body of a function that encodes a value.
---@param dialect table
---@param of table type from schema.types
---@param path string path of the value in errors
---@param tables table filled here; see generator.new
---@param x string? the value
---@param present string? expression that tests for an optional value, if separate
---@return string
return function(dialect, of, path, tables, x, present)
  local self, scope = generator.new(Encoder, dialect, tables), layout.scope(of, path, dialect)
  scope.shape.present = present
  self:scope(scope, x or "x")
  return table.concat(self.lines, "\n")
end
