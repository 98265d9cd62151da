--- perigee.rooms: rooms by name. lua/perigee/meta/rooms.lua describes the functions.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local messages = require "perigee.host.messages"
local registry = require "perigee.host.registry"
local room_settings = require "perigee.host.room_settings"
local journal = require "perigee.host.journal"

local rooms = {}

-- The options of rooms whose on_create has not been called yet, by room id.
local pending = {}

local function check_name(name)
  if registry.is_room(name) then
    fault.raise "a room's name must be a string, not a room; room.name is one"
  end
  fault.check("a room's name", name, "string")
end

local function forget(id)
  pending[id] = nil
  registry.forget_room(id)
end


local function create(name, options, settings, is_for_join)
  local id, message, code = core.room_create(name, settings, is_for_join)
  if not id then
    return nil, message, code
  end
  pending[id] = options
  journal.push(forget, id)
  return registry.rooms[id]
end


function rooms.create(name, options, settings)
  check_name(name)
  if settings ~= nil then
    room_settings.check("rooms.create", settings)
  end
  return create(name, options, settings, false)
end


function rooms.get(name)
  check_name(name)
  local id = core.room_find(name)
  return id and registry.rooms[id] or nil
end


function rooms.delete(name)
  local room = rooms.get(name)
  if not room then
    return nil, "there is no such room", "NoSuchRoom"
  end
  return room:delete()
end


function rooms.all()
  return registry.list(core.rooms(false), registry.rooms)
end

function rooms.list(query)
  if query ~= nil then
    fault.check("the query of rooms.list", query, "table")
  end
  local ids, next_name = core.query_rooms(messages.json_of("the query", query or {}))
  if not ids then
    fault.raise("rooms.list: %s", next_name)
  end
  return registry.list(ids, registry.rooms), next_name
end


local host = {}


--- Makes a room because a peer joins it. Has the same results as rooms.create.
---@param name string
---@param options any
---@return perigee.Room? room
---@return string? message
---@return string? code
function host.create_for_join(name, options)
  return create(name, options, nil, true)
end


--- Returns the argument for a new room's on_create: the options of rooms.create, or an empty table.
---@param id integer
---@return any
function host.take_options(id)
  local options = pending[id]
  pending[id] = nil
  return options == nil and {} or options
end

return { api = rooms, host = host }
