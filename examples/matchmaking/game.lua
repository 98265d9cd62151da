-- Quick draw: two teams wait for a light, and the faster one wins the round. Players form parties and queue.
-- Run `perigee run examples/matchmaking`, and open http://localhost:7777/ in some tabs.
local perigee = require "perigee"
local draw = require "rooms.draw"
local skills = require "skills"

-- Try this: make it 1, and save. With two players in the queue, a match begins after a second.
local patience = 6

perigee.matchmaker("draw", {
  room = "draw", players = { 2, 4 }, teams = 2, patience = patience, penalty = 10,
  match = { rating = { within = 150, grow = 50, max = 2000 } },
  -- Handles a page's request to enter. The rating comes from the store, so no page can choose its rating.
  on_enter = function(peer)
    return { rating = skills.of_party(peer) }
  end,
})

local game = { config = { rate_limit = 60 }, rooms = { draw = draw }, on_message = {} }

-- A request: the player has chosen a name. Answers with the rating.
function game.on_message.name(peer, name)
  local ok, problem, code = peer:set_name(name)
  if not ok then error(perigee.fault(code, problem)) end
  return math.floor(skills.of(peer.name).rating + 0.5)
end

-- Handles a request: begins a match against bots at once.
function game.on_message.practice(peer)
  for _, room in ipairs(peer:rooms()) do
    if room.kind == "draw" then error(perigee.fault "Playing") end
  end
  local room = perigee.rooms.create("draw:practice" .. peer.id, {}, { hidden = true, permanent = false })
  if not room then error(perigee.fault "NoRoom") end
  peer:join(room, { team = 1 })
  for i, name in ipairs { "Flash", "Jolt", "Blink" } do
    local bot = room:bot { name = name, brain = "brains.gunner" }
    if bot then bot.state.team = i % 2 + 1 end
  end
  room:after(1, "begin")
end

return game
