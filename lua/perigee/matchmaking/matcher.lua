--- The matcher of a queue: makes matches of waiting tickets. It has no clock and no I/O, and tickets are
--- plain data, so that a test or another machine can run it.
---
--- The oldest ticket comes first. The matcher searches the tickets that fit it, again the oldest ones first,
--- for a set that fills a match, and takes back choices that lead nowhere.
---
--- A search that found nothing is repeated only when it may find something: when its ticket accepts larger
--- differences, or smaller matches. New tickets search for themselves. So a cycle costs little, however many
--- tickets wait. Each search is bounded as well, and its caller divides a cycle into parts: a part ends when
--- its searches have cost so much work, which is the number of tickets that they read and placed.

local fits = require "perigee.matchmaking.fits"
local searches = require "perigee.matchmaking.search"

local sort, insert, floor = table.sort, table.insert, math.floor
local is_older = fits.is_older

local SKIP_WORK = 0.1 -- work for a ticket of a cycle that needs no search

--- The rules of a queue for its matches (rules.lua reads them).
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
---@field key string what lists of not_with name; equal for two devices of one account
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
---@field seated table<string, true> keys of the players who are there, and may wait for other matches only

---@class perigee.FoundMatch
---@field tickets perigee.MatchTicket[]
---@field teams integer[] number of the team of each ticket
---@field open perigee.OpenMatch? the match that gets these tickets; nil: a new one

-- The work of a slice, between two of which others run, and of a cycle. On a busy machine, a slice takes some
-- 2 ms, and a cycle 35 ms.
local matcher = { SLICE_WORK = 1000, CYCLE_WORK = 40000 }
matcher.__index = matcher

-- Tickets ------------------------------------------------------------------------------------

-- Returns the place behind all elements that do not come after a value.
local function place_in(list, value, comes_before)
  local low, high = 1, #list + 1
  if high > 1 and not comes_before(value, list[high - 1]) then
    return high
  end
  while low < high do
    local middle = floor((low + high) / 2)
    if comes_before(value, list[middle]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Inserts a ticket into a sorted list, in which it may still be from before its removal. Returns its place,
-- and 1 if it was there.
local function insert_sorted(list, ticket, comes_before)
  local place = place_in(list, ticket, comes_before)
  if list[place - 1] == ticket then
    return place - 1, 1
  end
  insert(list, place, ticket)
  return place, 0
end

-- Removes the `gone` tickets that are marked as gone, once they are half of the list. Returns the number of
-- gone tickets that remain in the list, and the new place of the ticket at `cursor`.
local function compact(list, gone, cursor)
  if gone * 2 < #list then
    return gone, cursor
  end
  local kept, before = 0, 0
  for i = 1, #list do
    local ticket = list[i]
    list[i] = nil
    if not ticket.is_gone then
      kept = kept + 1
      list[kept] = ticket
      before = before + (cursor and i < cursor and 1 or 0)
    end
  end
  return 0, cursor and before + 1
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
    are_alike = #rules.numbers == 0 and #rules.any == 0 and #rules.not_with == 0, -- tickets of a group
    tickets = {},            -- by id
    count = 0,
    added = 0,               -- tickets added so far; a bucket has the number at its last addition
    order = {}, gone = 0,    -- all tickets, the oldest first, with those that are gone
    buckets = {},            -- tickets with equal values of rules.same, by matcher.same_key
    kinds = {},              -- number of tickets and list of them, the oldest first, by kind
    open = {},               -- perigee.OpenMatch by id
    cursor = nil,            -- place in `order` of the cycle that is running
    fills = nil,             -- ids of the open matches that this cycle has not looked at, the last one first
    failed = nil,            -- groups of this cycle whose searches found nothing, by fits.has_waited
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
    local of_a, of_b = a.values[name], b.values[name]
    return of_a < of_b or of_a == of_b and is_older(a, b)
  end
end

-- Adds a ticket to those of its kind. A ticket that returns may have had another kind.
local function add_to_kind(self, ticket, name)
  local old = ticket.kind ~= name and self.kinds[ticket.kind]
  local place = old and place_in(old.tickets, ticket, is_older) - 1
  if place and old.tickets[place] == ticket then
    table.remove(old.tickets, place)
    old.first = 1
  end
  local kind = self.kinds[name] or { count = 0, tickets = {}, first = 1 }
  self.kinds[name], ticket.kind, kind.count = kind, name, kind.count + 1
  kind.first = math.min(kind.first, (insert_sorted(kind.tickets, ticket, is_older)))
end


local function new_memo()
  return { [true] = {}, [false] = {} }
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
  add_to_kind(self, ticket, kind_of(rules, ticket, shape))
  self.tickets[ticket.id] = ticket
  self.count = self.count + 1
  count(self, bucket, ticket, 1)
  self.added = self.added + 1
  bucket.added = self.added
  local place, was_there = insert_sorted(group.by_age, ticket, is_older)
  group.first, group.gone = math.min(group.first, place), group.gone - was_there
  if group.by_value then
    insert_sorted(group.by_value, ticket, group.is_lower)
  end
  place, was_there = insert_sorted(self.order, ticket, is_older)
  self.gone = self.gone - was_there
  if self.cursor and place < self.cursor then
    self.cursor = self.cursor + 1 - was_there
  end
  self.failed = self.failed and new_memo()
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
  if compact(kind.tickets, #kind.tickets - kind.count) == 0 then
    kind.first = 1
  end
  if kind.count == 0 then
    self.kinds[ticket.kind] = nil
  end
  group.gone = group.gone + 1
  if group.by_value then
    compact(group.by_value, group.gone)
  end
  group.gone = compact(group.by_age, group.gone)
  group.first = group.gone == 0 and 1 or group.first
  if #group.by_age == 0 then
    bucket.groups[group.shape] = nil
  end
  self.gone, self.cursor = compact(self.order, self.gone + 1, self.cursor)
  if bucket.tickets == 0 then
    self.buckets[bucket.key] = nil
  end
  return true
end


--- Offers a running match to the waiting tickets; withdraws the offer if `open` is nil.
---@param id integer
---@param open perigee.OpenMatch?
function matcher:set_open(id, open)
  self.open[id] = open
end

-- Returns a match of a ticket with others, nil if there is none; and the work of the search.
local function search_for(self, ticket, now)
  local is_alike = self.are_alike and not ticket.apart
  local failed = self.failed[fits.has_waited(self.rules, ticket, now)]
  if is_alike and failed[ticket.group] then
    return nil, 1
  end
  local found, work = searches.around(self.rules, ticket, self.count, now)
  failed[ticket.group] = failed[ticket.group] or is_alike and not found
  return found, work
end

-- Returns the tickets for a running match that lacks players, nil if none fits; and the work of the search.
local function search_fill(self, open, now)
  local bucket = self.buckets[open.same]
  if not bucket or open.seen == bucket.added and now < open.due then
    return nil, 1
  end
  open.seen, open.due = bucket.added, now + 1
  return searches.fill(self.rules, open, bucket, self.count, now)
end

-- Returns the oldest ticket of a kind that can take part in a match.
local function oldest_of(self, name, open)
  local kind = self.kinds[name]
  local list = kind.tickets
  while list[kind.first].is_gone do
    kind.first = kind.first + 1
  end
  local i = kind.first
  while list[i].is_gone or open and fits.is_seated(open.seated, list[i]) do
    i = i + 1
  end
  return list[i]
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
    local ticket = oldest_of(self, found.kind, match.open)
    self:remove(ticket.id)
    match.tickets[i], team_of[ticket] = ticket, match.teams[i]
  end
  sort(match.tickets, is_older)
  for i, ticket in ipairs(match.tickets) do
    match.teams[i] = team_of[ticket]
    add(ticket, match.teams[i])
  end
  for _, players in next, self.rules.roles and members or {} do
    fits.assign_roles(self.rules.roles, players)
  end
  return match
end


-- Looks at the next running match of the cycle.
local function fill_next(self, now, matches)
  local open = self.open[table.remove(self.fills)]
  if not open then
    return 1
  end
  local match, work = search_fill(self, open, now)
  if match then
    self.open[open.id] = nil
    matches[#matches + 1] = take(self, match)
  end
  return work
end

-- Looks at the next ticket of the cycle.
local function search_next(self, now, matches)
  local ticket = self.order[self.cursor]
  self.cursor = self.cursor + 1
  if ticket.is_gone or ticket.due > now then
    return SKIP_WORK
  end
  local match, work = search_for(self, ticket, now)
  if match then
    matches[#matches + 1] = take(self, match)
  end
  if match and not ticket.is_gone then
    self.cursor = self.cursor - 1 -- an older ticket of its kind has its place
  else
    ticket.due = fits.next_due(self.rules, ticket, now)
  end
  return work
end


--- Makes matches until a cycle is complete: running matches first, then all tickets, the oldest first.
--- Interrupts the cycle after so much work; the next call continues it.
---@param now number seconds
---@param work integer
---@return perigee.FoundMatch[] matches
---@return boolean is_complete
function matcher:run(now, work)
  local matches = {}
  if not self.cursor then
    self.cursor, self.failed, self.fills = 1, new_memo(), keys_of(self.open)
    sort(self.fills, function(a, b)
      return a > b
    end)
  end
  while work > 0 do
    if self.fills[1] then
      work = work - fill_next(self, now, matches)
    elseif self.order[self.cursor] then
      work = work - search_next(self, now, matches)
    else
      self.cursor, self.failed = nil, nil
      return matches, true
    end
  end
  return matches, false
end

return matcher
