--- The matcher of a queue: makes matches of waiting tickets. It has no clock and no I/O, and tickets are plain
--- data, so that a test or another machine can run it.
---
--- The oldest ticket comes first. The matcher searches the tickets that fit it, again the oldest ones first,
--- for a set that fills a match, and takes back choices that lead nowhere.
---
--- A search that found nothing is repeated only when it may find something: when its ticket accepts larger
--- differences, or smaller matches. New tickets search for themselves. So a cycle costs little, however many
--- tickets wait. Each search is bounded as well.

local sort, insert, floor = table.sort, table.insert, math.floor

-- A search may look at this many candidates after it has taken back its first choice, and all searches of a
-- cycle together at so many.
local SEARCH_MAX, CYCLE_MAX = 2000, 500000
local GATHER_MAX = 1000 -- most tickets that a search reads to find candidates of one shape
local ROUNDING = 1e-6 -- seconds by which the sum of two times may be too small

--- What a queue asks of its matches (rules.lua).
---@class perigee.MatchRules
---@field max integer most players
---@field sizes table<integer, boolean> allowed numbers of players
---@field teams integer
---@field roles table<string, integer>? number of players with each role in a team
---@field numbers { name: string, within: number, grow: number, max: number }[] numbers whose difference is
---at most `within`, and `grow` more for each whole second of waiting, up to `max`, for both tickets
---@field same string[] properties that are equal in all tickets of a match
---@field any string[] properties whose lists have an element in common
---@field not_with string[] properties that list keys of players who cannot be in the match
---@field patience number seconds that the oldest ticket waits for a match of the largest size

---@class perigee.MatchPlayer
---@field peer integer
---@field key string what lists of not_with name
---@field roles string[]? roles that the player accepts; nil: all
---@field role string? role in the match

---@class perigee.MatchTicket
---@field id integer greater than the ids of all earlier tickets
---@field entered number time in seconds
---@field players perigee.MatchPlayer[]
---@field values table<string, any> the properties; `any` and `not_with` as sets
---@field apart table<integer, true>? ids of tickets with which it cannot be in a match

--- A running match that lacks players.
---@class perigee.OpenMatch
---@field id integer
---@field tickets perigee.MatchTicket[] of the players who are there; each has the field `team`
---@field same string the values of rules.same, as matcher.same_key returns them

---@class perigee.Match
---@field tickets perigee.MatchTicket[]
---@field teams integer[] number of the team of each ticket
---@field open perigee.OpenMatch? the match that gets these tickets; nil: a new one

local matcher = {}
matcher.__index = matcher

-- Tickets ------------------------------------------------------------------------------------

local function is_older(a, b)
  return a.entered < b.entered or a.entered == b.entered and a.id < b.id
end

-- Inserts into a sorted list; returns the place. Most tickets belong at its end.
local function insert_sorted(list, value, comes_before)
  local low, high = 1, #list + 1
  if high > 1 and not comes_before(value, list[high - 1]) then
    low = high
  end
  while low < high do
    local middle = floor((low + high) / 2)
    if comes_before(value, list[middle]) then
      high = middle
    else
      low = middle + 1
    end
  end
  insert(list, low, value)
  return low
end

-- Removes the tickets that are gone, once they are half of the list.
local function compact(list, gone)
  if gone * 2 < #list then
    return gone
  end
  local kept = 0
  for i = 1, #list do
    local ticket = list[i]
    list[i] = nil
    if not ticket.is_gone then
      kept = kept + 1
      list[kept] = ticket
    end
  end
  return 0
end

local function keys_of(set)
  local keys = {}
  for key in next, set do
    keys[#keys + 1] = key
  end
  sort(keys)
  return keys
end

-- Returns the size of a ticket with the roles of its players, as a text. Tickets with the same text fit into
-- the same places of a match.
local function shape_of(rules, ticket)
  local parts = {}
  for i, player in ipairs(ticket.players) do
    parts[i] = rules.roles and player.roles and table.concat(keys_of(player.roles), "+") or "*"
  end
  sort(parts)
  return table.concat(parts, ",")
end


--- Returns the properties that are equal in all tickets of a match, as a text.
---@param rules perigee.MatchRules
---@param values table<string, any>
---@return string
function matcher.same_key(rules, values)
  local parts = {}
  for i, name in ipairs(rules.same) do
    parts[i] = ("%q"):format(tostring(values[name]))
  end
  return table.concat(parts, ",")
end

-- Returns the shape and the properties, as a text. A match may have any ticket of a kind in place of another.
local function kind_of(rules, ticket, shape)
  local parts = { ticket.bucket.key, shape, ticket.apart and tostring(ticket.id) or "" }
  for _, rule in ipairs(rules.numbers) do
    parts[#parts + 1] = ("%.17g"):format(ticket.values[rule.name])
  end
  for _, names in ipairs { rules.any, rules.not_with } do
    for _, name in ipairs(names) do
      parts[#parts + 1] = table.concat(keys_of(ticket.values[name]), "\0")
    end
  end
  for i = 1, #rules.not_with > 0 and #ticket.players or 0 do
    parts[#parts + 1] = ticket.players[i].key
  end
  return table.concat(parts, "\1")
end


--- Returns a matcher without tickets.
---@param rules perigee.MatchRules
function matcher.new(rules)
  return setmetatable({
    rules = rules,
    tickets = {},            -- by id
    count = 0,
    order = {}, gone = 0,    -- all tickets, the oldest first, with those that are gone
    buckets = {},            -- tickets with equal values of rules.same, by matcher.same_key
    kinds = {},              -- number of tickets and list of them, the oldest first, by kind
    open = {},               -- perigee.OpenMatch by id
    cursor = nil,            -- place in `order` of the cycle that is running
    failed = nil,            -- searches of this cycle that found nothing, by bucket and shape
  }, matcher)
end

local function bucket_of(self, key)
  local bucket = self.buckets[key]
  if not bucket then
    bucket = { key = key, groups = {}, players = 0, tickets = 0, accepts = {}, added = 0 }
    self.buckets[key] = bucket
  end
  return bucket
end

-- Counts the players of a ticket, and the roles that they accept.
local function count(self, bucket, ticket, sign)
  bucket.players = bucket.players + sign * #ticket.players
  bucket.tickets = bucket.tickets + sign
  for role in next, self.rules.roles or {} do
    for _, player in ipairs(ticket.players) do
      if not player.roles or player.roles[role] then
        bucket.accepts[role] = (bucket.accepts[role] or 0) + sign
      end
    end
  end
end

local function lower_value(name)
  return function(a, b)
    return a.values[name] < b.values[name]
  end
end


--- Adds a ticket, or one again that was in a match which did not begin.
---@param ticket perigee.MatchTicket
function matcher:add(ticket)
  local rules = self.rules
  local bucket = bucket_of(self, matcher.same_key(rules, ticket.values))
  local shape = shape_of(rules, ticket)
  local group = bucket.groups[shape]
  if not group then
    local first = rules.numbers[1]
    group = { shape = shape, by_age = {}, first = 1, gone = 0,
      by_value = first and {}, is_lower = first and lower_value(first.name) }
    bucket.groups[shape] = group
  end
  ticket.bucket, ticket.group, ticket.is_gone, ticket.due = bucket, group, nil, ticket.entered
  ticket.kind = kind_of(rules, ticket, shape)
  local kind = self.kinds[ticket.kind] or { count = 0, tickets = {} }
  self.kinds[ticket.kind], kind.count = kind, kind.count + 1
  insert_sorted(kind.tickets, ticket, is_older)
  self.tickets[ticket.id] = ticket
  self.count = self.count + 1
  count(self, bucket, ticket, 1)
  bucket.added = bucket.added + 1
  group.first = math.min(group.first, insert_sorted(group.by_age, ticket, is_older))
  if group.by_value then
    insert_sorted(group.by_value, ticket, group.is_lower)
  end
  local place = insert_sorted(self.order, ticket, is_older)
  if self.cursor and place < self.cursor then
    self.cursor = self.cursor + 1
  end
  self.failed = self.failed and {}
end


--- Removes a ticket; returns whether it was waiting.
---@param id integer
---@return boolean
function matcher:remove(id)
  local ticket = self.tickets[id]
  if not ticket then
    return false
  end
  local bucket, group = ticket.bucket, ticket.group
  ticket.is_gone = true
  self.tickets[id] = nil
  self.count = self.count - 1
  count(self, bucket, ticket, -1)
  local kind = self.kinds[ticket.kind]
  kind.count = kind.count - 1
  if kind.count == 0 then
    self.kinds[ticket.kind] = nil
  end
  group.gone = group.gone + 1
  if group.by_value then
    compact(group.by_value, group.gone)
  end
  group.gone = compact(group.by_age, group.gone)
  group.first = group.gone == 0 and 1 or group.first
  self.gone = self.gone + 1
  if not self.cursor then
    self.gone = compact(self.order, self.gone)
  end
  if bucket.tickets == 0 then
    self.buckets[bucket.key] = nil
  end
  return true
end


--- Offers a running match to the tickets that wait, or no longer does so.
---@param id integer
---@param open perigee.OpenMatch?
function matcher:set_open(id, open)
  self.open[id] = open
end

-- What fits together -------------------------------------------------------------------------

-- Returns by how much the values of others may differ from those of a ticket.
local function reach_of(rule, ticket, now)
  return math.min(rule.max, rule.within + rule.grow * floor(math.max(0, now - ticket.entered) + ROUNDING))
end

-- Returns when a search for a ticket that found nothing may find something.
local function next_due(rules, ticket, now)
  local due = math.huge
  if now + ROUNDING < ticket.entered + rules.patience then
    due = ticket.entered + rules.patience
  end
  for _, rule in ipairs(rules.numbers) do
    if rule.grow > 0 and reach_of(rule, ticket, now) < rule.max then
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
function matcher.fits(rules, a, b, now)
  if a.apart and a.apart[b.id] then
    return false
  end
  for _, rule in ipairs(rules.numbers) do
    local difference = math.abs(a.values[rule.name] - b.values[rule.name])
    if not a.team and difference > reach_of(rule, a, now) or not b.team and difference > reach_of(rule, b, now) then
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

-- Returns the elements that two sets have in common; nil if there are none.
local function common(a, b)
  local both
  for element in next, a do
    if b[element] then
      both = both or {}
      both[element] = true
    end
  end
  return both
end

-- Gives each player of a team a role; returns false if that is impossible. This is the augmenting path
-- algorithm for bipartite matching (Kuhn 1955): a player may take the place of one who can have another.
local function assign_roles(roles, players)
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

-- The search ---------------------------------------------------------------------------------

--- A match in the making.
---@class perigee.MatchSearch
---@field rules perigee.MatchRules
---@field now number
---@field is_lenient boolean a match of less than the largest size is possible
---@field is_fill boolean fills a running match
---@field tickets perigee.MatchTicket[]
---@field teams integer[] team of each ticket
---@field members perigee.MatchPlayer[][] by team
---@field common table<string, table[]> elements that all tickets so far have in common: a stack by property
---@field total integer players
---@field left integer candidates that the search may still look at, once it has taken back a choice
---@field has_failed boolean a choice was taken back
---@field best perigee.Match?
---@field best_total integer

local function new_search(self, now)
  local search = {
    rules = self.rules, now = now, tickets = {}, teams = {}, members = {}, common = {}, total = 0, best_total = 0,
    left = math.min(SEARCH_MAX, floor(CYCLE_MAX / (self.count + 1))), has_failed = false,
  }
  for team = 1, self.rules.teams do
    search.members[team] = {}
  end
  for _, name in ipairs(self.rules.any) do
    search.common[name] = {}
  end
  return search
end

-- Adds a ticket to a team; returns false, and changes nothing, if the team has no places for its players.
local function place(search, ticket, team)
  local rules, members = search.rules, search.members[team]
  if #members + #ticket.players > rules.max / rules.teams then
    return false
  end
  for _, player in ipairs(ticket.players) do
    members[#members + 1] = player
  end
  if rules.roles and not assign_roles(rules.roles, members) then
    for _ = 1, #ticket.players do
      members[#members] = nil
    end
    return false
  end
  local n = #search.tickets + 1
  search.tickets[n], search.teams[n] = ticket, team
  for name, stack in next, search.common do
    stack[n] = n == 1 and ticket.values[name] or common(stack[n - 1], ticket.values[name])
  end
  search.total = search.total + #ticket.players
  return true
end

local function unplace(search)
  local n = #search.tickets
  local ticket, members = search.tickets[n], search.members[search.teams[n]]
  for _ = 1, #ticket.players do
    members[#members] = nil
  end
  for _, stack in next, search.common do
    stack[n] = nil
  end
  search.tickets[n], search.teams[n] = nil, nil
  search.total = search.total - #ticket.players
end

local function may_add(search, ticket)
  if search.total + #ticket.players > search.rules.max then
    return false
  end
  for name, stack in next, search.common do
    if stack[1] and not common(stack[#stack], ticket.values[name]) then
      return false
    end
  end
  for i = 1, #search.tickets do
    if not matcher.fits(search.rules, search.tickets[i], ticket, search.now) then
      return false
    end
  end
  return true
end

local function has_waited(search, ticket)
  return search.now + ROUNDING >= ticket.entered + search.rules.patience
end

local function has_one_that_waited(search, list)
  for _, ticket in ipairs(list) do
    if has_waited(search, ticket) then
      return true
    end
  end
  return false
end

local function is_match(search)
  local rules, total = search.rules, search.total
  if search.is_fill then
    return true
  elseif not rules.sizes[total] or total < rules.max and not has_one_that_waited(search, search.tickets) then
    return false
  end
  for team = 2, #search.members do
    if #search.members[team] ~= #search.members[1] then
      return false
    end
  end
  return true
end

-- Keeps the match so far if it is the largest one.
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
  local failed = {} -- kinds of tickets that lead nowhere from here
  for i = first, #candidates do
    local ticket = candidates[i]
    search.left = search.left - (search.has_failed and 1 or 0)
    if search.left < 0 then
      return false
    elseif not failed[ticket.kind] and may_add(search, ticket) then
      local tried = {} -- sizes of the teams that were tried; empty teams are all the same
      for team = 1, #search.members do
        local size = #search.members[team]
        if not (size == 0 and tried[0]) then
          tried[size] = true
          if place(search, ticket, team) then
            if extend(search, candidates, i + 1) then
              return true
            end
            unplace(search)
            search.has_failed = true
          end
        end
      end
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

local function add_candidate(search, found, ticket)
  if ticket.is_gone or ticket == search.tickets[1] or not may_add(search, ticket) then
    return
  end
  found[#found + 1] = ticket
end

-- Adds the tickets of a list that fit the search, until there are `most`.
local function add_fitting(search, list, first, last, most, found)
  local read, begin = 0, #found
  for i = first, last do
    local ticket = list[i]
    if not ticket.is_gone then
      read = read + 1
      if ticket ~= search.tickets[1] and may_add(search, ticket) then
        found[#found + 1] = ticket
      end
      if #found - begin == most or read == GATHER_MAX then
        return
      end
    end
  end
end

-- Adds the oldest tickets of a group that fit the search, at most as many as a match has players. Either the
-- tickets with near values are few, or so many that the oldest tickets soon have them: reads the shorter list.
local function gather(search, group, found)
  local most, rule, by_age, by_value = search.rules.max, search.rules.numbers[1], group.by_age, group.by_value
  while group.first <= #by_age and by_age[group.first].is_gone do
    group.first = group.first + 1
  end
  if rule and not search.is_fill then
    local anchor = search.tickets[1]
    local value, reach = anchor.values[rule.name], reach_of(rule, anchor, search.now)
    local first = bound(by_value, rule.name, value - reach)
    local last = bound(by_value, rule.name, value + reach, true) - 1
    local near = last - first + 1
    if near * near < most * #by_age then
      local list = {}
      add_fitting(search, by_value, first, last, near, list)
      sort(list, is_older)
      for i = 1, math.min(most, #list) do
        found[#found + 1] = list[i]
      end
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

-- Returns whether all tickets of a shape in a bucket have the same chances.
local function are_alike(rules)
  return #rules.numbers == 0 and #rules.any == 0 and #rules.not_with == 0
end

-- Returns a match of a ticket with others; nil if there is none.
local function search_for(self, ticket, now)
  local search = new_search(self, now)
  local shape = ("%s\0%s\0%s"):format(ticket.bucket.key, ticket.group.shape, tostring(has_waited(search, ticket)))
  if self.failed[shape] or not has_roles(search, ticket.bucket) or not place(search, ticket, 1) then
    return nil
  end
  local candidates = candidates_for(search, ticket.bucket)
  search.is_lenient = has_waited(search, ticket) or candidates[1] ~= nil and has_waited(search, candidates[1])
  if can_suffice(search, candidates) then
    extend(search, candidates, 1)
  end
  if not search.best and are_alike(self.rules) then
    self.failed[shape] = true
  end
  return search.best
end

-- Returns the tickets for a running match that lacks players; nil if none fits.
local function search_fill(self, open, now)
  local bucket = self.buckets[open.same]
  if not bucket or open.seen == bucket.added and now < open.due then
    return nil
  end
  open.seen, open.due = bucket.added, now + 1
  local search = new_search(self, now)
  search.is_fill = true
  for _, ticket in ipairs(open.tickets) do
    place(search, ticket, ticket.team)
  end
  local present = #search.tickets
  search.best_total = search.total
  extend(search, candidates_for(search, bucket), 1)
  local found = search.best
  if not found then
    return nil
  end
  local added = { tickets = {}, teams = {}, open = open }
  for i = present + 1, #found.tickets do
    added.tickets[i - present], added.teams[i - present] = found.tickets[i], found.teams[i]
  end
  return added
end

-- Returns the oldest ticket of a kind.
local function oldest_of(self, name)
  local list = self.kinds[name].tickets
  while list[1].is_gone do
    table.remove(list, 1)
  end
  return list[1]
end

-- Takes the tickets of a match out of the queue: the oldest ones of their kinds. Gives their players roles.
local function take(self, match)
  local members = {}
  local function add(ticket, team)
    members[team] = members[team] or {}
    for _, player in ipairs(ticket.players) do
      insert(members[team], player)
    end
  end
  for _, ticket in ipairs(match.open and match.open.tickets or {}) do
    add(ticket, ticket.team)
  end
  local team_of = {}
  for i, found in ipairs(match.tickets) do
    local ticket = oldest_of(self, found.kind)
    self:remove(ticket.id)
    match.tickets[i], team_of[ticket] = ticket, match.teams[i]
  end
  sort(match.tickets, is_older)
  for i, ticket in ipairs(match.tickets) do
    match.teams[i] = team_of[ticket]
    add(ticket, match.teams[i])
  end
  for _, players in next, self.rules.roles and members or {} do
    assign_roles(self.rules.roles, players)
  end
  return match
end


--- Makes matches until a cycle is complete: running matches first, then all tickets, the oldest first.
--- Interrupts the cycle after `most` searches; the next call continues it.
---@param now number seconds
---@param most integer
---@return perigee.Match[] matches
---@return boolean is_complete
function matcher:run(now, most)
  local matches = {}
  if not self.cursor then
    self.cursor, self.failed = 1, {}
    for _, id in ipairs(keys_of(self.open)) do
      local match = search_fill(self, self.open[id], now)
      if match then
        self.open[id] = nil
        matches[#matches + 1] = take(self, match)
      end
    end
  end
  while most > 0 do
    local ticket = self.order[self.cursor]
    if not ticket then
      self.cursor, self.failed = nil, nil
      self.gone = compact(self.order, self.gone)
      return matches, true
    end
    self.cursor = self.cursor + 1
    if not ticket.is_gone and ticket.due <= now then
      most = most - 1
      local match = search_for(self, ticket, now)
      if match then
        matches[#matches + 1] = take(self, match)
      end
      if match and not ticket.is_gone then
        self.cursor = self.cursor - 1 -- an older ticket of its kind has its place
      else
        ticket.due = next_due(self.rules, ticket, now)
      end
    end
  end
  return matches, false
end

return matcher
