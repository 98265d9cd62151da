--- States survive a reload, so they must be data: a function in a state would keep old code alive. This
--- module finds the first value that is not data. It also takes and restores snapshots of states.

local core = require "perigee.core"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local registry = require "perigee.host.registry"

local getmetatable, setmetatable = debug.getmetatable, debug.setmetatable

local state = {}

local PLAIN = { string = true, number = true, boolean = true, table = true }

local function is_object(value)
  local class = getmetatable(value)
  return class == registry.peer_class or class == registry.bot_class or class == registry.room_class
    or registry.named_timers[value] == true
end

-- Returns whether a value may be in a state. Peers, rooms and named timers may be in a state.
local function is_good(value)
  return PLAIN[type(value)]
    and (type(value) ~= "table" or not getmetatable(value) or is_object(value))
end

local function describe(value)
  local class = type(value) == "table" and getmetatable(value)
  if class then
    local name = rawget(class, "__metatable")
    if name == "timer" then
      return "a timer that calls a function instead of a name"
    end
    return type(name) == "string" and "a " .. name or "a table with a metatable"
  end
  return fault.kind(value)
end

--- A walk through everything that can be reached from a table. It does not recurse, because a long linked
--- list is deep. It can be interrupted after any entry.
---@class perigee.StateWalk
---@field root table
---@field parents table<table, table> for each visited table, the table that contains it
---@field keys table<table, any> for each visited table, its key in that table
---@field stack table[] tables that must still be visited
---@field size integer size of the stack
---@field at table? the table that is being visited
---@field key any key of the entry that was checked last

local function begin_walk(root)
  return { root = root, parents = {}, keys = {}, stack = { root }, size = 1 }
end

local function path_of(walk, from, key)
  local path = fault.step(key)
  while walk.parents[from] do
    path = fault.step(walk.keys[from]) .. path
    from = walk.parents[from]
  end
  return path
end

-- Adds a table to the walk, unless the walk has visited it before.
local function meet(walk, from, key, inner)
  if type(inner) == "table" and not is_object(inner) and not walk.parents[inner] and inner ~= walk.root then
    walk.parents[inner], walk.keys[inner] = from, key
    walk.size = walk.size + 1
    walk.stack[walk.size] = inner
  end
end

-- Checks one entry. Returns its value if that is not data.
local function look(walk, from, key, value)
  local wrong = not is_good(key) and key or not is_good(value) and value or nil
  if wrong == nil then
    meet(walk, from, key, value)
    meet(walk, from, key, key)
  end
  return wrong
end

local function pop(walk)
  walk.size = walk.size - 1
  return table.remove(walk.stack)
end

--- Finds the first value that is not data.
---@param root any
---@return string? path keys from the root to the value, like ".players[3].hit"; "": the root itself
---@return string? what like "a function"
function state.find_fault(root)
  if root == nil then
    return
  elseif not is_good(root) then
    return "", describe(root)
  elseif type(root) ~= "table" or is_object(root) then
    return
  end
  local walk = begin_walk(root)
  while walk.size > 0 do
    local from = pop(walk)
    for key, value in iterate(from) do
      local wrong = look(walk, from, key, value)
      if wrong ~= nil then
        return path_of(walk, from, key), describe(wrong)
      end
    end
  end
end

local function check(name, value)
  if value == nil then
    return
  end
  if type(value) ~= "table" or getmetatable(value) then
    error(("%s must be a plain table, not %s"):format(name, describe(value)), 0)
  end
  local path, what = state.find_fault(value)
  if path then
    error(("%s%s holds %s; what survives a reload is data only"):format(name, path, what), 0)
  end
end


--- Raises an error if the value contains anything but data. The error calls the value `name`.
---@param name string
---@param value any
state.check_value = check


--- Raises an error that names the first key whose value contains anything but data.
---@param shared table perigee.state
function state.check(shared)
  check("perigee.state", shared)
  for _, object in next, registry.rooms do
    check(("room.state of room %q"):format(object.name), rawget(object, "state"))
  end
  for id, object in next, registry.peers do
    check(("peer.state of peer %d (%s)"):format(id, core.peer_name(id) or "?"),
      rawget(object, "state"))
  end
end


-- Between handlers ---------------------------------------------------------------------------

-- Number of entries of one state that are checked after a handler. The number is lower in specs, which run
-- many handlers in a short time.
local STEPS = core.is_simulated and 50 or 500
local WALKS_MAX = 32 -- most states whose walks are stored

local walks, walk_count = {}, 0 -- unfinished walks of large states, by the state's table

local function take_walk(root)
  if not walks[root] then
    if walk_count >= WALKS_MAX then
      walks, walk_count = {}, 0
    end
    walks[root], walk_count = begin_walk(root), walk_count + 1
  end
  return walks[root]
end

-- Returns the next entry of a walk. Handlers may change tables between two steps; if the key is gone, the
-- walk leaves the table.
local function next_entry(walk)
  local ok, key, value = pcall(next, walk.at, walk.key)
  walk.key = ok and key or nil
  return walk.key, value
end

-- Returns whether a table is still where the walk has found it.
local function is_reached(walk, from)
  while from ~= walk.root do
    local parent, key = walk.parents[from], walk.keys[from]
    if key ~= from and rawget(parent, key) ~= from or key == from and rawget(parent, key) == nil then
      return false
    end
    from = parent
  end
  return true
end

-- Checks the next entries of a state. After the last entry, the next call begins with the first entry again.
local function go_on(root, report)
  local walk = take_walk(root)
  for _ = 1, STEPS do
    if not walk.at and walk.size > 0 then
      walk.at = pop(walk)
    elseif not walk.at then
      walks[root], walk_count = nil, walk_count - 1
      return
    end
    local key, value = next_entry(walk)
    local wrong = key ~= nil and look(walk, walk.at, key, value) or nil
    if key == nil then
      walk.at = nil
    elseif wrong ~= nil and is_reached(walk, walk.at) then
      report(path_of(walk, walk.at, key), describe(wrong))
    end
  end
end


--- Checks a part of a state, and the next part in the next call, so that a large state takes several calls.
---@param value any
---@param report fun(path: string, what: string) called for a wrong value: ".players[3].hit", "a function"
function state.look(value, report)
  if type(value) ~= "table" then
    return
  elseif getmetatable(value) then
    report("", describe(value))
  else
    go_on(value, report)
  end
end

-- Snapshots ---------------------------------------------------------------------------------


--- A snapshot of a state: the entries of each table that can be reached from it.
---@class perigee.Snapshot
---@field room perigee.Room object with the state: a room, a peer, or a table with the field `state`
---@field root table? value of room.state; nil: it was never used
---@field tables table[] all reachable tables, each once
---@field entries table[] copies of their entries

local function copy_entries(from)
  local copy = {}
  for key, value in next, from do
    copy[key] = value
  end
  return copy
end


--- Takes a snapshot of the state of a room or of another object. A restore refills the tables and keeps their
--- identity, so that other references to them stay valid (in perigee.state, another room, a waiting handler).
---@param object perigee.Room
---@return perigee.Snapshot
function state.remember(object)
  local root = rawget(object, "state")
  local tables, entries, seen = {}, {}, {}
  local function note(value)
    if type(value) == "table" and not seen[value] and not is_object(value) then
      seen[value] = true
      tables[#tables + 1] = value
    end
  end
  note(root)
  local at = 1
  while tables[at] do
    local copy = copy_entries(tables[at])
    entries[at] = copy
    for key, value in next, copy do
      note(key)
      note(value)
    end
    at = at + 1
  end
  return { room = object, root = root, tables = tables, entries = entries }
end


--- Restores an object's state from a snapshot.
---@param snapshot perigee.Snapshot
function state.bring_back(snapshot)
  for i, target in ipairs(snapshot.tables) do
    setmetatable(target, nil)
    for key in next, target do
      target[key] = nil
    end
    for key, value in next, snapshot.entries[i] do
      target[key] = value
    end
  end
  rawset(snapshot.room, "state", snapshot.root)
end

return state
