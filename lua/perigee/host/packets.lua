--- Events of packets, messages, lines and answers from peers.

local channel_rules = require "perigee.host.channel_rules"
local channels = require "perigee.api.channels"
local core = require "perigee.core"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local lockstep = require "perigee.lockstep.packets"
local mcp_http = require "perigee.mcp.http"
local matchmaking_request = require "perigee.matchmaking.requests"
local mcp_plugins = require "perigee.mcp.plugins"
local messages = require "perigee.host.messages"
local options = require "perigee.api.options"
local peer_host = require "perigee.api.peer"
local registry = require "perigee.host.registry"
local requests = require "perigee.host.requests"
local verdict = require "perigee.host.verdict"

local of_room, peers, room_objects = live.of_room, registry.peers, registry.rooms
local is_request, CODES = peer_host.is_request, core.codes
local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


function on.packet(peer, _, data, _, _, flags, ref, packet_type, channel, priority)
  live.task, ran[1] = nil, nil
  if channel == lockstep.CHANNEL and lockstep.take(peer, data, packet_type, flags, ref) then
    return
  end
  local handler = live.game.on_packet
  ran[1] = handler
  if not handler then
    core.error(peer, CODES.ChannelNotFound, flags, ref, "nobody serves this channel")
    return
  end
  local answer = handler(peers[peer], {
    channel = channel, type = packet_type, payload = data, priority = options.priority_names[priority],
    reliable = flags % 2 == 1, request = is_request(flags),
  })
  if is_request(flags) and answer ~= nil then
    fault.check("on_packet's answer", answer, "string")
    peer_host.answer_packet(peer, channel, packet_type, answer, ref, flags)
  end
end


function on.channel(peer, _, data, _, _, flags, ref, packet_type, channel, priority)
  local entry = channels.find(channel)
  local handler = entry and entry.handler
  live.task, ran[1] = handler, handler and handler.fn
  if entry then
    channels.take(peer, data, flags, ref, packet_type, entry, priority)
  elseif channel == core.channels.control then
    mcp_plugins.take(peer, data, flags, ref, packet_type)
  else
    mcp_http.packet(peer, data, flags, ref, packet_type, channel)
  end
end


-- Handles the request of a peer to serve a plugin channel.
function on.channel_open(peer, _, name)
  live.task = nil
  local handler = live.game.on_channel_open
  ran[1] = handler
  if handler then
    return verdict("on_channel_open", handler(peers[peer], name))
  end
  return channel_rules.judge(peer, name)
end


function on.channel_closed(peer, _, _, _, _, _, _, _, channel)
  ran[1] = nil
  requests.drop_channel(channel, peer)
  mcp_plugins.drop(peer, channel)
end

-- Messages ---------------------------------------------------------------------------------

local function no_handler(peer, name, flags, ref)
  core.error(peer, CODES.Unsupported, flags, ref, ('no handler for message "%s"'):format(name))
end

-- Calls the handler of a message: the handler of the room's kind, otherwise the handler of the game. Returns
-- whether a handler exists, and its results.
local function call_handler(peer, room, name, value)
  local own = matchmaking_request(name)
  if own then
    ran[1], ran[2] = own, name
    return true, own(peers[peer], value)
  end
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

-- Handles a message that cannot be decoded. Wrong bytes are a program's fault, so the connection ends. JSON
-- is often written by people, so wrong JSON only causes an error.
local function refuse_message(peer, flags, ref, packet_type, problem)
  if packet_type == 0 then
    core.error(peer, CODES.Protocol, flags, ref, problem or core.peer_transport(peer) == "text"
      and 'what follows the name is JSON, such as 5, "text" or {"x": 1}'
      or 'a message is the JSON text ["name", value]')
  elseif not live_schema.knows(packet_type) then
    core.error(peer, CODES.Unsupported, flags, ref, problem)
  elseif not core.limits().drops_invalid then
    core.close(peer, CODES.Protocol, problem)
  elseif is_request(flags) then
    core.error(peer, CODES.Protocol, flags, ref, problem)
  end
end


function on.message(peer, room, body, _, _, flags, ref, packet_type)
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


function on.text(peer, room, line)
  live.task = "text"
  if events.recording then
    record_message(peer, room, "text", line)
  end
  if not call_handler(peer, room, "text", line) and not events.recording then
    no_handler(peer, "text", 0, 0)
  end
end


function on.response(peer, _, body, _, _, _, ref, packet_type, channel)
  ran[1] = nil
  return requests.answer(peer, ref, body, channel, packet_type)
end

return on
