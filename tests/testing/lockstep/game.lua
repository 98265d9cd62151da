-- A game for the specs beside it: matches in lockstep, and reports about them for the script.
local perigee = require "perigee"

local match = {
  auto_create = true, auto_delete = 60,
  lockstep = { turn_rate = 20, input_delay = 2, players = 8, start = 1, wait_limit = 1 },
}

function match.on_create(room)
  room.state.turns, room.state.inputs, room.state.desyncs = 0, 0, {}
end

function match.on_turn(room, turn, entries)
  room.state.turns = turn
  for _, entry in ipairs(entries) do
    if entry.kind == "input" then room.state.inputs = room.state.inputs + 1 end
  end
end

function match.on_desync(room, report)
  local names = {}
  for i, peer in ipairs(report.peers) do names[i] = peer.name end
  table.insert(room.state.desyncs, {
    turn = report.turn, names = names, path = report.path, tie = report.tie, text = report.text,
  })
end

match.on_message = {}

function match.on_message.pause(room) room.lockstep:pause() end
function match.on_message.resume(room) room.lockstep:resume() end
function match.on_message.speed(room, _, speed) room.lockstep:set_speed(speed) end
function match.on_message.restart(room) room.lockstep:restart() end
function match.on_message.resync(room, _, id)
  for _, peer in ipairs(room:peers()) do
    if peer.id == id then room.lockstep:resync(peer) end
  end
end
function match.on_message.stats(room) return room.lockstep:stats() end
function match.on_message.members(room)
  local list = {}
  for i, member in ipairs(room.lockstep:members()) do
    list[i] = { name = member.peer.name, slot = member.slot, delay = member.delay,
      turn = member.turn, absent = member.absent }
  end
  return list
end

local game = { rooms = { match = match } }

function game.on_start()
  perigee.rooms.create "plain"
end

return game
