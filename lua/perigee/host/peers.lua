--- Events of peers: they come, go, and are away for a while.

local core = require "perigee.core"
local declared = require "perigee.world.declared"
local events = require "perigee.events"
local live = require "perigee.live"
local network = require "perigee.world.network"
local peer_host = require "perigee.peer"
local registry = require "perigee.registry"
local tasks = require "perigee.tasks"
local verdict = require "perigee.host.verdict"

local of_room, peers, room_objects = live.of_room, registry.peers, registry.rooms
local code_names = core.code_names
local ran = core.ran() -- what runs, as perigee.host says

local on = {}


function on.connect(peer)
  live.task = nil
  local handler = live.game.on_connect
  ran[1] = handler
  if handler then
    local is_welcome, words, retry = verdict("on_connect", handler(peers[peer]))
    if not is_welcome then
      return false, words, retry
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


function on.forget(peer)
  network.leave(peer)
  if rawget(peers, peer) then
    peer_host.keep(peer)
    registry.forget_peer(peer)
  end
  tasks.drop_peer(peer)
end


function on.disconnect(peer, _, _, code)
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


function on.suspend(peer, _, _, code)
  live.task = nil
  local handler = live.game.on_suspend
  ran[1] = handler
  if handler then
    handler(peers[peer], code_names[code])
  end
end


function on.resume(peer, room, _, away_ms, lost, _, resent)
  live.task = nil
  local handler = of_room[room].on_resume
  ran[1] = handler
  if handler then
    handler(room_objects[room], peers[peer], {
      seconds = away_ms / 1e3, lost = lost, resent = resent,
    })
  end
end

return on
