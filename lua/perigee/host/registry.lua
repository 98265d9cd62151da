--- The objects for peers and rooms that scripts use: one for each id, made on first use, kept while the peer
--- or room exists. Their methods are in api/peer.lua and api/room.lua.

local core = require "perigee.core"

local OBJECT_STEPS = 50 -- charge for finding or making an object

local registry = {}

--- Metatables of the objects. getmetatable returns the name of the class.
registry.peer_class = { __metatable = "peer" }
registry.bot_class = { __metatable = "peer" }
registry.room_class = { __metatable = "room" }

--- Timers that call functions by their names. States may contain such timers.
registry.named_timers = setmetatable({}, { __mode = "k" }) ---@type table<perigee.Timer, true>

-- Objects of peers and rooms that no longer exist. Running handlers may still use them.
local gone_peers = setmetatable({}, { __mode = "v" })
local gone_rooms = setmetatable({}, { __mode = "v" })

local function make_peer(peers, id)
  local peer = setmetatable({ _id = id }, registry.peer_class)
  peers[id] = peer
  return peer
end

local function make_room(rooms, id)
  local name = core.room_name(id)
  if not name then
    return nil
  end
  local kind = name:match "^[^:]*"
  local room = setmetatable({ _id = id, _name = name, _kind = kind }, registry.room_class)
  rooms[id] = room
  return room
end

--- Objects of peers by id. Reading an id makes the object. Ids come from the core, which reports their end.
---@type table<integer, perigee.Peer>
registry.peers = setmetatable({}, { __index = make_peer })
---@type table<integer, perigee.Room>
registry.rooms = setmetatable({}, { __index = make_room })


--- Removes a peer's object from the registry.
---@param id integer
function registry.forget_peer(id)
  gone_peers[id] = rawget(registry.peers, id)
  registry.peers[id] = nil
end


---@param id integer
function registry.forget_room(id)
  gone_rooms[id] = rawget(registry.rooms, id)
  registry.rooms[id] = nil
end


--- Returns the object of a peer, which may be gone already; nil if no script has used it.
---@param id integer
---@return perigee.Peer?
function registry.peek_peer(id)
  return rawget(registry.peers, id) or gone_peers[id]
end


---@param id integer
---@return perigee.Room?
function registry.peek_room(id)
  return rawget(registry.rooms, id) or gone_rooms[id]
end


---@return boolean
function registry.is_peer(value)
  return type(value) == "table" and getmetatable(value) == "peer"
end


---@return boolean
function registry.is_room(value)
  return type(value) == "table" and getmetatable(value) == "room"
end


--- Returns the objects for a list of ids.
---@param ids integer[]
---@param objects table registry.peers or registry.rooms
function registry.list(ids, objects)
  local list = {}
  for i = 1, #ids do
    core.charge(OBJECT_STEPS)
    list[i] = objects[ids[i]]
  end
  return list
end

return registry
