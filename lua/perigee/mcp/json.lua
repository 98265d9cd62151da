--- JSON of the Model Context Protocol, read strictly and written exactly.

local core = require "perigee.core"
local json = require("cjson.safe").new()
local json_text = require "perigee.util.json_text"
local json_values = require "perigee.schema.json_values"

local DEPTH_MAX = 64
local VALUES_MAX = 32768 -- most values in a text; tables take many times the bytes of their JSON
local WEIGHT_MAX = 2 ^ 20 -- most bytes of written JSON, by core.weigh, which counts a lower bound
local WIDE = 1e14
local TRIPLE_STEPS = 60 -- charge for encoding three bytes as Base64

json.decode_max_depth(DEPTH_MAX)
json.decode_invalid_numbers(false)

local NULL = json.null

local mcp_json = { null = NULL, depth_max = DEPTH_MAX }

--- The empty list. An empty table would become an object in JSON.
mcp_json.EMPTY = setmetatable({}, { __metatable = "list" })

local encode = json_text.encoder(json.encode, function(value)
  if value == NULL then
    return "null"
  elseif value == mcp_json.EMPTY then
    return "[]"
  end
end)


--- Returns the value of a JSON text. Returns nil and the reason if the text is not valid JSON in UTF-8, is
--- nested deeper than DEPTH_MAX, has a number out of range, or has more than VALUES_MAX values. If a key
--- occurs twice, the last value counts. null becomes json.null.
---@param text string
---@return any value
---@return string? problem
function mcp_json.decode(text)
  if not core.is_utf8(text) then
    return nil, "the text is not UTF-8"
  elseif core.json_count(text) > VALUES_MAX then
    return nil, "it has more than " .. VALUES_MAX .. " values"
  end
  local value, problem = json.decode(text)
  if value == nil then
    return nil, problem
  elseif not json_text.is_finite(value) then
    return nil, "a number is out of range"
  end
  return value
end


--- Returns the text of a value; or nil and the reason if JSON cannot express the value or the value is too
--- large.
---@param value any
---@return string?
---@return string? problem
function mcp_json.encode(value)
  local wrong = core.weigh(value, DEPTH_MAX, WEIGHT_MAX, WIDE)
  if wrong == "heavy" then
    return nil, "it is larger than 1 MiB"
  elseif wrong == "peer" or wrong == "room" then
    return nil, "a " .. wrong .. " cannot be sent; send its id or its name"
  end
  local ok, text = pcall(encode, value)
  if not ok then
    return nil, tostring(text)
  elseif not core.is_utf8(text) then
    return nil, "a string in it is not UTF-8; bytes go into { type = \"resource\", ... } or an "
      .. "image's `bytes`"
  end
  return text
end


--- Returns the beginning of a text, without cutting a character.
---@param text string
---@param max integer bytes
---@return string
function mcp_json.cut(text, max)
  local size = math.min(#text, max)
  while size < #text and size > 0 and text:find("^[\128-\191]", size + 1) do
    size = size - 1
  end
  return text:sub(1, size)
end


--- Returns the list; for an empty list, the value that becomes [] in JSON.
---@param list table
---@return table
function mcp_json.list(list)
  return next(list) == nil and mcp_json.EMPTY or list
end


--- Returns a tool's result with a text.
---@param text string
---@param is_error boolean?
---@return table
function mcp_json.text_result(text, is_error)
  return { content = { { type = "text", text = text } }, isError = is_error }
end


--- Returns a tool's result that reports why the tool failed.
---@param text string
---@return table
function mcp_json.failure(text)
  return mcp_json.text_result(text, true)
end


--- Returns a message of JSON-RPC that needs no answer.
---@param method string
---@param params table?
---@return table
function mcp_json.notification(method, params)
  return { jsonrpc = "2.0", method = method, params = params }
end


--- Replaces JSON's nulls in a value by nil. Changes tables in place; returns the value.
---@param value any
---@return any
function mcp_json.without_null(value)
  return json_text.without_null(value, NULL)
end


--- Returns bytes in base64.
---@param bytes string
---@return string
function mcp_json.base64(bytes)
  core.charge(TRIPLE_STEPS * #bytes / 3)
  return json_values.to_base64(bytes)
end

return mcp_json
