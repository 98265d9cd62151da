--- Checks at the start of the server that no script can block it. Runs long but finite loops with a very
--- short deadline. As in games, LuaJIT compiles these loops, and one of them catches errors.

local core = require "perigee.core"

local self_test = {}

local BUDGET_US = 500 -- deadline of each loop
local VERSION_LEAST = 20100 -- LuaJIT 2.1

-- Each of these loops takes a second or more unless something interrupts it.
local RUNAWAYS = {
  ["a loop"] = "for i = 1, 1e9 do end",
  ["recursion"] = "local function f(n) if n > 0 then return f(n - 1) end end f(1e9)",
  ["a loop round pcall"] =
    "local function f() for i = 1, 1e9 do end end for i = 1, 2 do pcall(f) end",
}

local function run(what, text)
  return core.trial(assert(load(text, "@" .. what, "t", { pcall = pcall })), BUDGET_US)
end


--- Raises an error if a loop was not interrupted.
function self_test.run()
  if jit.version_num < VERSION_LEAST then
    error(("Perigee needs LuaJIT 2.1, and this is %s"):format(jit.version), 0)
  end
  if core.is_proven() then
    return
  end
  for what, text in next, RUNAWAYS do
    if not run(what, text) then
      error(("scripts could hold up the server: with this LuaJIT (%s) %s is not stopped at its "
        .. "budget; --no-jit may help"):format(jit.version, what), 0)
    end
  end
end

return self_test
