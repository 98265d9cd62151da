--- What an answer of on_connect or on_join means: only false is a no.

local errors = require "perigee.errors"


--- Returns true, or false and the words that go with the refusal.
---@param answer any
---@param reason any
---@return boolean
---@return string?
return function(answer, reason)
  if answer ~= false then
    return true
  elseif type(reason) == "string" then
    return false, reason
  end
  return false, reason == nil and "refused" or errors.text(reason)
end
