-- The game: this file returns a table of handlers, which the server calls. You can change the file
-- while people play: the server reloads it when you save it, and all players stay connected.
local perigee = require "perigee"

---@class Game: perigee.Game
local game = {
  -- A port for players with nc, on this machine only. They may think for a long time, so idle_timeout is
  -- long; by default, 31 seconds of silence end a connection. All other settings have defaults.
  config = { text_port = 4000, text_host = "127.0.0.1", idle_timeout = 24 * 60 * 60 },
  rooms = { guess = require "rooms.guess" }, -- rooms of this kind are called guess:1, guess:red, ...
}

-- Handles a player who connects. To refuse the player, return false, "reason".
function game.on_connect(peer)
  peer:join "guess:1" -- the join creates the room, because the kind has auto_create
end

-- Accepts the new name of a player with nc, who requests it with /name. This game only shows names. It keeps
-- wins in peer.state, never under a name, because any player may take a name. To refuse a name, return
-- false, "reason".
function game.on_rename() end

game.on_message = {}

-- Handles the request "scores", which has no value. The returned list is the answer.
function game.on_message.scores()
  local scores = {}
  for _, room in ipairs(perigee.rooms.all()) do
    for _, peer in ipairs(room:peers()) do
      table.insert(scores, { name = peer.name, won = peer.state.won or 0 })
    end
  end
  return scores
end

-- Sets a timer that sends the number of players to all each minute. The timer calls its function by name, so
-- that a reload also replaces that function.
function game.on_start()
  perigee.every(60, "report_players")
end

game.on_reload = game.on_start -- a reload ends the timers of the previous version

function game.report_players()
  perigee.send(perigee.to.all, "players", perigee.stats().peers)
end

return game
