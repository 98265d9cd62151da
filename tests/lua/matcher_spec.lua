-- The matcher beside a slow model that tries all sets of tickets. Tickets come, are cancelled and return in
-- the middle of cycles. `scripts/soak matchmaking` goes on for longer.

require "perigee.guard.next_workaround" -- as in the server

local matcher = require "perigee.matchmaking.matcher"
local from = require("random").from

local TICKETS = tonumber(os.getenv "TICKETS") or 1500
local SEED = tonumber(os.getenv "SEED") or 1
local CROWD = 7 -- most tickets that wait, because the model tries all their sets

-- The model ----------------------------------------------------------------------------------

local function may_meet(rules, a, b, now)
  if a.apart and a.apart[b.id] then return false end
  for _, rule in ipairs(rules.numbers) do
    for _, one in ipairs { a, b } do
      local reach = math.min(rule.max, rule.within + rule.grow * math.floor(now - one.entered + 1e-6))
      if one.team then reach = math.huge end -- it plays already
      if math.abs(a.values[rule.name] - b.values[rule.name]) > reach then return false end
    end
  end
  for _, name in ipairs(rules.same) do
    if a.values[name] ~= b.values[name] then return false end
  end
  for _, name in ipairs(rules.not_with) do
    for _, pair in ipairs { { a, b }, { b, a } } do
      for _, player in ipairs(pair[2].players) do
        if pair[1].values[name][player.key] then return false end
      end
    end
  end
  return true
end

local function have_common(rules, list)
  for _, name in ipairs(rules.any) do
    local has_one = false
    for element in pairs(list[1].values[name]) do
      local is_common = true
      for _, ticket in ipairs(list) do is_common = is_common and ticket.values[name][element] end
      has_one = has_one or is_common
    end
    if not has_one then return false end
  end
  return true
end

local function can_play(roles, players, i, left)
  if i > #players then return true end
  for role in pairs(roles) do
    if left[role] > 0 and (not players[i].roles or players[i].roles[role]) then
      left[role] = left[role] - 1
      local can = can_play(roles, players, i + 1, left)
      left[role] = left[role] + 1
      if can then return true end
    end
  end
  return false
end

local function is_team(rules, players)
  local left = {}
  for role, count in pairs(rules.roles or {}) do left[role] = count end
  return not rules.roles or can_play(rules.roles, players, 1, left)
end

-- Tries all teams for the tickets from number i on.
local function can_split(rules, list, i, teams, size)
  if i > #list then
    for _, players in ipairs(teams) do
      if #players ~= size or not is_team(rules, players) then return false end
    end
    return true
  end
  for _, players in ipairs(teams) do
    if #players + #list[i].players <= size then
      for _, player in ipairs(list[i].players) do players[#players + 1] = player end
      local can = can_split(rules, list, i + 1, teams, size)
      for _ = 1, #list[i].players do players[#players] = nil end
      if can then return true end
    end
  end
  return false
end

local function is_match(rules, list, now)
  local total, oldest = 0, math.huge
  for _, ticket in ipairs(list) do
    total, oldest = total + #ticket.players, math.min(oldest, ticket.entered)
  end
  if not rules.sizes[total] or total < rules.max and now - oldest < rules.patience then return false end
  for i = 1, #list do
    for k = i + 1, #list do
      if not may_meet(rules, list[i], list[k], now) then return false end
    end
  end
  local teams = {}
  for team = 1, rules.teams do teams[team] = {} end
  return have_common(rules, list) and can_split(rules, list, 1, teams, total / rules.teams)
end

-- Returns a set of waiting tickets that is a match.
local function find_match(rules, waiting, now)
  for set = 1, 2 ^ #waiting - 1 do
    local list = {}
    for i = 1, #waiting do
      if math.floor(set / 2 ^ (i - 1)) % 2 == 1 then list[#list + 1] = waiting[i] end
    end
    if is_match(rules, list, now) then return list end
  end
end

local function concat(a, b)
  local all = { unpack(a) }
  for _, value in ipairs(b) do all[#all + 1] = value end
  return all
end

-- Returns whether a player of a ticket plays in a running match, perhaps with another device.
local function is_seated(open, ticket)
  for _, player in ipairs(ticket.players) do
    if open.seated[player.key] then return true end
  end
  return false
end

-- Returns whether tickets may join those of a running match, apart from teams.
local function may_join(rules, open, list, now)
  local all, total = concat(open.tickets, list), 0
  for _, ticket in ipairs(list) do
    if is_seated(open, ticket) then return false end
  end
  for _, ticket in ipairs(all) do
    total = total + #ticket.players
    for _, new in ipairs(list) do
      if new ~= ticket and not may_meet(rules, ticket, new, now) then return false end
    end
  end
  return total <= rules.max and have_common(rules, all)
end

-- Returns whether a team of a running match has places for the players of a ticket.
local function has_team_for(rules, open, ticket)
  for team = 1, rules.teams do
    local players = {}
    for _, other in ipairs(concat(open.tickets, { ticket })) do
      if other.team == team or other == ticket then players = concat(players, other.players) end
    end
    if #players <= rules.max / rules.teams and is_team(rules, players) then return true end
  end
  return false
end

-- Queues by chance ---------------------------------------------------------------------------

local function some(random, most, names)
  local set = {}
  for _ = 1, random(most) do set[names[random(#names)]] = true end
  return set
end

local function random_rules(random)
  local rules = {
    teams = random(2), sizes = {}, numbers = {}, same = {}, any = {}, not_with = {}, patience = 4,
  }
  if random(4) == 1 then
    rules.roles = { tank = 1, healer = random(2) }
    rules.max = rules.teams * (1 + rules.roles.healer)
    rules.sizes[rules.max] = true
  else
    rules.max = rules.teams * (1 + random(2))
    for size = rules.teams * random(2), rules.max, rules.teams do rules.sizes[size] = size > 1 or nil end
    rules.sizes[rules.max] = true
  end
  if random(2) == 1 then
    rules.numbers[1] = { name = "rating", within = 10 * random(5), grow = 5 * (random(3) - 1), max = 100 }
  end
  if random(4) == 1 then rules.numbers[2] = { name = "level", within = 3, grow = 0, max = 3 } end
  if random(3) == 1 then rules.same[1] = "region" end
  if random(3) == 1 then rules.any[1] = "maps" end
  if random(3) == 1 then rules.not_with[1] = "blocked" end
  return rules
end

local function random_ticket(random, rules, id, now, next_peer)
  local ticket = { id = id, entered = now, players = {}, values = {
    rating = 10 * random(20), level = random(8), region = random(2) == 1 and "eu" or "us",
    maps = some(random, 2, { "ice", "sand", "sea" }),
    blocked = random(3) == 1 and some(random, 2, { "p1", "p2", "p3", "p4", "p5" }) or {},
  } }
  for i = 1, random(3) == 1 and random(rules.max / rules.teams) or 1 do
    ticket.players[i] = {
      peer = next_peer + i, key = "p" .. random(9),
      roles = random(3) > 1 and some(random, 2, { "tank", "healer" }) or nil,
    }
  end
  return ticket
end

local function is_of_a_kind(rules, a, b)
  if a.apart or b.apart then return false end
  local function text(ticket)
    local parts = {}
    local function add(set)
      local keys = {}
      for key in pairs(set) do keys[#keys + 1] = key end
      table.sort(keys)
      parts[#parts + 1] = "(" .. table.concat(keys, " ") .. ")"
    end
    for _, rule in ipairs(rules.numbers) do parts[#parts + 1] = ticket.values[rule.name] end
    for _, name in ipairs(rules.same) do parts[#parts + 1] = ticket.values[name] end
    for _, name in ipairs(rules.any) do add(ticket.values[name]) end
    for _, name in ipairs(rules.not_with) do add(ticket.values[name]) end
    for _, player in ipairs(ticket.players) do
      add(rules.roles and (player.roles or { any = true }) or {})
      parts[#parts + 1] = #rules.not_with > 0 and player.key or ""
    end
    return table.concat(parts, ",")
  end
  return text(a) == text(b)
end

local function check_match(rules, match, waiting, now, matched)
  local teams, open = {}, match.open
  if open then
    assert(may_join(rules, open, match.tickets, now), "the tickets do not fit the running match")
  else
    assert(is_match(rules, match.tickets, now), "no match by the model")
  end
  for _, ticket in ipairs(open and open.tickets or {}) do
    teams[ticket.team] = concat(teams[ticket.team] or {}, ticket.players)
  end
  for i, ticket in ipairs(match.tickets) do
    local team = teams[match.teams[i]] or {}
    teams[match.teams[i]] = team
    for _, player in ipairs(ticket.players) do
      assert(not matched[player.peer], "a player is in two matches")
      matched[player.peer] = true
      team[#team + 1] = player
    end
    for _, other in ipairs(waiting) do
      assert(other.entered >= ticket.entered or not is_of_a_kind(rules, ticket, other)
        or open and is_seated(open, other), "an older ticket of the same kind waits")
    end
  end
  for _, team in pairs(teams) do
    assert(#team <= rules.max / rules.teams, "a team is too large")
    local left = {}
    for role, count in pairs(rules.roles or {}) do left[role] = count end
    for _, player in ipairs(rules.roles and team or {}) do
      assert(not player.roles or player.roles[player.role], "a role that the player does not accept")
      left[player.role] = left[player.role] - 1
      assert(left[player.role] >= 0, "a role twice")
    end
  end
end

local Play = {} -- a queue, and a simple list of the tickets that wait in it
Play.__index = Play

function Play:enter()
  self.id = self.id + 1
  local ticket = random_ticket(self.random, self.rules, self.id, self.now, self.peers)
  self.peers = self.peers + #ticket.players
  table.insert(self.waiting, ticket)
  self.queue:add(ticket)
end

function Play:cancel()
  local ticket = table.remove(self.waiting, self.random(#self.waiting))
  assert(self.queue:remove(ticket.id))
  self.gone[#self.gone + 1] = self.random(2) == 1 and ticket or nil
end

-- Puts tickets back that have left or were in a match that did not begin; some may not meet again.
function Play:return_some()
  local list = self.gone
  self.gone = {}
  local are_apart = self.random(2) == 1
  for _, ticket in ipairs(list) do
    for _, player in ipairs(ticket.players) do self.matched[player.peer] = nil end
    ticket.team = nil
    ticket.apart = ticket.apart or are_apart and {} or nil
    for _, other in ipairs(are_apart and list or {}) do ticket.apart[other.id] = other ~= ticket or nil end
    table.insert(self.waiting, ticket)
  end
  for _, ticket in ipairs(list) do self.queue:add(ticket) end
end

-- Changes the queue, perhaps in the middle of a cycle; returns whether an older ticket has come in.
function Play:change()
  local random = self.random
  if #self.waiting < CROWD and random(3) > 1 then self:enter() end
  if #self.waiting > 0 and random(6) == 1 then self:cancel() end
  if #self.gone > 0 and #self.waiting + #self.gone <= CROWD and random(3) == 1 then
    self:return_some()
    return true
  end
  return false
end

function Play:take(match)
  self.made = self.made + 1
  for _, ticket in ipairs(match.tickets) do
    local was_waiting = false
    for i = #self.waiting, 1, -1 do
      if self.waiting[i] == ticket then
        table.remove(self.waiting, i)
        was_waiting = true
      end
    end
    assert(was_waiting and not self.queue:remove(ticket.id), "the ticket did not wait")
  end
  check_match(self.rules, match, self.waiting, self.now, self.matched)
  if match.open or self.random(4) == 1 then
    self:go_on(match)
  elseif self.random(8) == 1 then
    self.gone = { unpack(match.tickets) }
  end
end

-- Lets a match run; some of its tickets may leave, and others take their places.
function Play:go_on(match)
  for i, ticket in ipairs(match.tickets) do ticket.team = match.teams[i] end
  local tickets = concat(match.open and match.open.tickets or {}, match.tickets)
  if match.open then self.open[match.open.id] = nil end
  if self.random(2) == 1 then table.remove(tickets, self.random(#tickets)) end
  if #tickets == 0 then return end
  local open = { id = self.made, tickets = tickets, seated = {}, due = 0,
    same = matcher.same_key(self.rules, tickets[1].values) }
  for _, ticket in ipairs(tickets) do
    for _, player in ipairs(ticket.players) do
      open.seated[player.key] = true
      player.roles = self.rules.roles and { [player.role] = true } or player.roles
    end
  end
  self.open[open.id] = open
  self.queue:set_open(open.id, open)
end

-- Ends a running match.
function Play:stop()
  local id = next(self.open)
  if id then
    self.open[id] = nil
    self.queue:set_open(id, nil)
  end
end

-- Checks that no waiting ticket could play.
function Play:check()
  assert.equal(#self.waiting, self.queue.count)
  assert(not find_match(self.rules, self.waiting, self.now), "a match was missed")
  for _, open in pairs(self.open) do
    for _, ticket in ipairs(self.waiting) do
      local has_place = has_team_for(self.rules, open, ticket)
      assert(not has_place or not may_join(self.rules, open, { ticket }, self.now),
        "a place in a running match was missed")
    end
  end
end

-- Runs a cycle, in which the queue may change. Returns whether older tickets have come in since its searches.
function Play:cycle(may_change)
  local has_older, is_complete = false
  repeat
    local matches
    matches, is_complete = self.queue:run(self.now, self.random(100))
    for _, match in ipairs(matches) do self:take(match) end
    if may_change and not is_complete and self.random(3) == 1 then has_older = self:change() or has_older end
  until is_complete
  return has_older
end

-- Runs a queue for a while; returns the number of its tickets and matches.
local function play(seed)
  local random = from(seed)
  for _ = 1, 10 do random(7) end -- the first numbers of near seeds are alike
  local rules = random_rules(random)
  local it = setmetatable({ random = random, rules = rules, queue = matcher.new(rules), waiting = {},
    gone = {}, open = {}, matched = {}, now = 0, id = 0, peers = 0, made = 0 }, Play)
  for _ = 1, 30 do
    it.now = it.now + random(3) - 1
    for _ = 1, random(4) do it:change() end
    if random(3) == 1 then it:stop() end
    if it:cycle(true) then it:cycle(false) end
    assert(not find_match(rules, it.waiting, it.now), "a match was missed in a cycle")
    local made
    repeat -- a cycle looks at the running matches that it finds
      made = it.made
      it:cycle(false)
    until it.made == made
    it:check()
  end
  return it.id, it.made
end

describe("the matcher", function()
  it("makes the matches that a model allows, and misses none", function()
    local tickets, matches, seed = 0, 0, SEED
    while tickets < TICKETS do
      local ok, count, made = pcall(play, seed)
      assert(ok, ("seed %d: %s"):format(seed, tostring(count)))
      tickets, matches, seed = tickets + count, matches + made, seed + 1
    end
    assert(matches * 8 > tickets, "too few matches to test anything: " .. matches)
  end)

  it("searches for tickets that are like one that may not meet some of them", function()
    local rules = { teams = 1, max = 3, sizes = { [3] = true }, patience = 5, any = {}, numbers = {},
      same = {}, not_with = {} }
    local queue = matcher.new(rules)
    for id, apart in ipairs { { [2] = true, [3] = true }, { [1] = true }, { [1] = true }, false } do
      queue:add { id = id, entered = id, values = {}, players = { { peer = id, key = "p" .. id } },
        apart = apart or nil }
    end
    local matches = queue:run(4, 1000)
    assert.same({ 1, 2, 4 }, { #matches, matches[1].tickets[1].id, matches[1].tickets[3].id })
  end)

  it("finds a match behind older tickets that exclude each other", function()
    local rules = { teams = 1, max = 3, sizes = { [3] = true }, patience = 5, any = {}, numbers = {},
      same = {}, not_with = { "blocked" } }
    local queue, crowd = matcher.new(rules), 15 -- tickets that accept one of the last three alone
    local last = 3 * crowd + 3
    for id = 1, last do
      local friend, blocked = 3 * crowd + math.ceil(id / crowd), {}
      for other = 1, id <= 3 * crowd and last or 0 do
        blocked["p" .. other] = other ~= id and other ~= friend or nil
      end
      queue:add { id = id, entered = id, values = { blocked = blocked },
        players = { { peer = id, key = "p" .. id } } }
    end
    local matches = queue:run(last, math.huge)
    assert.equal(1, #matches)
    for i = 1, 3 do assert.equal(3 * crowd + i, matches[1].tickets[i].id) end
  end)

  it("keeps nothing of tickets that have left", function()
    local random = from(SEED)
    local rules = { teams = 1, max = 4, sizes = { [4] = true }, patience = 1e9, any = { "maps" },
      numbers = { { name = "rating", within = 10, grow = 5, max = 100 } }, same = { "region" },
      not_with = { "blocked" } }
    local queue, id = matcher.new(rules), 0
    local function enter_and_leave(count)
      local first = id + 1
      for _ = 1, count do
        id = id + 1
        queue:add(random_ticket(random, rules, id, id / 1000, id))
      end
      queue:run(id / 1000, 1000)
      for i = first, id do queue:remove(first + id - i) end -- some are in matches
    end
    enter_and_leave(1000)
    collectgarbage()
    local before = collectgarbage "count"
    for _ = 1, 100 do enter_and_leave(1000) end
    collectgarbage()
    assert(collectgarbage "count" - before < 1024, "more than 1 MiB remains") -- 100,000 tickets take 130
    assert.same({ {}, {}, {}, 0 }, { queue.buckets, queue.kinds, queue.tickets, queue.count })
  end)
end)
