-- Guess the number: all players in a room search for the same number. The first to guess it wins.
local HIGHEST = 100
local PAUSE = 3 -- seconds from a win to the next number

---@class Guess: perigee.RoomKind
local guess = { capacity = 8, auto_create = true, auto_delete = 60 }

-- Begins a round. room.state is for your own data, which must be plain and survives reloads.
function guess.begin(room)
  room.state.number = math.random(HIGHEST)
  room.state.guesses = 0
  room:broadcast("begin", { highest = HIGHEST })
end

guess.on_create = guess.begin

-- Handles a player who joins. The message arrives after the join. If this handler fails, the player does not
-- join, and no message is sent.
function guess.on_join(_, peer)
  peer:send("welcome", { highest = HIGHEST })
end

local function win(room, peer)
  peer.state.won = (peer.state.won or 0) + 1
  room:broadcast("won", { name = peer.name, number = room.state.number, guesses = room.state.guesses })
  room.state.number = nil
  room:after(PAUSE, "begin") -- calls the function of that name in this table
end

guess.on_message = {}

-- Handles the message "guess" with a number. In `perigee connect`: /send guess 50.
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

-- Handles a text that a member broadcasts: a number is a guess, any other text goes to the other members.
function guess.on_broadcast(room, peer, data)
  local number = tonumber(data)
  if not number then return end
  guess.on_message.guess(room, peer, number)
  return false
end

return guess
