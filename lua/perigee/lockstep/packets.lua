--- Reads the lockstep packets of members and passes them to the room's match.

local core = require "perigee.core"
local host = require "perigee.lockstep.host"
local registry = require "perigee.host.registry"
local wire = require "perigee.lockstep.wire"

local CODES = core.codes

local packets = { CHANNEL = wire.CHANNEL }

-- Handlers of packets, by kind. They return false for a malformed packet.
local TAKE = {}


local REFUSALS = {
  NoSuchRoom = "the room was deleted",
  RateLimited = "ENTER comes once a second at most",
  Unsupported = "the match goes on, and nobody can give its state",
  VersionMismatch = ("this server speaks version %d of lockstep"):format(wire.VERSION),
}


TAKE[wire.ENTER] = function(entry, peer, data, flags, ref)
  local enter = wire.read_enter(data)
  if not enter then
    return false
  end
  local ok, code = false, "NoSuchRoom"
  if core.room_find(entry.room.name) == entry.room.id then
    ok, code = entry.match:enter(peer, core.peer_name(peer) or "?", enter, core.now())
  end
  if not ok then
    core.error(peer, CODES[code], flags, ref, REFUSALS[code])
  end
  return true
end


TAKE[wire.INPUT] = function(entry, peer, data)
  local given = wire.read_input(data, entry.match.max_input)
  if given then
    entry.match:input(peer, given, core.now())
  end
  return given ~= nil
end


TAKE[wire.NEED] = function(entry, peer, data)
  local turn = wire.read_number(data)
  if turn then
    entry.match:need(peer, turn, core.now())
  end
  return turn ~= nil
end


TAKE[wire.SNAPSHOT_UP] = function(entry, peer, data)
  local piece = wire.read_piece(data)
  if piece then
    entry.match:piece(peer, piece, core.now())
  end
  return piece ~= nil
end


TAKE[wire.TREE] = function(entry, peer, data)
  local given = wire.read_tree(data)
  if given then
    entry.match:tree(peer, given)
  end
  return given ~= nil
end


TAKE[wire.EXIT] = function(entry, peer, data)
  entry.match:leave(peer, core.now())
  return #data == 4
end


--- Handles a packet on the channel of lockstep. Returns false if no kind has lockstep.
---@param peer integer
---@param data string
---@param kind integer type of the packet
---@param flags integer
---@param ref integer
---@return boolean
function packets.take(peer, data, kind, flags, ref)
  if not host.is_used() then
    return false
  end
  local id, take = wire.read_u32(data, 1), TAKE[kind]
  if not id then
    core.close(peer, CODES.Protocol, "a lockstep packet without a room")
    return true
  end
  local is_member = core.room_has(id, peer)
  local entry = is_member and host.find(registry.rooms[id])
  if not is_member then
    if kind == wire.ENTER then
      core.error(peer, CODES.NotInRoom, flags, ref, "not in the room")
    end
  elseif not entry or not take then
    core.error(peer, CODES.Unsupported, flags, ref, entry and "an unknown lockstep packet"
      or "rooms of this kind have no lockstep")
  elseif not take(entry, peer, data, flags, ref) then
    core.close(peer, CODES.Protocol, "a malformed lockstep packet")
  end
  if entry then
    host.set_timer(entry)
  end
  return true
end

return packets
