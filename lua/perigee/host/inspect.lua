--- Functions by which tools inspect a running game. They are called from outside, between two events. Callers
--- get copies, so they cannot change the game.

local perigee = require "perigee.init"
local core = require "perigee.core"
local fetches = require "perigee.host.fetches"
local live = require "perigee.host.live"
local registry = require "perigee.host.registry"
local stores = require "perigee.host.stores"
local replay = require "perigee.lockstep.replay"
local room_host = require "perigee.api.room"
local world = require("perigee.world").host

local inspect = {
  replay_begin = replay.begin, replay_is_possible = replay.is_possible, replay_turn = replay.turn,
  replay_hash = replay.hash, http_serve = fetches.serve, http_requests = fetches.take_requests,
  http_answer = fetches.answer,
}


local function describe_peers(peers)
  local list = {}
  for i, peer in ipairs(peers) do
    list[i] = { id = peer.id, name = peer.name }
  end
  return list
end

local function describe_room(room)
  return {
    id = room.id, name = room.name, kind = room.kind, count = room.count, present = room.present,
    hidden = room.hidden, locked = room.locked, has_password = room.has_password, state = room.state,
    meta = room_host.meta(room), peers = describe_peers(room:peers()),
  }
end

local function describe_account(account)
  return account and {
    id = account.id, name = account.name, guest = account.guest, created = account.created,
    data = account.data,
  }
end


--- Returns a room; nil if no open room has that name.
---@param name string
---@return table?
function inspect.room(name)
  local room = perigee.rooms.get(name)
  return room and describe_room(room)
end


--- Returns all rooms that can be joined, by name.
---@return table<string, table>
function inspect.rooms()
  local rooms = {}
  for _, room in ipairs(perigee.rooms.all()) do
    rooms[room.name] = describe_room(room)
  end
  return rooms
end


--- Returns perigee.state.
---@return table
function inspect.state()
  return live.version.api.state
end


--- Returns perigee.world: entities with their components, singletons, systems.
---@return table
function inspect.world()
  return world.copy()
end


--- Returns the id of the connected text peer that has a name.
---@param name string
---@return integer?
function inspect.text_peer(name)
  for id, peer in next, registry.peers do
    if peer.transport == "text" and peer.connected and peer.name == name then
      return id
    end
  end
  return nil
end


--- Returns the values that the game has declared with perigee.protocol: JSON texts by name.
---@return table<string, string>
function inspect.declared()
  return live.version.declared
end


--- Returns whether the game greets text peers.
---@return boolean
function inspect.greets_text()
  return live.version.config.text_commands ~= false
end


--- Returns the text peer that connected last.
---@return integer id 0: none
---@return string? name
function inspect.last_text_peer()
  local last = 0
  for _, id in ipairs(core.peers()) do
    last = core.peer_transport(id) == "text" and math.max(last, id) or last
  end
  return last, last > 0 and core.peer_name(last) or nil
end


--- Returns number and schema of a collection; nil if the game does not declare it.
---@param name string
---@return integer? index
---@return integer? schema
function inspect.collection(name)
  local options = stores.find(name)
  if options then
    return options.index, options.schema
  end
end


--- Returns a peer; nil if it is not connected.
---@param id integer
---@return table?
function inspect.peer(id)
  if not core.peer_connected(id) then
    return nil
  end
  local peer, rooms = registry.peers[id], {}
  for i, room in ipairs(peer:rooms()) do
    rooms[i] = room.name
  end
  return {
    id = id, name = peer.name, session = peer.session, address = peer.address,
    transport = peer.transport, token = peer.token, latency_ms = peer.latency_ms,
    account = describe_account(peer.account), state = peer.state, rooms = rooms, stats = peer:stats(),
  }
end

return inspect
