-- The cost of stopping scripts: the programs in tests/bench/budget/, compiled with and without the tests that
-- interrupt compiled code (src/script/guard/interrupt.h). Each measurement is a separate process, because the
-- JIT's result for a program depends on what has run before.
--   luajit tests/bench/budget.lua [ROUNDS]     from the root of the project
local now = require "tests.bench.clock"

local FOLDER = "tests/bench/budget/"
local TIGHT = { "loop", "collatz", "recursion" }
local TYPICAL = { "bodies", "query", "tables", "text", "grid", "objects" }
local RUNS = 4 -- runs in a process, after one to warm up; the best run counts
local PROFILE_MODE = "li1000000" -- mode of the profiler, the same as in src/script/guard/interrupt.c
-- Iterations after which the JIT compiles a loop. This number decides where traces begin, which changes the
-- speed of a program by some tenths. Each round has another number, so that no single choice decides.
local HOT_LOOP, HOT_LOOP_STEP = 56, 2 -- LuaJIT's own number, and the step from round to round

local function best_of(run)
  run()
  local best = math.huge
  for _ = 1, RUNS do
    local start = now()
    run()
    best = math.min(best, now() - start)
  end
  return best
end

-- Runs this file in a new process for one measurement; returns seconds.
local function measure(...)
  local pipe = io.popen(table.concat({ "luajit", "tests/bench/budget.lua", ... }, " "))
  local seconds = tonumber((pipe:read "*l"))
  pipe:close()
  return assert(seconds, "a measurement failed")
end

-- Returns the value below which that part of the list lies.
local function quantile(values, part)
  table.sort(values)
  return values[math.ceil(#values * part)]
end

-- Returns the HOT_LOOP of a round: 56, 54, 58, 52, 60 ...
local function hot_loop(round)
  local steps = math.floor(round / 2)
  return HOT_LOOP + (round % 2 == 0 and -1 or 1) * steps * HOT_LOOP_STEP
end

-- Measures both ways in turn, round after round: the times without the tests, and the ratios of the times
-- with them.
local function compare(rounds, name)
  local plain, ratios = {}, {}
  for round = 1, rounds do
    plain[round] = measure("one", name, "plain", hot_loop(round))
    ratios[round] = measure("one", name, "watched", hot_loop(round)) / plain[round]
  end
  return plain, ratios
end

local function geometric_mean(values)
  local sum = 0
  for _, value in ipairs(values) do
    sum = sum + math.log(value)
  end
  return math.exp(sum / #values)
end

local function report(rounds, title, programs)
  local medians = {}
  for i, name in ipairs(programs) do
    local plain, ratios = compare(rounds, name)
    medians[i] = quantile(ratios, 0.5)
    print(("| %s | %.1f ms | %.2f × | %.2f to %.2f |"):format(name, quantile(plain, 0.5) * 1e3,
      medians[i], quantile(ratios, 0.25), quantile(ratios, 0.75)))
  end
  print(("| **%s** | | **%.3f ×** | |"):format(title, geometric_mean(medians)))
end

if arg[1] ~= "one" then
  local rounds = math.min(tonumber(arg[1]) or 5, HOT_LOOP / HOT_LOOP_STEP)
  print "| program | plain | watched: median | quartiles |\n|---|---|---|---|"
  report(rounds, "tight loops", TIGHT)
  return report(rounds, "typical handlers", TYPICAL)
end
require("jit.opt").start("hotloop=" .. arg[4])
if arg[3] == "watched" then
  require("jit.profile").start(PROFILE_MODE, function() end)
end
print(best_of(dofile(FOLDER .. arg[2] .. ".lua")))
