--- Messages in their wire format: the JSON text ["name", value], or the binary form for messages that the
--- schema names.

local core = require "perigee.core"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local json = require("cjson.safe").new()
local json_text = require "perigee.util.json_text"
local live_schema = require "perigee.host.live_schema"
local unsendable = require "perigee.util.unsendable"

local find, format = string.find, string.format
local EMPTY_LIST = require("perigee.schema.json_values").EMPTY_LIST
local is_finite, without_null = json_text.is_finite, json_text.without_null
local is_utf8, weigh, charge = core.is_utf8, core.weigh, core.charge

local messages = {}

local NAMES_MAX = 1000 -- most quoted names in the cache
local DEPTH_MAX = 64 -- most levels of nested tables
local SHORT = 4096 -- bytes up to which a binary message costs no charge
local ALL = core.targets.all
local CHECKS = { pairs = iterate, is_utf8 = is_utf8 } -- functions for explaining why a value cannot be sent

json.decode_max_depth(DEPTH_MAX + 1) -- the message itself is a list
json.decode_invalid_numbers(false) -- nan and infinity are not JSON
json.encode_max_depth(DEPTH_MAX)
json.encode_sparse_array(true) -- a list with holes becomes an object, not an error

local encode_json, decode_json, NULL = json.encode, json.decode, json.null

local WIDE = 1e14 -- smallest number of which cjson loses digits
local WEIGHT_MAX = 4 * 2 ^ 20 -- bytes of JSON that are too many for a value; max_payload is never more
local VALUE_STEPS = 100 -- charge for writing a value with all digits

local function special_text(value)
  if value == NULL then
    return "null"
  end
  return value == EMPTY_LIST and "[]" or nil
end

local encode_exact = json_text.encoder(encode_json, function(value)
  charge(VALUE_STEPS)
  return special_text(value)
end)

-- In a simulated server, sorts keys and writes numbers as cjson does, so that each run has the same bytes.
local encode_sorted = core.is_simulated and json_text.encoder(encode_json, function(value)
  charge(VALUE_STEPS)
  if type(value) == "number" then
    return format("%.14g", value)
  end
  return special_text(value)
end)

-- Returns whether a JSON text may contain an object with several keys, whose order could differ.
local function has_order(text)
  local at = find(text, "{", 1, true)
  at = at and find(text, ":", at, true)
  return at and find(text, ":", at + 1, true) ~= nil
end

-- Returns a value as JSON. Weighs the value first, because the encoders cannot stop half-way. Refuses a value
-- that is too large for any message. Also refuses peers and rooms, because cjson would send some of their
-- fields.
local function encode_value(value, has_empty_list)
  local wrong, has_wide = weigh(value, DEPTH_MAX, WEIGHT_MAX, WIDE)
  if wrong == "peer" or wrong == "room" then
    fault.raise("a %s cannot be sent; send its id or its name", wrong)
  elseif wrong == "heavy" then
    return nil, "its JSON would be larger than any message can be"
  end
  local json_form, problem = encode_json(value) -- fails for a value with too many nested tables
  local is_sorted = encode_sorted and not has_wide
  if not json_form or not (has_wide or has_empty_list or is_sorted and has_order(json_form)) then
    return json_form, problem
  end
  local ok, text = pcall(is_sorted and encode_sorted or encode_exact, value)
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


local function encode_json_message(name, value, has_empty_list)
  local head = quoted[name] or quote(name)
  if value == nil then
    return "[" .. head .. ",null]", 0
  end
  local text, problem = encode_value(value, has_empty_list)
  if not text then
    fault.raise("message %s: %s", head, unsendable(value, CHECKS) or problem)
  elseif not is_utf8(text) then
    fault.raise("message %s: %s", head, unsendable(value, CHECKS))
  end
  return "[" .. head .. "," .. text .. "]", #head + 2
end

local function with_packed(name, value, number, packed, target, id, is_answer)
  if #packed > SHORT then
    charge(#packed / 4)
  end
  if core.needs_json(target, id) then
    local form, has_empty_list = live_schema.json_value(name, value, is_answer)
    local body, value_at = encode_json_message(name, form, has_empty_list)
    return body, value_at, number, packed
  end
  return "", 0, number, packed
end


--- Returns the body of a message, and the offset of the value's JSON in it (0: no value). For a message that
--- the schema names, also returns its number and its binary form; the body is then empty if all possible
--- receivers know the schema.
---@param name string
---@param value any
---@param target integer? the receiver, as in core.send; all peers if not given
---@param id integer?
---@return string body
---@return integer value_at
---@return integer? number
---@return string? packed
function messages.encode(name, value, target, id)
  local number, packed = live_schema.encode(name, value)
  if number then
    return with_packed(name, value, number, packed, target or ALL, id or 0)
  end
  return encode_json_message(name, value)
end


--- Encodes the answer to a request, as messages.encode encodes a message.
---@param name string
---@param value any
---@param target integer
---@param id integer
---@return string body
---@return integer value_at
---@return integer? number
---@return string? packed
function messages.encode_answer(name, value, target, id)
  local number, packed = live_schema.encode_answer(name, value)
  if number then
    return with_packed(name, value, number, packed, target, id, true)
  end
  return encode_json_message(name, value)
end


local function decode_json_message(body)
  local message = is_utf8(body) and decode_json(body)
  if type(message) ~= "table" then
    return nil
  end
  local name, value = message[1], message[2]
  if type(name) ~= "string" or value == nil or message[3] ~= nil then
    return nil
  elseif not quoted[name] and not is_name(name) then
    return nil
  elseif not is_finite(value) then
    return nil
  end
  if find(body, "null", 1, true) then
    value = without_null(value, NULL)
  end
  return name, value
end


--- Returns the name and the value in a body; nil if the body is not a message, with an error if the reason is
--- known.
---@param body string
---@param number integer? number in the schema; 0 or nil: the body is JSON
---@param is_answer boolean?
---@return string? name
---@return any value
function messages.decode(body, number, is_answer)
  if number and number ~= 0 then
    return live_schema.decode(number, body, is_answer)
  end
  local name, value = decode_json_message(body)
  if not name then
    return nil
  end
  local ok, checked = live_schema.check(name, value, is_answer)
  if ok then
    return name, checked
  end
  return nil, checked
end


--- Returns a value as JSON. Errors call the value `what`.
---@param what string
---@param value any
---@return string
function messages.json_of(what, value)
  local text, problem = encode_value(value)
  if not text or not is_utf8(text) then
    fault.raise("%s: %s", what, unsendable(value, CHECKS) or problem)
  end
  return text
end


--- Returns a value as JSON whose objects have sorted keys, so that equal values have equal texts.
---@param what string
---@param value any
---@return string
function messages.sorted_json(what, value)
  messages.json_of(what, value) -- raises the errors
  return encode_exact(value)
end


--- Returns the value of a JSON text; nil and the reason if the text is not valid, or has a number that is too
--- large. JSON's null becomes nil.
---@param text string
---@return any value
---@return string? problem
function messages.decode_json(text)
  if not is_utf8(text) then
    return nil, "the text is not UTF-8"
  end
  local value, problem = decode_json(text)
  if problem then
    return nil, problem
  elseif not is_finite(value) then
    return nil, "a number in it is too large"
  end
  return without_null(value, NULL)
end


--- Returns the table of a JSON object; nil if the text is no object, or a number in it is too large.
---@param text string
---@return table?
function messages.decode_object(text)
  local value = decode_json(text)
  return type(value) == "table" and is_finite(value) and without_null(value, NULL) or nil
end


--- Returns a value for a room's meta as JSON; nil for nil.
---@param key string
---@param value any
---@return string?
function messages.to_json(key, value)
  local text = messages.json_of("meta " .. key, value)
  return value ~= nil and text or nil
end


---@param text string?
---@return any
function messages.from_json(text)
  return text and without_null(decode_json(text), NULL)
end

return messages
