-- What the checks of lua/perigee/instrument.lua cost, beside the same code without them: the programs
-- in tests/bench/budget/, and the loading of a long file. Each measurement is a process of its own,
-- as what the JIT makes of a program depends on what has run before.
--   luajit tests/bench/budget.lua [ROUNDS]     from the root of the project
package.path = "lua/?.lua;" .. package.path

local FOLDER = "tests/bench/budget/"
local PROGRAMS = {
  "loop", "collatz", "recursion", "bodies", "query", "tables", "text", "grid", "objects",
}
local RUNS = 4 -- in a process, after one to warm up; the best counts
local COUNT = 4096 -- checks between two looks at the clock
local LONG = 2000 -- lines of the long file

local function read(name)
  local file = assert(io.open(FOLDER .. name .. ".lua"))
  local text = file:read "*a"
  file:close()
  return text
end

-- A counter like the host's. Its function is not compiled, as C is not, and takes about as long as
-- the host's, which reads the clock.
local function new_counter()
  local counter = { COUNT, false, false, false, COUNT, COUNT, COUNT }
  counter[2] = function()
    counter[1], counter[5], counter[6], counter[7] = COUNT, COUNT, COUNT, COUNT
  end
  jit.off(counter[2])
  return counter
end

local function load_program(name, how)
  local text = read(name)
  if how == "plain" then
    return assert(load(text, "@" .. name))()
  end
  return assert(require("perigee.instrument").load(text, name, _G, new_counter()))()
end

local function best_of(run)
  run()
  local best = math.huge
  for _ = 1, RUNS do
    local start = os.clock()
    run()
    best = math.min(best, os.clock() - start)
  end
  return best
end

-- All programs one after the other, again and again.
local function long_text()
  local pieces, lines = {}, 0
  while lines < LONG do
    local text = read(PROGRAMS[#pieces % #PROGRAMS + 1])
    pieces[#pieces + 1] = "do\n" .. text:gsub("\nreturn function", "\nlocal _ = function") .. "end\n"
    lines = lines + select(2, pieces[#pieces]:gsub("\n", ""))
  end
  return table.concat(pieces)
end

local function measure_loading(how)
  local instrument, text, counter = require "perigee.instrument", long_text(), new_counter()
  return best_of(function()
    if how == "plain" then
      return assert(load(text, "@long"))
    end
    return assert(instrument.load(text, "long", _G, counter))
  end)
end

-- Runs this file again, for one measurement. Seconds.
local function measure(...)
  local pipe = io.popen(table.concat({ "luajit", "tests/bench/budget.lua", ... }, " "))
  local seconds = tonumber((pipe:read "*l"))
  pipe:close()
  return assert(seconds, "a measurement failed")
end

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

-- Both ways in turn, round after round: the median of the one, and of the other.
local function compare(rounds, name, mode)
  local plain, checked = {}, {}
  for i = 1, rounds do
    plain[i] = measure("one", name, "plain", mode)
    checked[i] = measure("one", name, "checked", mode)
  end
  return median(plain), median(checked)
end

local function report(rounds)
  print "| program | plain | with checks | interpreted |\n|---|---|---|---|"
  for _, name in ipairs(PROGRAMS) do
    local plain, checked = compare(rounds, name, "on")
    local slow, slow_checked = compare(math.ceil(rounds / 3), name, "off")
    print(("| %s | %.1f ms | %.2f × | %.2f × |"):format(name, plain * 1e3, checked / plain,
      slow_checked / slow))
  end
  local plain, checked = compare(rounds, "load", "on")
  print(("\nLoading %d lines, %d KB: %.1f ms, with checks %.1f ms"):format(LONG,
    #long_text() / 1000, plain * 1e3, checked * 1e3))
end

if arg[1] ~= "one" then
  return report(tonumber(arg[1]) or 5)
end
jit[arg[4]]()
print(arg[2] == "load" and measure_loading(arg[3]) or best_of(load_program(arg[2], arg[3])))
