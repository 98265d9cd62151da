--- What a game gets from `require "perigee"`.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local env = require "perigee.api.env"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local fixed = require "perigee.fixed"
local live_schema = require "perigee.host.live_schema"
local mcp = require "perigee.mcp"
local pending = require "perigee.host.pending"
local rooms = require "perigee.api.rooms"
local systems = require "perigee.world.systems"
local targets = require "perigee.api.targets"
local tasks = require "perigee.host.tasks"
local world = require "perigee.world"

---@class perigee
---@field state table free for the game; survives reloads
local perigee = {
  rooms = rooms.api,
  to = targets.to,
  send = targets.send,
  env = env(core.env),
  events = events.poll,
  channel = channels.open,
  mcp = mcp,
  sleep = tasks.sleep,
  world = world.api,
  fixed = fixed,
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


--- Figures of the server; docs/api.md has them all. Among them `slowest`, a list of the
--- handlers with the worst single calls, the worst first, since the version went live: handler,
--- calls, and in seconds total, p99 and worst; file and line where it begins; and `busiest`, who alone
--- took more than half of the scripts' time in the last second.
---@return table
function perigee.stats()
  local stats = core.stats()
  stats.slowest = core.slowest()
  stats.busiest = core.busiest()
  stats.timers, stats.waiting = pending.count()
  stats.systems = systems.stats()
  stats.late_answers = tasks.late_answers()
  stats.invalid_messages = live_schema.invalid
  return stats
end


--- Stops the server when the running handler has ended, as SIGTERM does.
---@param reason? string for `on_stop` and the log
function perigee.stop(reason)
  fault.check("the reason of perigee.stop", reason or "", "string")
  core.stop(reason or "perigee.stop")
end

return perigee
