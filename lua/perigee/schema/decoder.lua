--- Writes decoders; see generator.lua.

local generator = require "perigee.schema.generator"
local layout = require "perigee.schema.layout"

jit.off(true, true) -- as in generator.lua

local Decoder = generator.class "read"

-- Kinds whose bytes begin with a varint.
local BEGINS = { varint = true, string = true, bytes = true, list = true }

-- The greatest number that the bits of a kind can express.
local MOST = {
  enum = function(type) return #type.values - 1 end,
  steps = function(type) return type.high - type.low end,
}


function Decoder:bits(leaf)
  local steps, kind = self.steps, leaf.type.kind
  if leaf.element then
    return self:loop(leaf)
  end
  self:emit(steps.take_bits, leaf)
  if kind == "optional" then
    return self:emit(steps.mark, leaf)
  end
  leaf.most = MOST[kind] and MOST[kind](leaf.type)
  if leaf.most and leaf.most < 2 ^ leaf.bits - 1 then
    self:emit(steps.refuse_over, leaf, kind == "enum" and "a value of the enum" or nil)
  end
  leaf.value = self:fill(steps.value[kind], leaf)
  self:emit(self.dialect.set, leaf)
end

-- Writes one check for the size of several adjacent numbers.
local function check_run(self, leaf)
  local list = leaf.scope.bytes
  local before = list[leaf.position - 1]
  if not before or not before.size then
    leaf.run = 0
    for i = leaf.position, #list do
      if not list[i].size then
        break
      end
      leaf.run = leaf.run + list[i].size
    end
    self:advance()
    self:emit(self.steps.need, leaf)
  end
end


function Decoder:bytes(leaf)
  local type = leaf.type
  if leaf.size then
    check_run(self, leaf)
    self:emit(self.steps[type.name], leaf)
    self.offset = self.offset + leaf.size
    return
  end
  self:advance()
  if BEGINS[type.kind] then
    self:emit(self.steps.load_varint, leaf, "a number")
  end
  if type.kind == "list" or type.kind == "array" then
    self:loop(leaf)
    self:emit(self.steps.after[type.kind], leaf)
  else
    self:emit(self.steps[type.name or type.kind], leaf)
  end
  if type.kind == "optional" then
    self:scope(leaf.inner, leaf.x)
    self:emit(self.dialect.done)
  end
end

local function visit(self, shape, x, part)
  if not shape.fields and shape.has[part] then
    self:emit(self.dialect.open)
    self:visit(shape, x, part)
    self:emit(self.dialect.close)
  else
    self:visit(shape, x, part)
  end
end

local function read_bits(self, scope, x)
  local steps, bits = self.steps, scope.bits
  local function at(leaf)
    return { path = self.dialect.names_scopes and scope.path or leaf.path, run = scope.bit_bytes,
      count = scope.bit_count % 32 }
  end
  self:emit(steps.need_bits, at(bits[1]), "more bytes")
  self:emit(steps.begin_bits)
  visit(self, scope.shape, x, "bits")
  if scope.bit_count % 8 > 0 then
    self:emit(steps.refuse_rest, at(bits[#bits]), "zeros in the bits that fill up its byte")
  end
  self:emit(steps.end_bits)
  self.offset = scope.bit_bytes
end


--- Reads a scope into `target`, or into a new value.
---@return string x the value
function Decoder:scope(scope, target)
  local steps, x = self.steps, target
  self:advance()
  if steps.new then
    x = self:fresh "x"
    self:emit(steps.new, { x = x, value = scope.shape.fields and steps.template(scope.shape) or steps.none })
  end
  if scope.bit_count > 0 then
    read_bits(self, scope, x)
  end
  visit(self, scope.shape, x, "bytes")
  self:advance()
  if target and steps.new then
    self:emit(self.dialect.set, { x = target, value = x })
  end
  return x
end


--- Returns the body of a function that decodes a value, up to the `return`.
---@param dialect table
---@param of table type from schema.types
---@param path string path of the value in errors
---@param tables table filled here; see generator.new
---@param x string? the target; nil: a new value
---@param present string? expression that tests for an optional value, if separate
---@return string
return function(dialect, of, path, tables, x, present)
  local self, scope = generator.new(Decoder, dialect, tables), layout.scope(of, path, dialect)
  scope.shape.present = present
  self:emit(self.steps.finish, { value = self:scope(scope, x), path = path })
  return table.concat(self.lines, "\n")
end
