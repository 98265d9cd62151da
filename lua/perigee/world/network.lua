--- Peers and channels as entities. The server sets their components `connection` and `channel`, and the
--- singleton `network_stats`; their fields are read from the server on access.

local bit = require "bit"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"
local store = require "perigee.world.store"

local network = {}

local CHANNELS_OF_SERVER = { [core.channels.control] = "control", [core.channels.message] = "message" }
local PLUGIN_FIRST = core.channels.plugin_first -- lowest number of a plugin channel

local connections, channels = store.set "connection", store.set "channel"
local of_peer = {} -- peer id -> entity
local of_channel = {} -- channel number -> entity
local leaving, leaving_count = {}, 0 -- ids of peers that have gone since the last end of a tick
local gone = {}  -- objects of the peers in `leaving`, by id
local signature  -- signature of the set of channels with entities

-- Components ---------------------------------------------------------------------------------

-- Peer id or channel number, by component. Components do not contain it, because scripts can change
-- components.
local numbers = setmetatable({}, { __mode = "k" })

-- Defines the metatable of a component whose fields are read from the server.
local function define(name, getters)
  local names = sorted_keys(getters)
  return {
    __metatable = name,
    __index = function(self, field)
      local getter = getters[field]
      if not getter then
        fault.raise("the component %s has no %s%s", name, tostring(field),
          fault.hint(tostring(field), names))
      end
      return getter(numbers[self])
    end,
    __newindex = function(_, field)
      fault.raise("the component %s is kept by the server; its %s cannot be set", name,
        tostring(field))
    end,
  }, names
end

-- Returns one of the results of a core function.
local function nth(fn, number)
  return function(id)
    return (select(number, fn(id)))
  end
end

local connection_class, CONNECTION_FIELDS = define("connection", {
  peer_id = function(id) return id end,
  peer = function(id)
    return gone[id] or core.peer_name(id) and registry.peers[id] or nil
  end,
  connected = core.peer_connected,
  latency_ms = nth(core.peer_latency_ms, 1),
  packets_sent = nth(core.peer_activity, 1),
  packets_received = nth(core.peer_activity, 2),
  last_activity = nth(core.peer_activity, 3),
})

local names_of_channels = {} -- by number

local channel_class, CHANNEL_FIELDS = define("channel", {
  channel_id = function(id) return id end,
  name = function(id) return names_of_channels[id] end,
  is_system = function(id) return id < PLUGIN_FIRST end,
})

local FIELDS = { connection = CONNECTION_FIELDS, channel = CHANNEL_FIELDS }

local function new_component(class, number)
  local component = setmetatable({}, class)
  numbers[component] = number
  return component
end

-- Peers --------------------------------------------------------------------------------------


--- Creates the entity of a peer and returns it; returns nil if there are too many.
---@param id integer
---@return integer?
function network.join(id)
  if not of_peer[id] then
    local entity = store.create()
    if not entity then
      return nil
    end
    of_peer[id] = entity
    store.put(connections, entity, new_component(connection_class, id))
  end
  return of_peer[id]
end


--- Reports that a peer is gone. Its entity stays until the end of the next tick, so that systems find it.
---@param id integer
function network.leave(id)
  if of_peer[id] then
    leaving_count = leaving_count + 1
    leaving[leaving_count], gone[id] = id, registry.peek_peer(id)
  end
end


--- Returns the entity of a peer; creates it if a connected peer has none. Returns nil if the peer is gone.
---@param id integer
---@return integer?
function network.entity_of(id)
  return of_peer[id] or core.peer_name(id) and network.join(id) or nil
end


--- Describes the peer or channel of an entity for error messages; nil if the entity belongs to neither.
---@param entity integer
---@return string?
function network.owner_of(entity)
  local place = bit.band(entity, store.MASK)
  local connection, channel = connections.values[place], channels.values[place]
  return connection and "peer " .. numbers[connection]
    or channel and "channel " .. numbers[channel] or nil
end

-- Channels -----------------------------------------------------------------------------------


local function set_channels(list)
  local is_there = {}
  for _, number in next, list do
    is_there[number] = true
  end
  for number, entity in next, of_channel do
    if not is_there[number] then
      store.destroy(entity)
      of_channel[number] = nil
    end
  end
  for _, number in ipairs(list) do
    local entity = not of_channel[number] and store.create()
    if entity then
      of_channel[number] = entity
      store.put(channels, entity, new_component(channel_class, number))
    end
  end
end


--- Creates and removes entities so that they match the served channels.
function network.refresh()
  local now, numbers_now, names = core.channels_served(signature)
  if now == signature then
    return
  end
  signature = now
  for number, name in next, CHANNELS_OF_SERVER do
    numbers_now[#numbers_now + 1], names[#names + 1] = number, name
  end
  for i, number in ipairs(numbers_now) do
    names_of_channels[number] = names[i]
  end
  table.sort(numbers_now)
  set_channels(numbers_now)
end

-- Figures ------------------------------------------------------------------------------------


local stats_class, STATS_FIELDS = define("network_stats", {
  connections_active = nth(core.network, 6),
  average_latency_ms = nth(core.network, 5),
  packets_sent = nth(core.network, 1),
  bytes_sent = nth(core.network, 2),
  packets_received = nth(core.network, 3),
  bytes_received = nth(core.network, 4),
})

--- The singleton `network_stats`.
network.stats = setmetatable({}, stats_class)
FIELDS.network_stats = STATS_FIELDS

-- Entities of both kinds ---------------------------------------------------------------------


--- Makes entities for all peers and channels that have none.
function network.sync()
  for _, id in ipairs(core.peers()) do
    network.join(id)
  end
  network.refresh()
end


--- Ends a tick: removes the entities of peers that are gone, and updates the entities of channels.
function network.end_tick()
  for i = 1, leaving_count do
    local id = leaving[i]
    leaving[i], gone[id] = nil, nil
    if of_peer[id] then
      store.destroy(of_peer[id])
      of_peer[id] = nil
    end
  end
  leaving_count = 0
  network.refresh()
end


--- Returns a component that the server sets, as a plain table.
---@param name string
---@param component table
---@return table
function network.copy(name, component)
  local copy = {}
  for _, field in ipairs(FIELDS[name]) do
    copy[field] = component[field]
  end
  return copy
end

return network
