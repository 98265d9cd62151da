--- Writes the encoder and the decoder of a type as straight code, one statement after the other, with
--- a loop for each list and nothing that depends on the type left to be looked up. What the statements
--- look like is a dialect's (lua_dialect, js_dialect); the order, the places and the checks are decided
--- here, once for all languages.

local layout = require "perigee.schema.layout"

local floor = math.floor

local Generator = {}
Generator.__index = Generator

local generate = {}

-- Adds a statement: `@1`, `@2` in its template stand for what follows.
function Generator:emit(template, ...)
  local values = { ... }
  self.lines[#self.lines + 1] = template:gsub("@(%d)", function(digit)
    return tostring(values[tonumber(digit)])
  end)
end

function Generator:fresh(letter)
  self.count = self.count + 1
  return letter .. self.count
end

-- The number of a place that errors name, and the indexes of the elements it is in.
function Generator:place(path, expected)
  local places = self.places
  places[#places + 1] = { path = path, expected = expected }
  return #places .. (#self.indexes > 0 and ", " .. table.concat(self.indexes, ", ") or "")
end

-- Whether a shape has leaves in the bits, or in the bytes.
local function has(shape, part)
  if not shape.fields then
    return part == "bits" and shape.bits ~= nil or part == "bytes" and (shape.type.of or not shape.bits)
  elseif shape[part] == nil then
    shape[part] = false
    for _, field in ipairs(shape.fields) do
      shape[part] = shape[part] or has(field.shape, part)
    end
  end
  return shape[part]
end

-- How many bytes follow at fixed distances: sizes of numbers, until something has no fixed size.
local function fixed_size(leaf)
  local kind = leaf.type.kind
  return (kind == "int" or kind == "float") and leaf.type.bytes or nil
end

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

function Generator:settle()
  if self.offset > 0 then
    self:emit(self.dialect.advance, self.offset)
    self.offset = 0
  end
end

function Generator:here()
  return self.offset == 0 and "at" or "at + " .. self.offset
end

-- Encoding -----------------------------------------------------------------------------------

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
  self.enums[#self.enums + 1] = leaf.type.values
  self:emit(self.dialect.index_of, index, #self.enums, x)
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

-- Decoding -----------------------------------------------------------------------------------

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
  self.enums[#self.enums + 1] = leaf.type.values
  if #leaf.type.values < 2 ^ leaf.bits then
    self:emit(self.dialect.refuse_over, value, #leaf.type.values - 1,
      self:place(leaf.path, "a value of the enum"))
  end
  self:emit(set(self.dialect.value_of(#self.enums, value)))
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


local function new(dialect, places, enums)
  return setmetatable({
    dialect = dialect, lines = {}, count = 0, offset = 0, indexes = {}, places = places, enums = enums,
  }, Generator)
end


--- The body of a function that encodes a value: `x` is the value, `at` where the next byte goes.
---@param dialect table
---@param scope table
---@param places table[] of errors, filled
---@param enums table[] lists of values that the code names by number, filled
---@return string
function generate.encoder(dialect, scope, places, enums)
  local self = new(dialect, places, enums)
  write_scope(self, scope, "x")
  return table.concat(self.lines, "\n")
end


--- The body of a function that decodes a value, up to the `return`.
---@param dialect table
---@param scope table
---@param places table[]
---@param enums table[]
---@return string
function generate.decoder(dialect, scope, places, enums)
  local self = new(dialect, places, enums)
  read_scope(self, scope, dialect.finish)
  return table.concat(self.lines, "\n")
end

return generate
