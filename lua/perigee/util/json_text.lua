--- Exact JSON text: numbers get as many digits as they need. lua-cjson writes 14 digits, which are too few
--- for a 53-bit id or a time in microseconds.

local DEPTH_MAX = 64

local json_text = {}


--- Returns the shortest text with 14 to 17 digits that reads back as the same number. Raises an error for a
--- number that JSON lacks.
---@param value number
---@return string
function json_text.number(value)
  if value ~= value or value == math.huge or value == -math.huge then
    error("JSON has no " .. tostring(value), 0)
  end
  for digits = 14, 16 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return text
    end
  end
  return ("%.17g"):format(value)
end


--- Returns whether all numbers in a decoded value are finite, because cjson reads numbers such as 1e999 as
--- infinite.
---@param value any
---@return boolean
function json_text.is_finite(value)
  if type(value) == "table" then
    for _, entry in next, value do
      if not json_text.is_finite(entry) then
        return false
      end
    end
  end
  return type(value) ~= "number" or value - value == 0
end


--- Replaces JSON's nulls in a decoded value by nil. Changes tables in place; returns the value.
---@param value any
---@param null userdata
---@return any
function json_text.without_null(value, null)
  if type(value) == "table" then
    for key, entry in next, value do
      value[key] = json_text.without_null(entry, null)
    end
  end
  if value ~= null then
    return value
  end
end


-- Returns the length n of a table that becomes a JSON array; nil for other tables. The keys of such a table
-- are from 1 to n, and at least half of these numbers exist.
local function array_length(value)
  local count, last = 0, 0
  for key in next, value do
    if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
      return nil
    end
    count, last = count + 1, math.max(last, key)
  end
  if count == 0 or last > 2 * count then
    return nil
  end
  return last
end


--- Returns an encoder. The encoder first calls `special(value)`, which may return the text of a special
--- value. Otherwise `encode_scalar` returns the text of strings and booleans.
---@param encode_scalar fun(value: string|boolean): string
---@param special fun(value: any): string?
---@return fun(value: any): string encode raises an error for a value that JSON cannot express
function json_text.encoder(encode_scalar, special)
  local encode_value

  local function encode_array(value, length, depth)
    local out = {}
    for i = 1, length do
      out[i] = encode_value(value[i], depth)
    end
    return "[" .. table.concat(out, ",") .. "]"
  end

  local function encode_object(value, depth)
    local out = {}
    for key, item in next, value do
      if type(key) ~= "string" and type(key) ~= "number" then
        error("JSON cannot have a " .. type(key) .. " as a key", 0)
      end
      local name = type(key) == "number" and json_text.number(key) or key
      out[#out + 1] = encode_scalar(name) .. ":" .. encode_value(item, depth)
    end
    table.sort(out)
    return "{" .. table.concat(out, ",") .. "}"
  end

  function encode_value(value, depth)
    local kind = type(value)
    local text = value == nil and "null" or special(value)
    if text then
      return text
    elseif kind == "number" then
      return json_text.number(value)
    elseif kind == "string" or kind == "boolean" then
      return encode_scalar(value)
    elseif kind ~= "table" then
      error("JSON cannot hold a " .. kind, 0)
    elseif depth == DEPTH_MAX then
      error("JSON nested too deep; does a table hold itself?", 0)
    end
    local length = array_length(value)
    if length then
      return encode_array(value, length, depth + 1)
    end
    return encode_object(value, depth + 1)
  end

  return function(value)
    return encode_value(value, 0)
  end
end

return json_text
