--- JSON for messages. Decoding is lua-cjson's, with null as nil. Encoding is done here: cjson
--- keeps 14 digits of a number, too few for a 53-bit id, and refuses a table such as
--- `{ [1000] = true }`, which games use all the time and which is an object here.

local need = require "perigee.client.need"
local cjson = need("cjson", "lua-cjson", "lua-cjson").new()

cjson.decode_invalid_numbers(false)

local DEPTH_MAX = 100

local json = {}

--- JSON text that is sent as it is (`json.raw`).
local Raw = {}


local function without_nulls(value)
  if type(value) ~= "table" then return value end
  for key, item in pairs(value) do
    if item == cjson.null then
      value[key] = nil
    elseif type(item) == "table" then
      without_nulls(item)
    end
  end
  return value
end


--- The value of a JSON text; nulls are nil. Or nil and what is wrong with the text.
---@param text string
---@return any value, string? problem
function json.decode(text)
  local ok, value = pcall(cjson.decode, text)
  if not ok then return nil, value end
  if value == cjson.null then return nil end
  return without_nulls(value)
end


--- Wraps JSON text so that it is sent as it is: `json.raw "[]"` is the empty array, which a Lua
--- table cannot say. Returns nil and what is wrong when it is not JSON.
---@param text string
---@return table? raw, string? problem
function json.raw(text)
  local _, problem = json.decode(text)
  if problem then return nil, problem end
  return setmetatable({ text = text }, Raw)
end


local function encode_number(value)
  if value ~= value or value == math.huge or value == -math.huge then
    error("JSON has no " .. tostring(value), 0)
  end
  for digits = 14, 16 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then return text end
  end
  return ("%.17g"):format(value)
end


--- The length of a table that is to be an array: keys 1 to n, at most every second one missing.
local function array_length(value)
  local count, last = 0, 0
  for key in pairs(value) do
    if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then return nil end
    count, last = count + 1, math.max(last, key)
  end
  if count == 0 or last > 2 * count then return nil end
  return last
end


local encode_value

local function encode_array(value, length, depth)
  local out = {}
  for i = 1, length do out[i] = encode_value(value[i], depth) end
  return "[" .. table.concat(out, ",") .. "]"
end


local function encode_object(value, depth)
  local out = {}
  for key, item in pairs(value) do
    if type(key) ~= "string" and type(key) ~= "number" then
      error("JSON cannot have a " .. type(key) .. " as a key", 0)
    end
    out[#out + 1] = cjson.encode(tostring(key)) .. ":" .. encode_value(item, depth)
  end
  table.sort(out)
  return "{" .. table.concat(out, ",") .. "}"
end


function encode_value(value, depth)
  local kind = type(value)
  if value == nil or value == cjson.null then return "null" end
  if kind == "number" then return encode_number(value) end
  if kind == "string" or kind == "boolean" then return cjson.encode(value) end
  if kind ~= "table" then error("JSON cannot hold a " .. kind, 0) end
  if getmetatable(value) == Raw then return value.text end
  if depth == DEPTH_MAX then error("JSON nested too deep; does a table hold itself?", 0) end
  local length = array_length(value)
  if length then return encode_array(value, length, depth + 1) end
  return encode_object(value, depth + 1)
end


--- The JSON text of a value; raises for what JSON cannot hold. A table whose keys are 1 to n is an
--- array, any other an object, the empty table too.
---@param value any
---@return string
function json.encode(value)
  return encode_value(value, 0)
end


--- The JSON text of a message: `["name",value]`.
---@param name string
---@param value any
---@return string
function json.encode_message(name, value)
  return encode_array({ name, value }, 2, 0)
end


--- The name and the value of a message's body; nothing when it is not `["name", value]`.
---@param body string
---@return string? name, any value
function json.decode_message(body)
  local pair, problem = json.decode(body)
  if problem or type(pair) ~= "table" or type(pair[1]) ~= "string" then return nil end
  for key in pairs(pair) do
    if key ~= 1 and key ~= 2 then return nil end
  end
  return pair[1], pair[2]
end


return json
