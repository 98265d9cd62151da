--- The declarations of a version of the game for its world: components with their defaults, and systems
--- (systems.lua). The top level of the version declares them; they apply when the version goes live.

local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local query = require "perigee.world.query"
local store = require "perigee.world.store"

local getmetatable = debug.getmetatable

local NAMES_MAX = 16 -- names in one query

local declared = {
  is_used = false, -- whether any version that was live has used the world
  on_use = nil, -- function called when a game begins to use the world
}

--- Components whose values the host sets. Scripts may only read them.
declared.KEPT = { connection = true, channel = true, network_stats = true }

--- The declarations of a version.
---@class perigee.Declared
---@field defaults table<string, table> default values by component
---@field names string[] names of the components in `defaults`
---@field systems perigee.System[] in the order in which they run
---@field sets table<string, perigee.Set> sets whose names have been checked
---@field plans table plans of queries, as a tree: plans[first name][second name]...[1]
---@field is_used boolean whether the version's top level uses the world

local loading -- the declarations of the version that is being loaded


--- Begins the declarations of the version that is loaded next.
---@param version perigee.Version
function declared.begin(version)
  loading = { defaults = {}, names = {}, systems = {}, sets = {}, plans = {},
    is_used = false }
  version.world = loading
end


--- Returns the declarations of the version whose code is running.
---@return perigee.Declared
function declared.now()
  return live.loading and loading or live.version.world
end


--- Marks the world as used by the game.
function declared.use()
  if live.loading then
    loading.is_used = true
  elseif not declared.is_used then
    declared.is_used = true
    declared.on_use()
  end
end


--- Raises an error unless the top level of a game is running.
---@param what string
function declared.check_loading(what)
  if not live.loading then
    fault.raise("%s are declared while the game is loaded: at the top level, not in a handler", what)
  end
end


--- Raises an error if the top level of a game is running.
function declared.check_not_loading()
  if live.loading then
    fault.raise("entities are made and changed in handlers, such as on_start: the top level runs "
      .. "again at each reload")
  elseif live.is_dry then
    fault.raise "entities change at once, so the line cannot be tried; add ! to do it"
  end
end

-- Names --------------------------------------------------------------------------------------


local function check_name(name)
  if type(name) ~= "string" or name == "" then
    fault.raise("a component's name must be a string, not %s", name == "" and "empty"
      or fault.kind(name))
  end
end

local function known_names(own)
  local names = { unpack(own.names) }
  for name in iterate(declared.KEPT) do
    names[#names + 1] = name
  end
  return names
end


--- Returns the error in a component's name, or nil. A game that declares one component must declare all.
---@param own perigee.Declared
---@param name string
---@return string? problem
function declared.problem(own, name)
  if #own.names == 0 or own.defaults[name] or declared.KEPT[name] then
    return nil
  end
  local hint = fault.hint(name, known_names(own))
  return ('there is no component "%s"%s'):format(name, hint ~= "" and hint
    or ("; declare it: perigee.world:component(%q)"):format(name))
end

local function add_set(own, name)
  check_name(name)
  local problem = declared.problem(own, name)
  if problem then
    fault.raise("%s", problem)
  end
  local set = store.set(name)
  if not live.loading then -- while the game is being loaded, components may be used before their declaration
    own.sets[name] = set
  end
  return set
end


--- Returns the set of a component.
---@param name string
---@return perigee.Set
function declared.set(name)
  local own = declared.now()
  return own.sets[name] or add_set(own, name)
end


--- Returns the set of a component that scripts may write.
---@param name string
---@return perigee.Set
function declared.own_set(name)
  if declared.KEPT[name] then
    fault.raise("the component %s is kept by the server and cannot be set", name)
  end
  return declared.set(name)
end

-- Components ---------------------------------------------------------------------------------


--- Declares a component.
---@param name string
---@param default table?
function declared.component(name, default)
  declared.check_loading "components"
  check_name(name)
  if declared.KEPT[name] then
    fault.raise("the component %s is there already: the server keeps it", name)
  elseif loading.defaults[name] then
    fault.raise("the component %s is declared twice", name)
  elseif default ~= nil then
    fault.check("the default of a component", default, "table")
  end
  loading.defaults[name] = default or {}
  loading.names[#loading.names + 1] = name
end

local function copy(value)
  if type(value) ~= "table" or getmetatable(value) then
    return value
  end
  local copied = {}
  for key, inner in next, value do
    copied[copy(key)] = copy(inner)
  end
  return copied
end

-- Fills in missing fields from a default value. Uses no metamethods, because a script may have added
-- metamethods since the check, and the last step of a reload must not run code of scripts.
local function fill(value, default)
  for key, inner in next, default do
    if rawget(value, key) == nil then
      rawset(value, key, copy(inner))
    end
  end
end


--- Raises an error if a component cannot have the value.
---@param name string
---@param value any
function declared.check_value(name, value)
  if type(value) ~= "table" or getmetatable(value) then
    fault.raise("the component %s must be a plain table, not %s", name, type(value) == "table"
      and "one with a metatable" or fault.kind(value))
  end
end


--- Returns a component's value for storage, with missing fields filled in.
---@param name string
---@param value table? checked value
---@return table
function declared.complete(name, value)
  value = value or {}
  local default = declared.now().defaults[name]
  if default then
    fill(value, default)
  end
  return value
end


--- Adds missing fields from a version's defaults to the existing components and singletons.
---@param own perigee.Declared
---@param singletons table<string, table>
function declared.fill_in(own, singletons)
  for _, name in ipairs(own.names) do
    local default, set = own.defaults[name], store.find(name)
    if singletons[name] then
      fill(singletons[name], default)
    end
    for _, value in next, set and next(default) ~= nil and set.values or {} do
      fill(value, default)
    end
  end
end

-- Queries ------------------------------------------------------------------------------------


-- Creates the plan for these names in the tree of plans.
local function make_plan(node, ...)
  local count = select("#", ...)
  if count == 0 or count > NAMES_MAX then
    fault.raise("a query takes the names of 1 to %d components, not %d", NAMES_MAX, count)
  end
  local sets = {}
  for i = 1, count do
    sets[i] = declared.set((select(i, ...)))
  end
  local plan = query.plan(sets)
  if not live.loading then
    node[1] = plan
  end
  return plan
end


--- Returns the plan for entities with all of these components.
---@param ... string
---@return perigee.Plan
function declared.plan(...)
  local node = declared.now().plans
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    local inner = node[name]
    if not inner then
      check_name(name)
      inner = {}
      node[name] = inner
    end
    node = inner
  end
  return node[1] or make_plan(node, ...)
end


--- Checks the systems' components. This is only possible after all declarations.
---@param own perigee.Declared
function declared.finish(own)
  for _, system in ipairs(own.systems) do
    for _, name in ipairs(system.components) do
      local problem = declared.problem(own, name)
      if problem then
        error(("%ssystem %s: %s"):format(system.place, system.name, problem), 0)
      end
    end
  end
end


return declared
