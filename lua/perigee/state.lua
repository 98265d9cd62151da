--- What survives a reload must be data: a function in it would keep old code alive. Finds the
--- first thing that is none.

local core = require "perigee.core"
local fault = require "perigee.fault"
local registry = require "perigee.registry"
local room = require "perigee.room"

local getmetatable = debug.getmetatable

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

local function step(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then
    return "." .. key
  end
  return ("[%s]"):format(type(key) == "string" and ("%q"):format(key) or tostring(key))
end

local function path_of(from, key, parents, keys)
  local path = step(key)
  while parents[from] do
    path = step(keys[from]) .. path
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
    for key, value in next, from do
      local wrong = not is_good(key) and key or not is_good(value) and value
      if wrong then
        return path_of(from, key, parents, keys), describe(wrong)
      end
      if type(value) == "table" and not is_object(value) and not parents[value]
        and value ~= root then
        parents[value], keys[value] = from, key
        size = size + 1
        stack[size] = value
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

return state
