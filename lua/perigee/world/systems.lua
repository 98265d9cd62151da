--- Systems: functions that run in each tick after the game's on_tick, one after the other. Each runs as a
--- separate handler: its messages are sent when it ends, and its failure stops no other system.

local core = require "perigee.core"
local declared = require "perigee.world.declared"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local query = require "perigee.world.query"
local backoff = require "perigee.host.backoff"

local OPTIONS = { "after", "before" }

local systems = {}

--- One system of a version.
---@class perigee.System
---@field name string
---@field fn function
---@field components string[]
---@field after table<string, true> systems that run before it
---@field before table<string, true> systems that run after it
---@field place string place of its declaration, from fault.where
---@field plan perigee.Plan? made at its first run
---@field label string name in error messages
---@field version integer number of the version that declares it
---@field is_system true
---@field calls integer number of its calls
---@field total number seconds of all its calls
---@field last number seconds of its last call
---@field worst number seconds of its longest call

-- Declaring ----------------------------------------------------------------------------------


local function read_names(what, value)
  if type(value) == "string" then
    value = { value }
  end
  fault.check(what, value, "table")
  for i, name in ipairs(value) do
    if type(name) ~= "string" then
      fault.raise("%s holds names, not %s", what, fault.kind(value[i]))
    end
  end
  return value
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do
    set[name] = true
  end
  return set
end

local function check_options(options)
  fault.check("the options of a system", options, "table")
  for key in iterate(options) do
    if key ~= "after" and key ~= "before" then
      fault.raise("a system has no option %s%s", tostring(key), fault.hint(tostring(key), OPTIONS))
    end
  end
end

local function check(name, components, fn, options)
  declared.check_loading "systems"
  fault.check("a system's name", name, "string")
  fault.check("the components of a system", components, "table")
  fault.check("the function of a system", fn, "function")
  check_options(options)
  if #components > query.CALLED_MOST then
    fault.raise("a system takes %d components at most; it can query others", query.CALLED_MOST)
  end
  for _, other in ipairs(declared.now().systems) do
    if other.name == name then
      fault.raise("there are two systems %q", name)
    end
  end
end


--- Declares a system of the version that is being loaded.
---@param name string
---@param components string[]
---@param fn function
---@param options table? after, before
function systems.add(name, components, fn, options)
  options = options or {}
  check(name, components, fn, options)
  table.insert(declared.now().systems, {
    name = name, fn = fn, components = read_names("the components of a system", components),
    after = set_of(read_names("after", options.after or {})),
    before = set_of(read_names("before", options.before or {})),
    place = fault.where(), label = "system " .. name, version = live.loading, is_system = true,
    calls = 0, total = 0, last = 0, worst = 0,
  })
end

-- Order --------------------------------------------------------------------------------------


local function fail(system, message, ...)
  error(("%ssystem %s: %s"):format(system.place, system.name, message:format(...)), 0)
end

-- Converts each `before` to an `after` of the other system. Raises an error for unknown names.
local function link(list)
  local by_name, names = {}, {}
  for i, system in ipairs(list) do
    by_name[system.name], names[i] = system, system.name
  end
  for _, system in ipairs(list) do
    for _, option in ipairs(OPTIONS) do
      for name in iterate(system[option]) do
        if not by_name[name] then
          fail(system, "there is no system %s for it to be %s%s", name, option,
            fault.hint(name, names))
        end
      end
    end
    for name in next, system.before do
      by_name[name].after[system.name] = true
    end
  end
end

-- Returns the index of the first declared system that does not have to run after a remaining system.
local function find_ready(list, is_left)
  for i, system in ipairs(list) do
    local is_ready = is_left[system.name]
    for name in next, system.after do
      is_ready = is_ready and not is_left[name]
    end
    if is_ready then
      return i
    end
  end
end

-- Returns a system, and the names of the systems in a cycle of `after`; the last name repeats the first.
local function find_cycle(list, is_left)
  local path, at, name = {}, {}, nil
  for _, system in ipairs(list) do
    name = name or is_left[system.name] and system.name
  end
  local by_name = {}
  for _, system in ipairs(list) do
    by_name[system.name] = system
  end
  while not at[name] do
    path[#path + 1] = name
    at[name] = #path
    local others = {}
    for other in next, by_name[name].after do
      others[#others + 1] = is_left[other] and other or nil
    end
    table.sort(others)
    name = others[1]
  end
  path[#path + 1] = name
  return by_name[name], { unpack(path, at[name]) }
end


--- Puts a version's systems into the order in which they run: the order of declaration, as far as `after` and
--- `before` allow. Raises an error if `after` and `before` contradict each other.
---@param own perigee.Declared
function systems.sort(own)
  local list, sorted, is_left = own.systems, {}, {}
  link(list)
  for _, system in ipairs(list) do
    is_left[system.name] = true
  end
  while #sorted < #list do
    local i = find_ready(list, is_left)
    if not i then
      local system, cycle = find_cycle(list, is_left)
      fail(system, "it waits for itself: %s", table.concat(cycle, " after "))
    end
    is_left[list[i].name] = nil
    sorted[#sorted + 1] = list[i]
  end
  own.systems = sorted
end

-- Running ------------------------------------------------------------------------------------


local function call(system, dt)
  if #system.components == 0 then
    system.fn(dt)
    return
  end
  system.plan = system.plan or declared.plan(unpack(system.components))
  query.each(system.plan, system.fn, dt)
end


--- Runs a system, which must not wait.
---@param system perigee.System
---@param dt number seconds since the last tick
function systems.run(system, dt)
  local began = core.read_clock()
  system.calls = system.calls + 1
  call(system, dt)
  local seconds = core.read_clock() - began
  system.total, system.last = system.total + seconds, seconds
  system.worst = math.max(system.worst, seconds)
  backoff.forget(system)
end


--- Returns the system of this number in a tick; nil if it is suspended or does not exist.
---@param number integer
---@return perigee.System?
function systems.get(number)
  local system = live.version.world.systems[number]
  return system and not backoff.is_on(system) and system or nil
end


--- Returns whether all systems of the tick have run or were skipped.
---@param number integer
---@return boolean
function systems.is_over(number)
  return number > #live.version.world.systems
end


--- Returns the statistics for perigee.stats, in the order in which systems run.
---@return table[]
function systems.stats()
  local list = {}
  for i, system in ipairs(live.version and live.version.world.systems or {}) do
    list[i] = {
      name = system.name, calls = system.calls, total = system.total, last = system.last,
      worst = system.worst,
    }
  end
  return list
end

return systems
