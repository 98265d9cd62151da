--- The dispatcher: C calls these functions, one per event, always with the same arguments: peer,
--- room, data, a, b; and of packets (and of resume) flags, ref, type, channel, priority. Each finds
--- the handlers and calls them. Verdicts are returned: true, or false and a reason; for a broadcast
--- also other bytes.
---
--- A function that returns a coroutine (tasks.lua) has C resume it. What is there runs for every
--- event, so it makes no tables and closures where nothing is asked for.
---
--- Before they call, they say what: `live.task` is for error messages, and core.ran() for the
--- statistics. That is one table: at 1 the function that runs, at 2 the name of the message that it
--- handles. C reads them after the call.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local sandbox = require "perigee.guard.sandbox"
local self_test = require "perigee.guard.self_test"

local PARTS = {
  require "perigee.host.game", require "perigee.host.peers", require "perigee.host.packets",
  require "perigee.host.rooms", require "perigee.host.time", require "perigee.host.admin",
}

local host = { failed = errors.failed, label = errors.label }
for _, part in ipairs(PARTS) do
  for name, on_event in pairs(part) do
    host[name] = on_event
  end
end

if not core.is_simulated then
  self_test.run()
end
math.randomseed(core.seed())
sandbox.close()

return host
