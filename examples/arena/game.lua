-- Arena: a game of all against all, seen from above, in the browser. Bots fill the empty places. Run `perigee
-- run examples/arena`, open http://localhost:7777/, and keep this file open beside it.
local rules = require "arena.rules"

-- Try this: make it 1600, or 150, and save while you play. The match goes on, and the next shot
-- of everybody is as fast as you said.
rules.bullet_speed = 700

-- All other numbers of the game are in arena/rules.lua; walls and places in arena/map.lua.
local arena = require "rooms.arena"

local game = {
  config = {
    -- For people who have only nc: they watch and chat. /join arena:1
    text_port = 4000,
    tick_rate = 20,
    -- A page sends 30 inputs a second, more while keys are pressed quickly; a flood ends the connection.
    rate_limit = 120,
    rate_limit_kick = true,
  },
  rooms = { arena = arena },
}

-- Protects the fighter of a player whose connection is lost, until the player comes back.
function game.on_suspend(peer)
  for _, room in ipairs(peer:rooms()) do
    if room.kind == "arena" then arena.suspend(room, peer) end
  end
end

return game
