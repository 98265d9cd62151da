--- Events of peers: connect, disconnect, suspend, resume.

local accounts = require "perigee.host.accounts"
local bots = require("perigee.host.bots").api
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local durable = require "perigee.host.durable"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local mcp_plugins = require "perigee.mcp.plugins"
local network = require "perigee.world.network"
local parties = require "perigee.matchmaking.parties"
local peer_host = require "perigee.api.peer"
local registry = require "perigee.host.registry"
local requests = require "perigee.host.requests"
local seats = require "perigee.matchmaking.seats"
local verdict = require "perigee.host.verdict"

local of_room, peers, room_objects = live.of_room, registry.peers, registry.rooms
local code_names = core.code_names
local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


-- The task of on_accept, which may not wait.
local ACCEPT = { label = "on_accept", is_accept = true }

function on.accept(_, _, address, port)
  local handler = live.game.on_accept
  ACCEPT.version = live.number
  live.task, ran[1] = ACCEPT, handler
  return not handler or (verdict("on_accept", handler(address, port)))
end


-- Returns the name that on_connect returned after true, if any.
local function name_of(answer, name)
  if answer ~= true or name == nil then
    return nil
  elseif type(name) == "string" and core.peer_is_name(name) then
    return name
  end
  fault.raise("on_connect returned true and %s; what follows true is the peer's name: %s",
    type(name) == "string" and ("%q"):format(name:sub(1, 64)) or fault.kind(name), core.peer_name_rule)
end

local function judge_connect(answer, second, third)
  local is_welcome, words, retry = verdict("on_connect", answer, second, third)
  return is_welcome, words or name_of(answer, second), retry
end


function on.connect(peer)
  live.task = nil
  local may_enter, reason, wait, code = accounts.enter(peer)
  if not may_enter then
    return false, reason, wait, code
  end
  local handler = live.game.on_connect
  ran[1] = handler
  local name
  if handler then
    local is_welcome, words, retry = judge_connect(handler(peers[peer]))
    if not is_welcome then
      return false, words, retry
    end
    name = words
  end
  local problem = core.peer_name_problem(peer, name)
  if problem then
    return false, problem
  end
  if events.recording then
    events.record { type = "Connected", peer = peers[peer] }
  end
  if declared.is_used then
    network.join(peer)
  end
  return true, name
end


function on.rename(peer, _, name)
  live.task = nil
  local handler = live.game.on_rename
  ran[1] = handler
  if handler then
    return verdict("on_rename", handler(peers[peer], name))
  end
  return true
end


function on.forget(peer)
  accounts.forget(peer)
  network.leave(peer)
  if rawget(peers, peer) then
    peer_host.keep(peer)
    registry.forget_peer(peer)
  end
  requests.drop_peer(peer)
end


function on.disconnect(peer, _, _, code)
  live.task = nil
  local is_bot = bots.forget(peer)
  local handler = not is_bot and live.game.on_disconnect or nil
  ran[1] = handler
  local object = rawget(peers, peer)
  if object then
    durable.forget_peer(object)
  end
  seats.forget_peer(peer)
  parties.forget_peer(peer)
  if handler or events.recording or object or declared.is_used then
    object = peer_host.keep(peer)
  end
  accounts.forget(peer)
  registry.forget_peer(peer)
  requests.drop_peer(peer)
  mcp_plugins.drop(peer)
  network.leave(peer)
  if events.recording and not is_bot then
    events.record { type = "Disconnected", peer = object, reason = code_names[code] }
  end
  if handler then
    handler(object, code_names[code])
  end
end


function on.suspend(peer, _, _, code)
  live.task = nil
  local handler = live.game.on_suspend
  ran[1] = handler
  if handler then
    handler(peers[peer], code_names[code])
  end
end


function on.resume(peer, room, _, away_ms, lost, restored, resent)
  live.task = nil
  local handler = of_room[room].on_resume
  ran[1] = handler
  if handler then
    handler(room_objects[room], peers[peer], {
      seconds = away_ms / 1e3, lost = restored == 0 and lost or nil, resent = resent,
      restored = restored == 1 or nil,
    })
  end
end

return on
