--- perigee.events, the poll style: on_tick fetches the events, and the game needs no handlers for them.
---
--- Events are recorded from a load of the game until its first on_tick has ended. After that they are
--- recorded only if perigee.events has been called.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"

local EVENTS_MAX = 10000
local WARN_INTERVAL = 1 -- second

local events = {
  recording = false, -- whether the host must record events
  used = false, -- whether the game polls
  on_change = nil, -- function called when `recording` or `used` changes while a version is live
}

local queue, first, last = {}, 1, 0
local in_window = false -- true from a load to the end of the first tick
local asked = false -- perigee.events was called in this window
local dropped, warned_at = 0, -math.huge

local function warn_of_drops()
  dropped = dropped + 1
  local now = core.now()
  if now - warned_at >= WARN_INTERVAL then
    core.log(core.levels.warn, ("perigee.events: %d of the oldest events were dropped, because "
      .. "more than %d waited"):format(dropped, EVENTS_MAX))
    dropped, warned_at = 0, now
  end
end


--- Adds an event. Call it only while `recording`.
---@param event table
function events.record(event)
  last = last + 1
  queue[last] = event
  if last - first >= EVENTS_MAX then
    queue[first] = nil
    first = first + 1
    warn_of_drops()
  end
end


local function next_event()
  local event = queue[first]
  if event then
    queue[first] = nil
    first = first + 1
  else
    first, last = 1, 0
  end
  return event
end


function events.poll()
  if live.is_dry then
    fault.raise "perigee.events takes events away, so the line cannot be tried; add ! to do it"
  end
  asked = true
  if not events.used then
    events.used, events.recording = true, true
    events.on_change()
  end
  return next_event
end


--- Begins the window in which events are recorded, after a load of the game.
---@param has_tick boolean
function events.begin_window(has_tick)
  in_window, asked = has_tick, false
  events.used = events.used and has_tick
  events.recording = has_tick
end


--- Ends the window, because an on_tick of the game has ended.
function events.end_tick()
  if not in_window then
    return
  end
  in_window = false
  events.used, events.recording = asked, asked
  if not asked then
    queue, first, last = {}, 1, 0
  end
  events.on_change()
end

return events
