--- `room.lockstep`, for rooms of kinds that have lockstep.

local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local host = require "perigee.lockstep.host"
local pace = require "perigee.lockstep.pace"
local registry = require "perigee.host.registry"
local wire = require "perigee.lockstep.wire"

local lockstep = {}

--- The match of a room.
---@class perigee.Lockstep
local Lockstep = {}
local lockstep_class = { __metatable = "lockstep" }

-- By object; weak, since an entry holds its object.
local held = setmetatable({}, { __mode = "k" })

local getters = {}


-- Carries out at the end of the handler what it asks for; nothing of it where the handler fails.
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


--- Begins the turns, where the kind says `start = 0`, or sooner than it says.
function Lockstep:start()
  later(self, function(match, now)
    if not match.is_started then
      match:start(now)
    end
  end)
end


--- No turn closes until `resume`.
function Lockstep:pause()
  later(self, function(match, now) match:pause(now) end)
end


--- Goes on after `pause`.
function Lockstep:resume()
  later(self, function(match, now) match:resume(now) end)
end


--- Goes so many times as fast as `turn_rate` says: 0.1 to 8.
---@param speed number
function Lockstep:set_speed(speed)
  fault.check("the speed", speed, "number")
  if not (speed >= pace.SPEED_MIN and speed <= pace.SPEED_MAX) then
    fault.raise("the speed must be from %s to %s, not %s", pace.SPEED_MIN, pace.SPEED_MAX, speed)
  end
  later(self, function(match, now) match:set_speed(speed, now) end)
end


--- Begins another match with the same players: turn 1, another seed.
function Lockstep:restart()
  later(self, function(match, now) match:restart(now) end)
end


--- Has a peer take the state from others, in the place of its own: after a desync.
---@param peer perigee.Peer
function Lockstep:resync(peer)
  if not registry.is_peer(peer) then
    fault.raise("lockstep:resync takes a peer, not %s", fault.kind(peer))
  end
  local id = peer.id
  later(self, function(match, now) match:resync(id, now) end)
end


--- The players and who watches: peer, slot (nil: watches), delay (turns from an input to its turn),
--- turn (the newest that it has simulated), absent (turns do not wait for it).
---@return table[]
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


--- Figures: turn, stalls (turns that closed late), stalled (seconds in all), longest_stall,
--- late_inputs (that came after their turn had closed), desyncs, kept_bytes (of turns, with 32 for each).
---@return table
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
