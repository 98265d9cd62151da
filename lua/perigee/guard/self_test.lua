--- Checks at the start that a script cannot hold up the server: runs long, but not endless, loops under a
--- very short deadline, compiled and caught as they are in games.

local core = require "perigee.core"

local self_test = {}

local BUDGET_US = 500 -- of each
local VERSION_LEAST = 20100 -- LuaJIT 2.1

-- Each of these takes a second or more if nothing stops it.
local RUNAWAYS = {
  ["a loop"] = "for i = 1, 1e9 do end",
  ["recursion"] = "local function f(n) if n > 0 then return f(n - 1) end end f(1e9)",
  ["a loop round pcall"] =
    "local function f() for i = 1, 1e9 do end end for i = 1, 2 do pcall(f) end",
}

local function run(what, text)
  return core.trial(assert(load(text, "@" .. what, "t", { pcall = pcall })), BUDGET_US)
end


--- Raises an error if nothing stops one of them.
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
