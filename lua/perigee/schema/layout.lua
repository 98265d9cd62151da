--- Where each value is in the bytes, for the generators of encoders and decoders. A *scope* is what has
--- bits of its own: the value of a message, the content of an optional, an element. Its bits come
--- first, in the order of declaration, filled up with zeros to whole bytes; then all that consists of
--- bytes, in the same order.
---
---   scope = { bits = { leaf }, bit_count, bytes = { leaf }, shape, room }
---   leaf = { type, path, name, at (first bit), bits, inner (scope) }
---
--- `shape` tells how the parts make one value: a leaf, or { fields = { { key, shape } } }. `room` is the
--- most bytes that its own parts take, without what is in strings and inner scopes.

local layout = {}

local VARINT_MAX = 8 -- bytes of 2^53
local LENGTH_MAX = 4 -- bytes of a length or count: at most 2^24
local SHOWN_MAX = 12 -- words of an enum in an error

local BITS = { bool = 1, optional = 1 }

local function bits_of(type)
  return BITS[type.kind] or type.bits
end


--- Whether a type consists of bits alone, so that its array belongs to the bits of the scope.
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

-- A short array of numbers and the like is written out too: no loop, no inner scopes. It makes no
-- difference on the wire.
local WRITTEN_OUT = { int = 8, varint = 4, float = 8 }

local function is_written_out(type)
  return layout.is_bits(type.of) or type.count <= (WRITTEN_OUT[type.of.kind] or 0)
end

local function room_of(type)
  if type.kind == "int" or type.kind == "float" then
    return type.bytes
  end
  return type.kind == "varint" and VARINT_MAX or type.kind ~= "array" and LENGTH_MAX or 0
end

local add

local function add_parts(scope, type, path)
  local shape = { fields = {}, is_list = type.kind == "array", path = path, type = type }
  if shape.is_list then
    for i = 1, type.count do
      local inner = ("%s[%d]"):format(path, scope.first + i - 1)
      shape.fields[i] = { key = i, shape = add(scope, type.of, inner) }
    end
    return shape
  end
  for i, field in ipairs(type.fields) do
    shape.fields[i] = { key = field.name, shape = add(scope, field.type, path .. "." .. field.name) }
  end
  return shape
end

function add(scope, type, path)
  if type.kind == "record" or type.kind == "array" and is_written_out(type) then
    return add_parts(scope, type, path)
  end
  local leaf = { type = type, path = path }
  local bits = bits_of(type)
  if bits then
    leaf.at, leaf.bits = scope.bit_count, bits
    scope.bits[#scope.bits + 1], scope.bit_count = leaf, scope.bit_count + bits
  end
  if type.of then
    local is_element = type.kind ~= "optional"
    leaf.inner = layout.scope(type.of, is_element and path .. "[%d]" or path, scope.first)
  end
  if type.of or not bits then
    scope.bytes[#scope.bytes + 1] = leaf
    scope.room = scope.room + (type.kind == "optional" and 0 or room_of(type))
  end
  return leaf
end


--- The scope of a type.
---@param type table as schema.types makes it
---@param path string of its value, for messages; "%d" stands for the index of an element
---@param first integer the index of a list's first element, for messages
---@return table
function layout.scope(type, path, first)
  local scope = { bits = {}, bit_count = 0, bytes = {}, room = 0, first = first }
  scope.shape = add(scope, type, path)
  scope.bit_bytes = math.ceil(scope.bit_count / 8)
  scope.room = scope.room + 4 * math.ceil(scope.bit_count / 32)
  return scope
end


--- The least and the greatest of whole numbers, as text.
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


--- What a value of a type has to be, in words.
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
