--- Writes encoders: see generator.lua.

local generator = require "perigee.schema.generator"
local layout = require "perigee.schema.layout"

local floor = math.floor
local fixed_size, has = generator.fixed_size, generator.has

local write_scope

-- Puts `bits` of an expression into the word that is being filled, and stores the word when it is.
local function write_bits(self, leaf, value)
  local dialect, shift = self.dialect, leaf.at % 32
  self:emit(shift == 0 and dialect.begin_word or dialect.fill_word, dialect.shift_left(value, shift))
  if shift + leaf.bits >= 32 then
    self:emit(dialect.store_word, floor(leaf.at / 32) * 4)
    if shift + leaf.bits > 32 then
      self:emit(dialect.begin_word, dialect.shift_right(value, 32 - shift))
    end
  end
end

local WRITE_BITS = {}

function WRITE_BITS.bool(self, leaf, x)
  self:emit(self.dialect.check_bool, x, self:place(leaf.path, layout.expected(leaf.type)))
  write_bits(self, leaf, self.dialect.bit_of(x))
end


function WRITE_BITS.optional(self, leaf, x)
  write_bits(self, leaf, self.dialect.presence_of(x))
end


function WRITE_BITS.enum(self, leaf, x)
  local index = self:fresh "n"
  self:emit(self.dialect.index_of, index, self:enum(leaf.type), x)
  self:emit(self.dialect.check_index, index, self:place(leaf.path, layout.expected(leaf.type)), x)
  write_bits(self, leaf, index)
end


function WRITE_BITS.steps(self, leaf, x)
  local type, steps = leaf.type, self:fresh "n"
  self:emit(self.dialect.check_range, x, ("%.17g"):format(type.min), ("%.17g"):format(type.max),
    self:place(leaf.path, layout.expected(type)))
  self:emit(self.dialect.to_steps, steps, x, type.per and "*" or "/", type.per or type.by, -type.low)
  write_bits(self, leaf, steps)
end

local WRITE = {}

local function check_whole(self, leaf, x)
  local least, most = layout.limits(leaf.type)
  self:emit(self.dialect.check_whole, x, least, most, self:place(leaf.path, layout.expected(leaf.type)))
end


function WRITE.int(self, leaf, x)
  local type = leaf.type
  check_whole(self, leaf, x)
  self:emit(self.dialect.store_int[(type.signed and "i" or "u") .. type.bytes * 8], self:here(), x)
  self.offset = self.offset + type.bytes
end


function WRITE.float(self, leaf, x)
  local type = leaf.type
  self:emit(self.dialect.check_float[type.bytes], x, self:place(leaf.path, layout.expected(type)))
  self:emit(self.dialect.store_float[type.bytes], self:here(), x)
  self.offset = self.offset + type.bytes
end


function WRITE.varint(self, leaf, x)
  self:settle()
  check_whole(self, leaf, x)
  if leaf.type.signed then
    self:emit(self.dialect.zigzag, x)
  end
  self:emit(self.dialect.store_varint, x)
end


function WRITE.string(self, leaf, x)
  self:settle()
  local place = self:place(leaf.path, layout.expected(leaf.type))
  self:emit((self.dialect["store_" .. leaf.type.kind]:gsub("@(%w+)", {
    x = x, most = tostring(leaf.type.most), place = place, room = tostring(leaf.room_after + 12),
  })))
end

WRITE.bytes = WRITE.string

function WRITE.optional(self, leaf, x)
  self:settle()
  self:emit(self.dialect.if_present, x)
  write_scope(self, leaf.inner, x)
  self:emit(self.dialect.close)
end

local function write_elements(self, leaf, x, count)
  local index, element = self:fresh "k", self:fresh "x"
  self:emit(self.dialect.each, index, count)
  self.indexes[#self.indexes + 1] = self.dialect.index(index)
  self:emit(self.dialect.element, element, x, index)
  write_scope(self, leaf.inner, element)
  table.remove(self.indexes)
  self:emit(self.dialect.close)
end


function WRITE.list(self, leaf, x)
  self:settle()
  local count = self:fresh "n"
  self:emit((self.dialect.list_size:gsub("@(%w+)", {
    x = x, n = count, most = tostring(leaf.type.most),
    place = self:place(leaf.path, layout.expected(leaf.type)),
  })))
  self:emit(self.dialect.store_varint, count)
  write_elements(self, leaf, x, count)
end


function WRITE.array(self, leaf, x)
  self:settle()
  self:emit(self.dialect.check_list, x, leaf.type.count, self:place(leaf.path, layout.expected(leaf.type)))
  write_elements(self, leaf, x, tostring(leaf.type.count))
end

local function write_leaf(self, leaf, x, part)
  if part == "bits" then
    return WRITE_BITS[leaf.type.kind](self, leaf, x)
  end
  WRITE[leaf.type.kind](self, leaf, x)
  if not fixed_size(leaf) and leaf.room_after > 0 and (leaf.type.of or leaf.type.kind == "varint") then
    self:emit(self.dialect.reserve, leaf.room_after)
  end
end

local function write_shape(self, shape, x, part)
  if not has(shape, part) then
    return
  elseif not shape.fields then
    return write_leaf(self, shape, x, part)
  end
  if part == "bits" or not has(shape, "bits") then
    local place = self:place(shape.path, layout.expected(shape.type))
    if shape.is_list then
      self:emit(self.dialect.check_list, x, #shape.fields, place)
    else
      self:emit(self.dialect.check_record, x, place)
      if self.dialect.check_names then
        self:emit(self.dialect.check_names, self:fresh "k", x, self:record(shape.type), place)
      end
    end
  end
  for _, field in ipairs(shape.fields) do
    if has(field.shape, part) then
      local inner = self:fresh "x"
      self:emit(self.dialect.open)
      self:emit(self.dialect.field(inner, x, field.key))
      write_shape(self, field.shape, inner, part)
      self:emit(self.dialect.close)
    end
  end
end

-- What the scope's own parts may still take behind each leaf.
local function measure_rooms(scope)
  local room = 0
  for i = #scope.bytes, 1, -1 do
    local leaf = scope.bytes[i]
    leaf.room_after = room
    room = room + (fixed_size(leaf) or 8)
  end
end

function write_scope(self, scope, x)
  self:settle()
  measure_rooms(scope)
  self:emit(self.dialect.reserve, scope.room + 8)
  if scope.bit_count > 0 then
    self:emit(self.dialect.begin_bits)
    write_shape(self, scope.shape, x, "bits")
    if scope.bit_count % 32 > 0 then
      self:emit(self.dialect.store_word, floor(scope.bit_count / 32) * 4)
    end
    self:emit(self.dialect.close)
    self.offset = scope.bit_bytes
  end
  write_shape(self, scope.shape, x, "bytes")
  self:settle()
end


--- The body of a function that encodes a value: `x` is the value, `at` where the next byte goes.
---@param dialect table
---@param scope table
---@param tables perigee.schema.Tables filled
---@return string
return function(dialect, scope, tables)
  local self = generator.new(dialect, tables)
  write_scope(self, scope, "x")
  return self:text()
end
