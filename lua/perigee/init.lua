--- The library that `require "perigee"` gives a game; lua/perigee/meta/perigee.lua describes it.

local accounts = require "perigee.api.accounts"
local bytes = require "perigee.api.bytes"
local channels = require "perigee.api.channels"
local commands = require "perigee.api.commands"
local core = require "perigee.core"
local date = require "perigee.api.date"
local env = require "perigee.api.env"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local faults = require "perigee.host.faults"
local fixed = require "perigee.fixed"
local http = require "perigee.api.http"
local leaderboard = require "perigee.api.leaderboard"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local mcp = require "perigee.mcp"
local matchmaker = require "perigee.api.matchmaker"
local party = require "perigee.api.party"
local queues = require "perigee.matchmaking.queues"
local protocol = require "perigee.api.protocol"
local rating = require "perigee.api.rating"
local requests = require "perigee.host.requests"
local rooms = require "perigee.api.rooms"
local store = require "perigee.api.store"
local systems = require "perigee.world.systems"
local targets = require "perigee.api.targets"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"
local world = require "perigee.world"

local perigee = {
  rooms = rooms.api,
  to = targets.to,
  send = targets.send,
  relay = targets.relay,
  commands = commands(core.nearest),
  env = env(core.env),
  events = events.poll,
  channel = channels.open,
  fault = faults.new,
  mcp = mcp,
  sleep = tasks.sleep,
  world = world.api,
  fixed = fixed,
  json = bytes.json,
  hash = bytes.hash,
  random_bytes = bytes.random_bytes,
  date = date,
  protocol = protocol.declare,
  http = http,
  store = store.api,
  leaderboard = leaderboard,
  accounts = accounts.api,
  matchmaker = matchmaker,
  party = party,
  rating = rating,
}


function perigee.now()
  return core.now()
end


function perigee.after(seconds, fn, ...)
  return timers.after(nil, seconds, fn, ...)
end


function perigee.every(seconds, fn, ...)
  return timers.every(nil, seconds, fn, ...)
end


function perigee.spawn(fn, ...)
  timers.spawn(nil, fn, ...)
end


function perigee.stats()
  local stats = core.stats()
  stats.slowest = core.slowest()
  stats.busiest = core.busiest()
  stats.systems = systems.stats()
  stats.queues = queues.stats()
  stats.late_answers = requests.late_answers()
  stats.invalid_messages = live_schema.invalid
  return stats
end


function perigee.stop(reason)
  fault.check("the reason of perigee.stop", reason or "", "string")
  if live.loading then
    fault.raise "perigee.stop cannot be called while the game is being loaded; call it in a handler"
  end
  core.stop(reason or "perigee.stop")
end

return perigee
