--- Ticks and repeating timers that have run out of their budget rest for a while: one call of that
--- kind holds everybody up for as long as the budget is, and these would come again and again.

local core = require "perigee.core"
local live = require "perigee.host.live"

local FIRST, MOST = 1, 30 -- seconds; each rest is twice as long as the one before

local rests = {}

local tried -- when one that has had to rest was last let on

local resting = setmetatable({}, { __mode = "k" }) -- room id or timer's entry -> its rest


--- A call has run out of its budget. Returns for how many seconds it rests.
---@param key any whose call it was
---@return number seconds
---@return boolean is_first whether it had not to rest before
function rests.add(key)
  local before = resting[key]
  local seconds = before and before.version == live.number and before.seconds * 2 or FIRST
  seconds = seconds < MOST and seconds or MOST
  resting[key] = { seconds = seconds, over = core.now() + seconds, version = live.number }
  return seconds, seconds == FIRST
end


--- Whether its next call is to be left out. Another version of the game begins without rests.
--- Of those that had to rest before, one is tried in a turn of the loop, so that they do not add up.
---@param key any
---@return boolean
function rests.is_on(key)
  local rest = resting[key]
  if not rest then
    return false
  elseif rest.version ~= live.number then
    resting[key] = nil
    return false
  end
  local now = core.now()
  if now < rest.over or now == tried then
    return true
  end
  tried = now
  return false
end


--- A call has ended well.
---@param key any
function rests.forget(key)
  resting[key] = nil
end

return rests
