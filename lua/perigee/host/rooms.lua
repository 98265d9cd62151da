--- Events of rooms: creation and deletion, joins, leaves and broadcasts.

local core = require "perigee.core"
local durable = require "perigee.host.durable"
local fault = require "perigee.util.fault"
local joins = require "perigee.host.joins"
local live = require "perigee.host.live"
local lockstep = require "perigee.lockstep.host"
local messages = require "perigee.host.messages"
local registry = require "perigee.host.registry"
local backoff = require "perigee.host.backoff"
local room_host = require "perigee.api.room"
local parties = require "perigee.matchmaking.parties"
local rooms = require "perigee.api.rooms"
local seats = require "perigee.matchmaking.seats"
local tasks = require "perigee.host.tasks"
local verdict = require "perigee.host.verdict"

-- Label of on_delete in error messages. The deletion of a room calls on_delete, then on_room_delete.
local ON_DELETE = { label = "on_delete" }

local of_room, peers, room_objects = live.of_room, registry.peers, registry.rooms
local code_names = core.code_names
local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


function on.join(peer, room, json, _, token)
  live.task = nil
  local handler = of_room[room].on_join
  ran[1] = handler
  if not seats.may_join(peer, room) or not parties.may_join(peer, room) then
    return false, "the places in this room are reserved"
  end
  if not handler then
    return true
  end
  local options
  if json == "" then
    options = joins.options(token)
  else
    options = messages.decode_object(json)
    if not options then
      return false, "the join options are malformed"
    end
  end
  return verdict("on_join", handler(room_objects[room], peers[peer], options))
end


function on.joined(_, _, _, token)
  joins.report(token)
end


function on.not_joined(peer, room, reason, token, code)
  joins.report(token, peer, room, reason, code_names[code])
end


function on.leave(peer, room, _, code)
  live.task = nil
  lockstep.leave(peer, room)
  seats.leave(peer, room)
  local handler = of_room[room].on_leave
  ran[1] = handler
  if handler then
    handler(room_objects[room], peers[peer], code_names[code])
  end
end


function on.broadcast(peer, room, data)
  live.task = nil
  local handler = of_room[room].on_broadcast
  ran[1] = handler
  if not handler then
    return true
  end
  local answer, reason = handler(room_objects[room], peers[peer], data)
  if answer == true or answer == nil and reason == nil then
    return true
  elseif answer == nil then
    return false
  elseif answer == false or type(answer) == "string" then
    return answer
  end
  fault.raise("on_broadcast returns nil, true, false or a string, not %s", fault.kind(answer))
end


function on.backpressure(peer, room, _, dropped, queued)
  live.task = nil
  local handlers = room ~= 0 and of_room[room] or live.game
  ran[1] = handlers.on_backpressure
  if handlers.on_backpressure then
    local object = room ~= 0 and room_objects[room] or nil
    handlers.on_backpressure(object, peers[peer], { dropped = dropped, queued = queued })
  end
end


-- If the game was reloaded while on_create waited, upgrades the state that the previous version made.
local function catch_up(object, version)
  local on_upgrade = of_room[object.id].on_upgrade
  if live.number > version and on_upgrade then
    on_upgrade(object, version, live.number)
  end
end


function on.create(_, room)
  live.task = nil
  local handler = of_room[room].on_create
  ran[1] = handler
  if handler then
    local object, version = room_objects[room], live.number
    handler(object, rooms.host.take_options(room))
    catch_up(object, version)
  end
end


function on.room_create(_, room)
  live.task = nil
  local handler = live.game.on_room_create
  ran[1] = handler
  if handler then
    handler(room_objects[room])
  end
end


-- Ends everything that belongs to a deleted room, except its object, to which handlers may still refer.
local function forget(room, object)
  durable.forget_room(object)
  room_host.keep(object)
  rooms.host.take_options(room)
  registry.forget_room(room)
  of_room[room] = nil
  tasks.drop_room(room)
  backoff.forget(room)
  lockstep.forget(room)
  seats.forget_room(room)
end


function on.forget_room(_, room)
  forget(room, room_objects[room])
end


function on.room_delete(_, room)
  live.task = ON_DELETE
  local object = room_objects[room]
  local on_delete, on_room_delete = of_room[room].on_delete, live.game.on_room_delete
  ran[1] = on_delete or on_room_delete
  forget(room, object)
  if on_delete then
    on_delete(object)
  end
  live.task = nil
  if on_room_delete then
    on_room_delete(object)
  end
end

return on
