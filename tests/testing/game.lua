-- A game for the specs beside it: reports its events, and obeys requests.
local perigee = require "perigee"

local hall = { auto_create = true, tick_rate = 10 }

function hall.on_create(room)
  room.state.ticks = 0
  room:set_meta("open", true)
end

function hall.on_leave(room, peer, reason)
  room:broadcast("left", { name = peer.name, reason = reason })
end

function hall.on_tick(room)
  room.state.ticks = room.state.ticks + 1
end

function hall.on_backpressure(_, peer, info)
  local told = perigee.state.told
  told[peer.name] = (told[peer.name] or 0) + info.dropped
end

hall.on_message = {}

function hall.on_message.move(room, peer, to)
  room:broadcast("moved", { id = peer.id, x = to.x, at = { x = to.x, y = to.y } }, { except = peer })
end

function hall.on_message.flood(room, _, order)
  for i = 1, order.count do
    room:broadcast("drop", { i = i, pad = ("x"):rep(order.size) })
  end
end

function hall.on_message.reliable(room, _, value)
  room:broadcast("sure", value, { reliable = true })
end

local club = { auto_create = true }

function club.on_join(room, peer)
  if peer.name == "slow" then perigee.sleep(0.01) end
  peer:send("welcome", room.name)
end

local game = { rooms = { hall = hall, club = club }, channels = { shouting = true, ide = true },
  on_message = {} }

function game.on_start()
  perigee.state.told, perigee.state.endings = {}, {}
end

function game.on_stop()
  perigee.send(perigee.to.all, "bye")
end

function game.on_connect(peer)
  if peer.token == "no" then return false, "not you" end
  peer.state.token = peer.token
end

function game.on_disconnect(peer, reason)
  perigee.state.endings[peer.name] = reason
end

function game.on_message.echo(_, value)
  return value
end

function game.on_message.enter(peer, name)
  peer:join(name)
  peer:send("behind")
  return #peer:rooms()
end

function game.on_message.say(peer, value)
  peer:send("said", value)
end

function game.on_message.fail(_, text)
  error(text)
end

function game.on_message.roll(peer)
  peer:send("rolled", math.random(1000000))
end

function game.on_message.quiz(peer)
  peer:send("solved", peer:ask("sum", { 1, 2 }, 3))
end

function game.on_message.leave(peer)
  peer:kick "you asked for it"
end

function game.on_packet(peer, packet)
  peer:send_packet(packet.channel, packet.type, packet.payload:reverse())
end

return game
