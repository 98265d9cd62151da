-- The players' ratings, by name. A game with accounts would keep them by the account's id.
local perigee = require "perigee"

local ratings = perigee.store "ratings"

local skills = {}

function skills.of(name)
  return ratings:get(name) or perigee.rating.new()
end

-- Returns the mean rating of a peer and its party.
function skills.of_party(peer)
  local party = perigee.party.of(peer)
  local peers, sum = party and party:peers() or { peer }, 0
  for _, member in ipairs(peers) do
    sum = sum + skills.of(member.name).rating
  end
  return sum / #peers
end

-- Records a match between two teams of names, 1 and 2. Each player has played against each of the other team.
function skills.record(teams, winner)
  return perigee.store.transaction(function()
    local before = {}
    for _, names in ipairs(teams) do
      for _, name in ipairs(names) do before[name] = skills.of(name) end
    end
    for team, names in ipairs(teams) do
      local results = {}
      for _, name in ipairs(teams[3 - team]) do
        table.insert(results, { opponent = before[name], score = team == winner and 1 or 0 })
      end
      for _, name in ipairs(names) do
        ratings:put(name, perigee.rating.after(before[name], results))
      end
    end
    return true
  end)
end

return skills
