--- What the values mean with which a handler allows or refuses what it is asked: on_connect, on_join.
--- Nothing, nil alone and true allow. false, and nil with a reason, refuse. The rest is a mistake, which
--- refuses as any other error of a handler does.

local errors = require "perigee.errors"
local fault = require "perigee.fault"

local QUOTED_MAX = 40 -- bytes of a returned string that the error shows

local function describe(value)
  if type(value) == "string" then
    return ("%q"):format(value:sub(1, QUOTED_MAX))
  elseif type(value) == "number" then
    return tostring(value)
  end
  return fault.kind(value)
end


--- Returns true, or false and the words that go with the refusal.
---@param handler string its name, for the error
---@param answer any the values that it returned
---@param reason any
---@return boolean
---@return string?
return function(handler, answer, reason)
  if answer == true or answer == nil and reason == nil then
    return true
  elseif answer ~= nil and answer ~= false then
    fault.raise("%s returned %s; write `return true` to accept, or `return false, \"reason\"` to refuse",
      handler, describe(answer))
  end
  return false, reason == nil and "refused" or errors.text(reason)
end
