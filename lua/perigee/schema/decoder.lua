--- Writes decoders: see generator.lua.

local generator = require "perigee.schema.generator"
local layout = require "perigee.schema.layout"

local floor = math.floor
local fixed_size, has = generator.fixed_size, generator.has

local function position_of(scope, leaf)
  for i, other in ipairs(scope.bytes) do
    if other == leaf then
      return i
    end
  end
end

-- Fixed bytes from this leaf on.
local function run_from(scope, leaf)
  local size = 0
  for i = position_of(scope, leaf), #scope.bytes do
    local fixed = fixed_size(scope.bytes[i])
    if not fixed then
      break
    end
    size = size + fixed
  end
  return size
end

local read_scope

-- A leaf's bits as a number from 0 to 2^bits - 1.
local function read_bits(self, scope, leaf)
  local dialect, shift, value = self.dialect, leaf.at % 32, self:fresh "n"
  local first = floor(leaf.at / 32) * 4
  local function load_word(at)
    self:emit(dialect.load_word(at, math.min(4, scope.bit_bytes - at)))
  end
  if shift == 0 then
    load_word(first)
  end
  if shift + leaf.bits <= 32 then
    self:emit(dialect.take_bits(value, shift, leaf.bits))
  else
    self:emit(dialect.keep_bits, value, shift)
    load_word(first + 4)
    self:emit(dialect.add_bits(value, 32 - shift, leaf.bits))
  end
  return value
end

local READ_BITS = {}

function READ_BITS.bool(self, scope, leaf, set)
  self:emit(set((self.dialect.is_one:gsub("@1", read_bits(self, scope, leaf)))))
end


function READ_BITS.optional(self, scope, leaf, set)
  leaf.mark = self:fresh "m"
  self:emit(self.dialect.mark(leaf.mark, read_bits(self, scope, leaf), set))
end


function READ_BITS.enum(self, scope, leaf, set)
  local value = read_bits(self, scope, leaf)
  if #leaf.type.values < 2 ^ leaf.bits then
    self:emit(self.dialect.refuse_over, value, #leaf.type.values - 1,
      self:place(leaf.path, "a value of the enum"))
  end
  self:emit(set(self.dialect.value_of(self:enum(leaf.type), value)))
end


function READ_BITS.steps(self, scope, leaf, set)
  local type, value = leaf.type, read_bits(self, scope, leaf)
  local most = type.high - type.low
  if most < 2 ^ type.bits - 1 then
    self:emit(self.dialect.refuse_over, value, most, self:place(leaf.path, layout.expected(type)))
  end
  self:emit(set(("(%s + %d) %s %d"):format(value, type.low, type.per and "/" or "*", type.per or type.by)))
end

local READ = {}

function READ.int(self, _, leaf, set)
  local type = leaf.type
  if type.bytes < 8 then
    local load = self.dialect.load_int[(type.signed and "i" or "u") .. type.bytes * 8]
    self:emit(set((load:gsub("@1", self:here()))))
  else
    local x = self:fresh "n"
    self:emit(self.dialect.load_long, x, self.offset + 4, self.offset)
    self:emit(self.dialect.check_long[type.signed and "i" or "u"], x,
      self:place(leaf.path, layout.expected(type)))
    self:emit(set(x))
  end
  self.offset = self.offset + type.bytes
end


function READ.float(self, _, leaf, set)
  local x = self:fresh "n"
  self:emit(self.dialect.load_float[leaf.type.bytes], x, self:here(),
    self:place(leaf.path, layout.expected(leaf.type)))
  self.offset = self.offset + leaf.type.bytes
  self:emit(set(x))
end

local function load_varint(self, leaf)
  local x = self:fresh "n"
  self:emit((self.dialect.load_varint:gsub("@(%w+)", { x = x, place = self:place(leaf.path, "a number") })))
  return x
end


function READ.varint(self, _, leaf, set)
  local x = load_varint(self, leaf)
  self:emit(set(leaf.type.signed and self.dialect.unzigzag(x) or x))
end


function READ.string(self, _, leaf, set)
  local x = load_varint(self, leaf)
  self:emit((self.dialect["load_" .. leaf.type.kind]:gsub("@(%w+)", {
    x = x, most = tostring(leaf.type.most), place = self:place(leaf.path, layout.expected(leaf.type)),
  })))
  self:emit(set(x))
end

READ.bytes = READ.string

function READ.optional(self, _, leaf, set, get)
  self:emit(self.dialect.if_marked(leaf.mark, get))
  read_scope(self, leaf.inner, set)
  self:emit(self.dialect.close)
end

local function read_elements(self, leaf, set, count)
  local list, index = self:fresh "t", self:fresh "k"
  self:emit(self.dialect.new_list, list, count)
  self:emit(self.dialect.each, index, count)
  self.indexes[#self.indexes + 1] = self.dialect.index(index)
  read_scope(self, leaf.inner, function(value)
    return self.dialect.set_element(list, index, value)
  end)
  table.remove(self.indexes)
  self:emit(self.dialect.close)
  self:emit(set(list))
end


function READ.list(self, _, leaf, set)
  local count = load_varint(self, leaf)
  self:emit(self.dialect.refuse_count, count, leaf.type.most,
    self:place(leaf.path, layout.expected(leaf.type)))
  read_elements(self, leaf, set, count)
end


function READ.array(self, _, leaf, set)
  self:emit(self.dialect.refuse_short, leaf.type.count, self:place(leaf.path, layout.expected(leaf.type)))
  read_elements(self, leaf, set, tostring(leaf.type.count))
end

-- One check for all numbers that follow each other.
local function read_leaf(self, scope, leaf, set, part, get)
  if part == "bits" then
    return READ_BITS[leaf.type.kind](self, scope, leaf, set)
  end
  local before = scope.bytes[position_of(scope, leaf) - 1]
  if not fixed_size(leaf) then
    self:settle()
  elseif not before or not fixed_size(before) then
    self:settle()
    self:emit(self.dialect.refuse_short, run_from(scope, leaf),
      self:place(leaf.path, layout.expected(leaf.type)))
  end
  READ[leaf.type.kind](self, scope, leaf, set, get)
end

local function read_shape(self, scope, shape, target, part)
  for _, field in ipairs(shape.fields) do
    local inner = field.shape
    if has(inner, part) and inner.fields then
      local t = self:fresh "t"
      self:emit(self.dialect.open)
      self:emit(self.dialect.part(t, target, field.key))
      read_shape(self, scope, inner, t, part)
      self:emit(self.dialect.close)
    elseif has(inner, part) then
      self:emit(self.dialect.open)
      read_leaf(self, scope, inner, function(value)
        return self.dialect.set_part(target, field.key, value)
      end, part, self.dialect.get_part(target, field.key))
      self:emit(self.dialect.close)
    end
  end
end

local function read_both(self, scope, read)
  if scope.bit_count > 0 then
    self:emit(self.dialect.refuse_short, scope.bit_bytes, self:place(scope.bits[1].path, "more bytes"))
    self:emit(self.dialect.begin_bits)
    read "bits"
    if scope.bit_count % 8 > 0 then
      self:emit(self.dialect.refuse_rest, scope.bit_count % 32,
        self:place(scope.bits[#scope.bits].path, "zeros in the bits that fill up its byte"))
    end
    self:emit(self.dialect.close)
    self.offset = scope.bit_bytes
  end
  read "bytes"
  self:settle()
end

function read_scope(self, scope, set)
  self:settle()
  local shape, x = scope.shape, self:fresh "x"
  if shape.fields then
    self:emit(self.dialect.new_value, x, self.dialect.template(shape))
    read_both(self, scope, function(part) read_shape(self, scope, shape, x, part) end)
  else
    self:emit(self.dialect.new_value, x, self.dialect.none)
    read_both(self, scope, function(part)
      if has(shape, part) then
        self:emit(self.dialect.open)
        read_leaf(self, scope, shape, function(value) return self.dialect.set(x, value) end, part, x)
        self:emit(self.dialect.close)
      end
    end)
  end
  self:emit(set(x))
end


--- The body of a function that decodes a value, up to the `return`.
---@param dialect table
---@param scope table
---@param tables perigee.schema.Tables filled
---@return string
return function(dialect, scope, tables)
  local self = generator.new(dialect, tables)
  read_scope(self, scope, dialect.finish)
  return self:text()
end
