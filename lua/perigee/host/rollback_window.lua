--- The rollback window: the first seconds of a new version. Too many errors of its handlers during the window
--- restore the previous version.

local core = require "perigee.core"

local rollback_window = {
  number = nil, -- version whose errors count; nil: the window is closed
  errors = 0,  -- errors of its handlers so far
  last = nil,  -- text of the newest error
}


--- Opens the window for a version, before the first of its handlers runs.
---@param number integer
function rollback_window.open(number)
  rollback_window.number, rollback_window.errors, rollback_window.last = number, 0, nil
end


function rollback_window.close()
  rollback_window.number = nil
end


--- Returns whether a version has made too many errors.
---@param number integer
---@return boolean
function rollback_window.is_exceeded(number)
  local limit = core.limits().rollback_errors
  return number == rollback_window.number and limit > 0 and rollback_window.errors >= limit
end


--- Requests a rollback if the version has made too many errors.
---@param number integer
function rollback_window.check(number)
  if rollback_window.is_exceeded(number) then
    core.reload "rollback"
  end
end


--- Counts an error of a handler.
---@param number integer number of the handler's version
---@param text string
function rollback_window.note(number, text)
  if number == rollback_window.number then
    rollback_window.errors, rollback_window.last = rollback_window.errors + 1, text
    rollback_window.check(number)
  end
end

return rollback_window
