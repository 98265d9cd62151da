-- Data that outlive the server: those of each account, and the board of the week. Both are in the
-- store, a database in data/game.db.
local perigee = require "perigee"

local weekly = perigee.leaderboard("weekly", { keep = "sum", resets = "monday 00:00 UTC" })

local scores = {}

-- Returns the name that others see: the name of the account, or a name that the game makes up for a guest.
function scores.name(account)
  return account.name or "guest-" .. account.id:sub(1, 4)
end

-- Counts a round that the player has won. `update` waits for the store, while other handlers run; the
-- submission takes effect with everything else that the handler did before.
function scores.won(account, guesses)
  weekly:submit(account.id, 1, { name = scores.name(account) })
  account:update(function(data)
    data.won = (data.won or 0) + 1
    data.fewest = math.min(data.fewest or guesses, guesses)
    return data
  end)
end

-- Gives an entry of the board the present name of its account.
function scores.rename(account)
  if weekly:rank(account.id) then
    weekly:submit(account.id, 0, { name = scores.name(account) })
  end
end

function scores.forget(id)
  weekly:remove(id)
end

function scores.of(account)
  local data = account.data
  return {
    id = account.id, name = scores.name(account), guest = account.guest,
    visits = data.visits, won = data.won or 0, fewest = data.fewest,
  }
end

function scores.top()
  return weekly:top(10)
end

return scores
