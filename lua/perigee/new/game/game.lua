-- The game: the server calls what this file returns. Change it while people play; it is reloaded
-- when you save it, and nobody is disconnected.
local perigee = require "perigee"

---@class Game: perigee.Game
local game = {
  config = { text_port = 4000 }, -- for nc. All other settings have defaults
  rooms = { guess = require "rooms.guess" }, -- rooms called guess:1, guess:red, ... are of this kind
}

-- Somebody wants in. `return false, "reason"` would keep them out.
function game.on_connect(peer)
  peer:join "guess:1" -- made by joining it, because the kind has auto_create
end

game.on_message = {}

-- A client asks: the message "scores", without a value. What is returned is the answer.
function game.on_message.scores()
  return perigee.state.scores or {}
end

-- Every minute, for everybody. Given by name, so that a reload changes what the timer does.
function game.on_start()
  perigee.every(60, "announce")
end

game.on_reload = game.on_start -- timers that on_start made end with their version of the game

function game.announce()
  perigee.send(perigee.to.all, "players", perigee.stats().peers)
end

return game
