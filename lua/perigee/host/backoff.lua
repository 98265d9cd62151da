--- Suspends ticks and repeating timers that ran past their deadline, for a while, because each such call
--- delays all others by the whole deadline, and would do so again and again.

local core = require "perigee.core"
local live = require "perigee.host.live"

local FIRST, MOST = 1, 30 -- seconds; each pause is twice as long as the one before

local backoff = {}

local tried -- time of the last call that a pause allowed again

local pauses = setmetatable({}, { __mode = "k" }) -- by room id or timer's entry


--- Suspends a tick or timer whose call ran past its deadline.
---@param key any tick or timer: room id or timer's entry
---@return number seconds
---@return boolean is_first whether this is its first pause
function backoff.add(key)
  local before = pauses[key]
  local seconds = before and before.version == live.number and before.seconds * 2 or FIRST
  seconds = seconds < MOST and seconds or MOST
  pauses[key] = { seconds = seconds, over = core.now() + seconds, version = live.number }
  return seconds, seconds == FIRST
end


--- Returns whether to skip the next call of a tick or timer. A new version of the game begins without pauses.
--- In each iteration of the loop, at most one call is made after a pause, so that delays do not add up.
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


--- Ends the pauses of a tick or timer after a successful call.
---@param key any
function backoff.forget(key)
  pauses[key] = nil
end

return backoff
