--- Waiting. A handler that waits is a suspended coroutine with an entry for a timer (pending.lua). C resumes
--- the coroutine when an event returns the results of tasks.wake.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local timers = require "perigee.host.timers"

local entries, remove = pending.timers, pending.remove
local running, yield = coroutine.running, coroutine.yield
local is_yieldable = coroutine.isyieldable

local ran = core.ran() -- as in host/init.lua
local TICK = core.events.tick

--- `ticking` has the ids of the rooms whose on_tick is waiting. The id 0 stands for the game's own on_tick.
local tasks = { ticking = {} } ---@type { ticking: table<integer, true> }


--- Raises an error if waiting is impossible here.
---@param what string name of the function that wants to wait
function tasks.check_may_wait(what)
  if live.is_dry then
    fault.raise("%s would wait, so the line cannot be tried; add ! to do it", what)
  elseif live.transaction then
    fault.raise("%s cannot wait within %s; call it before or after that", what, live.transaction.what)
  elseif live.loading then
    fault.raise("%s cannot wait while the game is being loaded", what)
  elseif live.upgrading then
    fault.raise("%s cannot wait in on_upgrade: all rooms are upgraded in one step; what takes "
      .. "time goes into perigee.spawn or on_reload", what)
  elseif type(live.task) == "table" and live.task.is_accept then
    fault.raise("%s cannot wait in on_accept, because the connection waits; on_connect may", what)
  elseif type(live.task) == "table" and live.task.is_system then
    fault.raise("%s cannot wait in a system; what takes time goes into perigee.spawn", what)
  elseif not core.may_wait() then
    fault.raise("%s cannot wait in a coroutine of your own; use perigee.spawn instead of it", what)
  elseif not is_yieldable() then
    fault.raise("%s cannot wait inside a function that table.sort, string.gsub and the like call",
      what)
  end
end


-- Suspends the running coroutine until tasks.wake gets `entry`; returns the results that tasks.wake got.
local function park(entry, seconds)
  local task = live.task
  if type(task) ~= "table" or not task.version then
    task = { version = live.number, label = live.label() }
  end
  entry.id = core.timer_set(seconds, 0, nil, nil, true)
  entry.due = core.now() + seconds
  entry.co, entry.task, entry.version = running(), task, task.version
  entry.ran, entry.ran_for = ran[1], ran[2]
  local event_type
  entry.event, event_type, entry.peer, entry.room_id, entry.owned = core.wait()
  -- A room's timers and tasks end with the room, even while they wait; its handlers continue.
  entry.room = task.room
  if entry.is_bound then
    entry.room, entry.was_owned, entry.owned = nil, entry.owned, false
  end
  if event_type == TICK then
    tasks.ticking[entry.room_id] = true
  end
  pending.add(entry)
  return yield()
end


--- Returns the values that C needs to resume an entry's coroutine with its original event.
---@param entry perigee.TimerEntry
---@param ... any results of its wait
function tasks.wake(entry, ...)
  remove(entry)
  live.task = entry.task
  ran[1], ran[2] = entry.ran, entry.ran_for
  return entry.co, entry.event, ...
end


--- Suspends the running handler for a number of seconds.
---@param seconds number
function tasks.sleep(seconds)
  fault.check_seconds("the time to sleep", seconds)
  tasks.check_may_wait "perigee.sleep"
  park(pending.new(), seconds)
end


--- Waits until tasks.give gets the entry; returns the result that tasks.give got, or nil and "timeout".
---@param entry table
---@param seconds number
---@return any value
---@return string? problem
---@return string? code
function tasks.wait(entry, seconds)
  entry.is_awaited = true
  return park(entry, seconds)
end


--- Resumes a handler with a result, if it still waits. The handler continues as an event of its own.
---@param entry table
---@param value any
---@param problem string?
---@param code string?
function tasks.give(entry, value, problem, code)
  if entries[entry.id] == entry and entry.is_awaited then
    pending.cancel(entry)
    entry.is_given, entry.value, entry.problem, entry.code = true, value, problem, code
    pending.set(entry, 0)
  end
end


--- Handles a timer that has fired.
---@param id integer
function tasks.fire(id)
  local entry = entries[id]
  if not entry then
    return
  elseif not entry.co then
    timers.call(entry)
  elseif entry.is_given then
    return tasks.wake(entry, entry.value, entry.problem, entry.code)
  elseif entry.is_awaited then
    return tasks.wake(entry, nil, "timeout")
  else
    return tasks.wake(entry)
  end
end


--- Ends the timers and tasks of a room that is gone.
---@param room integer
function tasks.drop_room(room)
  tasks.ticking[room] = nil
  local ids = pending.take_room(room)
  if not ids then
    return
  end
  for id in next, ids do
    pending.cancel(entries[id])
  end
  core.commit()
end


--- Ends the running handler here, if it is a task that ended while its entry was bound.
---@param entry table
function tasks.unbind(entry)
  local room = entry.task.room
  local is_old = entry.was_owned and entry.version ~= live.number
  core.adopt(entry.room_id, entry.was_owned)
  if is_old or room and rawget(registry.rooms, room.id) ~= room then
    core.wait()
    yield() -- nothing resumes it
  end
end


-- Versions ---------------------------------------------------------------------------------


--- Ends the owned timers and tasks of all versions except one. An on_tick that still waits no longer prevents
--- the next tick.
---@param number integer
---@return perigee.TimerEntry[] revoked
function tasks.revoke(number)
  local revoked = {}
  for room in next, tasks.ticking do
    tasks.ticking[room] = nil
  end
  for _, entry in next, entries do
    if entry.owned and entry.version ~= number then
      revoked[#revoked + 1] = entry
    end
  end
  for _, entry in ipairs(revoked) do
    pending.cancel(entry)
  end
  return revoked
end


-- Waits for the answer to a request again. An answer that arrived since the revoke is lost. If a newer
-- request to the peer has the same number, the entry only waits for its timeout.
local function listen_again(entry)
  if not entry.requested then
    return
  elseif pending.request(entry.requested, entry.request_ref) then
    entry.requested = nil
  else
    pending.listen(entry)
  end
end


--- Restarts the timers and tasks that tasks.revoke ended, with the time that they had left.
---@param revoked perigee.TimerEntry[]
---@param at number time of the revoke, by core.now
function tasks.restore(revoked, at)
  for _, entry in ipairs(revoked) do
    local room = entry.room
    if not room or rawget(registry.rooms, room.id) == room then
      pending.set(entry, math.max(0, entry.due - at))
      listen_again(entry)
    end
  end
end

return tasks
