--- What survives a reload must be data: a function in it would keep old code alive. Finds the
--- first thing that is none. Also remembers what a state holds, to bring it back.

local core = require "perigee.core"
local each = require "perigee.each"
local fault = require "perigee.fault"
local registry = require "perigee.registry"
local room = require "perigee.room"

local getmetatable, setmetatable = debug.getmetatable, debug.setmetatable

local state = {}

local PLAIN = { string = true, number = true, boolean = true, table = true }

local function is_object(value)
  local class = getmetatable(value)
  return class == registry.peer_class or class == registry.room_class
end

-- The host's own objects survive with what they stand for.
local function is_good(value)
  return PLAIN[type(value)]
    and (type(value) ~= "table" or not getmetatable(value) or is_object(value))
end

local function path_of(from, key, parents, keys)
  local path = fault.step(key)
  while parents[from] do
    path = fault.step(keys[from]) .. path
    from = parents[from]
  end
  return path
end

local function describe(value)
  if type(value) == "table" then
    return "a table with a metatable"
  end
  return fault.kind(value)
end

-- Walks without recursion: a long linked list is deep.
local function find_fault(root)
  local parents, keys, stack, size = {}, {}, { root }, 1
  while size > 0 do
    local from = stack[size]
    stack[size], size = nil, size - 1
    for key, value in each(from) do
      local wrong = not is_good(key) and key or not is_good(value) and value
      if wrong then
        return path_of(from, key, parents, keys), describe(wrong)
      end
      for i = 1, 2 do
        local inner = i == 1 and value or key
        if type(inner) == "table" and not is_object(inner) and not parents[inner]
          and inner ~= root then
          parents[inner], keys[inner] = from, key
          size = size + 1
          stack[size] = inner
        end
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
  local path, what = find_fault(value)
  if path then
    error(("%s%s holds %s; what survives a reload is data only"):format(name, path, what), 0)
  end
end


--- Raises an error, which calls the value `name`, where there is something in it that is not data.
---@param name string
---@param value any
state.check_value = check


--- Raises an error that names the first key under which there is something that is not data.
---@param shared table perigee.state
function state.check(shared)
  check("perigee.state", shared)
  for _, object in next, registry.rooms do
    check(("room.state of room %q"):format(object.name), rawget(object, "state"))
    check(("the meta of room %q"):format(object.name), room.meta(object))
  end
  for id, object in next, registry.peers do
    check(("peer.state of peer %d (%s)"):format(id, core.peer_name(id) or "?"),
      rawget(object, "state"))
  end
end


--- What a state held: of each table that can be reached in it, the entries.
---@class perigee.Snapshot
---@field room perigee.Room
---@field root table? what room.state was; nil when nobody had asked for it yet
---@field tables table[] all that can be reached, without doubles
---@field entries table[] a copy of each

local function copy_entries(from)
  local copy = {}
  for key, value in next, from do
    copy[key] = value
  end
  return copy
end


--- Remembers a room's state. The tables themselves stay the ones that they are, so whoever else
--- holds one of them (perigee.state, another room, a handler that waits) holds it still, whether
--- the state is brought back or not.
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


--- Makes a room's state what it was.
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
