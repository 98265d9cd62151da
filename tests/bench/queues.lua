-- The CPU that the matcher takes for a cycle, its longest slice, and a match, with 100 to 10,000 tickets.
--   luajit tests/bench/queues.lua [ROUNDS]     from the root of the project
package.path = "./?.lua;lua/?.lua;tests/?.lua;tests/lua/?.lua;" .. package.path

require "perigee.guard.next_workaround" -- as in the server

local matcher = require "perigee.matchmaking.matcher"
local from = require("random").from

local SIZES = { 100, 1000, 10000 }
local CYCLE_TARGET_MS, SLICE_TARGET_MS, RATE_TARGET = 50, 4, 1000
local MAPS = { "ice", "sand", "sea", "moon" }
local ROLES = { "tank", "healer", "damage" }

local function rules_with(more)
  local rules = { teams = 1, numbers = {}, same = {}, any = {}, not_with = {}, patience = 5 }
  for key, value in pairs(more) do
    rules[key] = value
  end
  rules.sizes = { [rules.max] = true }
  return rules
end

-- Kinds of queues: their rules, and what a ticket has.
local KINDS = {
  { "1v1 by rating", rules_with { max = 2, teams = 2,
    numbers = { { name = "rating", within = 50, grow = 25, max = 400 } } },
    function(random)
      return { rating = random(3000) }, 1
    end },
  { "5v5 with roles", rules_with { max = 10, teams = 2, roles = { tank = 1, healer = 1, damage = 3 } },
    function(random)
      local role = ROLES[math.min(3, random(5))]
      return {}, 1, { [role] = true }
    end },
  { "parties, any and same", rules_with { max = 8, teams = 2, same = { "region" }, any = { "maps" } },
    function(random)
      return { region = random(3), maps = { [MAPS[random(4)]] = true, [MAPS[random(4)]] = true } },
        math.max(1, random(6) - 2)
    end },
  { "nothing fits", rules_with { max = 2, teams = 2,
    numbers = { { name = "rating", within = 0, grow = 1, max = 1 } } },
    function(_, i)
      return { rating = i * 3 }, 1
    end },
}

local function new_ticket(random, make, i)
  local values, size, roles = make(random, i)
  local ticket = { id = i, entered = 0, players = {}, values = values }
  for n = 1, size do
    ticket.players[n] = { peer = i * 10 + n, key = i .. "." .. n, roles = roles }
  end
  return ticket
end

-- Runs cycles until all tickets have been searched, as lua/perigee/matchmaking/cycles.lua does.
local function run(queue, now)
  local ran = { total = 0, cycle = 0, slice = 0, cycles = 0, matches = 0 }
  local is_complete
  repeat
    local cycle, left = 0, matcher.CYCLE_WORK
    repeat
      local began = os.clock()
      local found
      found, is_complete = queue:run(now, matcher.SLICE_WORK)
      local ms = (os.clock() - began) * 1000
      left = left - matcher.SLICE_WORK
      cycle, ran.slice, ran.matches = cycle + ms, math.max(ran.slice, ms), ran.matches + #found
    until is_complete or left <= 0
    ran.total, ran.cycle, ran.cycles = ran.total + cycle, math.max(ran.cycle, cycle), ran.cycles + 1
  until is_complete
  return ran
end

-- Measures one round: first with all tickets new, then a second later with the tickets that found no match.
local function measure(kind, size, seed)
  local random, queue = from(seed), matcher.new(kind[2])
  for i = 1, size do
    queue:add(new_ticket(random, kind[3], i))
  end
  collectgarbage()
  local arrival = run(queue, 0)
  collectgarbage()
  local waiting = run(queue, 1)
  return { cycle = arrival.cycle, cycles = arrival.cycles, waiting = waiting.cycle,
    slice = math.max(arrival.slice, waiting.slice),
    match = arrival.matches > 0 and arrival.total / arrival.matches or 0 }
end

local function median(rounds, field)
  local values = {}
  for i, round in ipairs(rounds) do
    values[i] = round[field]
  end
  table.sort(values)
  return values[math.floor(#values / 2) + 1]
end

local rounds = tonumber(arg[1]) or 5
local FORMAT = "%-22s %8s %14s %8s %12s %10s %12s"
print(FORMAT:format("queue", "tickets", "all new, ms", "cycles", "waiting, ms", "slice, ms", "match, us"))
local misses = 0
for _, kind in ipairs(KINDS) do
  for _, size in ipairs(SIZES) do
    local measured = {}
    for i = 0, rounds do
      measured[math.max(1, i)] = measure(kind, size, i + 1) -- the first one warms up
    end
    local function figure(field)
      return median(measured, field)
    end
    local function text(value)
      return ("%.2f"):format(value)
    end
    print(FORMAT:format(kind[1], size, text(figure "cycle"), figure "cycles", text(figure "waiting"),
      text(figure "slice"), text(figure "match" * 1000)))
    local has_missed = math.max(figure "cycle", figure "waiting") > CYCLE_TARGET_MS
      or figure "slice" > SLICE_TARGET_MS or figure "match" * RATE_TARGET > 1000
    misses = misses + (has_missed and 1 or 0)
  end
end
print(("%d targets missed: a cycle takes at most %d ms, a slice of it %d ms, 1 s makes %d matches"):format(
  misses, CYCLE_TARGET_MS, SLICE_TARGET_MS, RATE_TARGET))
os.exit(misses == 0 and 0 or 1)
