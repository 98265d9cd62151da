--- Walks over the entities that have all components of a query. A query allocates no memory, because its plan
--- is made only once for each list of names, and its position follows from its current entity.

local bit = require "bit"
local store = require "perigee.world.store"

local band, min = bit.band, math.min
local MASK = store.MASK

local query = {}

--- One way to walk over the entities of a query: along the list of one of its components.
---@class perigee.Walk
---@field cursor integer position in the list of the entity that was returned last
---@field list integer[] list of `along`
---@field at table<integer, integer> positions in the list, by place; `at` of `along`
---@field along perigee.Set component whose list the walk follows
---@field a table<integer, table> values of the first component, by place
---@field b table<integer, table>? values of the second component
---@field c table<integer, table>? values of the third component
---@field d table<integer, table>? values of the fourth component
---@field all table[] values of all components

-- Generic `for` calls these functions with the walk and the last entity. Separate functions for few
-- components are fastest with the JIT. Usually the last entity is still at the cursor. The cursor has moved
-- if another query of the same names has run meanwhile, and the list may have changed if this query has
-- waited.

-- Returns the position to continue from.
local function last_of(walk, entity)
  if not entity then
    return walk.along.size + 1
  end
  local list, cursor = walk.list, walk.cursor
  if list[cursor] == entity then
    return cursor
  end
  -- While the query waited, its entity may have been removed, so that the list is shorter. Or a new entity at
  -- the end of the list may have reused the number.
  local place, size = band(entity, MASK), walk.along.size
  local at = walk.at[place]
  if at > size or list[at] ~= entity and band(list[at], MASK) == place then
    return min(cursor, size + 1)
  end
  return at
end

local function next_one(walk, entity)
  local list, a = walk.list, walk.a
  for i = last_of(walk, entity) - 1, 1, -1 do
    local found = list[i]
    local x = a[band(found, MASK)]
    if x then
      walk.cursor = i
      return found, x
    end
  end
end

local function next_two(walk, entity)
  local list, a, b = walk.list, walk.a, walk.b
  for i = last_of(walk, entity) - 1, 1, -1 do
    local found = list[i]
    local place = band(found, MASK)
    local x, y = a[place], b[place]
    if x and y then
      walk.cursor = i
      return found, x, y
    end
  end
end

local function next_three(walk, entity)
  local list, a, b, c = walk.list, walk.a, walk.b, walk.c
  for i = last_of(walk, entity) - 1, 1, -1 do
    local found = list[i]
    local place = band(found, MASK)
    local x, y, z = a[place], b[place], c[place]
    if x and y and z then
      walk.cursor = i
      return found, x, y, z
    end
  end
end

local function next_four(walk, entity)
  local list, a, b, c, d = walk.list, walk.a, walk.b, walk.c, walk.d
  for i = last_of(walk, entity) - 1, 1, -1 do
    local found = list[i]
    local place = band(found, MASK)
    local x, y, z, w = a[place], b[place], c[place], d[place]
    if x and y and z and w then
      walk.cursor = i
      return found, x, y, z, w
    end
  end
end

local function has_all(all, place)
  for i = 1, #all do
    if not all[i][place] then
      return false
    end
  end
  return true
end

local function values_from(all, i, place)
  local value = all[i][place]
  if i == #all then
    return value
  end
  return value, values_from(all, i + 1, place)
end

local function next_many(walk, entity)
  local list, all = walk.list, walk.all
  for i = last_of(walk, entity) - 1, 1, -1 do
    local found = list[i]
    local place = band(found, MASK)
    if has_all(all, place) then
      walk.cursor = i
      return found, values_from(all, 1, place)
    end
  end
end

local STEPS = { next_one, next_two, next_three, next_four }

-- Plans --------------------------------------------------------------------------------------


--- A plan to walk over the entities that have all of some components.
---@class perigee.Plan
---@field step function
---@field walks perigee.Walk[] walks along each component

local function make_walk(along, sets)
  local all = {}
  for i, set in ipairs(sets) do
    all[i] = set.values
  end
  return { cursor = 0, list = along.list, at = along.at, along = along, a = all[1], b = all[2], c = all[3],
    d = all[4], all = all }
end


---@param sets perigee.Set[]
---@return perigee.Plan
function query.plan(sets)
  local walks = {}
  for i, set in ipairs(sets) do
    walks[i] = make_walk(set, sets)
  end
  return { step = STEPS[#sets] or next_many, walks = walks }
end


--- Returns the arguments of generic `for`. The walk follows the list of the component with the fewest
--- entities.
---@param plan perigee.Plan
---@return function
---@return perigee.Walk
function query.begin(plan)
  store.begin()
  local walks = plan.walks
  local best = walks[1]
  for i = 2, #walks do
    if walks[i].along.count < best.along.count then
      best = walks[i]
    end
  end
  return plan.step, best
end


---@param plan perigee.Plan
---@return integer
function query.count(plan)
  local walks = plan.walks
  if #walks == 1 then
    return walks[1].along.count
  end
  local count, step, walk = 0, query.begin(plan)
  for _ in step, walk do
    count = count + 1
  end
  return count
end

-- Callbacks for each entity ------------------------------------------------------------------------------


-- Functions by the number of components. Each number needs its own function, because the components' values
-- precede the last argument.
local CALLS = {
  function(fn, last, step, walk)
    for entity, a in step, walk do
      fn(entity, a, last)
    end
  end,
  function(fn, last, step, walk)
    for entity, a, b in step, walk do
      fn(entity, a, b, last)
    end
  end,
  function(fn, last, step, walk)
    for entity, a, b, c in step, walk do
      fn(entity, a, b, c, last)
    end
  end,
  function(fn, last, step, walk)
    for entity, a, b, c, d in step, walk do
      fn(entity, a, b, c, d, last)
    end
  end,
  function(fn, last, step, walk)
    for entity, a, b, c, d, e in step, walk do
      fn(entity, a, b, c, d, e, last)
    end
  end,
  function(fn, last, step, walk)
    for entity, a, b, c, d, e, f in step, walk do
      fn(entity, a, b, c, d, e, f, last)
    end
  end,
}

query.CALLED_MOST = #CALLS


--- Calls fn(entity, values..., last) for each entity.
---@param plan perigee.Plan of query.CALLED_MOST components at most
---@param fn function
---@param last any
function query.each(plan, fn, last)
  CALLS[#plan.walks](fn, last, query.begin(plan))
end

return query
