--- `room.lockstep`, for rooms of kinds that have lockstep; lua/perigee/meta/lockstep.lua describes it.

local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local host = require "perigee.lockstep.host"
local pace = require "perigee.lockstep.pace"
local registry = require "perigee.host.registry"
local wire = require "perigee.lockstep.wire"

local lockstep = {}

local Lockstep = {}
local lockstep_class = { __metatable = "lockstep" }

-- Entries of the objects. The table is weak, because an entry refers to its object.
local held = setmetatable({}, { __mode = "k" })

local getters = {}


-- Applies a command when the handler has ended. If the handler fails, the command is not applied.
local function later(self, fn)
  local entry = held[self]
  host.begin_task(entry, "lockstep", function()
    if not entry.match.is_over then
      fn(entry.match, core.now())
      host.set_timer(entry)
    end
  end)
end


function getters.turn(self) return held[self].match.closed end
function getters.seed(self) return held[self].match.seed end
function getters.match(self) return held[self].match.id end
function getters.paused(self) return held[self].match.is_paused end
function getters.started(self) return held[self].match.is_started end
function getters.speed(self) return held[self].match.speed end


function Lockstep:start()
  later(self, function(match, now)
    if not match.is_started then
      match:start(now)
    end
  end)
end


function Lockstep:pause()
  later(self, function(match, now) match:pause(now) end)
end


function Lockstep:resume()
  later(self, function(match, now) match:resume(now) end)
end


function Lockstep:set_speed(speed)
  fault.check("the speed", speed, "number")
  if not (speed >= pace.SPEED_MIN and speed <= pace.SPEED_MAX) then
    fault.raise("the speed must be from %s to %s, not %s", pace.SPEED_MIN, pace.SPEED_MAX, speed)
  end
  later(self, function(match, now) match:set_speed(speed, now) end)
end


function Lockstep:restart()
  later(self, function(match, now) match:restart(now) end)
end


function Lockstep:resync(peer)
  if not registry.is_peer(peer) then
    fault.raise("lockstep:resync takes a peer, not %s", fault.kind(peer))
  end
  local id = peer.id
  later(self, function(match, now) match:resync(id, now) end)
end


function Lockstep:members()
  local list = {}
  for id, member in next, held[self].match.members do
    list[#list + 1] = {
      peer = registry.peers[id], slot = member.slot ~= wire.SPECTATOR and member.slot or nil,
      delay = member.delay, turn = member.turn, absent = member.is_absent == true,
    }
  end
  table.sort(list, function(a, b) return a.peer.id < b.peer.id end)
  return list
end


function Lockstep:stats()
  local match = held[self].match
  return {
    turn = match.closed, stalls = match.stalls, stalled = match.stalled,
    longest_stall = match.longest_stall, late_inputs = match.late_inputs,
    desyncs = match.desyncs, kept_bytes = match.kept_bytes,
  }
end


class.define(lockstep_class, Lockstep, getters)


--- Returns the object for `room.lockstep`.
---@param room perigee.Room
---@return perigee.Lockstep
function lockstep.object(room)
  local entry = host.find(room)
  if not entry then
    fault.raise("rooms of the kind %s have no lockstep; give the kind lockstep = {}", room.kind)
  end
  if not entry.object then
    entry.object = setmetatable({}, lockstep_class)
    held[entry.object] = entry
  end
  return entry.object
end

return lockstep
