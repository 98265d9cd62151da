--- perigee.world: entities, components and systems. lua/perigee/meta/world.lua describes the methods.

local declared = require "perigee.world.declared"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local network = require "perigee.world.network"
local query = require "perigee.world.query"
local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"
local state = require "perigee.host.state"
local store = require "perigee.world.store"
local systems = require "perigee.world.systems"

local getmetatable = debug.getmetatable

local singletons = {} ---@type table<string, table>

local World = {}

local world -- the object perigee.world

local function check_self(self, method)
  if self ~= world then
    fault.raise("world:%s is called with a colon", method)
  end
end

local function check_entity(entity)
  if type(entity) ~= "number" then
    fault.raise("an entity is a number, not %s%s", fault.kind(entity),
      registry.is_peer(entity) and "; a peer's is peer.entity" or "")
  end
end


function World:component(name, default)
  check_self(self, "component")
  declared.component(name, default)
  declared.use()
end


function World:system(name, components, fn, options)
  check_self(self, "system")
  systems.add(name, components, fn, options)
  declared.use()
end


-- Entities -----------------------------------------------------------------------------------


function World:spawn(components)
  check_self(self, "spawn")
  declared.check_not_loading()
  if components ~= nil then
    fault.check("what an entity has", components, "table")
    for name, value in iterate(components) do
      declared.own_set(name)
      declared.check_value(name, value)
    end
  end
  declared.use()
  local entity = store.create()
  if not entity then
    return nil, ("there are %d entities already"):format(store.count())
  end
  for name, value in iterate(components or {}) do
    store.put(declared.set(name), entity, declared.complete(name, value))
  end
  return entity
end


function World:despawn(entity)
  check_self(self, "despawn")
  check_entity(entity)
  declared.check_not_loading()
  if not store.exists(entity) then
    return false
  end
  local owner = network.owner_of(entity)
  if owner then
    fault.raise("this is the entity of %s, which goes with it; world:remove takes components away",
      owner)
  end
  store.destroy(entity)
  return true
end


function World:exists(entity)
  check_self(self, "exists")
  check_entity(entity)
  return store.exists(entity)
end


-- Components ---------------------------------------------------------------------------------


function World:set(entity, name, value)
  check_self(self, "set")
  check_entity(entity)
  declared.check_not_loading()
  local set = declared.own_set(name)
  if value ~= nil then
    declared.check_value(name, value)
  end
  if not store.exists(entity) then
    return nil, ("there is no entity %.0f any more"):format(entity)
  end
  value = declared.complete(name, value)
  store.put(set, entity, value)
  return value
end


function World:get(entity, name)
  check_self(self, "get")
  check_entity(entity)
  return store.get(declared.set(name), entity)
end


function World:has(entity, name)
  check_self(self, "has")
  check_entity(entity)
  return store.get(declared.set(name), entity) ~= nil
end


function World:remove(entity, name)
  check_self(self, "remove")
  check_entity(entity)
  declared.check_not_loading()
  local set = declared.own_set(name)
  return store.exists(entity) and store.take(set, entity)
end


function World:singleton(name)
  check_self(self, "singleton")
  if name == "network_stats" then
    declared.use()
    return network.stats
  end
  declared.own_set(name)
  local value = singletons[name]
  if not value then
    value = declared.complete(name)
    singletons[name] = value
  end
  return value
end


-- Queries ------------------------------------------------------------------------------------


function World:query(...)
  check_self(self, "query")
  declared.use()
  return query.begin(declared.plan(...))
end


function World:count(...)
  check_self(self, "count")
  declared.use()
  return query.count(declared.plan(...))
end


-- The object ---------------------------------------------------------------------------------


local names = sorted_keys(World)

world = setmetatable({}, {
  __metatable = "world",
  __index = function(_, name)
    return World[name] or fault.raise("perigee.world has no %s%s", tostring(name),
      fault.hint_or_names(name, names))
  end,
  __newindex = function(_, name)
    fault.raise("perigee.world's %s cannot be set; what all of the game shares is a singleton",
      tostring(name))
  end,
})

-- Functions for the host -------------------------------------------------------------------

local host = {}

local PLAIN = { number = true, string = true, boolean = true }

-- Returns whether all keys and values of a table are numbers, strings or booleans, and it has no metatable.
local function is_flat(value)
  for key, inner in next, value do
    if not PLAIN[type(inner)] or not PLAIN[type(key)] then
      return false
    end
  end
  return getmetatable(value) == nil
end


--- Raises an error that names the first component with a value that is not data.
function host.check()
  for _, set in ipairs(store.sets()) do
    for i = 1, declared.KEPT[set.name] and 0 or set.size do
      local entity = set.list[i]
      local value = store.get(set, entity)
      if value and not is_flat(value) then
        state.check_value(("the component %s of entity %.0f"):format(set.name, entity), value)
      end
    end
  end
  for name, value in iterate(singletons) do
    state.check_value("the singleton " .. name, value)
  end
end


--- Applies the declarations of a version that has become live.
---@param own perigee.Declared
function host.take(own)
  declared.is_used = declared.is_used or own.is_used
  declared.fill_in(own, singletons)
  if declared.is_used then
    network.sync()
  end
end


--- Returns the world as new tables: entities with their components, singletons, statistics of systems. Except
--- for components of the server, the values themselves are not copied.
---@return table
function host.copy()
  local entities, shared = {}, {}
  for entity in store.each() do
    entities[entity] = {}
  end
  for _, set in ipairs(store.sets()) do
    for i = 1, set.size do
      local entity = set.list[i]
      local value = store.get(set, entity)
      if value then
        entities[entity][set.name] = declared.KEPT[set.name] and network.copy(set.name, value) or value
      end
    end
  end
  for name, value in next, singletons do
    shared[name] = value
  end
  if declared.is_used then
    shared.network_stats = network.copy("network_stats", network.stats)
  end
  return { entities = entities, singletons = shared, systems = systems.stats() }
end

return { api = world, methods = World, host = host }
