--- What a game gets from `require "perigee"`.

local core = require "perigee.core"
local events = require "perigee.events"
local rooms = require "perigee.rooms"
local targets = require "perigee.targets"
local tasks = require "perigee.tasks"

---@class perigee
---@field state table free for the game; survives reloads
local perigee = {
  rooms = rooms.api,
  to = targets.to,
  send = targets.send,
  events = events.poll,
  sleep = tasks.sleep,
}


--- Seconds on a clock that never goes back; the same all through one handler.
---@return number
function perigee.now()
  return core.now()
end


--- Calls a function once.
---@param seconds number
---@param fn function|string or the name of one in the game's table
---@return perigee.Timer
function perigee.after(seconds, fn)
  return tasks.after(seconds, fn)
end


--- Calls a function again and again.
---@param seconds number
---@param fn function|string or the name of one in the game's table
---@return perigee.Timer
function perigee.every(seconds, fn)
  return tasks.every(seconds, fn)
end


--- Runs a function as a task of its own, which may wait, once the running handler has ended.
---@param fn function
---@param ... any its arguments
function perigee.spawn(fn, ...)
  tasks.spawn(nil, fn, ...)
end


--- Figures of the server: peers, rooms, messages_in, deliveries, dropped, handlers, errors, and
--- memory (bytes of the Lua heap); and `slowest`, a list of the handlers with the worst single
--- calls, the worst first, since the version went live: handler, calls, and in seconds total, p99
--- and worst; file and line where it begins.
---@return table
function perigee.stats()
  local stats = core.stats()
  stats.slowest = core.slowest()
  stats.timers, stats.waiting = tasks.count()
  return stats
end

return perigee
