--- Timers and tasks: functions that are called later. Each has an entry in pending.lua.

local backoff = require "perigee.host.backoff"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"

local entries = pending.timers
local ran = core.ran() -- as in host/init.lua
local INTERVAL_MIN = 0.001 -- seconds

local timers = {}

-- Entries of the timers that scripts have. They are not part of the timer objects, because scripts can change
-- those.
local held = setmetatable({}, { __mode = "k" })

local Timer = {}
local timer_class = { __index = Timer, __metatable = "timer" }


function Timer:cancel()
  if type(self) ~= "table" or getmetatable(self) ~= "timer" then
    fault.raise "a timer's method is called with a colon: timer:cancel()"
  end
  local entry = held[self]
  return entry ~= nil and timers.cancel(entry)
end


local function describe_unknown(name, room)
  local functions, whose = live.functions(room)
  local hint = fault.hint(name, functions)
  if hint == "" and not room then
    hint = "; a timer that calls one of a room kind is made with room:after or room:every"
  end
  return ("there is no function %s in the table of %s%s"):format(name, whose, hint)
end

local function check(method, what, seconds, fn, room)
  if type(seconds) == "function" then
    fault.raise("the seconds come first: %s(seconds, fn)", method)
  end
  fault.check_seconds(what, seconds)
  if type(fn) == "string" then
    if not live.loading and not live.named(fn, room) then
      fault.raise("%s", describe_unknown(fn, room))
    end
  elseif type(fn) ~= "function" then
    fault.raise("a timer calls a function or the name of one, not %s", fault.kind(fn))
  end
end

local function set(fn, room, seconds, interval)
  local entry = {
    fn = fn, room = room, interval = interval, label = type(fn) == "string" and "timer " .. fn or "timer",
  }
  timers.begin(entry, seconds)
  local timer = setmetatable({ id = entry.id }, timer_class)
  held[timer] = entry
  return timer
end


---@param seconds number
---@param fn function|string
---@param room perigee.Room?
---@return perigee.Timer
function timers.after(seconds, fn, room)
  check("after", "the delay", seconds, fn, room)
  return set(fn, room, seconds)
end


---@param seconds number
---@param fn function|string
---@param room perigee.Room?
---@return perigee.Timer
function timers.every(seconds, fn, room)
  check("every", "the interval", seconds, fn, room)
  if seconds < INTERVAL_MIN then
    fault.raise("the interval must be at least %s seconds, not %s", INTERVAL_MIN, seconds)
  end
  return set(fn, room, seconds, seconds)
end


--- Runs a function as a task of its own when the running handler has ended.
---@param room perigee.Room? room with which the task ends
---@param fn function
function timers.spawn(room, fn, ...)
  if fn == nil or type(fn) == "number" or type(fn) == "string" then
    fault.raise("the task must be a function, not %s; its arguments follow it: spawn(fn, ...)",
      fault.kind(fn))
  end
  fault.check("the task", fn, "function")
  timers.begin({ fn = fn, room = room, label = "task", args = { n = select("#", ...), ... } }, 0)
end


--- Runs the function of an entry as a separate task. `on_failure` of the host's entries gets the text of an
--- error.
---@param entry table with fn and label
---@param seconds number
function timers.begin(entry, seconds)
  entry.owned = pending.set(entry, seconds)
  entry.version = type(entry.fn) == "function" and live.version_of(entry.fn) or live.running()
  journal.push(pending.remove, entry)
end


--- Cancels an entry that has not begun, or that waits. Returns false if it does neither.
---@param entry table
---@return boolean
function timers.cancel(entry)
  if entries[entry.id] ~= entry then
    return false
  end
  pending.cancel(entry)
  journal.push(pending.add, entry)
  return true
end


--- Ends a task of timers.begin, before it begins or while it waits.
---@param entry table
function timers.stop(entry)
  local waiting = entry
  for _, other in next, entries do
    if other.task == entry then
      waiting = other
    end
  end
  timers.cancel(waiting)
end


--- Calls the function of an entry whose timer has fired.
---@param entry perigee.TimerEntry
function timers.call(entry)
  if entry.interval then
    entry.due = core.now() + entry.interval
    if backoff.is_on(entry) then
      return
    end
  else
    pending.remove(entry)
  end
  local fn, room = entry.fn, entry.room
  if type(fn) == "string" then
    entry.version = live.number -- version of the code that the name calls now
  end
  live.task = entry
  core.adopt(room and room.id or 0, entry.owned)
  if type(fn) == "string" then
    fn = live.named(fn, room) or error(live.version.main .. ": " .. describe_unknown(fn, room), 0)
  end
  ran[1] = fn
  if entry.args then
    fn(unpack(entry.args, 1, entry.args.n))
  else
    fn(room)
  end
  backoff.forget(entry)
end

return timers
