--- Text on a terminal: its characters, their width, and safe forms of bytes from the network.

local text = {}

local LENGTH_MAX = 8192 -- bytes of one text that are shown

--- Ranges of valid second bytes, by first byte. They exclude overlong forms, surrogates and code points above
--- U+10FFFF.
local SECOND = {
  [0xe0] = { 0xa0, 0xbf }, [0xed] = { 0x80, 0x9f },
  [0xf0] = { 0x90, 0xbf }, [0xf4] = { 0x80, 0x8f },
}


--- Returns the size of a sequence that begins with this byte; nil if the byte is invalid.
local function sequence_length(first)
  if first < 0x80 then return 1 end
  if first < 0xc2 or first > 0xf4 then return nil end
  return first < 0xe0 and 2 or first < 0xf0 and 3 or 4
end


--- Returns the length in bytes and the code point of the character at `at`. Returns nil if the character is
--- invalid, and nil, true if the text ends within the character.
---@param bytes string
---@param at integer
---@return integer? length, integer|boolean? code
function text.read(bytes, at)
  local first = bytes:byte(at)
  local length = sequence_length(first)
  if length == 1 then return 1, first end
  if not length then return nil end
  local code = first % 2 ^ (7 - length)
  for i = 1, length - 1 do
    local byte = bytes:byte(at + i)
    if not byte then return nil, true end
    local range = i == 1 and SECOND[first] or { 0x80, 0xbf }
    if byte < range[1] or byte > range[2] then return nil end
    code = code * 64 + byte % 64
  end
  return length, code
end


--- Ranges of code points that would move the cursor, end the line or change the direction of writing.
local UNSAFE = {
  { 0x00, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e },
  { 0x2066, 0x2069 },
}
local WIDE = {
  { 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 },
  { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 },
  { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
}
local ZERO = { { 0x300, 0x36f }, { 0x200b, 0x200d }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f } }


local function is_in(ranges, code)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end


--- Returns whether a code point may be shown unchanged.
---@param code integer
---@return boolean
function text.is_safe(code)
  return not is_in(UNSAFE, code)
end


--- Returns the number of columns of a code point: 0, 1 or 2.
---@param code integer
---@return integer
function text.width(code)
  return is_in(ZERO, code) and 0 or is_in(WIDE, code) and 2 or 1
end


--- Returns the number of columns of valid, safe text.
---@param line string
---@return integer
function text.columns(line)
  local columns, at = 0, 1
  while at <= #line do
    local length, code = text.read(line, at)
    columns, at = columns + text.width(code), at + length
  end
  return columns
end


--- Returns bytes in a form that is safe on one line. Escapes control characters, characters that change the
--- direction of writing, and invalid UTF-8 (`\n`, `\x1b`, `\u{202e}`).
---@param bytes string
---@return string
function text.safe(bytes)
  if #bytes <= LENGTH_MAX and not bytes:find("[^\32-\126]") then return bytes end
  local out, at = {}, 1
  while at <= math.min(#bytes, LENGTH_MAX) do
    local length, code = text.read(bytes, at)
    if not length then
      out[#out + 1] = ("\\x%02x"):format(bytes:byte(at))
    elseif code == 10 then
      out[#out + 1] = "\\n"
    elseif text.is_safe(code) then
      out[#out + 1] = bytes:sub(at, at + length - 1)
    else
      out[#out + 1] = (code < 0x80 and "\\x%02x" or "\\u{%x}"):format(code)
    end
    at = at + (length or 1)
  end
  if at <= #bytes then out[#out + 1] = ("... (%d bytes)"):format(#bytes) end
  return table.concat(out)
end


return text
