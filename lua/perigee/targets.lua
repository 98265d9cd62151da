--- Whom a message is for: perigee.to and perigee.send.

local core = require "perigee.core"
local fault = require "perigee.fault"
local messages = require "perigee.messages"
local options = require "perigee.options"
local registry = require "perigee.registry"

local TARGETS = core.targets
local ENTRY_STEPS = 10 -- that an entry of a list is charged as

local targets = {}

local target_class = { __metatable = "target" }

function target_class.__newindex()
  fault.raise "a target cannot be changed; make one with perigee.to"
end

local function target(fields)
  return setmetatable(fields, target_class)
end

local function join_lists(a, b)
  if not a or not b then
    return a or b
  end
  local list = {}
  for _, from in ipairs { a, b } do
    core.charge(#from * ENTRY_STEPS)
    for _, id in ipairs(from) do
      list[#list + 1] = id
    end
  end
  return list
end

--- Makers of targets, and `all`, which is one.
targets.to = {}

targets.to.all = target { is_all = true }


--- One peer.
---@param peer perigee.Peer
function targets.to.one(peer)
  if not registry.is_peer(peer) then
    fault.raise("perigee.to.one takes a peer, not %s", fault.kind(peer))
  end
  return peer
end


--- Everybody but these peers.
---@param ... perigee.Peer|perigee.Peer[]
function targets.to.all_except(...)
  local except = {}
  for i = 1, select("#", ...) do
    except = join_lists(except, options.ids(select(i, ...), "what perigee.to.all_except leaves out"))
  end
  return target { is_all = true, except = except }
end


--- These peers.
---@param peers perigee.Peer[]
function targets.to.group(peers)
  return target { ids = options.ids(peers, "what perigee.to.group takes") }
end


local function send_to_group(ids, name, body, value_at, priority, flags, key, except)
  local left_out = {}
  for _, id in ipairs(except or {}) do
    left_out[id] = true
  end
  for _, id in ipairs(ids) do
    core.charge(ENTRY_STEPS)
    if not left_out[id] then
      left_out[id] = true
      core.send(TARGETS.peer, id, 0, name, body, value_at, priority, flags, 0, key)
    end
  end
  return true
end


--- Sends a message.
---@param whom perigee.Peer|perigee.Room|table a peer, a room, or one of perigee.to
---@param name string
---@param value any what JSON can say
---@param opts table? priority, reliable, except, key
---@return boolean? ok
---@return string? message
---@return string? code
function targets.send(whom, name, value, opts)
  local body, value_at = messages.encode(name, value)
  local priority, flags, key, except = options.read(opts)
  local class = type(whom) == "table" and getmetatable(whom)
  if class == "room" then
    return core.send(TARGETS.room, whom.id, whom.id, name, body, value_at, priority, flags, 0,
      key, except)
  elseif class == "peer" then
    if except and options.leaves_out(except, whom.id) then
      return true
    end
    return core.send(TARGETS.peer, whom.id, 0, name, body, value_at, priority, flags, 0, key)
  elseif class ~= "target" then
    fault.raise("perigee.send takes a peer, a room or one of perigee.to, not %s",
      whom == targets.to.all_except and "perigee.to.all_except itself; call it"
        or whom == targets.to.group and "perigee.to.group itself; call it"
        or fault.kind(whom))
  elseif whom.is_all then
    return core.send(TARGETS.all, 0, 0, name, body, value_at, priority, flags, 0, key,
      join_lists(whom.except, except))
  end
  return send_to_group(whom.ids, name, body, value_at, priority, flags, key, except)
end

return targets
