--- Checks the options of calls that send. Errors name the caller's line.

local describe = require "perigee.util.describe"

local UNRELIABLE = 1
local PRIORITY = { critical = 2, high = 4, normal = 0, low = 8 } -- as in perigee.h
local OPTIONS = { priority = true, reliable = true, room = true, answers = true }

local options = {
  BROADCAST_HINT = "; a client broadcasts bytes, and room:send(name, value) sends messages",
}

---@class perigee.client.SendOptions
---@field priority? "critical"|"high"|"normal"|"low"
---@field reliable? boolean


local function fail(text, ...)
  error(describe.where() .. text:format(...), 0)
end


--- Returns the flags for options. `call` is the name of the called function; `hint` suggests the right call.
---@param call string
---@param given? perigee.client.SendOptions
---@param hint? string
---@return integer
function options.flags(call, given, hint)
  if given == nil then return UNRELIABLE end
  if type(given) ~= "table" then
    fail("%s: options are a table, as { reliable = true }, not %s%s", call, describe.kind(given), hint or "")
  end
  for name in pairs(given) do
    if not OPTIONS[name] then
      fail("%s: there is no option %s; there are priority and reliable%s", call, tostring(name), hint or "")
    end
  end
  local priority = given.priority == nil and 0 or PRIORITY[given.priority]
  if not priority then
    fail("%s: no priority %q; there are critical, high, normal and low", call, tostring(given.priority))
  end
  return priority + (given.reliable and 0 or UNRELIABLE)
end


--- Checks the bytes to send; nil means no bytes.
---@param call string
---@param data? string
---@param hint? string
---@return string
function options.bytes(call, data, hint)
  if type(data) ~= "string" then
    fail("%s: what is sent is a string of bytes, not %s%s", call, describe.kind(data), hint or "")
  end
  return data
end


return options
