--- Makes the encoders and decoders of a schema's types: runs the generated Lua, and has the functions that it
--- calls. Errors of an encoder name the path of the field and the expected value.

local bit = require "bit"
local decoder = require "perigee.schema.decoder"
local describe = require "perigee.util.describe"
local encoder = require "perigee.schema.encoder"
local ffi = require "ffi"
local generator = require "perigee.schema.generator"
local lua_dialect = require "perigee.schema.lua_dialect"
local new_list = require "table.new"

local cast, copy, floor, text_of = ffi.cast, ffi.copy, math.floor, ffi.string
local load, next, rawget, type = load, next, rawget, type
local band, bor, sub = bit.band, bit.bor, string.sub

--- `raise` gets the text of an error and must raise an error.
local codec = {
  raise = function(text) error(describe.where() .. text, 0) end,
}

local START_BYTES = 64 * 1024 -- bytes; first size of the buffer, which grows for larger messages
local BYTES_MAX = 8 * 2 ^ 20 -- bytes; limit of one message, larger than any max_payload
local VARINT_BYTES = 8
local CHUNK = "@lua/perigee/schema/generated.lua"
local SHOWN_MAX = 40 -- bytes; a longer text in an error is cut

assert(ffi.abi "le", "the encoders of schemas write in the machine's order, which has to be little-endian")

local pointer, reading = ffi.typeof "uint8_t *", ffi.typeof "const uint8_t *"
local i32, u32 = ffi.typeof "int32_t *", ffi.typeof "uint32_t *"

-- Buffer of the message that is being encoded. One buffer suffices, because an encoder never calls another
-- message's encoder.
local base = ffi.new("uint8_t[?]", START_BYTES)
local buffer = base

local function grow(at, need)
  local size = START_BYTES
  while size < at + need do
    size = size * 2
  end
  if size > BYTES_MAX then
    codec.raise "the message would be larger than any can be"
  end
  local larger = ffi.new("uint8_t[?]", size)
  copy(larger, buffer, at)
  buffer = larger
  return cast(pointer, buffer), size
end

local function begin()
  buffer = base
  return cast(pointer, base), START_BYTES
end

-- Writes a varint of two or more bytes; generated code writes varints of one byte itself. Most of these
-- varints have two to four bytes. Such sizes are handled without a loop, because a loop would keep the JIT
-- from compiling the surrounding code in one piece.
local function put_varint(p, at, value)
  p[at] = value % 128 + 128
  value = floor(value / 128)
  if value >= 128 then
    p[at + 1] = value % 128 + 128
    at, value = at + 1, floor(value / 128)
    if value >= 128 then
      p[at + 1] = value % 128 + 128
      at, value = at + 1, floor(value / 128)
      while value >= 128 do
        p[at + 1] = value % 128 + 128
        at, value = at + 1, floor(value / 128)
      end
    end
  end
  p[at + 1] = value
  return at + 2
end

-- Reads a varint from the fifth byte on.
local function get_long_varint(p, at, size, value)
  local scale = 128 ^ 4
  for i = 4, VARINT_BYTES - 1 do
    if at + i >= size then
      return nil, at
    end
    local byte = p[at + i]
    value, scale = value + byte % 128 * scale, scale * 128
    if byte < 128 then
      return byte > 0 and value <= 9007199254740991 and value or nil, at + i + 1
    end
  end
  return nil, at
end

-- Returns the number in a varint of several bytes, and the position after it. Returns nil if the varint is
-- too large, longer than necessary, or cut off.
local function get_varint(p, at, size)
  if at + 1 >= size then
    return nil, at
  end
  local value, byte = p[at] - 128, p[at + 1]
  if byte < 128 then
    return byte > 0 and value + byte * 128 or nil, at + 2
  elseif at + 2 >= size then
    return nil, at
  end
  value, byte = value + (byte - 128) * 128, p[at + 2]
  if byte < 128 then
    return byte > 0 and value + byte * 16384 or nil, at + 3
  elseif at + 3 >= size then
    return nil, at
  end
  value, byte = value + (byte - 128) * 16384, p[at + 3]
  if byte < 128 then
    return byte > 0 and value + byte * 2097152 or nil, at + 4
  end
  return get_long_varint(p, at, size, value + (byte - 128) * 2097152)
end

local function put_long(p, value)
  local high = floor(value / 4294967296)
  cast(i32, p + 4)[0] = high
  cast(u32, p)[0] = value - high * 4294967296
end

-- Returns the number of bytes that follow a first byte of UTF-8, and the range of the second byte.
local function tail_of(byte)
  if byte >= 0xc2 and byte < 0xe0 then
    return 1, 0x80, 0xbf
  elseif byte >= 0xe0 and byte < 0xf0 then
    return 2, byte == 0xe0 and 0xa0 or 0x80, byte == 0xed and 0x9f or 0xbf
  elseif byte >= 0xf0 and byte < 0xf5 then
    return 3, byte == 0xf0 and 0x90 or 0x80, byte == 0xf4 and 0x8f or 0xbf
  end
end

local function is_wide_utf8(p, at, size)
  while at < size do
    local byte = p[at]
    if byte >= 0x80 then
      local tail, least, most = tail_of(byte)
      if not tail or at + tail >= size or p[at + 1] < least or p[at + 1] > most then
        return false
      end
      for i = 2, tail do
        if p[at + i] < 0x80 or p[at + i] > 0xbf then
          return false
        end
      end
      at = at + tail
    end
    at = at + 1
  end
  return true
end

-- Returns whether 4 to 16 bytes are ASCII, by comparing overlapping words. Most names have this size, and a
-- loop would be slower.
local function is_short_ascii(p, size)
  local word = bor(cast(i32, p)[0], cast(i32, p + (size - 4))[0])
  if size > 8 then
    word = bor(word, cast(i32, p + 4)[0], cast(i32, p + (size - 8))[0])
  end
  return band(word, 0x80808080) == 0
end

local function is_long_utf8(p, size)
  for at = 0, size - 16, 16 do
    if not is_short_ascii(p + at, 16) then
      return is_wide_utf8(p, at, size)
    end
  end
  return is_short_ascii(p + (size - 16), 16) or is_wide_utf8(p, size - size % 16, size)
end

local function is_utf8(text)
  local p, size = cast(reading, text), #text
  if size > 16 then
    return is_long_utf8(p, size)
  elseif size >= 4 then
    return is_short_ascii(p, size) or is_wide_utf8(p, 0, size)
  end
  return size == 0 or is_wide_utf8(p, 0, size)
end

local function shown(value)
  if type(value) == "string" then
    return ("%q"):format(#value > SHOWN_MAX and sub(value, 1, SHOWN_MAX) .. "..." or value)
  elseif type(value) == "table" then
    return #value > 0 and ("a list of %d"):format(#value) or "a table"
  end
  return tostring(value)
end

local PREAMBLE = [[
local floor, rawget, next, type, sub = floor, rawget, next, type, sub
local bor, band, lshift, rshift, tobit = bor, band, lshift, rshift, tobit
local cast, copy, i8, i16, u16, i32, u32, f32, f64 = cast, copy, i8, i16, u16, i32, u32, f32, f64
local put_varint, get_varint, put_long, is_utf8 = put_varint, get_varint, put_long, is_utf8
local new_list, grow, begin, reading, text_of = new_list, grow, begin, reading, text_of
local bad, wrong, short, more, ENUMS, INDEXES = bad, wrong, short, more, ENUMS, INDEXES
local F32_MAX = 3.4028235677973362e38
]]

-- All code is in one line, because LuaJIT with interrupts adds a test to each line of compiled code. Encoders
-- and decoders end soon and need no such test.
local ENCODER = "return function(x) local p, cap = begin() local at = 0 %s return text_of(p, at) end"
local DECODER = "return function(body) local p, at, size = cast(reading, body), 0, #body %s end"

local LIBRARY = {
  floor = floor, rawget = rawget, next = next, type = type, sub = sub,
  bor = bor, band = band, lshift = bit.lshift, rshift = bit.rshift, tobit = bit.tobit,
  cast = cast, copy = copy, i8 = ffi.typeof "int8_t *", i16 = ffi.typeof "int16_t *",
  u16 = ffi.typeof "uint16_t *", i32 = i32, u32 = u32,
  f32 = ffi.typeof "float *", f64 = ffi.typeof "double *",
  put_varint = put_varint, get_varint = get_varint, put_long = put_long, is_utf8 = is_utf8,
  new_list = new_list, grow = grow, begin = begin, reading = reading, text_of = text_of,
}

local function indexes_of(enums)
  local list = {}
  for i, values in ipairs(enums) do
    list[i] = {}
    for index, value in ipairs(values) do
      list[i][value] = index - 1
    end
  end
  return list
end

-- Returns the functions that report errors. The first function raises; the others return the result of a
-- failed decoder.
local function problems(places)
  local function path(number, ...)
    return places[number].path:format(...)
  end
  return function(value, number, ...)
    codec.raise(("%s: expected %s, got %s"):format(path(number, ...), places[number].expected, shown(value)))
  end, function(number, ...)
    return false, ("%s is not %s"):format(path(number, ...), places[number].expected)
  end, function(number, ...)
    return false, ("the bytes end at %s"):format(path(number, ...))
  end
end

local function more()
  return false, "there are bytes behind the end of the message"
end

local function make(body, template, tables)
  local environment = {}
  for name, value in next, LIBRARY do
    environment[name] = value
  end
  environment.bad, environment.wrong, environment.short = problems(tables.places)
  environment.more, environment.ENUMS, environment.INDEXES = more, tables.enums, indexes_of(tables.enums)
  local line = body:gsub("\n", " ")
  local text = PREAMBLE .. template:gsub("%%s", function() return line end)
  return assert(load(text, CHUNK, "t", environment))()
end

-- Encodes a message without a value, and ignores the value.
local function encode_nothing()
  return ""
end

local function decode_nothing(body)
  if body ~= "" then
    return more()
  end
  return true
end


--- Returns the functions for a type, or for a message without a value. `encode(value)` returns the bytes, or
--- raises a text that names the field. `decode(bytes)` returns true and the value, or false and an error.
---@param of table? type from schema.types
---@param name string beginning of paths in errors
---@return fun(value: any): string encode
---@return fun(body: string): boolean, any decode
function codec.make(of, name)
  if not of then
    return encode_nothing, decode_nothing
  end
  local tables = generator.tables()
  local path = name:gsub("%%", "%%%%")
  local write, read = encoder(lua_dialect, of, path, tables), decoder(lua_dialect, of, path, tables)
  return make(write, ENCODER, tables), make(read, DECODER, tables)
end

return codec
