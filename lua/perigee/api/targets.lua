--- The receivers of a message: perigee.to, which lua/perigee/meta/sending.lua describes, and perigee.send.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local messages = require "perigee.host.messages"
local options = require "perigee.api.options"
local registry = require "perigee.host.registry"

local TARGETS = core.targets
local ENTRY_STEPS = 10 -- charge for an entry of a list

local targets = {}

local target_class = { __metatable = "target" }

function target_class.__newindex()
  fault.raise "a target cannot be changed; make one with perigee.to"
end

function target_class.__call()
  fault.raise "a target is no function; perigee.to.all stands without parentheses"
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

--- Functions that make targets. Only `all` is itself a target.
targets.to = {}

targets.to.all = target { is_all = true }


function targets.to.one(peer)
  if not registry.is_peer(peer) then
    fault.raise("perigee.to.one takes a peer, not %s", fault.kind(peer))
  end
  return peer
end


function targets.to.all_except(...)
  local except = {}
  for i = 1, select("#", ...) do
    except = join_lists(except, options.ids(select(i, ...), "what perigee.to.all_except leaves out"))
  end
  return target { is_all = true, except = except }
end


function targets.to.group(peers)
  return target { ids = options.ids(peers, "what perigee.to.group takes") }
end


local function deliver_to_group(ids, except, deliver, ...)
  local left_out = {}
  for _, id in ipairs(except or {}) do
    left_out[id] = true
  end
  for _, id in ipairs(ids) do
    core.charge(ENTRY_STEPS)
    if not left_out[id] then
      left_out[id] = true
      deliver(TARGETS.peer, id, nil, ...)
    end
  end
  return true
end


--- Calls `deliver(target, id, except, ...)` for a room, a peer or all peers; for a group, once for each peer.
--- `target` is a number of core.targets.
---@param what string name of the called function, for errors
---@param whom perigee.Peer|perigee.Room|table a peer, a room, or a target of perigee.to
---@param except integer[]? excluded ids
---@param deliver fun(target: integer, id: integer, except: integer[]?, ...): boolean?, string?, string?
---@return boolean? ok
---@return string? message
---@return string? code
function targets.deliver(what, whom, except, deliver, ...)
  local class = type(whom) == "table" and getmetatable(whom)
  if class == "room" then
    return deliver(TARGETS.room, whom.id, except, ...)
  elseif class == "peer" then
    if except and options.leaves_out(except, whom.id) then
      return true
    end
    return deliver(TARGETS.peer, whom.id, nil, ...)
  elseif class ~= "target" then
    fault.raise("%s takes a peer, a room or one of perigee.to, not %s", what,
      whom == targets.to.all_except and "perigee.to.all_except itself; call it"
        or whom == targets.to.group and "perigee.to.group itself; call it"
        or fault.kind(whom))
  elseif whom.is_all then
    return deliver(TARGETS.all, 0, join_lists(whom.except, except), ...)
  end
  return deliver_to_group(whom.ids, except, deliver, ...)
end


local function deliver_message(kind, id, except, name, body, value_at, priority, flags, key, ...)
  local room = kind == TARGETS.room and id or 0
  return core.send(kind, id, room, name, body, value_at, priority, flags, 0, key, except, ...)
end


function targets.send(whom, name, value, opts)
  local body, value_at, number, packed = messages.encode(name, value)
  local priority, flags, key, except = options.read(opts)
  return targets.deliver("perigee.send", whom, except, deliver_message, name, body, value_at, priority,
    flags, key, number, packed)
end


local function deliver_bytes(kind, id, except, bytes, priority, flags, key)
  return core.relay(kind, id, bytes, priority, flags, key, except)
end


function targets.relay(whom, bytes, opts)
  fault.check("bytes", bytes, "string")
  local priority, flags, key, except = options.read(opts)
  return targets.deliver("perigee.relay", whom, except, deliver_bytes, bytes, priority, flags, key)
end

return targets
