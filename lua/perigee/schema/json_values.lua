--- Converts values to and from JSON, for clients without the schema. Converts only fields that the schema
--- names; bytes become base64.

local floor = math.floor

local json_values = {
  --- Represents an empty list in a JSON form, because cjson writes an empty table as an object.
  EMPTY_LIST = {},
}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local values = {}
for i = 1, #ALPHABET do
  values[ALPHABET:byte(i)] = i - 1
end

local function letter(value)
  return ALPHABET:sub(value + 1, value + 1)
end


---@param bytes string
---@return string
function json_values.to_base64(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local a, b, c = bytes:byte(at, at + 2)
    local word = a * 0x10000 + (b or 0) * 0x100 + (c or 0)
    out[#out + 1] = letter(floor(word / 0x40000)) .. letter(floor(word / 0x1000) % 64)
      .. (b and letter(floor(word / 64) % 64) or "=") .. (c and letter(word % 64) or "=")
  end
  return table.concat(out)
end


---@param text string
---@return string? bytes nil if the text is not base64
function json_values.from_base64(text)
  if #text % 4 ~= 0 or not text:find "^[%w+/]*=?=?$" then
    return nil
  end
  local out, digits = {}, text:gsub("=", "A")
  for at = 1, #digits, 4 do
    local a, b, c, d = digits:byte(at, at + 3)
    local word = values[a] * 0x40000 + values[b] * 0x1000 + values[c] * 64 + values[d]
    out[#out + 1] = string.char(floor(word / 0x10000), floor(word / 0x100) % 256, word % 256)
  end
  local _, padding = text:gsub("=", "")
  local bytes = table.concat(out)
  return bytes:sub(1, #bytes - padding)
end

local convert

local CONVERT = {}
local empty_lists = 0 -- number of empty lists found so far

function CONVERT.bytes(_, value, bytes)
  return type(value) == "string" and bytes(value) or nil
end


function CONVERT.optional(type, value, bytes)
  return convert(type.of, value, bytes)
end


function CONVERT.record(of, value, bytes)
  local copy = {}
  for _, field in ipairs(of.fields) do
    local item = rawget(value, field.name)
    if item ~= nil then
      copy[field.name] = convert(field.type, item, bytes)
    end
  end
  return copy
end


function CONVERT.list(of, value, bytes)
  if #value == 0 and bytes == json_values.to_base64 then
    empty_lists = empty_lists + 1
    return json_values.EMPTY_LIST
  end
  local copy = {}
  for i = 1, #value do
    copy[i] = convert(of.of, rawget(value, i), bytes)
  end
  return copy
end

CONVERT.array = CONVERT.list

-- Leaves values of the wrong type unchanged, because the encoder reports them.
function convert(of, value, bytes)
  local kind = of.kind
  local with = CONVERT[kind]
  if not with or value == nil or kind ~= "bytes" and kind ~= "optional" and type(value) ~= "table" then
    return value
  end
  return with(of, value, bytes)
end


--- Returns the JSON form of a valid value, and whether it contains EMPTY_LIST.
---@param of table type, see schema/types.lua
---@param value any
---@return any form
---@return boolean has_empty_list
function json_values.to(of, value)
  local before = empty_lists
  local form = convert(of, value, json_values.to_base64)
  return form, empty_lists > before
end


--- Returns the value for a JSON form, without checking it: the encoder checks it.
---@param of table
---@param value any
---@return any
function json_values.from(of, value)
  return convert(of, value, json_values.from_base64)
end

return json_values
