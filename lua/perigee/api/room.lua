--- The methods and fields of a room, which lua/perigee/meta/rooms.lua describes.

local class = require "perigee.util.class"
local core = require "perigee.core"
local durable = require "perigee.host.durable"
local fault = require "perigee.util.fault"
local replacements = require "perigee.api.replacements"
local add_bot = require "perigee.api.bot"
local lockstep = require "perigee.api.lockstep"
local matches = require "perigee.lockstep.host"
local messages = require "perigee.host.messages"
local options = require "perigee.api.options"
local registry = require "perigee.host.registry"
local room_settings = require "perigee.host.room_settings"
local targets = require "perigee.api.targets"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

local TO_ROOM, TO_PEER = core.targets.room, core.targets.peer
local KICKED = core.codes.Kicked

local Room = {}

local getters = { state = class.state }

function getters.id(self)
  return self._id
end

function getters.name(self)
  return self._name
end

function getters.kind(self)
  return self._kind
end

function getters.count(self)
  return rawget(self, "_is_gone") and 0 or (core.room_count(self._id))
end

function getters.present(self)
  return rawget(self, "_is_gone") and 0 or select(2, core.room_count(self._id))
end

for _, name in ipairs { "capacity", "hidden", "locked", "permanent", "has_password" } do
  getters[name] = function(self)
    local settings = core.room_settings(self._id)
    return settings and settings[name]
  end
end

function getters.lockstep(self)
  return lockstep.object(self)
end


function Room:save()
  tasks.check_may_wait "room:save"
  if not durable.is_kind(self._kind) then
    fault.raise("room:save is for rooms of a kind with durable = true, and %s is none", self._kind)
  end
  return durable.save(self)
end


function Room:broadcast(name, value, opts)
  local body, value_at, number, packed = messages.encode(name, value, TO_ROOM, self._id)
  local priority, flags, key, except = options.read(opts)
  return core.send(TO_ROOM, self._id, self._id, name, body, value_at, priority, flags, 0, key,
    except, number, packed)
end


function Room:relay(bytes, opts)
  return targets.relay(self, bytes, opts)
end


local function check_peer(method, peer, remark)
  if not registry.is_peer(peer) then
    fault.raise("%s takes a peer, not %s%s", method, fault.kind(peer), remark or "")
  end
end


function Room:send(peer, name, value, opts)
  check_peer("room:send", peer, "; room:broadcast(name, value) is for all members")
  local id = peer.id
  local body, value_at, number, packed = messages.encode(name, value, TO_PEER, id)
  local priority, flags, key, except = options.read(opts)
  if except and options.leaves_out(except, id) then
    return true
  end
  return core.send(TO_PEER, id, self._id, name, body, value_at, priority, flags, 0, key, nil, number, packed)
end


function Room:peers()
  return registry.list(core.room_members(self._id), registry.peers)
end


function Room:has(peer)
  check_peer("room:has", peer)
  return core.room_has(self._id, peer.id)
end


function Room:kick(peer, reason)
  check_peer("room:kick", peer)
  if reason ~= nil then
    fault.check("reason", reason, "string")
  end
  return core.leave(peer.id, self._id, KICKED, reason or "")
end


function Room:bot(given)
  return add_bot(self, given)
end


function Room:set(settings)
  return core.room_set(self._id, room_settings.check("room:set", settings))
end


-- Reads the last argument of room:set_meta.
local function read_public(opts)
  if opts == nil then
    return false
  end
  fault.check("the last argument of room:set_meta", opts, "table")
  for key, value in next, opts do
    if key ~= "public" then
      fault.raise("room:set_meta has no option %s; it has public", tostring(key))
    end
    fault.check("public", value, "boolean")
  end
  return opts.public == true
end


function Room:set_meta(key, value, opts)
  fault.check("a meta key", key, "string")
  if not core.is_utf8(key) then
    fault.raise "a meta key is UTF-8"
  end
  return core.set_room_meta(self._id, key, messages.to_json(key, value), read_public(opts))
end


function Room:get_meta(key)
  fault.check("a meta key", key, "string")
  local gone = rawget(self, "_meta")
  if gone then
    return gone[key]
  end
  return messages.from_json(core.room_meta(self._id, key))
end


function Room:delete()
  local ok, message, code = core.room_delete(self._id)
  if ok then
    matches.close(self._id)
  end
  return ok, message, code
end


local function is_gone(self)
  return rawget(registry.rooms, self._id) ~= self
end

local function no_room()
  return nil, "there is no such room", "NoSuchRoom"
end


function Room:after(seconds, fn, ...)
  if is_gone(self) then
    return no_room()
  end
  return timers.after(self, seconds, fn, ...)
end


function Room:every(seconds, fn, ...)
  if is_gone(self) then
    return no_room()
  end
  return timers.every(self, seconds, fn, ...)
end


function Room:spawn(fn, ...)
  if is_gone(self) then
    return no_room()
  end
  timers.spawn(self, fn, ...)
  return true
end


class.define(registry.room_class, Room, getters, replacements.room)

local room = {}


--- Returns the meta of a room, by key.
---@param object perigee.Room
---@return table<string, any>
function room.meta(object)
  local meta = core.room_metas(object._id)
  for key, json in pairs(meta) do
    meta[key] = messages.from_json(json)
  end
  return meta
end


--- Marks the object of a room that is gone.
---@param object perigee.Room
function room.keep(object)
  rawset(object, "_is_gone", true)
  rawset(object, "_meta", room.meta(object))
end

return room
