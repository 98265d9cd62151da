--- JSON for messages. lua-cjson decodes JSON; null becomes nil. perigee.util.json_text encodes values: it
--- keeps every digit of a number, and turns a table such as `{ [1000] = true }` into an object. A host
--- without lua-cjson, such as LÖVE, provides its own functions (`json.use`).

local dependency = require "perigee.client.dependency"
local json_text = require "perigee.util.json_text"
local unsendable = require "perigee.util.unsendable"
local describe = require "perigee.util.describe"

local json = {}

local host -- { encode, decode }

--- JSON text that is sent unchanged (`json.raw`).
local Raw = {}


local function without_nulls(value, null)
  if type(value) ~= "table" then return value end
  for key, item in pairs(value) do
    if item == null then
      value[key] = nil
    elseif type(item) == "table" then
      without_nulls(item, null)
    end
  end
  return value
end


local function with_cjson()
  local cjson = dependency("cjson").new()
  cjson.decode_invalid_numbers(false)
  local null = cjson.null
  local encode = json_text.encoder(cjson.encode, function(value)
    if value == null then return "null" end
    if type(value) == "table" and getmetatable(value) == Raw then return value.text end
    return nil
  end)
  return {
    encode = encode,
    decode = function(text)
      local value = cjson.decode(text)
      if value == null then return nil end
      return without_nulls(value, null)
    end,
  }
end


--- Sets the functions of a host: `encode(value)` and `decode(text)`, which raise errors.
---@param functions { encode: function, decode: function }
function json.use(functions)
  host = functions
end


local function codec()
  host = host or with_cjson()
  return host
end


--- Raises an error with instructions if no JSON library is found.
json.check = codec


--- Returns the value of a JSON text, with nulls as nil; or nil and an error.
---@param text string
---@return any value, string? problem
function json.decode(text)
  if text == "null" then return nil end
  local ok, value = pcall(codec().decode, text)
  if ok then return value end
  return nil, tostring(value)
end


--- Wraps JSON text that is sent unchanged: `json.raw "[]"` is the empty array, which a Lua table cannot
--- express. Returns nil and an error if the text is not JSON.
---@param text string
---@return table? raw, string? problem
function json.raw(text)
  local _, problem = json.decode(text)
  if problem then return nil, problem end
  return setmetatable({ text = text }, Raw)
end


--- Returns the JSON text of a value; raises an error if JSON cannot express the value. A table with the keys
--- 1 to n is an array. Any other table is an object, even the empty table.
---@param value any
---@return string
function json.encode(value)
  if value == nil then return "null" end
  if type(value) == "table" and getmetatable(value) == Raw then return value.text end
  return codec().encode(value)
end


--- Returns the JSON text of a message's value. Errors name the caller's line.
---@param name string
---@param value any
---@return string
function json.encode_message(name, value)
  local ok, text = pcall(json.encode, value)
  if ok then return text end
  local problem = unsendable(value, { pairs = pairs }) or text
  error(("%smessage %q: %s"):format(describe.where(), name, problem), 0)
end


return json
