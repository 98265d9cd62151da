-- The kind of room: joins and leaves, and messages from pages. A table is `sketch:CODE`. room.state is the
-- whole state of its match.
local perigee = require "perigee"
local chat = require "sketch.chat"
local members = require "sketch.members"
local picture = require "sketch.picture"
local players = require "sketch.players"
local rules = require "sketch.rules"
local tell = require "sketch.tell"
local turns = require "sketch.turns"

-- Without auto_create, joins make no tables; the message `open` does.
local sketch = {
  capacity = rules.members, auto_delete = 60, permanent = false,
  tick_rate = 2, -- bots think at this rate
  on_message = {},
}

-- Timers call these functions by name.
sketch.choose, sketch.give_hint, sketch.finish_turn = turns.choose, turns.hint, turns.finish
sketch.next_turn = turns.next
sketch.check, sketch.free_seat = members.check, members.free_seat

sketch.on_join, sketch.on_leave, sketch.on_resume = members.join, members.leave, members.resume

function sketch.on_create(room, options)
  room.state = {
    title = options.title, players = {}, watchers = {}, banned = {}, last_id = 0, timers = {},
    phase = "waiting", phase_seconds = 0, round = 0, rounds = rules.rounds, queue = {},
    picture = picture.new(),
  }
  tell.table(room)
end

function sketch.on_message.start(room, peer, how)
  members.need_host(room, peer)
  local missing = 2 - #room.state.players
  if missing > 0 then error(perigee.fault("TooFewPlayers", { missing = missing })) end
  turns.start(room, how.rounds, how.seconds)
  return true
end

-- Returns whether it is this peer's turn, and the phase is this one.
local function is_turn(room, peer, phase)
  local player = players.of(room, peer)
  return room.state.phase == phase and player ~= nil and player.id == room.state.drawer
end

function sketch.on_message.choose(room, peer, number)
  if is_turn(room, peer, "choosing") then turns.choose(room, number) end
end

-- Pieces of lines may be lost if a page reads too slowly. It then requests the whole picture.
function sketch.on_message.draw(room, peer, piece)
  local drawn = is_turn(room, peer, "drawing") and picture.add(room.state.picture, piece)
  if drawn then room:broadcast("drawn", drawn, { except = peer }) end
end

function sketch.on_message.redraw(room, peer)
  tell.picture(room, peer)
end

local function change(room, peer, how)
  if not is_turn(room, peer, "drawing") then return end
  how(room.state.picture)
  tell.picture(room, room, peer)
end

function sketch.on_message.undo(room, peer)
  change(room, peer, picture.undo)
end

function sketch.on_message.clear(room, peer)
  change(room, peer, picture.clear)
end

sketch.on_message.say, sketch.on_message.lock = chat.say, members.lock
sketch.on_message.bot = members.add_bot

function sketch.on_message.complete(_, _, text)
  return chat.complete(text)
end

function sketch.on_message.vote(room, peer, id)
  local player = players.find(room, "id", id)
  if player then members.vote(room, peer, player) end
end

sketch.on_message.play, sketch.on_message.leave = members.play, members.quit

return sketch
