--- Suspends ticks, systems and repeating timers for a while after they ran past their deadline. Without the
--- pause, each further call would delay all other handlers by the whole deadline.

local core = require "perigee.core"
local live = require "perigee.host.live"

local FIRST, MOST = 1, 30 -- shortest and longest pause, seconds; each next pause is twice as long

local backoff = {}

local tried -- time of the last call that followed a pause, by core.now

local pauses = setmetatable({}, { __mode = "k" }) -- pauses, by room id (its tick), timer's entry, or task


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
