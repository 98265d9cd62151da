--- Replaces pairs and next for all Lua code of the server, its own and the scripts'.
---
--- Debian's LuaJIT has a form of bytecode for loops over `next` (ITERN) that is faster, and that its
--- compiler gets wrong: loops within loops, or in a function that calls itself, miss entries, give keys
--- of other tables or do not end (LuaJIT's issue 827, and four more mends up to 2023). A loop takes that
--- form only where the iterator is LuaJIT's own `next`, so the replacement calls that. This file is
--- loaded before all others, which take the functions from here.

local error, next, type = error, next, type

local function check(value, name)
  if type(value) ~= "table" then
    error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, type(value)), 3)
  end
end

local function step(source, key)
  if type(source) ~= "table" then
    check(source, "next")
  end
  return next(source, key)
end

_G.next = step

function _G.pairs(source)
  if type(source) ~= "table" then
    check(source, "pairs")
  end
  return step, source
end
