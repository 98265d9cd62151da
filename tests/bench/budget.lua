-- What it costs that scripts can be stopped: the programs in tests/bench/budget/ compiled with and
-- without the tests by which compiled code hears an alarm (src/script/alarm.h). Each measurement is a
-- process of its own, as what the JIT makes of a program depends on what has run before.
--   luajit tests/bench/budget.lua [ROUNDS]     from the root of the project
local now = require "tests.bench.clock"

local FOLDER = "tests/bench/budget/"
local PROGRAMS = {
  "loop", "collatz", "recursion", "bodies", "query", "tables", "text", "grid", "objects",
}
local RUNS = 4 -- in a process, after one to warm up; the best counts
local PROFILE_MODE = "li1000000" -- as in src/script/alarm.c

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

-- Runs this file again, for one measurement. Seconds.
local function measure(...)
  local pipe = io.popen(table.concat({ "luajit", "tests/bench/budget.lua", ... }, " "))
  local seconds = tonumber((pipe:read "*l"))
  pipe:close()
  return assert(seconds, "a measurement failed")
end

local function quartiles(values)
  table.sort(values)
  return values[math.ceil(#values / 4)], values[math.ceil(#values / 2)]
end

-- Both ways in turn, round after round.
local function compare(rounds, name)
  local plain, watched = {}, {}
  for i = 1, rounds do
    plain[i] = measure("one", name, "plain")
    watched[i] = measure("one", name, "watched")
  end
  return plain, watched
end

local function report(rounds)
  print "| program | plain | watched: lower quartile | median |\n|---|---|---|---|"
  local product = 1
  for _, name in ipairs(PROGRAMS) do
    local plain, watched = compare(rounds, name)
    local plain_quick, plain_median = quartiles(plain)
    local quick, median = quartiles(watched)
    product = product * quick / plain_quick
    print(("| %s | %.1f ms | %.2f × | %.2f × |"):format(name, plain_quick * 1e3,
      quick / plain_quick, median / plain_median))
  end
  print(("\nAll together: %.3f × (geometric mean of the lower quartiles)"):format(
    product ^ (1 / #PROGRAMS)))
end

if arg[1] ~= "one" then
  return report(tonumber(arg[1]) or 5)
end
if arg[3] == "watched" then
  require("jit.profile").start(PROFILE_MODE, function() end)
end
print(best_of(dofile(FOLDER .. arg[2] .. ".lua")))
