-- Guess the number: everybody in the room looks for the same one, and the first to say it wins.
local HIGHEST = 100
local PAUSE = 3 -- seconds from a win to the next number

---@class Guess: perigee.RoomKind
local guess = { capacity = 8, auto_create = true, auto_delete = 60 }

-- A round begins. room.state is yours: plain data, which survives reloads.
function guess.begin(room)
  room.state.number = math.random(HIGHEST)
  room.state.guesses = 0
  room:broadcast("begin", { highest = HIGHEST })
end

guess.on_create = guess.begin

-- Somebody wants in. What is sent reaches them once they are; if this handler failed, nobody would
-- get anything and they would stay outside.
function guess.on_join(_, peer)
  peer:send("welcome", { highest = HIGHEST })
end

local function win(room, peer)
  peer.state.won = (peer.state.won or 0) + 1
  room:broadcast("won", { name = peer.name, number = room.state.number, guesses = room.state.guesses })
  room.state.number = nil
  room:after(PAUSE, "begin") -- the function of that name in this table
end

guess.on_message = {}

-- A message for the room: "guess" with a number; by hand, /send guess 50.
function guess.on_message.guess(room, peer, value)
  local state = room.state
  if type(value) ~= "number" or not state.number then return end -- clients may send anything
  state.guesses = state.guesses + 1
  if value == state.number then
    win(room, peer)
  else
    peer:send(value < state.number and "higher" or "lower", value)
  end
end

-- Whatever a member says comes by here: a number is a guess, all else is relayed to the others.
function guess.on_broadcast(room, peer, data)
  local number = tonumber(data)
  if not number then return end
  guess.on_message.guess(room, peer, number)
  return false
end

return guess
