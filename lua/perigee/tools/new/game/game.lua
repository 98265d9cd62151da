-- The game: the server calls what this file returns. Change it while people play; it is reloaded
-- when you save it, and nobody is disconnected.
local perigee = require "perigee"

---@class Game: perigee.Game
local game = {
  -- For nc, on this machine alone, and for players in nc, who may think for long: without idle_timeout,
  -- 31 seconds of silence end a connection. All other settings have defaults.
  config = { text_port = 4000, text_host = "127.0.0.1", idle_timeout = 24 * 60 * 60 },
  rooms = { guess = require "rooms.guess" }, -- rooms called guess:1, guess:red, ... are of this kind
}

-- Somebody wants in. `return false, "reason"` would keep them out.
function game.on_connect(peer)
  peer:join "guess:1" -- the join creates the room, because the kind has auto_create
end

-- A player of nc asks for another name, with /name. Names are for show here: this game keeps wins in
-- peer.state, never under a name, because any peer may take a name. `return false, "reason"` would refuse.
function game.on_rename() end

game.on_message = {}

-- A client asks: the message "scores", without a value. What is returned is the answer.
function game.on_message.scores()
  local scores = {}
  for _, room in ipairs(perigee.rooms.all()) do
    for _, peer in ipairs(room:peers()) do
      table.insert(scores, { name = peer.name, won = peer.state.won or 0 })
    end
  end
  return scores
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
