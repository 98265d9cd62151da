--- A new version's first seconds: how many errors it makes, and when those are so many that the
--- old one is to come back.

local core = require "perigee.core"

local SECONDS = 5

local probation = {
  number = nil, -- of the version on probation; nil: none is
  failures = 0, -- of its handlers so far
  last = nil, -- the last of their errors
}

local limit, ends

-- Asked for once: after the failure that is one too many the count goes on.
local function check()
  if limit > 0 and probation.failures == limit then
    core.ask_rollback()
  end
end


--- A version's handlers run from now on, not for good yet.
---@param number integer
function probation.begin(number)
  probation.number, probation.failures, probation.last = number, 0, nil
  limit, ends = 0, nil
end


--- The version is live: its seconds begin, and what it failed in so far counts.
---@param most integer failures that are too many; 0: none are
function probation.start(most)
  limit, ends = most, core.now() + SECONDS
  if probation.failures > limit then
    probation.failures = limit
  end
  check()
end


--- Nothing is on probation any more.
function probation.stop()
  probation.number = nil
end


--- A handler of a version has failed.
---@param number integer
---@param text string
function probation.note(number, text)
  if number ~= probation.number or ends and core.now() >= ends then
    return
  end
  probation.failures, probation.last = probation.failures + 1, text
  check()
end


--- Whether the seconds are over.
---@return boolean
function probation.is_over()
  return ends ~= nil and core.now() >= ends
end

return probation
