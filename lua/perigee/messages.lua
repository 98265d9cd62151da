--- Messages as they are on the wire: the JSON text ["name", value].

local core = require "perigee.core"
local fault = require "perigee.fault"
local json = require("cjson.safe").new()
local json_text = require "perigee.json_text"
local registry = require "perigee.registry"

local find = string.find
local is_utf8, is_peer, is_room = core.is_utf8, registry.is_peer, registry.is_room

local messages = {}

local NAMES_MAX = 1000 -- quoted names that are kept
local DEPTH_MAX = 64 -- of tables within tables

json.decode_max_depth(DEPTH_MAX + 1) -- the message itself is a list
json.encode_max_depth(DEPTH_MAX)
json.encode_sparse_array(true) -- holes make an object of it, not an error

local encode_json, decode_json, NULL = json.encode, json.decode, json.null

local WIDE = 1e14 -- from here on cjson loses digits

local encode_exact = json_text.encoder(encode_json, function(value)
  return value == NULL and "null" or nil
end)

-- Whether there are numbers in it of which cjson would lose digits. Raises for peers and rooms,
-- of which cjson would send some fields.
local function inspect(value, depth)
  if type(value) == "number" then
    return value >= WIDE or value <= -WIDE
  elseif type(value) ~= "table" or depth > DEPTH_MAX then
    return false
  elseif is_peer(value) or is_room(value) then
    fault.raise("a %s cannot be sent; send its id or its name", getmetatable(value))
  end
  local has_wide = false
  for key, entry in next, value do
    has_wide = inspect(entry, depth + 1) or has_wide or type(key) == "number" and inspect(key)
  end
  return has_wide
end

local function encode_value(value)
  -- First, because it gives up early on a table that holds itself, which inspect would go through
  -- again and again.
  local plain, problem = encode_json(value)
  if not plain or not inspect(value, 0) then
    return plain, problem
  end
  local ok, text = pcall(encode_exact, value)
  return ok and text or nil, text
end

local quoted, quoted_count = {}, 0

local function is_name(name)
  return name ~= "" and #name <= 255 and not find(name, "%c")
end

local function quote(name)
  fault.check("a message's name", name, "string")
  if not is_name(name) or not is_utf8(name) then
    fault.raise("a message's name is 1 to 255 bytes of UTF-8 without control characters")
  end
  if quoted_count == NAMES_MAX then
    quoted, quoted_count = {}, 0
  end
  local text = encode_json(name)
  quoted[name], quoted_count = text, quoted_count + 1
  return text
end


--- The body of a message, and where in it the value's JSON begins (0: there is no value).
---@param name string
---@param value any
---@return string body
---@return integer value_at
function messages.encode(name, value)
  local head = quoted[name] or quote(name)
  if value == nil then
    return "[" .. head .. ",null]", 0
  end
  local text, problem = encode_value(value)
  if not text then
    fault.raise("message %s: %s", head, problem)
  elseif not is_utf8(text) then
    fault.raise("message %s: a string in it is not UTF-8; bytes go through room:relay or "
      .. "peer:send_packet", head)
  end
  return "[" .. head .. "," .. text .. "]", #head + 2
end


-- JSON's null is no value at all.
local function without_null(value)
  if value == NULL then
    return nil
  end
  if type(value) == "table" then
    for key, entry in next, value do
      value[key] = without_null(entry)
    end
  end
  return value
end


--- The name and value in a body; nil for a body that is no message.
---@param body string
---@return string? name
---@return any value
function messages.decode(body)
  local message = is_utf8(body) and decode_json(body)
  if type(message) ~= "table" then
    return nil
  end
  local name, value = message[1], message[2]
  if type(name) ~= "string" or value == nil or message[3] ~= nil then
    return nil
  elseif not quoted[name] and not is_name(name) then
    return nil
  end
  if find(body, "null", 1, true) then
    value = without_null(value)
  end
  return name, value
end

return messages
