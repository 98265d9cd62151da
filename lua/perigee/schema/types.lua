--- Resolves declarations: finds the types that names mean, their limits, and the numbers of messages. The
--- result contains structs and enums in expanded form, so that its users need no names:
---
---   { kind = "bool" }                         one bit
---   { kind = "int", bytes, signed }           u8 to i64
---   { kind = "varint", signed }
---   { kind = "float", bytes }
---   { kind = "steps", low, high, per | by, bits, min, max }   f32(min..max, step): whole numbers of steps
---   { kind = "string" | "bytes", most }
---   { kind = "enum", values, bits }
---   { kind = "optional", of }
---   { kind = "array", of, count }, { kind = "list", of, most }
---   { kind = "record", fields = { { name, type } } }
---
--- All uses of a struct or an enum share one table, which contains its name for listings.

local bit = require "bit"
local fault = require "perigee.schema.fault"
local sorted_keys = require "perigee.util.sorted_keys"

local types = {}

local LEAVES_MAX = 1000 -- values in one message, with everything expanded
local INNER_MAX = 250 -- values in an element or an optional, because Lua compiles no larger loop
local ALL_MAX = 20000 -- values in all messages
local WORDS_MAX = 1000 -- words of an enum
local DEPTH_MAX = 16 -- depth of nested types
local BYTES_MAX = 65535 -- bytes; limit of a string or of bytes if the schema gives none
local COUNT_MAX = 65535 -- elements; limit of a list if the schema gives none
local STEPS_MAX = 2 ^ 32
local FAR = 2 ^ 40 -- greatest distance from 0 in steps, because larger numbers are less exact than one step

local function int(name)
  return {
    kind = "int", name = name, signed = name:sub(1, 1) == "i", bytes = tonumber(name:sub(2)) / 8,
  }
end

local BASES = {
  bool = { kind = "bool" },
  uvarint = { kind = "varint", name = "uvarint" },
  varint = { kind = "varint", signed = true, name = "varint" },
  f32 = { kind = "float", bytes = 4, name = "f32" }, f64 = { kind = "float", bytes = 8, name = "f64" },
  string = { kind = "string", most = BYTES_MAX }, bytes = { kind = "bytes", most = BYTES_MAX },
}
for _, name in ipairs { "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64" } do
  BASES[name] = int(name)
end

-- The names of types in a schema, by the names that other languages use.
local MEANT = {
  int = "i32, or varint for any whole number", integer = "i32, or varint for any whole number",
  uint = "u32, or uvarint", byte = "u8", short = "i16", long = "i64",
  number = "f64, or f32(min..max, step)", float = "f32", double = "f64",
  boolean = "bool", text = "string", str = "string", blob = "bytes", binary = "bytes",
  list = "u8[] for a list of u8", array = "u8[] for a list of u8", vector = "u8[] for a list of u8",
  optional = "u8? for an optional u8", map = "a list of structs", table = "a struct",
}


--- Returns the number of bits that the numbers from 0 to `most` need, at least 1.
---@param most integer below 2^32
---@return integer
function types.bits_for(most)
  local bits = 1
  while 2 ^ bits <= most do
    bits = bits + 1
  end
  return bits
end

-- Types --------------------------------------------------------------------------------------

local function near_whole(value)
  local whole = math.floor(value + 0.5)
  return math.abs(value - whole) < 1e-9 * math.max(1, math.abs(value)) and whole or nil
end

-- A step is a whole number, or 1 divided by a whole number. A number of steps is therefore exactly a number
-- in decimal digits.
local function make_steps(context, node)
  local min, max, step, at = node.first, node.last, node.step, node.arguments_at
  local function fail(...)
    fault.raise(context.source, at, ...)
  end
  local by = step >= 1 and near_whole(step)
  local per = step > 0 and step < 1 and near_whole(1 / step) or nil
  if not by and not per or step > FAR then
    fail("the step %s is neither a whole number nor 1 divided by one, such as 0.01, 0.25, 1 or 5", step)
  elseif min >= max then
    fail("the range %s..%s is empty; the smaller number comes first", min, max)
  end
  local low, high = near_whole(per and min * per or min / by), near_whole(per and max * per or max / by)
  if not low or not high then
    fail("the range %s..%s does not begin and end on a step of %s", min, max, step)
  elseif high - low >= STEPS_MAX then
    fail("%.0f steps are too many; 2^32 is the most (f64 has no steps)", high - low)
  elseif math.max(-low, high) > FAR then
    fail("the range is too far from 0 for steps of %s", step)
  end
  return {
    kind = "steps", low = low, high = high, per = per, by = by or nil,
    -- the range that the decoder returns
    min = per and low / per or low * by, max = per and high / per or high * by,
    bits = types.bits_for(high - low),
  }
end

local function make_sized(context, node)
  if node.last or node.first % 1 ~= 0 or node.first < 1 or node.first > 2 ^ 24 then
    fault.raise(context.source, node.arguments_at, "%s(n): n is the most bytes, a whole number from 1 to %d",
      node.name, 2 ^ 24)
  end
  return { kind = node.name, most = node.first }
end

local resolve

local RESOLVE = {}

function RESOLVE.named(context, node, depth)
  local base = BASES[node.name]
  if node.first then
    if node.name == "f32" and node.last then
      return make_steps(context, node)
    elseif node.name == "string" or node.name == "bytes" then
      return make_sized(context, node)
    end
    fault.raise(context.source, node.at, "%s takes nothing in parentheses; string(most bytes), bytes(most "
      .. "bytes) and f32(min..max, step) do", node.name)
  elseif base then
    return base
  end
  local declared = context.named[node.name]
  if not declared then
    local hint = fault.hint(node.name, sorted_keys(BASES, context.named))
    local other = MEANT[node.name:lower()]
    fault.raise(context.source, node.at, "there is no type `%s`%s", node.name,
      hint ~= "" and hint or other and "; write " .. other or "; declare it as a struct or an enum")
  end
  return context.resolve_declared(declared, node, depth)
end


local function check_inner(context, node, of)
  if of.leaves > INNER_MAX then
    fault.raise(context.source, node.at, "more than %d values in what is optional or repeated", INNER_MAX)
  end
end


function RESOLVE.optional(context, node, depth)
  local of = resolve(context, node.of, depth)
  if of.kind == "optional" then
    fault.raise(context.source, node.at, "one `?` is enough")
  end
  check_inner(context, node, of)
  return { kind = "optional", of = of }
end

local function check_element(context, node, of)
  if of.kind == "optional" then
    fault.raise(context.source, node.at, "the elements of a list cannot be optional; leave them out")
  end
  check_inner(context, node, of)
end


function RESOLVE.list(context, node, depth)
  local of = resolve(context, node.of, depth)
  check_element(context, node, of)
  return { kind = "list", of = of, most = node.most or COUNT_MAX }
end


function RESOLVE.array(context, node, depth)
  local of = resolve(context, node.of, depth)
  check_element(context, node, of)
  return { kind = "array", of = of, count = node.count }
end


function RESOLVE.record(context, node, depth)
  local fields, seen = {}, {}
  for i, field in ipairs(node.fields) do
    if seen[field.name] then
      fault.raise(context.source, field.at, "there is a field %s already, in line %d", field.name,
        fault.line(context.source, seen[field.name]))
    end
    if field.name == "__proto__" then
      fault.raise(context.source, field.at, "JavaScript has no field of this name")
    end
    seen[field.name] = field.at
    fields[i] = { name = field.name, type = resolve(context, field.type, depth) }
  end
  if #fields == 0 then
    fault.raise(context.source, node.at, "there are no fields between the braces; a message without a value "
      .. "has no braces")
  end
  return { kind = "record", fields = fields }
end


-- Sets the depth of a type, and its number of values in expanded form. A struct itself counts as one value.
-- All elements of an array count, but a list counts as if it had one element.
local function measure(type)
  local depth, leaves = 0, 1
  for _, field in ipairs(type.fields or {}) do
    depth, leaves = math.max(depth, field.type.depth), leaves + field.type.leaves
  end
  if type.of then
    depth = type.of.depth
    leaves = type.kind == "array" and type.count * type.of.leaves or 1 + type.of.leaves
  end
  type.depth, type.leaves = depth + 1, leaves
  return type
end


function resolve(context, node, depth)
  local type = depth < DEPTH_MAX and measure(RESOLVE[node.kind](context, node, depth + 1))
  if not type or type.depth > DEPTH_MAX then
    fault.raise(context.source, node.at, "types within types, more than %d deep", DEPTH_MAX)
  end
  return type
end

-- Structs and enums --------------------------------------------------------------------------

local function make_enum(context, declared)
  local values, seen = {}, {}
  for i, value in ipairs(declared.values) do
    if seen[value.name] then
      fault.raise(context.source, value.at, "%s is a value of %s already", value.name, declared.name)
    end
    seen[value.name], values[i] = true, value.name
  end
  if #values > WORDS_MAX then
    fault.raise(context.source, declared.at, "the enum %s has more than %d values", declared.name, WORDS_MAX)
  end
  if #values == 0 then
    fault.raise(context.source, declared.at, "the enum %s has no values", declared.name)
  end
  return { kind = "enum", values = values, bits = types.bits_for(#values - 1), name = declared.name }
end

local function make_struct(context, declared, user, depth)
  if declared.is_open then
    fault.raise(context.source, user.at, "%s holds itself, which a struct cannot", declared.name)
  end
  declared.is_open = true
  local made = resolve(context, declared.type, depth)
  declared.is_open = nil
  made.name = declared.name
  return made
end

local function resolver(context)
  return function(declared, user, depth)
    if not declared.made then
      declared.made = declared.what == "enum" and make_enum(context, declared)
        or make_struct(context, declared, user, depth)
    end
    return declared.made
  end
end


local function check_size(context, message, type)
  if type.leaves > LEAVES_MAX then
    fault.raise(context.source, message.at, "%s has more than %d values with its structs and arrays [n] "
      .. "written out; a list [..n] counts once", message.name, LEAVES_MAX)
  end
  context.leaves = context.leaves + type.leaves
  if context.leaves > ALL_MAX then
    fault.raise(context.source, message.at, "the messages up to %s have more than %d values together",
      message.name, ALL_MAX)
  end
end

-- Numbers ------------------------------------------------------------------------------------

local GIVEN_MAX = 1023 -- numbers above this are derived from names


--- Returns the 64-bit FNV-1a of a text.
---@param text string
---@return integer uint64_t
function types.hash(text)
  local hash = 0xcbf29ce484222325ULL
  for i = 1, #text do
    hash = bit.bxor(hash, text:byte(i)) * 0x100000001b3ULL
  end
  return hash
end

-- Returns a number derived from the hash of a name.
local function number_of(name)
  return GIVEN_MAX + 1 + tonumber(types.hash(name) % (65535 - GIVEN_MAX))
end

local function assign_numbers(context, messages)
  local taken = {}
  for _, message in ipairs(messages) do
    local number = message.number or number_of(message.name)
    local other = taken[number]
    if other then
      fault.raise(context.source, message.number_at or message.at, message.number and other.is_given
        and "%d is the number of %s already"
        or "%d would be the number of %s as well; give one of them another: `message NAME = 1`", number,
        other.name)
    end
    message.is_given, message.number = message.number ~= nil, number
    taken[number] = message
  end
end

-- The whole schema -----------------------------------------------------------------------------

local function know(context, declared)
  local known = declared.what == "message" and context.messages or context.named
  local other = known[declared.name]
  if declared.what ~= "message" and BASES[declared.name] then
    fault.raise(context.source, declared.at, "%s is a type of the language already", declared.name)
  elseif other then
    fault.raise(context.source, declared.at, "there is a %s %s already, in line %d", other.what,
      declared.name, fault.line(context.source, other.at))
  end
  known[declared.name] = declared
end


--- Returns the messages of a schema, sorted by number: { name, number, is_given, value?, answer? }. Raises an
--- error if the schema is wrong.
---@param source { text: string, path: string }
---@param declarations table[] result of schema.reader
---@return table[]
function types.resolve(source, declarations)
  local context = { source = source, named = {}, messages = {}, leaves = 0 }
  local messages = {}
  context.resolve_declared = resolver(context)
  for _, declared in ipairs(declarations) do
    know(context, declared)
  end
  for _, declared in ipairs(declarations) do
    if declared.what == "message" then
      messages[#messages + 1] = declared
    else
      context.resolve_declared(declared, declared, 0)
    end
  end
  for _, message in ipairs(messages) do
    for _, part in ipairs { "value", "answer" } do
      message[part] = message[part] and resolve(context, message[part], 0)
      if message[part] then
        check_size(context, message, message[part])
      end
    end
  end
  assign_numbers(context, messages)
  table.sort(messages, function(a, b) return a.number < b.number end)
  return messages
end

return types
