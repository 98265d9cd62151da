--- Timers, tasks and waiting. A timer is an id of the core with an entry here, which has the function to
--- call. A handler that waits is a suspended coroutine with an entry of a timer too; C resumes it when it
--- gets the entry (see wake).

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local messages = require "perigee.host.messages"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local backoff = require "perigee.host.backoff"
local journal = require "perigee.host.journal"

local timers, add, remove = pending.timers, pending.add, pending.remove
local running, yield = coroutine.running, coroutine.yield
local is_yieldable = coroutine.isyieldable

local ran = core.ran() -- as in host/init.lua
local TICK = core.events.tick
local CHANNELS = core.channels
local CHANNEL_CLOSED = "the channel is closed"
local INTERVAL_MIN = 0.001 -- seconds

local tasks = {}

local ticking = {} -- room id (0: the game) whose on_tick waits -> true
local late, late_count = {}, 0 -- answers that came too late: by peer id, and in all

-- The entries of the timers that scripts hold. An entry cannot be part of the object, because scripts can
-- change that.
local held = setmetatable({}, { __mode = "k" })

-- Timers -----------------------------------------------------------------------------------

local Timer = {}
local timer_class = { __index = Timer, __metatable = "timer" }


function Timer:cancel()
  if type(self) ~= "table" or getmetatable(self) ~= "timer" then
    fault.raise "a timer's method is called with a colon: timer:cancel()"
  end
  local entry = held[self]
  if not entry or timers[entry.id] ~= entry then
    return false
  end
  core.timer_cancel(entry.id)
  remove(entry)
  journal.push(add, entry)
  return true
end


local function describe_unknown(name, room)
  local functions, whose = live.functions(room)
  local hint = fault.hint(name, functions)
  if hint == "" and not room then
    hint = "; a timer that calls one of a room kind is made with room:after or room:every"
  end
  return ("there is no function %s in the table of %s%s"):format(name, whose, hint)
end

local function check_function(fn, room)
  if type(fn) == "string" then
    if not live.loading and not live.named(fn, room) then
      fault.raise("%s", describe_unknown(fn, room))
    end
  elseif type(fn) ~= "function" then
    fault.raise("a timer calls a function or the name of one, not %s", fault.kind(fn))
  end
end

local function check_order(method, seconds)
  if type(seconds) == "function" then
    fault.raise("the seconds come first: %s(seconds, fn)", method)
  end
end

local function label_of(fn)
  return type(fn) == "string" and "timer " .. fn or "timer"
end

-- Returns the peer and the room (0: none) to which the time of an entry is charged.
local function payer(entry)
  if entry.co then
    return entry.peer, entry.room_id
  end
  return 0, entry.room and entry.room.id or 0
end

local function set(entry, delay, interval)
  entry.id, entry.owned = core.timer_set(delay, interval, payer(entry))
  entry.due = core.now() + delay
  entry.version = type(entry.fn) == "function" and live.version_of(entry.fn) or live.running()
  add(entry)
  journal.push(remove, entry)
  local timer = setmetatable({ id = entry.id }, timer_class)
  held[timer] = entry
  return timer
end


---@param seconds number
---@param fn function|string
---@param room perigee.Room?
---@return perigee.Timer
function tasks.after(seconds, fn, room)
  check_order("after", seconds)
  fault.check_seconds("the delay", seconds)
  check_function(fn, room)
  return set({ fn = fn, room = room, label = label_of(fn) }, seconds, 0)
end


---@param seconds number
---@param fn function|string
---@param room perigee.Room?
---@return perigee.Timer
function tasks.every(seconds, fn, room)
  check_order("every", seconds)
  fault.check_seconds("the interval", seconds)
  if seconds < INTERVAL_MIN then
    fault.raise("the interval must be at least %s seconds, not %s", INTERVAL_MIN, seconds)
  end
  check_function(fn, room)
  return set({ fn = fn, room = room, label = label_of(fn), interval = seconds }, seconds, seconds)
end


--- Runs a function as a task of its own when the running handler has ended.
---@param room perigee.Room? with which the task dies
---@param fn function
function tasks.spawn(room, fn, ...)
  if fn == nil or type(fn) == "number" or type(fn) == "string" then
    fault.raise("the task must be a function, not %s; its arguments follow it: spawn(fn, ...)",
      fault.kind(fn))
  end
  fault.check("the task", fn, "function")
  set({ fn = fn, room = room, label = "task", args = { n = select("#", ...), ... } }, 0, 0)
end


local function find_function(entry)
  local fn = entry.fn
  if type(fn) == "function" then
    return fn
  end
  return live.named(fn, entry.room)
    or error(live.version.main .. ": " .. describe_unknown(fn, entry.room), 0)
end

local function run(entry)
  if entry.interval then
    entry.due = core.now() + entry.interval
    if backoff.is_on(entry) then
      return
    end
  else
    remove(entry)
  end
  if type(entry.fn) == "string" then
    entry.version = live.number -- whose code it calls
  end
  live.task = entry
  core.adopt(entry.room and entry.room.id or 0, entry.owned)
  local fn = find_function(entry)
  ran[1] = fn
  if entry.args then
    fn(unpack(entry.args, 1, entry.args.n))
  else
    fn(entry.room)
  end
  backoff.forget(entry)
end

-- Waiting ----------------------------------------------------------------------------------


--- Raises an error where waiting is impossible.
---@param what string the function that wants to
function tasks.check_may_wait(what)
  if live.loading then
    fault.raise("%s cannot wait while the game is being loaded", what)
  elseif live.upgrading then
    fault.raise("%s cannot wait in on_upgrade: all rooms are upgraded in one step; what takes "
      .. "time goes into perigee.spawn or on_reload", what)
  elseif type(live.task) == "table" and live.task.is_system then
    fault.raise("%s cannot wait in a system; what takes time goes into perigee.spawn", what)
  elseif not core.may_wait() then
    fault.raise("%s cannot wait in a coroutine of your own; use perigee.spawn instead of it", what)
  elseif not is_yieldable() then
    fault.raise("%s cannot wait inside a function that table.sort, string.gsub and the like call",
      what)
  end
end


-- Suspends the running coroutine until `entry` is woken; returns the values that wake got.
local function park(entry, seconds)
  local task = live.task
  if type(task) ~= "table" or not task.version then
    task = { version = live.number, label = live.label() }
  end
  entry.id = core.timer_set(seconds, 0)
  entry.due = core.now() + seconds
  entry.co, entry.task, entry.version = running(), task, task.version
  entry.ran, entry.ran_for = ran[1], ran[2]
  entry.type, entry.peer, entry.room_id, entry.flags, entry.ref, entry.priority,
    entry.packet_type, entry.owned, entry.data, entry.number = core.wait()
  -- A room's timers and tasks end with the room, also while they wait; its handlers go on.
  entry.room = task.room
  if entry.type == TICK then
    ticking[entry.room_id] = true
  end
  add(entry)
  return yield()
end

-- Returns what C needs to resume the coroutine, as the event that it was started for.
local function wake(entry, ...)
  remove(entry)
  live.task = entry.task
  ran[1], ran[2] = entry.ran, entry.ran_for
  return entry.co, entry.type, entry.peer, entry.room_id, entry.flags, entry.ref,
    entry.priority, entry.packet_type, entry.owned, entry.data, entry.number, ...
end


--- Waits.
---@param seconds number
function tasks.sleep(seconds)
  fault.check_seconds("the time to sleep", seconds)
  tasks.check_may_wait "perigee.sleep"
  park({}, seconds)
end


--- Waits for the answer to a request.
---@param peer integer
---@param ref integer
---@param timeout number seconds
---@param channel integer? of the request, if that is not a message
---@return any value
---@return string? message
---@return string? code
function tasks.wait_answer(peer, ref, timeout, channel)
  local entry = { requested = peer, request_ref = ref, channel = channel or CHANNELS.message }
  pending.listen(entry)
  return park(entry, timeout)
end

-- For other modules of the host -------------------------------------------------------------


--- Runs a function of the host as a task of its own. `entry` has fn, label, and on_failure, which gets
--- the text of an error.
---@param entry table
---@param seconds number
function tasks.begin(entry, seconds)
  set(entry, seconds, 0)
end


--- Cancels a task of tasks.begin that has not begun.
---@param entry table
function tasks.cancel(entry)
  if timers[entry.id] == entry then
    core.timer_cancel(entry.id)
    remove(entry)
    journal.push(add, entry)
  end
end


--- Ends a task of tasks.begin, before it begins or while it waits.
---@param entry table
function tasks.stop(entry)
  local waiting
  for _, other in next, timers do
    if other == entry or other.task == entry then
      waiting = other
    end
  end
  if waiting then
    core.timer_cancel(waiting.id)
    remove(waiting)
    journal.push(add, waiting)
  end
end


--- Waits for tasks.give; returns the values that it gets, or nil and "timeout".
---@param entry table
---@param seconds number
---@return any value
---@return string? problem
---@return string? code
function tasks.wait(entry, seconds)
  entry.is_awaited = true
  return park(entry, seconds)
end


--- Resumes a handler with a result, if it still waits. The handler goes on as an event of its own.
---@param entry table
---@param value any
---@param problem string?
---@param code string?
function tasks.give(entry, value, problem, code)
  if timers[entry.id] == entry and entry.is_awaited then
    core.timer_cancel(entry.id)
    remove(entry)
    entry.is_given, entry.value, entry.problem, entry.code = true, value, problem, code
    entry.id = core.timer_set(0, 0, payer(entry))
    add(entry)
  end
end

-- What the host calls ----------------------------------------------------------------------


--- A timer has fired.
---@param id integer
function tasks.fire(id)
  local entry = timers[id]
  if not entry then
    return
  elseif not entry.co then
    run(entry)
  elseif entry.is_given then
    return wake(entry, entry.value, entry.problem, entry.code)
  elseif entry.problem then
    return wake(entry, nil, entry.problem, entry.code)
  elseif entry.requested or entry.is_awaited then
    return wake(entry, nil, "timeout")
  else
    return wake(entry)
  end
end


--- A peer has answered.
---@param peer integer
---@param ref integer
---@param body string
---@param channel integer
---@param packet_type integer
function tasks.answer(peer, ref, body, channel, packet_type)
  local entry = pending.request(peer, ref)
  if not entry or entry.channel ~= channel then
    late[peer] = (late[peer] or 0) + 1
    late_count = late_count + 1
    return
  end
  core.timer_cancel(entry.id)
  if channel ~= CHANNELS.message then
    return wake(entry, body)
  end
  local name, value = messages.decode(body, packet_type, true)
  if name then
    return wake(entry, value)
  end
  if live_schema.knows(packet_type) and not core.limits().drops_invalid then
    core.close(peer, core.codes.Protocol, value)
    core.commit()
  end
  return wake(entry, nil, "the answer is malformed", "Protocol")
end


--- Returns how many answers came too late: of a peer, or of all.
---@param peer integer?
---@return integer
function tasks.late_answers(peer)
  return peer == nil and late_count or late[peer] or 0
end


-- Resumes the handlers that wait for an answer of the peer, on that channel or (nil) any, with the reason
-- why none will come. Each goes on as an event of its own.
local function give_up(peer, channel, problem, code)
  local is_any = false
  for _, entry in ipairs(pending.requests_to(peer)) do
    if not channel or entry.channel == channel then
      core.timer_cancel(entry.id)
      remove(entry)
      entry.problem, entry.code = problem, code
      entry.id = core.timer_set(0, 0, payer(entry))
      add(entry)
      is_any = true
    end
  end
  return is_any
end


--- A peer is gone.
---@param peer integer
function tasks.drop_peer(peer)
  late[peer] = nil
  if give_up(peer, nil, "the peer is gone", "ConnectionClosed") then
    core.commit()
  end
end


--- A plugin channel is closed.
---@param channel integer
---@param peer integer? that served it; nil: the script did
function tasks.drop_channel(channel, peer)
  if peer then
    give_up(peer, channel, CHANNEL_CLOSED, "ChannelNotFound")
    return
  end
  for _, id in ipairs(pending.peers_requested()) do
    give_up(id, channel, CHANNEL_CLOSED, "ChannelNotFound")
  end
end


--- A room is gone, and its timers and tasks with it.
---@param room integer
function tasks.drop_room(room)
  ticking[room] = nil
  local ids = pending.take_room(room)
  if not ids then
    return
  end
  for id in next, ids do
    core.timer_cancel(id)
    remove(timers[id])
  end
  core.commit()
end


-- Versions ---------------------------------------------------------------------------------


--- Ends the owned timers and tasks of all versions but this one. An on_tick of theirs that still waits
--- does not delay the next tick.
---@param number integer
---@return perigee.TimerEntry[] revoked
function tasks.revoke(number)
  local revoked = {}
  ticking = {}
  for _, entry in next, timers do
    if entry.owned and entry.version ~= number then
      revoked[#revoked + 1] = entry
    end
  end
  for _, entry in ipairs(revoked) do
    core.timer_cancel(entry.id)
    remove(entry)
  end
  return revoked
end


-- Waits for the answer again. An answer that came in between is lost; a later one is not.
local function listen_again(entry)
  if not entry.requested then
    return
  elseif pending.request(entry.requested, entry.request_ref) then
    entry.requested = nil
  else
    pending.listen(entry)
  end
end


--- Sets the timers again that revoke has ended, with the time that they had left.
---@param revoked perigee.TimerEntry[]
---@param at number when that was, by core.now
function tasks.restore(revoked, at)
  for _, entry in ipairs(revoked) do
    local room = entry.room
    if not room or rawget(registry.rooms, room.id) == room then
      local delay = math.max(0, entry.due - at)
      entry.id = core.timer_set(delay, entry.interval or 0, payer(entry))
      entry.due = core.now() + delay
      add(entry)
      listen_again(entry)
    end
  end
end

-- Ticks ------------------------------------------------------------------------------------


--- Whether an on_tick waits, of the room or (0) the game.
---@param room integer
---@return boolean
function tasks.is_ticking(room)
  return ticking[room] == true
end


--- An on_tick has ended.
---@param room integer
function tasks.end_tick(room)
  ticking[room] = nil
end

return tasks
