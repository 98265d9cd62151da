-- Guess the number: all players in a room search for the same number. The first to guess it wins.
local scores = require "scores"

local HIGHEST = 100
local PAUSE = 3 -- seconds from a win to the next number

---@class Guess: perigee.RoomKind
local guess = { capacity = 32, auto_create = true, auto_delete = 60, on_message = {} }

-- Begins a round. room.state is for your own data, which must be plain and survives reloads.
function guess.begin(room)
  room.state = { number = math.random(HIGHEST), guesses = {} } -- guesses: their number, by player
  room:broadcast("begin", { highest = HIGHEST })
end

guess.on_create = guess.begin

-- Handles a player who joins. The message arrives after the join; between two rounds, `begin` sends it.
function guess.on_join(room, peer)
  if room.state.number then peer:send("begin", { highest = HIGHEST }) end
end

-- Handles the message "guess" with a number.
function guess.on_message.guess(room, peer, value)
  local state, key, account = room.state, tostring(peer.id), peer.account
  if type(value) ~= "number" or not state.number then return end -- clients may send anything
  state.guesses[key] = (state.guesses[key] or 0) + 1
  if value ~= state.number then
    peer:send(value < state.number and "higher" or "lower", value)
    return
  end
  state.number = nil
  room:broadcast("won", { name = peer.name, number = value, guesses = state.guesses[key] })
  room:after(PAUSE, "begin") -- calls the function of that name in this table
  scores.won(account, state.guesses[key]) -- waits, so it comes last: the player may be gone afterwards
  peer:send("me", scores.of(account))
end

return guess
