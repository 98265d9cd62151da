--- perigee.json, perigee.hash and perigee.random_bytes.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local messages = require "perigee.host.messages"

local JSON_MAX = 4 * 2 ^ 20 -- bytes of a text to decode
local DECODE_STEPS = 4 -- charge for a byte
local RANDOM_MAX = 65536

-- Texts for the names that cjson has for parts of a JSON text.
local PARTS = {
  T_OBJ_BEGIN = "{", T_OBJ_END = "}", T_ARR_BEGIN = "[", T_ARR_END = "]", T_COLON = ":", T_COMMA = ",",
  T_STRING = "a string", T_NUMBER = "a number", T_BOOLEAN = "true or false", T_NULL = "null",
  T_END = "the end",
}

local bytes = { json = {} }


function bytes.json.encode(value)
  return messages.json_of("perigee.json.encode", value)
end


function bytes.json.decode(text)
  fault.check("the JSON text", text, "string")
  if #text > JSON_MAX then
    return nil, ("a JSON text has at most %d bytes, not %d"):format(JSON_MAX, #text)
  end
  core.charge(#text * DECODE_STEPS)
  local value, problem = messages.decode_json(text)
  return value, problem and problem:gsub("T_[%u_]+", PARTS) or nil
end


function bytes.hash(text, key)
  fault.check("what perigee.hash gets", text, "string")
  if key ~= nil then
    fault.check("the key of perigee.hash", key, "string")
  end
  return core.sha256(text, key)
end


function bytes.random_bytes(count)
  fault.check_whole("the number of random bytes", count, 1, RANDOM_MAX)
  return core.random_bytes(count)
end

return bytes
