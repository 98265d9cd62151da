--- Decides which tickets fit together in a match, by numbers, lists and roles (matcher.lua).

local floor = math.floor

local ROUNDING = 1e-6 -- seconds by which the sum of two times may be too small

local fits = {}


--- Returns whether a ticket comes before another one.
---@param a perigee.MatchTicket
---@param b perigee.MatchTicket
---@return boolean
function fits.is_older(a, b)
  return a.entered < b.entered or a.entered == b.entered and a.id < b.id
end


--- Returns the largest difference that a ticket now accepts between its own value and another ticket's.
function fits.reach_of(rule, ticket, now)
  return math.min(rule.max, rule.within + rule.grow * floor(math.max(0, now - ticket.entered) + ROUNDING))
end


--- Returns whether a ticket accepts a match of less than the largest size.
---@param rules perigee.MatchRules
---@param ticket perigee.MatchTicket
---@param now number
---@return boolean
function fits.has_waited(rules, ticket, now)
  return now + ROUNDING >= ticket.entered + rules.patience
end


--- Returns the time from which a search for a ticket may find a match, after a search that found none.
function fits.next_due(rules, ticket, now)
  local due = math.huge
  if not fits.has_waited(rules, ticket, now) then
    due = ticket.entered + rules.patience
  end
  for _, rule in ipairs(rules.numbers) do
    if rule.grow > 0 and fits.reach_of(rule, ticket, now) < rule.max then
      due = math.min(due, ticket.entered + floor(now - ticket.entered + ROUNDING) + 1)
    end
  end
  return due
end


--- Returns whether two tickets may be in the same match, apart from sizes and roles. A ticket with a `team`
--- belongs to a running match, and accepts any difference.
---@param rules perigee.MatchRules
---@param a perigee.MatchTicket
---@param b perigee.MatchTicket
---@param now number
---@return boolean
function fits.may_meet(rules, a, b, now)
  if a.apart and a.apart[b.id] then
    return false
  end
  for _, rule in ipairs(rules.numbers) do
    local difference = math.abs(a.values[rule.name] - b.values[rule.name])
    if not a.team and difference > fits.reach_of(rule, a, now)
      or not b.team and difference > fits.reach_of(rule, b, now) then
      return false
    end
  end
  for _, name in ipairs(rules.not_with) do
    local of_a, of_b = a.values[name], b.values[name]
    for _, player in ipairs(b.players) do
      if of_a[player.key] then
        return false
      end
    end
    for _, player in ipairs(a.players) do
      if of_b[player.key] then
        return false
      end
    end
  end
  return true
end


--- Returns whether a player of a ticket has a seat.
---@param seated table<string, true> by key of a player
---@param ticket perigee.MatchTicket
---@return boolean
function fits.is_seated(seated, ticket)
  for _, player in ipairs(ticket.players) do
    if seated[player.key] then
      return true
    end
  end
  return false
end


--- Returns whether two sets have an element in common.
function fits.have_common(a, b)
  for element in next, a do
    if b[element] then
      return true
    end
  end
  return false
end


--- Returns the elements that two sets have in common.
function fits.common(a, b)
  local both = {}
  for element in next, a do
    both[element] = b[element]
  end
  return both
end

-- Roles ----------------------------------------------------------------------------------------


--- Returns the roles of a team without players: a list of players by role.
function fits.new_team(roles)
  local holders = {}
  for role in next, roles or {} do
    holders[role] = {}
  end
  return holders
end

local function accepts(player, role)
  return not player.roles or player.roles[role]
end

-- Gives a player a role whose holders can all have another one. `tried` has the roles that cannot be had.
local function seat_in_place_of_another(roles, holders, player, tried)
  for role in next, roles do
    if not tried[role] and accepts(player, role) then
      tried[role] = true
      local held = holders[role]
      for i = 1, #held do
        local other = held[i]
        held[i] = player
        if fits.seat(roles, holders, other, tried) then
          return true
        end
        held[i] = other
      end
    end
  end
  return false
end


--- Gives a player a role of a team; returns false if that is impossible. This is the augmenting path
--- algorithm for bipartite matching (Kuhn 1955): a player may take the place of one who can have another.
---@param roles table<string, integer>
---@param holders table<string, perigee.MatchPlayer[]>
---@param player perigee.MatchPlayer
---@param tried table<string, true>? roles that cannot be had
---@return boolean
function fits.seat(roles, holders, player, tried)
  for role, places in next, roles do
    local held = holders[role]
    if #held < places and accepts(player, role) then
      held[#held + 1] = player
      return true
    end
  end
  return seat_in_place_of_another(roles, holders, player, tried or {})
end


--- Takes a player's role away. The others keep theirs.
function fits.unseat(holders, player)
  for _, held in next, holders do
    for i = 1, #held do
      if held[i] == player then
        held[i] = held[#held]
        held[#held] = nil
        return
      end
    end
  end
end


--- Gives each player of a team its role.
---@param roles table<string, integer>
---@param players perigee.MatchPlayer[]
function fits.assign_roles(roles, players)
  local holders = fits.new_team(roles)
  for _, player in ipairs(players) do
    fits.seat(roles, holders, player)
  end
  for role, held in next, holders do
    for _, player in ipairs(held) do
      player.role = role
    end
  end
end

return fits
