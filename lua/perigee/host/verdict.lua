--- Reads the results of on_connect, on_join, on_rename and on_channel_open. No value, nil alone and true
--- allow the request. False, or nil with a reason, refuses it. Any other value is an error, and refuses the
--- request as any error of a handler does.

local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"

local ceil = math.ceil

local QUOTED_MAX = 40 -- bytes of a returned string in an error
local RETRY_MAX = 65535 -- seconds; REJECTED has 16 bits for them

local function describe(value)
  if type(value) == "string" then
    return ("%q"):format(value:sub(1, QUOTED_MAX))
  elseif type(value) == "number" then
    return tostring(value)
  end
  return fault.kind(value)
end


-- Returns the whole seconds in { retry = seconds }.
local function read_retry(handler, options)
  local is_right = handler == "on_connect" and type(options) == "table" and next(options) == "retry"
    and next(options, "retry") == nil
  local retry = is_right and options.retry
  if type(retry) ~= "number" or not (retry >= 0 and retry <= RETRY_MAX) then
    fault.raise("%s returned a third value that is %s; on_connect alone may return one, { retry = seconds } "
      .. "with 0 to %d seconds, after which clients try again", handler, describe(options), RETRY_MAX)
  end
  return ceil(retry)
end


--- Returns true; or false, the message of the refusal, and the seconds after which clients may try again
--- (nil: they should not).
---@param handler string name of the handler, for the error
---@param answer any first result of the handler
---@param reason any
---@param options any
---@return boolean
---@return string?
---@return integer?
return function(handler, answer, reason, options)
  if answer == true or answer == nil and reason == nil then
    return true
  elseif answer ~= nil and answer ~= false then
    fault.raise("%s returned %s; write `return true` to accept, or `return false, \"reason\"` to refuse",
      handler, describe(answer))
  end
  local retry = options ~= nil and read_retry(handler, options) or nil
  return false, reason == nil and "refused" or errors.text(reason), retry
end
