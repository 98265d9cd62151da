--- Suspends ticks and repeating timers that ran past their deadline, for a while: each such call delays
--- all others by the whole deadline, and it would do so again and again.

local core = require "perigee.core"
local live = require "perigee.host.live"

local FIRST, MOST = 1, 30 -- seconds; each pause is twice as long as the one before

local backoff = {}

local tried -- when a suspended call was last tried

local pauses = setmetatable({}, { __mode = "k" }) -- by room id or timer's entry


--- Suspends a tick or timer whose call ran past its deadline.
---@param key any whose call it was
---@return number seconds
---@return boolean is_first whether it was not suspended before
function backoff.add(key)
  local before = pauses[key]
  local seconds = before and before.version == live.number and before.seconds * 2 or FIRST
  seconds = seconds < MOST and seconds or MOST
  pauses[key] = { seconds = seconds, over = core.now() + seconds, version = live.number }
  return seconds, seconds == FIRST
end


--- Returns whether the next call of a tick or timer is left out. A new version of the game begins without
--- pauses. One iteration of the loop tries at most one call after a pause, so that the delays do not add up.
---@param key any
---@return boolean
function backoff.is_on(key)
  local pause = pauses[key]
  if not pause then
    return false
  elseif pause.version ~= live.number then
    pauses[key] = nil
    return false
  end
  local now = core.now()
  if now < pause.over or now == tried then
    return true
  end
  tried = now
  return false
end


--- Ends the pauses of a tick or timer after a call that ended well.
---@param key any
function backoff.forget(key)
  pauses[key] = nil
end

return backoff
