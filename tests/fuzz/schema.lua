--- Runs each input of fuzz_schema.c, with pointers that check their targets.

local ffi = require "ffi"

jit.off() -- because debug hooks do not see compiled code

-- Memory --------------------------------------------------------------------------------------

-- Replaces the bytes that generated code reads and writes, as { bytes, size, is_constant }.
local Memory = {}
Memory.__index = Memory

-- A checked pointer: { memory, at, class }.
local Pointer = {}

local function memory(size, text)
  local bytes = ffi.new("uint8_t[?]", math.max(size, 1))
  if text then ffi.copy(bytes, text, size) end
  return setmetatable({ bytes = bytes, size = size, is_constant = text ~= nil }, Memory)
end

local function point(to, at, class)
  return setmetatable({ memory = to, at = at, class = class }, Pointer)
end

-- Returns the real bytes at a pointer. Raises an error if the memory ends before.
local function reach(pointer, offset, size)
  local to, at = rawget(pointer, "memory"), rawget(pointer, "at") + offset
  if at < 0 or at + size > to.size then
    error(("%d bytes at %d of %d"):format(size, at, to.size), 3)
  end
  return to.bytes + at, to
end

function Pointer.__index(pointer, index)
  local class = rawget(pointer, "class")
  return ffi.cast(class.real, (reach(pointer, index * class.size, class.size)))[0]
end

function Pointer.__newindex(pointer, index, value)
  local class = rawget(pointer, "class")
  local bytes, to = reach(pointer, index * class.size, class.size)
  assert(not to.is_constant, "a write into what is read")
  ffi.cast(class.real, bytes)[0] = value
end

function Pointer.__add(pointer, offset)
  local class = rawget(pointer, "class")
  return point(rawget(pointer, "memory"), rawget(pointer, "at") + offset * class.size, class)
end

local function start_of(what)
  if type(what) == "string" then
    return memory(#what, what), 0
  elseif getmetatable(what) == Memory then
    return what, 0
  end
  return rawget(what, "memory"), rawget(what, "at")
end

local BYTE = { real = ffi.typeof "uint8_t *", size = 1 }

package.loaded.ffi = {
  abi = ffi.abi,
  typeof = function(name)
    return { real = ffi.typeof(name), size = ffi.sizeof((name:gsub("[ *]+$", ""))) }
  end,
  new = function(_, size) return memory(size) end,
  cast = function(class, what)
    local to, at = start_of(what)
    return point(to, at, class)
  end,
  copy = function(to, from, size)
    local target, source = point(start_of(to)), point(start_of(from))
    rawset(target, "class", BYTE)
    ffi.copy(reach(target, 0, size), reach(source, 0, size), size)
  end,
  string = function(from, size)
    local memory_of, at = start_of(from)
    return ffi.string(reach(point(memory_of, at, BYTE), 0, size), size)
  end,
}

-- Generated code is one line. This splits it into several, so that the fuzzer sees which of them run.
local load_text, BREAKS = load, {}
for word in ("and do else for if local or return then"):gmatch "%l+" do BREAKS[word] = true end

function load(text, ...) -- luacheck: ignore
  return load_text(text:gsub(" (%l+)%f[ ]", function(word)
    return BREAKS[word] and "\n" .. word or nil
  end), ...)
end

-- Checks --------------------------------------------------------------------------------------

local json_values = require "perigee.schema.json_values"
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"
local to_c = require "perigee.schema.to_c"
local to_js = require "perigee.schema.to_js"
local to_ts = require "perigee.schema.to_ts"
local types = require "perigee.schema.types"

local MESSAGES_MAX = 4 -- of the messages of a schema, this many are tested

local function check_bytes(encode, decode, bytes)
  local ok, value = decode(bytes)
  if ok then
    assert(encode(value) == bytes, "what was read would be written otherwise")
  else
    assert(type(value) == "string")
  end
end

local function check_value(of, encode, decode, random)
  local value = random_schema.value(random, of)
  local bytes = encode(value)
  local ok, decoded = decode(bytes)
  assert(ok and encode(decoded) == bytes, "what was written cannot be read")
  if of then
    assert(encode(json_values.from(of, json_values.to(of, value))) == bytes, "JSON has another value")
  end
  check_bytes(encode, decode, random_schema.damage(random, bytes))
end

return function(text, bytes)
  local ok, found = pcall(schema.parse, text, "s")
  if not ok then
    assert(type(found) == "string" and found:find "^s:%d+:%d+: [^\n]+\n  [^\n]*\n  %s*%^$", found)
    return
  end
  to_c.header(found, "game")
  to_js.module(found)
  to_ts.declarations(found)
  local random = random_schema.random(tonumber(types.hash(bytes) % 65536))
  for i = 1, math.min(#found.messages, MESSAGES_MAX) do
    local message = found.messages[i]
    check_bytes(message.encode, message.decode, bytes)
    check_bytes(message.encode_answer, message.decode_answer, bytes)
    check_value(message.value, message.encode, message.decode, random)
    check_value(message.answer, message.encode_answer, message.decode_answer, random)
  end
end
