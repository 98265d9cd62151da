--- JSON for messages. Decoding is lua-cjson's, with null as nil. Encoding is json_text's, which
--- keeps every digit of a number and takes a table such as `{ [1000] = true }` for an object.

local json_text = require "perigee.util.json_text"
local dependency = require "perigee.client.dependency"
local unsendable = require "perigee.util.unsendable"
local describe = require "perigee.util.describe"
local cjson = dependency("cjson", "lua-cjson", "lua-cjson").new()

cjson.decode_invalid_numbers(false)

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


local encode = json_text.encoder(cjson.encode, function(value)
  if value == cjson.null then return "null" end
  if type(value) == "table" and getmetatable(value) == Raw then return value.text end
  return nil
end)


--- The JSON text of a value; raises for what JSON cannot hold. A table whose keys are 1 to n is an
--- array, any other an object, the empty table too.
---@param value any
---@return string
function json.encode(value)
  return encode(value)
end


--- The JSON text of a message: `["name",value]`. Raises at the caller's line.
---@param name string
---@param value any
---@return string
function json.encode_message(name, value)
  local ok, text = pcall(encode, value)
  if not ok then
    local problem = unsendable(value, { pairs = pairs }) or text
    error(("%smessage %q: %s"):format(describe.where(), name, problem), 0)
  end
  return "[" .. encode(name) .. "," .. text .. "]"
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
