--- The dispatcher. C calls one function of this table for each event, always with the same arguments: peer,
--- room, data, a, b; for packets (and resume) also flags, ref, type, channel, priority. The function finds
--- the handlers and calls them. It returns a verdict: true, or false and a reason; for a broadcast also
--- replacement bytes. If it returns a coroutine, C resumes that (tasks.lua). This code runs for every event,
--- so it makes only the tables and closures that a handler needs.
---
--- Before a function calls a handler, it stores the handler's name in `live.task` for error messages, and the
--- handler in core.ran() for the statistics. core.ran() is always the same table: index 1 is the function,
--- index 2 the name of the message that it handles. C reads the table after the call.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local faults = require "perigee.host.faults"
local sandbox = require "perigee.guard.sandbox"
local self_test = require "perigee.guard.self_test"

local PARTS = {
  require "perigee.host.game", require "perigee.host.peers", require "perigee.host.packets",
  require "perigee.host.rooms", require "perigee.host.time", require "perigee.host.admin",
  require("perigee.host.fetches").on, require("perigee.host.passwords").on,
  require("perigee.host.sign_in").on, require("perigee.host.stores").on,
  require("perigee.host.durable").on, require("perigee.host.durable_restore").on,
  require("perigee.host.bots").events,
}

local host = {
  failed = errors.failed, faulted = errors.faulted, fault_class = faults.class, label = errors.label,
}
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
