--- Entities and their components. An entity is a number: its place in the lowest 20 bits, and above them a
--- count of earlier uses of the place, so that a number never means two entities.
---
--- A component is a set: its values by the entity's place, and a list of the entities that have it, in the
--- order in which they got it. If an entity loses the component, it stays in the list without a value until
--- the list is tidied. Queries walk the lists from the end to the beginning, and new entities are added at
--- the end. Therefore a query sees no entity twice, and sees no entity that was added to the list meanwhile.
--- Lists are tidied, and places are used again, only when no query can be running; see `begin`.

local bit = require "bit"
local core = require "perigee.core"

local band = bit.band
local transaction = core.transaction

local PLACES = 2 ^ 20
local MASK = PLACES - 1
local LITTER = 256 -- number of stale list entries and places that is allowed besides a quarter of all entries

local store = { MASK = MASK, MOST = PLACES - 1 }

--- One component.
---@class perigee.Set
---@field name string
---@field values table<integer, table> values by place
---@field list integer[] entities; some may have lost the component
---@field at table<integer, integer> position in the list, by place
---@field size integer size of the list
---@field count integer number of entities that have the component

local sets = {} ---@type table<string, perigee.Set>
local order = {} ---@type perigee.Set[] in the order in which they were first used
local alive, alive_count = {}, 0 -- entities by place
local last_place = 0
local free, free_count = {}, 0  -- free places, each stored as the number of its next entity
local left, left_count = {}, 0  -- places that become free at the next tidying, stored like `free`
local stale, entries = 0, 0 -- number of list entries without a value; number of all list entries
local seen = -1 -- transaction in which the newest query began

-- Tidying ------------------------------------------------------------------------------------


-- Removes stale entries and keeps the order. For a removed entry, `at` then has the position of the next
-- remaining entry, so that a query that waits at the removed entry can continue.
local function tidy_list(set)
  local list, at, values, size = set.list, set.at, set.values, 0
  for i = 1, set.size do
    local entity = list[i]
    local place = band(entity, MASK)
    if values[place] then
      size = size + 1
      list[size], at[place] = entity, size
    else
      at[place] = size + 1
    end
  end
  for i = size + 1, set.size do
    list[i] = nil
  end
  set.size = size
end

local function tidy()
  for i = 1, #order do
    local set = order[i]
    if set.size > set.count then
      tidy_list(set)
    end
  end
  for i = 1, left_count do
    free[free_count + i], left[i] = left[i], nil
  end
  entries, stale = entries - stale, 0
  free_count, left_count = free_count + left_count, 0
end

local function is_littered()
  return stale + left_count > LITTER + entries / 4
end


--- Begins a query. If it is the first query of the handler, also tidies the lists, because then only waiting
--- handlers can have an unfinished query.
function store.begin()
  local now = transaction()
  if now ~= seen then
    seen = now
    if is_littered() then
      tidy()
    end
  end
end


-- Tidies outside of queries, for games that rarely run queries.
local function tidy_between()
  if is_littered() and transaction() ~= seen then
    tidy()
  end
end

-- Components ---------------------------------------------------------------------------------


--- Returns the set of a name; creates it on the first call.
---@param name string
---@return perigee.Set
function store.set(name)
  local set = sets[name]
  if not set then
    set = { name = name, values = {}, list = {}, at = {}, size = 0, count = 0 }
    sets[name] = set
    order[#order + 1] = set
  end
  return set
end


--- Returns the set of a name if it exists.
---@param name string
---@return perigee.Set?
function store.find(name)
  return sets[name]
end


--- Returns all sets, in the order of their creation. Do not change the result.
---@return perigee.Set[]
function store.sets()
  return order
end


--- Sets a component of a live entity.
---@param set perigee.Set
---@param entity integer
---@param value table
function store.put(set, entity, value)
  local place, values = band(entity, MASK), set.values
  if values[place] then
    values[place] = value
    return
  end
  local at = set.at[place]
  if at and set.list[at] == entity then
    stale = stale - 1
  else
    tidy_between()
    at = set.size + 1
    set.list[at], set.at[place], set.size = entity, at, at
    entries = entries + 1
  end
  values[place], set.count = value, set.count + 1
end


--- Returns the component of an entity; nil if the entity is gone or lacks it.
---@param set perigee.Set
---@param entity number
---@return table?
function store.get(set, entity)
  local place = band(entity, MASK)
  return alive[place] == entity and set.values[place] or nil
end


--- Removes a component from a live entity.
---@param set perigee.Set
---@param entity integer
---@return boolean whether the entity had the component
function store.take(set, entity)
  local place, values = band(entity, MASK), set.values
  if not values[place] then
    return false
  end
  values[place], set.count, stale = nil, set.count - 1, stale + 1
  return true
end

-- Entities -----------------------------------------------------------------------------------


---@return integer? entity nil if there are too many
function store.create()
  if free_count == 0 and left_count > 0 then
    tidy_between()
  end
  local entity
  if free_count > 0 then
    entity = free[free_count]
    free[free_count], free_count = nil, free_count - 1
  elseif last_place < store.MOST then
    last_place = last_place + 1
    entity = last_place
  else
    return nil
  end
  alive[band(entity, MASK)], alive_count = entity, alive_count + 1
  return entity
end


---@param entity number
---@return boolean
function store.exists(entity)
  return alive[band(entity, MASK)] == entity
end


--- Removes a live entity with all its components.
---@param entity integer
function store.destroy(entity)
  for i = 1, #order do
    store.take(order[i], entity)
  end
  alive[band(entity, MASK)], alive_count = nil, alive_count - 1
  left_count = left_count + 1
  left[left_count] = entity + PLACES
end


---@return integer
function store.count()
  return alive_count
end


--- Iterates over all entities, by place.
---@return fun(): integer?
function store.each()
  local place = 0
  return function()
    while place < last_place do
      place = place + 1
      if alive[place] then
        return alive[place]
      end
    end
  end
end

return store
