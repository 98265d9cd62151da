--- Tells which tickets fit together in a match, by numbers, lists and roles (matcher.lua).

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


--- Returns by how much the values of others may differ from those of a ticket.
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


--- Returns when a search for a ticket that found nothing may find something.
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


--- Returns the elements that two sets have in common; nil if there are none.
function fits.common(a, b)
  local both
  for element in next, a do
    if b[element] then
      both = both or {}
      both[element] = true
    end
  end
  return both
end


--- Gives each player of a team a role; returns false if that is impossible. This is the augmenting path
--- algorithm for bipartite matching (Kuhn 1955): a player may take the place of one who can have another.
function fits.assign_roles(roles, players)
  local holders = {}
  for role in next, roles do
    holders[role] = {}
  end
  local function seat(player, tried)
    for role, places in next, roles do
      if not tried[role] and (not player.roles or player.roles[role]) then
        tried[role] = true
        local held = holders[role]
        if #held < places then
          held[#held + 1] = player
          return true
        end
        for i = 1, #held do
          if seat(held[i], tried) then
            held[i] = player
            return true
          end
        end
      end
    end
    return false
  end
  for _, player in ipairs(players) do
    if not seat(player, {}) then
      return false
    end
  end
  for role, held in next, holders do
    for _, player in ipairs(held) do
      player.role = role
    end
  end
  return true
end

return fits
