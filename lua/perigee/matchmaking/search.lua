--- The search for a match around some tickets (matcher.lua): takes candidates, the oldest first, and takes
--- back choices that lead nowhere.

local fits = require "perigee.matchmaking.fits"

local floor, sort = math.floor, table.sort
local is_older = fits.is_older

-- SEARCH_MAX limits the candidates that a search looks at after it has taken back its first choice. CYCLE_MAX
-- limits the candidates of all searches of a cycle together.
local SEARCH_MAX, CYCLE_MAX = 2000, 500000
local GATHER_MAX = 1000 -- most tickets that a search reads to find candidates of one shape
-- Candidates for each place, where not all of them may fit each other; and those of a second try, where
-- candidates may have lists of players with whom they do not play.
local CHOICE, WIDE_CHOICE = 2, 20
-- The work of a search, of placing a player, and of sorting a ticket; that of reading one is 1.
local SEARCH_WORK, PLACE_WORK, SORT_WORK = 10, 5, 2

local searches = {}

--- A match in the making.
---@class perigee.MatchSearch
---@field rules perigee.MatchRules
---@field now number
---@field is_lenient boolean a match of less than the largest size is possible
---@field seated table<string, true>? keys of the players of the running match that it fills
---@field tickets perigee.MatchTicket[]
---@field teams integer[] team of each ticket
---@field sizes integer[] number of players of each team
---@field holders table<string, perigee.MatchPlayer[]>[] players by role, of each team
---@field common table<string, table[]> elements that all tickets so far have in common: a stack by property
---@field total integer players
---@field left integer candidates that the search may still look at, once it has taken back a choice
---@field has_failed boolean a choice was taken back
---@field choice integer candidates for each place
---@field is_cut boolean more tickets fit the first one than are candidates
---@field work integer tickets read and placed so far
---@field best perigee.FoundMatch?
---@field best_total integer

local function new_search(rules, waiting, now)
  local search = {
    rules = rules, now = now, tickets = {}, teams = {}, sizes = {}, holders = {}, common = {}, total = 0,
    best_total = 0, left = math.min(SEARCH_MAX, floor(CYCLE_MAX / (waiting + 1))), has_failed = false,
    work = SEARCH_WORK, choice = CHOICE, is_cut = false,
  }
  for team = 1, rules.teams do
    search.sizes[team] = 0
    search.holders[team] = rules.roles and fits.new_team(rules.roles)
  end
  for _, name in ipairs(rules.any) do
    search.common[name] = {}
  end
  return search
end

-- Gives the players of a ticket roles in a team; returns false, and changes nothing, if that is impossible.
local function seat_all(search, players, team)
  local roles, holders = search.rules.roles, search.holders[team]
  for i = 1, roles and #players or 0 do
    if not fits.seat(roles, holders, players[i]) then
      for k = 1, i - 1 do
        fits.unseat(holders, players[k])
      end
      return false
    end
  end
  return true
end

-- Adds a ticket to a team; returns false, and changes nothing, if the team has no places for its players.
local function place(search, ticket, team)
  local rules, players = search.rules, ticket.players
  search.work = search.work + PLACE_WORK * #players
  if search.sizes[team] + #players > rules.max / rules.teams or not seat_all(search, players, team) then
    return false
  end
  local n = #search.tickets + 1
  search.tickets[n], search.teams[n] = ticket, team
  for name, stack in next, search.common do
    stack[n] = n == 1 and ticket.values[name] or fits.common(stack[n - 1], ticket.values[name])
  end
  search.sizes[team] = search.sizes[team] + #players
  search.total = search.total + #players
  return true
end

local function unplace(search)
  local n = #search.tickets
  local ticket, team = search.tickets[n], search.teams[n]
  local count = #ticket.players
  for i = 1, search.rules.roles and count or 0 do
    fits.unseat(search.holders[team], ticket.players[i])
  end
  for _, stack in next, search.common do
    stack[n] = nil
  end
  search.tickets[n], search.teams[n] = nil, nil
  search.sizes[team] = search.sizes[team] - count
  search.total = search.total - count
end

local function may_add(search, ticket)
  local seated = search.seated
  if search.total + #ticket.players > search.rules.max or seated and fits.is_seated(seated, ticket) then
    return false
  end
  for name, stack in next, search.common do
    if stack[1] and not fits.have_common(stack[#stack], ticket.values[name]) then
      return false
    end
  end
  for i = 1, #search.tickets do
    if not fits.may_meet(search.rules, search.tickets[i], ticket, search.now) then
      return false
    end
  end
  return true
end

local function has_one_that_waited(search, list)
  for _, ticket in ipairs(list) do
    if fits.has_waited(search.rules, ticket, search.now) then
      return true
    end
  end
  return false
end

local function is_match(search)
  local rules, total = search.rules, search.total
  if search.seated then
    return true
  elseif not rules.sizes[total] or total < rules.max and not has_one_that_waited(search, search.tickets) then
    return false
  end
  for team = 2, rules.teams do
    if search.sizes[team] ~= search.sizes[1] then
      return false
    end
  end
  return true
end

-- Stores the match so far if it is the largest one that the search has found.
local function note(search)
  if search.total > search.best_total and is_match(search) then
    local tickets, teams = {}, {}
    for i = 1, #search.tickets do
      tickets[i], teams[i] = search.tickets[i], search.teams[i]
    end
    search.best, search.best_total = { tickets = tickets, teams = teams }, search.total
  end
  return search.best_total == search.rules.max
end

-- Extends the match by candidates from number `first` on; returns whether it has the largest size.
local function extend(search, candidates, first)
  if note(search) then
    return true
  end
  local failed -- kinds of tickets that lead nowhere from here
  for i = first, #candidates do
    local ticket = candidates[i]
    search.work = search.work + 1
    search.left = search.left - (search.has_failed and 1 or 0)
    if search.left < 0 then
      return false
    elseif not (failed and failed[ticket.kind]) and may_add(search, ticket) then
      local has_tried_empty = false -- empty teams are all the same
      for team = 1, search.rules.teams do
        local is_empty = search.sizes[team] == 0
        if not (is_empty and has_tried_empty) and place(search, ticket, team) then
          if extend(search, candidates, i + 1) then
            return true
          end
          unplace(search)
          search.has_failed = true
        end
        has_tried_empty = has_tried_empty or is_empty
      end
      failed = failed or {}
      failed[ticket.kind] = true
    end
  end
  return false
end

-- Candidates ---------------------------------------------------------------------------------

-- Returns the place of the first ticket in a sorted list whose value is at least `limit`, or greater than it.
local function bound(list, name, limit, is_greater)
  local low, high = 1, #list + 1
  while low < high do
    local middle = floor((low + high) / 2)
    local value = list[middle].values[name]
    if value < limit or is_greater and value == limit then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Adds the tickets of a list that fit the search, until it has added `most`. Tickets that may not meet some
-- other tickets do not count towards `most`.
local function add_fitting(search, list, first, last, most, found)
  local read, count = 0, 0
  for i = first, last do
    local ticket = list[i]
    if not ticket.is_gone then
      read = read + 1
      search.work = search.work + 1
      if ticket ~= search.tickets[1] and may_add(search, ticket) then
        found[#found + 1] = ticket
        count = count + (ticket.apart and 0 or 1)
      end
      if count == most or read == GATHER_MAX then
        search.is_cut = search.is_cut or count == most
        return
      end
    end
  end
end

-- Returns how many tickets of a group are candidates: as many as a match has players; more if tickets that
-- fit the first one may not fit each other.
local function most_candidates(search)
  local rules = search.rules
  local are_choosy = #rules.numbers > 0 or #rules.any > 0 or #rules.not_with > 0
  return are_choosy and rules.max > 2 and search.choice * rules.max or rules.max
end

-- Adds the oldest tickets of a group that fit the search, until there are enough candidates. Reads
-- the shorter one of two lists: the tickets with near values, or the group's tickets from the oldest one on,
-- which soon contain enough tickets if near values are frequent.
local function gather(search, group, found)
  local most, rule = most_candidates(search), search.rules.numbers[1]
  local by_age, by_value = group.by_age, group.by_value
  while group.first <= #by_age and by_age[group.first].is_gone do
    group.first = group.first + 1
  end
  if rule and not search.seated then
    local anchor = search.tickets[1]
    local value, reach = anchor.values[rule.name], fits.reach_of(rule, anchor, search.now)
    local first = bound(by_value, rule.name, value - reach)
    local last = bound(by_value, rule.name, value + reach, true) - 1
    local near = last - first + 1
    if near * near < most * #by_age then
      local list = {}
      add_fitting(search, by_value, first, last, near, list)
      sort(list, is_older)
      search.work = search.work + SORT_WORK * #list
      local count = 0
      for i = 1, #list do
        if count < most then
          found[#found + 1] = list[i]
          count = count + (list[i].apart and 0 or 1)
        end
      end
      search.is_cut = search.is_cut or count == most
      return
    end
  end
  add_fitting(search, by_age, group.first, #by_age, most, found)
end

local function candidates_for(search, bucket)
  local found = {}
  for _, group in next, bucket.groups do
    gather(search, group, found)
  end
  sort(found, is_older)
  return found
end

-- Returns the smallest number of players that the search may end with.
local function least_players(search)
  local least = search.rules.max
  for size in next, search.is_lenient and search.rules.sizes or {} do
    least = math.min(least, size)
  end
  return least
end

-- Returns whether a bucket has players for each role.
local function has_roles(search, bucket)
  for role, places in next, search.rules.roles or {} do
    if (bucket.accepts[role] or 0) < places * search.rules.teams then
      return false
    end
  end
  return true
end

local function count_role(role, ticket)
  local n = 0
  for _, player in ipairs(ticket.players) do
    n = n + ((not player.roles or player.roles[role]) and 1 or 0)
  end
  return n
end

-- Returns whether some of the candidates and the first ticket fill a team.
local function can_fill_team(search, candidates)
  local most = search.rules.max / search.rules.teams
  local sums = { [#search.tickets[1].players] = true } -- sizes that parts of a team can have
  for _, ticket in ipairs(candidates) do
    for sum = most - #ticket.players, 1, -1 do
      sums[sum + #ticket.players] = sums[sum + #ticket.players] or sums[sum]
    end
  end
  if sums[most] then
    return true
  end
  for size in next, search.is_lenient and search.rules.sizes or {} do
    if sums[size / search.rules.teams] then
      return true
    end
  end
  return false
end

-- Returns whether the candidates can be enough: a quick answer for most of the searches that find nothing.
local function can_suffice(search, candidates)
  local players, singles = search.total, #search.tickets[1].players == 1 and 1 or 0
  for _, ticket in ipairs(candidates) do
    players = players + #ticket.players
    singles = singles + (#ticket.players == 1 and 1 or 0)
  end
  if players < least_players(search) then
    return false
  end
  for role, places in next, search.rules.roles or {} do
    local accept = count_role(role, search.tickets[1])
    for _, ticket in ipairs(candidates) do
      accept = accept + count_role(role, ticket)
    end
    if accept < places * search.rules.teams then
      return false
    end
  end
  return singles >= search.rules.max / search.rules.teams or can_fill_team(search, candidates)
end

-- Looks for a match among the candidates of a bucket. If the oldest ones may exclude each other and lead
-- nowhere, looks again among more of them.
local function look(search, bucket)
  local candidates = candidates_for(search, bucket)
  search.is_lenient = not search.seated and has_one_that_waited(search, { search.tickets[1], candidates[1] })
  if search.seated or can_suffice(search, candidates) then
    extend(search, candidates, 1)
  end
  local has_more = search.is_cut and search.left > 0 and search.choice == CHOICE
  if not search.best and has_more and #search.rules.not_with > 0 then
    search.choice, search.is_cut = WIDE_CHOICE, false
    look(search, bucket)
  end
end


--- Returns a match of a ticket with others of its bucket; nil if there is none.
---@param rules perigee.MatchRules
---@param ticket perigee.MatchTicket
---@param waiting integer number of tickets in the queue
---@param now number
---@return perigee.FoundMatch?
---@return integer work what the search has cost
function searches.around(rules, ticket, waiting, now)
  local search, bucket = new_search(rules, waiting, now), ticket.bucket
  if not has_roles(search, bucket) or not place(search, ticket, 1) then
    return nil, search.work
  end
  look(search, bucket)
  return search.best, search.work
end


--- Returns the tickets for a running match that lacks players; nil if none fits.
---@param rules perigee.MatchRules
---@param open perigee.OpenMatch
---@param bucket table
---@param waiting integer
---@param now number
---@return perigee.FoundMatch?
---@return integer work what the search has cost
function searches.fill(rules, open, bucket, waiting, now)
  local search = new_search(rules, waiting, now)
  search.seated = open.seated
  for _, ticket in ipairs(open.tickets) do
    if not place(search, ticket, ticket.team) then
      return nil, search.work
    end
  end
  local present = #search.tickets
  search.best_total = search.total
  look(search, bucket)
  local found = search.best
  if not found then
    return nil, search.work
  end
  local added = { tickets = {}, teams = {}, open = open }
  for i = present + 1, #found.tickets do
    added.tickets[i - present], added.teams[i - present] = found.tickets[i], found.teams[i]
  end
  return added, search.work
end

return searches
