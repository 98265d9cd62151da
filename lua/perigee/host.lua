--- The dispatcher: C calls these functions, one per event, always with the same arguments: peer,
--- room, data, a, b; and of packets (and of resume) flags, ref, type, channel, priority. Each finds
--- the handlers and calls them. Verdicts are returned: true, or false and a reason; for a broadcast
--- also other bytes.
---
--- A function that returns a coroutine (tasks.lua) has C resume it. What is here runs for every
--- event, so it makes no tables and closures where nothing is asked for.

local channels = require "perigee.channels"
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local errors = require "perigee.errors"
local events = require "perigee.events"
local fault = require "perigee.fault"
local live = require "perigee.live"
local live_schema = require "perigee.live_schema"
local lockstep = require "perigee.lockstep.host"
local mcp_builtin = require "perigee.mcp.builtin"
local mcp_http = require "perigee.mcp.http"
local messages = require "perigee.messages"
local network = require "perigee.world.network"
local peer_host = require "perigee.peer"
local registry = require "perigee.registry"
local reload = require "perigee.reload"
local rests = require "perigee.rests"
local room_host = require "perigee.room"
local rooms = require "perigee.rooms"
local sandbox = require "perigee.sandbox"
local self_test = require "perigee.self_test"
local systems = require "perigee.systems"
local tasks = require "perigee.tasks"

local peers, room_objects, of_room = registry.peers, registry.rooms, live.of_room
local code_names, CODES = core.code_names, core.codes
local is_request = peer_host.is_request

-- For the statistics: at 1 the function that runs, at 2 the name of the message that it handles. C
-- reads them after the call.
local ran = core.ran()

local priority_names = {}
for name, number in next, core.priorities do
  priority_names[number] = name
end

-- What runs, for error messages, where an event has two handlers.
local ON_CREATE, ON_DELETE = { label = "on_create" }, { label = "on_delete" }

local host = { failed = errors.failed, label = errors.label }

-- Runs while nothing but the host's own code can be at fault.
function host.load(_, _, path)
  return reload.load(path)
end


function host.reload(_, _, _, patience_ms, is_asked)
  return reload.begin(patience_ms / 1000, is_asked ~= 0)
end


function host.upgrade()
  reload.upgrade()
end


function host.finish()
  return reload.finish()
end


function host.follow_up()
  reload.follow_up()
end


function host.roll_back()
  return reload.roll_back()
end


function host.settle()
  reload.settle()
end


function host.start()
  live.task = nil
  local handler = live.game.on_start
  ran[1] = handler
  if handler then
    handler()
  end
end


function host.stop(_, _, reason)
  live.task = nil
  local handler = live.game.on_stop
  ran[1] = handler
  if handler then
    handler(reason)
  end
end


function host.error(_, _, _, number)
  live.task, ran[1] = nil, nil
  errors.tell(number)
end

-- Peers ------------------------------------------------------------------------------------

-- The words that go with a refusal.
local function reason_text(reason)
  if type(reason) == "string" then
    return reason
  end
  return reason == nil and "refused" or errors.text(reason)
end


function host.connect(peer)
  live.task = nil
  local handler = live.game.on_connect
  ran[1] = handler
  if handler then
    local verdict, reason = handler(peers[peer])
    if verdict == false then
      return false, reason_text(reason)
    end
  end
  if events.recording then
    events.record { type = "Connected", peer = peers[peer] }
  end
  if declared.is_used then
    network.join(peer)
  end
  return true
end


function host.forget(peer)
  network.leave(peer)
  if rawget(peers, peer) then
    peer_host.keep(peer)
    registry.forget_peer(peer)
  end
  tasks.drop_peer(peer)
end


function host.disconnect(peer, _, _, code)
  live.task = nil
  local handler = live.game.on_disconnect
  ran[1] = handler
  local object = rawget(peers, peer)
  if handler or events.recording or object or declared.is_used then
    object = peer_host.keep(peer)
  end
  registry.forget_peer(peer)
  tasks.drop_peer(peer)
  network.leave(peer)
  if events.recording then
    events.record { type = "Disconnected", peer = object, reason = code_names[code] }
  end
  if handler then
    handler(object, code_names[code])
  end
end


function host.suspend(peer, _, _, code)
  live.task = nil
  local handler = live.game.on_suspend
  ran[1] = handler
  if handler then
    handler(peers[peer], code_names[code])
  end
end


function host.resume(peer, room, _, away_ms, lost, _, resent)
  live.task = nil
  local handler = of_room[room].on_resume
  ran[1] = handler
  if handler then
    handler(room_objects[room], peers[peer], {
      seconds = away_ms / 1e3, lost = lost, resent = resent,
    })
  end
end


function host.packet(peer, _, data, _, _, flags, ref, packet_type, channel, priority)
  live.task, ran[1] = nil, nil
  if channel == lockstep.CHANNEL and lockstep.packet(peer, data, packet_type, flags, ref) then
    return
  end
  local handler = live.game.on_packet
  ran[1] = handler
  if not handler then
    core.error(peer, CODES.ChannelNotFound, flags, ref, "nobody serves this channel")
    return
  end
  local answer = handler(peers[peer], {
    channel = channel, type = packet_type, payload = data, priority = priority_names[priority],
    reliable = flags % 2 == 1, request = is_request(flags),
  })
  if is_request(flags) and answer ~= nil then
    fault.check("on_packet's answer", answer, "string")
    peer_host.answer_packet(peer, channel, packet_type, answer, ref, flags)
  end
end


function host.channel(peer, _, data, _, _, flags, ref, packet_type, channel, priority)
  local entry = channels.find(channel)
  local handler = entry and entry.handler
  live.task, ran[1] = handler, handler and handler.fn
  if entry then
    channels.take(peer, data, flags, ref, packet_type, entry, priority)
  else
    mcp_http.packet(peer, data, flags, ref, packet_type, channel)
  end
end


function host.channel_closed(peer, _, _, _, _, _, _, _, channel)
  ran[1] = nil
  tasks.drop_channel(channel, peer)
end

-- Tools of operators and designers -----------------------------------------------------------


function host.http(_, _, data, conn)
  live.task, ran[1] = nil, nil
  mcp_http.request(conn, data)
end


function host.reloaded(_, _, text, is_good)
  live.task, ran[1] = nil, nil
  mcp_builtin.reloaded(is_good ~= 0 and text or nil, text)
end


function host.child(_, _, output, token, status)
  live.task, ran[1] = nil, nil
  mcp_builtin.ended(token, status, output)
end


function host.http_gone(_, _, _, conn)
  live.task, ran[1] = nil, nil
  mcp_http.gone(conn)
end

-- Messages ---------------------------------------------------------------------------------

local function no_handler(peer, name, flags, ref)
  core.error(peer, CODES.Unsupported, flags, ref, ('no handler for message "%s"'):format(name))
end

-- Calls the handler of a message: the room kind's, else the game's. Returns whether there is one,
-- and what it returned.
local function call_handler(peer, room, name, value)
  local object = room ~= 0 and room_objects[room] or nil
  local handler = object and of_room[room].on_message
  if type(handler) == "function" then
    ran[1], ran[2] = handler, name
    return true, handler(object, peers[peer], name, value)
  elseif handler and handler[name] then
    ran[1], ran[2] = handler[name], name
    return true, handler[name](object, peers[peer], value)
  end
  handler = live.game.on_message
  if type(handler) == "function" then
    ran[1], ran[2] = handler, name
    return true, handler(peers[peer], name, value, object)
  elseif handler and handler[name] then
    ran[1], ran[2] = handler[name], name
    return true, handler[name](peers[peer], value, object)
  end
  ran[1] = nil
  return false
end

local function record_message(peer, room, name, value)
  events.record {
    type = "Message", peer = peers[peer], name = name, value = value,
    room = room ~= 0 and room_objects[room] or nil,
  }
end


-- What could not be decoded, and why as far as is known. Bytes are wrong because a program is; JSON is
-- what people write, who are told.
local function refuse_message(peer, flags, ref, packet_type, problem)
  if packet_type == 0 then
    core.error(peer, CODES.Protocol, flags, ref, problem or core.peer_transport(peer) == "text"
      and 'what follows the name is JSON, such as 5, "text" or {"x": 1}'
      or 'a message is the JSON text ["name", value]')
  elseif not live_schema.knows(packet_type) then
    core.error(peer, CODES.Unsupported, flags, ref, problem)
  elseif core.invalid_closes() then
    core.close(peer, CODES.Protocol, problem)
  elseif is_request(flags) then
    core.error(peer, CODES.Protocol, flags, ref, problem)
  end
end


function host.message(peer, room, body, _, _, flags, ref, packet_type)
  local name, value = messages.decode(body, packet_type)
  live.task, ran[1] = name, nil
  if not name then
    refuse_message(peer, flags, ref, packet_type, value)
    return
  end
  if events.recording then
    record_message(peer, room, name, value)
  end
  local is_handled, answer = call_handler(peer, room, name, value)
  if is_request(flags) and is_handled then
    peer_host.answer(peer, room, name, answer, ref, flags)
  elseif not is_handled and (is_request(flags) or not events.recording) then
    no_handler(peer, name, flags, ref)
  end
end


function host.text(peer, room, line)
  live.task = "text"
  if events.recording then
    record_message(peer, room, "text", line)
  end
  if not call_handler(peer, room, "text", line) and not events.recording then
    no_handler(peer, "text", 0, 0)
  end
end


function host.response(peer, _, body, _, _, _, ref, packet_type, channel)
  ran[1] = nil
  return tasks.answer(peer, ref, body, channel, packet_type)
end

-- Rooms ------------------------------------------------------------------------------------


function host.join(peer, room)
  live.task = nil
  local handler = of_room[room].on_join
  ran[1] = handler
  if handler then
    local verdict, reason = handler(room_objects[room], peers[peer])
    if verdict == false then
      return false, reason_text(reason)
    end
  end
  return true
end


function host.leave(peer, room, _, code)
  live.task = nil
  lockstep.leave(peer, room)
  local handler = of_room[room].on_leave
  ran[1] = handler
  if handler then
    handler(room_objects[room], peers[peer], code_names[code])
  end
end


function host.broadcast(peer, room, data)
  live.task = nil
  local handler = of_room[room].on_broadcast
  ran[1] = handler
  if not handler then
    return true
  end
  local verdict = handler(room_objects[room], peers[peer], data)
  if verdict == nil or verdict == true then
    return true
  elseif verdict == false or type(verdict) == "string" then
    return verdict
  end
  fault.raise("on_broadcast returns nil, true, false or a string, not %s", fault.kind(verdict))
end


function host.backpressure(peer, room, _, dropped, queued)
  live.task = nil
  local handlers = room ~= 0 and of_room[room] or live.game
  ran[1] = handlers.on_backpressure
  if handlers.on_backpressure then
    local object = room ~= 0 and room_objects[room] or nil
    handlers.on_backpressure(object, peers[peer], { dropped = dropped, queued = queued })
  end
end


function host.room_create(_, room)
  live.task = ON_CREATE
  local object, options = room_objects[room], rooms.host.take_options(room)
  local on_create, on_room_create = of_room[room].on_create, live.game.on_room_create
  ran[1] = on_create or on_room_create
  if on_create then
    on_create(object, options)
  end
  live.task = nil
  if on_room_create then
    on_room_create(object)
  end
end


function host.room_delete(_, room)
  live.task = ON_DELETE
  local object = room_objects[room]
  local on_delete, on_room_delete = of_room[room].on_delete, live.game.on_room_delete
  ran[1] = on_delete or on_room_delete
  room_host.keep(object)
  rooms.host.take_options(room)
  registry.forget_room(room)
  of_room[room] = nil
  tasks.drop_room(room)
  rests.forget(room)
  lockstep.forget(room)
  if on_delete then
    on_delete(object)
  end
  live.task = nil
  if on_room_delete then
    on_room_delete(object)
  end
end

-- Time -------------------------------------------------------------------------------------


function host.timer(_, _, _, id)
  ran[1] = nil
  return tasks.fire(id)
end


function host.tick(_, room, _, passed_us, left_out)
  live.task, ran[1] = nil, nil
  if left_out > 0 then
    errors.log(core.levels.warn, "on_tick is late; ticks were left out")
  end
  if rests.is_on(room) then
    return
  elseif tasks.is_ticking(room) then
    errors.log(core.levels.warn, "on_tick still waits; the next was left out")
    return
  end
  if room ~= 0 then
    local handler = of_room[room].on_tick
    ran[1] = handler
    if handler then
      handler(room_objects[room], passed_us / 1e6)
    end
  else
    local handler = live.game.on_tick
    ran[1] = handler
    if handler then
      handler(passed_us / 1e6)
    end
    if not declared.is_used then
      events.end_tick()
    end
  end
  tasks.end_tick(room)
  rests.forget(room)
end


-- Follows the game's tick: each of the systems by its number, and one call more, which ends the tick
-- for all of them.
function host.system(_, _, _, passed_us, number)
  local system = systems.get(number)
  live.task, ran[1] = system, system and system.fn
  if system then
    systems.run(system, passed_us / 1e6)
  elseif systems.is_over(number) then
    events.end_tick()
    network.end_tick()
  end
end


mcp_builtin.try, mcp_builtin.game = reload.try, reload.game

if not core.is_simulated then
  self_test.run()
end
math.randomseed(core.seed())
sandbox.close()

return host
