--- The position of each value in the bytes, for the generators of encoders and decoders. A *scope* is a part
--- with separate bits: the value of a message, the content of an optional, or an element. Its bits come
--- first, in the order of declaration, padded with zeros to whole bytes. The parts that consist of bytes
--- follow, in the same order.
---
---   scope = { path, bits = { leaf }, bit_count, bit_bytes, bytes = { leaf }, shape, room }
---   leaf = { type, path, scope, has, at (first bit), bits, size (bytes, if fixed),
---            position (in scope.bytes), inner (scope), element (shape, of an array in the bits) }
---
--- `shape` describes how the parts form one value. It is a leaf, or { type, path, has, fields = { { key,
--- shape } } }. The set `has` says whether the shape has `bits`, `bytes` or both. `room` is the largest
--- number of bytes of the scope's own parts, without the contents of strings and inner scopes.

jit.off(true, true) -- as in generator.lua

local layout = {}

local VARINT_MAX = 8 -- bytes of the varint of 2^53
local LENGTH_MAX = 4 -- bytes of the varint of a length or count, which is at most 2^24
local SHOWN_MAX = 12 -- words of an enum in an error

local BITS = { bool = 1, optional = 1 }

local function bits_of(type)
  return BITS[type.kind] or type.bits
end


--- Returns whether a type consists only of bits. An array of such a type belongs to the bits of its scope.
---@param type table
---@return boolean
function layout.is_bits(type)
  if type.kind == "record" then
    for _, field in ipairs(type.fields) do
      if not layout.is_bits(field.type) then
        return false
      end
    end
    return true
  end
  return type.kind == "array" and layout.is_bits(type.of)
    or type.kind ~= "optional" and type.kind ~= "array" and bits_of(type) ~= nil
end

-- A short array of numbers or of bits is written without a loop, like a record, unless the dialect prefers
-- loops. The encoded bytes do not depend on this.
local WRITTEN_OUT = { int = 8, varint = 4, float = 8 }

local function is_written_out(scope, type)
  return type.kind == "record" or type.kind == "array" and not scope.dialect.has_loops
    and (layout.is_bits(type.of) or type.count <= (WRITTEN_OUT[type.of.kind] or 0))
end

local function size_of(type)
  return (type.kind == "int" or type.kind == "float") and type.bytes or nil
end

local function room_of(type)
  return size_of(type) or type.kind == "varint" and VARINT_MAX
    or (type.kind == "array" or type.kind == "optional") and 0 or LENGTH_MAX
end

local add

local function add_parts(scope, type, path)
  local shape = { fields = {}, has = {}, path = path, type = type }
  for i = 1, type.count or #type.fields do
    local field = type.fields and type.fields[i]
    local inner = add(scope, field and field.type or type.of,
      field and path .. "." .. field.name or ("%s[%d]"):format(path, scope.dialect.first + i - 1))
    shape.fields[i] = { key = field and field.name or i, shape = inner }
    shape.has.bits = shape.has.bits or inner.has.bits
    shape.has.bytes = shape.has.bytes or inner.has.bytes
  end
  return shape
end

local function add_bits(scope, leaf, bits)
  leaf.at, leaf.bits, leaf.has.bits = scope.bit_count, bits, true
  scope.bits[#scope.bits + 1], scope.bit_count = leaf, scope.bit_count + bits
end

local function add_bytes(scope, leaf)
  leaf.has.bytes, leaf.size, leaf.position = true, size_of(leaf.type), #scope.bytes + 1
  scope.bytes[leaf.position], scope.room = leaf, scope.room + room_of(leaf.type)
end

function add(scope, type, path)
  if is_written_out(scope, type) then
    return add_parts(scope, type, path)
  end
  local leaf = { type = type, path = path, scope = scope, has = {} }
  local bits = bits_of(type)
  if bits then
    add_bits(scope, leaf, bits)
  end
  if type.of then
    local inner = layout.scope(type.of, type.kind == "optional" and path or path .. scope.dialect.index,
      scope.dialect)
    if type.kind == "array" and layout.is_bits(type) then
      leaf.element = inner.shape
      add_bits(scope, leaf, type.count * inner.bit_count)
      return leaf
    end
    leaf.inner = inner
  end
  if type.of or not bits then
    add_bytes(scope, leaf)
  end
  return leaf
end


--- Returns the scope of a type.
---@param type table type from schema.types
---@param path string path of the value in messages; `index` in it means the index of an element
---@param dialect { first: integer, index: string, has_loops: boolean? } `first`: a list's first index
---@return table
function layout.scope(type, path, dialect)
  local scope = { path = path, bits = {}, bit_count = 0, bytes = {}, room = 0, dialect = dialect }
  scope.shape = add(scope, type, path)
  scope.bit_bytes = math.ceil(scope.bit_count / 8)
  scope.room = scope.room + 4 * math.ceil(scope.bit_count / 32)
  return scope
end

local function varint_size(most)
  local size = 1
  while most >= 128 do
    size, most = size + 1, math.floor(most / 128)
  end
  return size
end


--- Returns the largest number of bytes of a scope, with all its contents.
---@param scope table
---@return integer
function layout.size(scope)
  local total = scope.bit_bytes
  for _, leaf in ipairs(scope.bytes) do
    local type, inner = leaf.type, leaf.inner and layout.size(leaf.inner) or 1
    total = total + (leaf.size or type.kind == "varint" and VARINT_MAX or type.kind == "optional" and inner
      or type.count and type.count * inner or varint_size(type.most) + type.most * inner)
  end
  return total
end


--- Returns the least and the greatest value of an integer type, as texts.
---@param type table
---@return string least
---@return string most
function layout.limits(type)
  if type.kind == "varint" then
    return type.signed and "-4503599627370496" or "0",
      type.signed and "4503599627370495" or "9007199254740991"
  end
  local bits = type.bytes * 8 - (type.signed and 1 or 0)
  local most = bits > 53 and 2 ^ 53 - 1 or 2 ^ bits - 1
  local least = not type.signed and 0 or bits > 53 and -most or -2 ^ bits
  return ("%.0f"):format(least), ("%.0f"):format(most)
end


--- Returns a description of the valid values of a type, for errors.
---@param type table
---@return string
function layout.expected(type)
  local kind = type.kind
  if kind == "bool" then
    return "true or false"
  elseif kind == "int" or kind == "varint" then
    return ("a whole number from %s to %s"):format(layout.limits(type))
  elseif kind == "float" then
    return type.bytes == 4 and "a number that f32 holds" or "a finite number"
  elseif kind == "steps" then
    return ("a number from %.14g to %.14g"):format(type.min, type.max)
  elseif kind == "string" then
    return ("a string of at most %d bytes of UTF-8"):format(type.most)
  elseif kind == "bytes" then
    return ("a string of at most %d bytes"):format(type.most)
  elseif kind == "enum" then
    local count = #type.values
    return (count == 1 and "" or "one of ") .. table.concat(type.values, ", ", 1, math.min(count, SHOWN_MAX))
      .. (count > SHOWN_MAX and (" ... (%d in all)"):format(count) or "")
  elseif kind == "list" then
    return ("a list of at most %d"):format(type.most)
  end
  return kind == "array" and ("a list of %d"):format(type.count) or "a table"
end

return layout
