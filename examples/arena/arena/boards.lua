-- Data that outlive a round and the server: the names of all who have played, with the kills of their best
-- round, and the kills of this week.
local perigee = require "perigee"

local SHOWN = 10

local players = perigee.store "players"
local best = perigee.leaderboard "best"
local weekly = perigee.leaderboard("weekly", { keep = "sum", resets = "monday 00:00 UTC" })

local boards = {}

-- Stores the name of a player who begins to play, with the time.
function boards.remember(name)
  players:put(name, { seen = os.time() })
end

-- Submits the scores of a round that is over. Bots do not rank.
function boards.keep(fighters)
  for _, fighter in ipairs(fighters) do
    if not fighter.is_bot and fighter.score > 0 then
      best:submit(fighter.name, fighter.score)
      weekly:submit(fighter.name, fighter.score)
    end
  end
end

-- Returns the best entries. Waits for the store.
function boards.top()
  return { best = best:top(SHOWN), weekly = weekly:top(SHOWN) }
end

return boards
