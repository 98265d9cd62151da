-- Scores that outlive tables and the server: the best match of each name, and the points of this week.
local perigee = require "perigee"

local SHOWN = 10

local best = perigee.leaderboard "best"
local weekly = perigee.leaderboard("weekly", { keep = "sum", resets = "monday 00:00 UTC" })

local boards = {}

-- Submits the scores of a match that is over. Bots do not rank.
function boards.keep(players)
  for _, player in ipairs(players) do
    if not player.is_bot and player.score > 0 then
      best:submit(player.name, player.score)
      weekly:submit(player.name, player.score)
    end
  end
end

local function entries(board)
  local list = {}
  for i, entry in ipairs(board:top(SHOWN) or {}) do
    list[i] = { rank = entry.rank, name = entry.id, score = entry.score }
  end
  return list
end

-- Returns the best entries of both boards. Waits for the store.
function boards.top()
  return { best = entries(best), weekly = entries(weekly) }
end

return boards
