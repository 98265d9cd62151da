--- The options of sends: priority, reliable, except, key.

local core = require "perigee.core"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local registry = require "perigee.host.registry"

local PRIORITIES = core.priorities
local RELIABLE = core.flags.reliable
local ENTRY_STEPS = 20 -- charge for reading an entry of a list
local WORDS = { "priority", "reliable", "except", "key" }

local charge = core.charge

local options = { priority_names = {} } -- `priority_names` is indexed by number

for name, number in next, PRIORITIES do
  options.priority_names[number] = name
end

local function read_priority(name)
  local priority = PRIORITIES[name]
  if not priority then
    fault.raise('priority must be "critical", "high", "normal" or "low", not %s',
      type(name) == "string" and '"' .. name .. '"' or fault.kind(name))
  end
  return priority
end


--- Returns the ids of a peer, or of the peers in a table. The keys of the table do not matter.
---@param peers perigee.Peer|perigee.Peer[]
---@param what string
---@return integer[]
function options.ids(peers, what)
  if registry.is_peer(peers) then
    return { peers.id }
  elseif type(peers) ~= "table" or registry.is_room(peers) then
    fault.raise("%s must be a peer or a list of peers, not %s", what, fault.kind(peers))
  end
  local ids = {}
  for key, peer in iterate(peers) do
    charge(ENTRY_STEPS)
    if not registry.is_peer(peer) then
      fault.raise("%s must be a peer or a list of peers; entry %s is %s", what, tostring(key),
        fault.kind(peer))
    end
    ids[#ids + 1] = peer.id
  end
  return ids
end


---@param except integer[]
---@param id integer id of a peer
---@return boolean
function options.leaves_out(except, id)
  charge(#except)
  for _, left_out in ipairs(except) do
    if left_out == id then
      return true
    end
  end
  return false
end


local function read_key(key)
  if type(key) ~= "string" and type(key) ~= "number" then
    fault.raise("key must be a string, not %s", fault.kind(key))
  end
  return tostring(key)
end


--- Reads the options of a send.
---@param given table?
---@return integer priority
---@return integer flags
---@return string? key
---@return integer[]? except
function options.read(given)
  local priority, flags, key, except = PRIORITIES.normal, 0, nil, nil
  if given == nil then
    return priority, flags, key, except
  end
  if type(given) ~= "table" or type(getmetatable(given)) == "string" then
    fault.raise("options must be a table such as { except = peer }, not %s", fault.kind(given))
  end
  for word, value in iterate(given) do
    if word == "priority" then
      priority = read_priority(value)
    elseif word == "reliable" then
      fault.check("reliable", value, "boolean")
      flags = value and RELIABLE or 0
    elseif word == "except" then
      except = options.ids(value, "except")
    elseif word == "key" then
      key = read_key(value)
    else
      fault.raise("there is no option %s%s", tostring(word),
        fault.hint(tostring(word), WORDS))
    end
  end
  return priority, flags, key, except
end

return options
