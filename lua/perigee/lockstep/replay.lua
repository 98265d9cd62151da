--- Plays a recording through a game's own on_turn in a simulated server, for `perigee lockstep FILE GAME`.
--- The room and its match exist in that server, but have no members.

local core = require "perigee.core"
local host = require "perigee.lockstep.host"
local rooms = require("perigee.api.rooms").api
local timers = require "perigee.host.timers"
local wire = require "perigee.lockstep.wire"

local replay = {}

local playing ---@type perigee.LockstepEntry?
local hashes = {} ---@type table<integer, integer> hashes that on_turn has returned, by turn

local NUMBERS = {}
for number, name in next, wire.KINDS do
  NUMBERS[name] = number
end


local function entry_of(entry)
  local kind = NUMBERS[entry.kind] or error("there are no entries of the kind " .. tostring(entry.kind), 0)
  return wire.entry(entry.slot, kind, kind == wire.JOINED and wire.joined(entry.id, entry.name) or entry.data)
end


--- Creates the room in the next iteration of the loop.
---@param head table head of the recording
function replay.begin(head)
  timers.begin({ label = "a replay", is_host = true, fn = function()
    local room = rooms.get(head.room) or assert(rooms.create(head.room))
    playing = host.replay(room, head.match, head.seed)
    if playing then
      function playing.match.script_hash(_, turn, hash)
        hashes[turn] = hash
      end
    end
  end }, 0)
  core.commit()
end


--- Returns whether the kind of the recorded room has an on_turn.
---@return boolean
function replay.is_possible()
  return playing ~= nil
end


--- Calls on_turn with a turn in the next iteration of the loop.
---@param turn integer
---@param entries table[] entries from recording.read
function replay.turn(turn, entries)
  local list = {}
  for i, entry in ipairs(entries) do
    list[i] = entry_of(entry)
  end
  hashes = {}
  host.replay_turn(playing, turn, wire.turn(list))
  core.commit()
end


--- Returns the hash that on_turn returned for a turn.
---@param turn integer
---@return integer?
function replay.hash(turn)
  return hashes[turn]
end

return replay
