--- Timers and tasks: functions that are called later. Each has an entry in pending.lua.

local backoff = require "perigee.host.backoff"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local state = require "perigee.host.state"

local entries = pending.timers
local ran = core.ran() -- as in host/init.lua
local INTERVAL_MIN = 0.001 -- seconds

local timers = {}

-- Entries of timers, by the timer object that the script has. The object does not contain its entry, because
-- scripts can change the object.
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

local function check(method, what, seconds, fn)
  if type(seconds) == "function" then
    fault.raise("the seconds come first: %s(seconds, fn)", method)
  end
  fault.check_seconds(what, seconds)
  if type(fn) ~= "string" and type(fn) ~= "function" then
    fault.raise("a timer calls a function or the name of one, not %s", fault.kind(fn))
  end
end

-- Checks a function that is called by name, and its arguments. The arguments must be data, because they may
-- survive the version that gives them.
local function check_named(name, room, ...)
  if not live.loading and not live.named(name, room) then
    fault.raise("%s", describe_unknown(name, room))
  end
  for i = 1, select("#", ...) do
    local path, what = state.find_fault((select(i, ...)))
    if path then
      fault.raise("argument %d%s for %s is %s; it may outlive this version, so it has to be data",
        i, path, name, what)
    end
  end
end

-- Returns the entry of a future call. Timers, and functions called by name, get the room as their first
-- argument.
local function entry_of(what, fn, room, ...)
  local is_named = type(fn) == "string"
  if is_named then
    check_named(fn, room, ...)
  end
  local args = { n = select("#", ...), ... }
  if room and (is_named or what == "timer") then
    args = { n = args.n + 1, room, ... }
  end
  return { fn = fn, room = room, args = args, what = what, label = is_named and what .. " " .. fn or what }
end

local function set(entry, seconds, interval)
  entry.interval = interval
  timers.begin(entry, seconds)
  local timer = setmetatable({ id = entry.id }, timer_class)
  held[timer] = entry
  registry.named_timers[timer] = type(entry.fn) == "string" or nil
  return timer
end


--- Sets a timer that calls `fn(...)` once. With a room, the timer calls `fn(room, ...)`.
---@param room perigee.Room?
---@param seconds number
---@param fn function|string function, or its name
---@param ... any
---@return perigee.Timer
function timers.after(room, seconds, fn, ...)
  check("after", "the delay", seconds, fn)
  return set(entry_of("timer", fn, room, ...), seconds)
end


--- Sets a timer that calls `fn(...)` again and again. With a room, the timer calls `fn(room, ...)`.
---@param room perigee.Room?
---@param seconds number
---@param fn function|string
---@param ... any
---@return perigee.Timer
function timers.every(room, seconds, fn, ...)
  check("every", "the interval", seconds, fn)
  if seconds < INTERVAL_MIN then
    fault.raise("the interval must be at least %s seconds, not %s", INTERVAL_MIN, seconds)
  end
  return set(entry_of("timer", fn, room, ...), seconds, seconds)
end


--- Runs a function as a separate task when the running handler has ended.
---@param room perigee.Room? room with which the task ends
---@param fn function|string function, or its name; with a name, its first argument is the room
function timers.spawn(room, fn, ...)
  if fn == nil or type(fn) == "number" then
    fault.raise("the task must be a function or the name of one, not %s; its arguments follow it: "
      .. "spawn(fn, ...)", fault.kind(fn))
  elseif type(fn) ~= "function" and type(fn) ~= "string" then
    fault.raise("the task must be a function or the name of one, not %s", fault.kind(fn))
  end
  timers.begin(entry_of("task", fn, room, ...), 0)
end


--- Runs the function of an entry as a separate task, after a delay. Entries of the host may have the function
--- `on_failure`, which gets the text of an error, and the code of a fault.
---@param entry table with fn and label
---@param seconds number
function timers.begin(entry, seconds)
  entry.owned = pending.set(entry, seconds)
  entry.version = type(entry.fn) == "function" and live.version_of(entry.fn) or live.running()
  journal.push(pending.remove, entry)
end


--- Returns the named timers of a room, or the game's own, as data.
---@param room perigee.Room?
---@return table[]?
function timers.kept(room)
  local list
  for id, entry in next, pending.of_room(room) do
    if entry.what == "timer" and type(entry.fn) == "string" and not entry.co then
      if entry.kept_for ~= entry.due then
        entry.kept_for, entry.kept_due = entry.due, core.unix() + entry.due - core.now()
      end
      list = list or {}
      list[#list + 1] = { id = id, fn = entry.fn, due = entry.kept_due, interval = entry.interval,
        args = entry.args }
    end
  end
  return list
end


--- Returns a timer object for timers.restore.
---@return perigee.Timer
function timers.blank()
  local timer = setmetatable({ id = 0 }, timer_class)
  registry.named_timers[timer] = true
  return timer
end


--- Sets timers of timers.kept again, with the time that they had left.
---@param room perigee.Room?
---@param list table[]?
---@param objects table<integer, perigee.Timer> objects of timers that the state contains, by id
function timers.restore(room, list, objects)
  for _, kept in ipairs(list or {}) do
    local entry = { fn = kept.fn, room = room, args = kept.args, what = "timer",
      label = "timer " .. kept.fn, interval = kept.interval }
    timers.begin(entry, math.max(0, kept.due - core.unix()))
    local timer = objects[kept.id] or timers.blank()
    timer.id = entry.id
    held[timer] = entry
  end
end

-- Adds an entry again. If it was cancelled in a transaction, its timer may have fired meanwhile.
local function restore(entry)
  if entry.interval or entry.due > core.now() then
    pending.add(entry)
  else
    pending.set(entry, 0)
  end
end


--- Cancels an entry that is due later, or whose task waits. Returns false for any other entry.
---@param entry table
---@return boolean
function timers.cancel(entry)
  if entries[entry.id] ~= entry then
    return false
  end
  pending.cancel(entry)
  journal.push(restore, entry)
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
  local fn, room, args = entry.fn, entry.room, entry.args
  if type(fn) == "string" then
    entry.version = live.number -- version of the code that the name calls now
  end
  live.task = entry
  core.adopt(room and room.id or 0, entry.owned)
  if type(fn) == "string" then
    fn = live.named(fn, room) or error(live.version.main .. ": " .. describe_unknown(fn, room), 0)
  end
  ran[1] = fn
  if args then
    fn(unpack(args, 1, args.n))
  else
    fn(room)
  end
  backoff.forget(entry)
end

return timers
