--- Programs that test_interrupt.c interrupts: random ones, and endless loops.

local random_program = require "random_program"

local checks = {}

-- luacheck: read globals interrupted ended

local ROUNDS = 60 -- rounds of a program, so that the JIT compiles it
local NOTES_MAX = 2000

-- The JIT compiles sooner than usual, because each program runs only for a moment.
jit.opt.start("hotloop=3", "hotexit=2")

-- Returns a value as text. Removes the places of errors, because `error` does not always find one in compiled
-- code.
local function describe(value)
  return type(value) == "table" and "table" or (tostring(value):gsub("^%S+:%d+: ", ""))
end

-- Runs a program in all rounds; returns the text that it has traced, with the end of each round.
local function trace(text)
  local notes = {}
  local function note(...)
    if #notes < NOTES_MAX then
      local values = { ... }
      for i = 1, select("#", ...) do
        values[i] = describe(values[i])
      end
      notes[#notes + 1] = table.concat(values, " ")
    end
  end
  local environment = setmetatable({
    note = note,
    loud = function(value) note("loud", value) return value end,
  }, { __index = _G })
  for round = 1, ROUNDS do
    environment.shared = round
    local chunk = setfenv(assert(loadstring(text, "=program")), environment)
    note(pcall(chunk))
  end
  return table.concat(notes, "\n")
end


function checks.programs(count, seed)
  for i = seed, seed + count - 1 do
    local text = random_program.new(i)
    local plain, disturbed = trace(text), interrupted(trace, text)
    if plain ~= disturbed then
      error(("seed %d:\n%s\n-- plain:\n%s\n-- interrupted:\n%s"):format(i, text, plain, disturbed), 0)
    end
  end
end

local LOOPS = {
  "while true do end",
  "for i = 1, math.huge do end",
  "repeat until false",
  "::again:: goto again",
  "local n = 0 while true do n = n + 1\n if n % 3 == 0 then n = n + 1\n end end",
  "local t = { 1, 2, 3 } while true do for i = 1, #t do t[i] = t[i] + 1 end end",
  "local function f(n) return n < 1 or f(n - 1) and f(n - 1) end f(200)",
  "local function f() return f() end f()",
  "local s = '' while true do s = ('x'):rep(#s % 10) .. 1 end",
  "while true do pcall(error) local t = {} t.x = t end",
  "local f = coroutine.wrap(function() while true do coroutine.yield(1) end end) while true do f() end",
  "local t = setmetatable({}, { __index = function(_, k) return k end }) while true do local _ = t.x end",
}


-- The JIT compiles these. One instruction in millions then runs in the interpreter.
local WAITS = {
  "local t = { ('x'):rep(4e6) .. 1, ('x'):rep(4e6) .. 2 } local n = 0 "
    .. "for i = 1, 1e9 do if t[i % 2 + 1] < t[(i + 1) % 2 + 1] then n = n + 1 end end",
  "local t, n = {}, 0 for i = 1, 5e5 do t['k' .. i] = true end for k in pairs(t) do t[k] = nil end "
    .. "for i = 1, 1e9 do if next(t) then n = n + 1 end end",
}

local function check_ends(loops, us)
  for _, text in ipairs(loops) do
    if not ended(assert(loadstring(text)), us) then
      error("it ended late or otherwise: " .. text, 0)
    end
  end
end


function checks.loops(count)
  for i = 1, count do
    check_ends(LOOPS, 20 + i * 7 % 400)
  end
end


function checks.waits()
  check_ends(WAITS, 300000)
end

return checks
