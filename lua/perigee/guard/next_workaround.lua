--- Replaces pairs and next for all Lua code of the server, both its own and the scripts'.
---
--- Debian's LuaJIT has a fast form of bytecode for loops over `next` (ITERN), which its compiler translates
--- wrongly. Nested loops, and loops in a recursive function, miss entries, return keys of other tables, or do
--- not end (LuaJIT's issue 827 and four later fixes up to 2023). A loop uses that form only if the iterator
--- is LuaJIT's own `next`. Therefore the replacement is another function. This file is loaded before all
--- others, which take pairs and next from here.
---
--- The compiler also translates a call of LuaJIT's `next` wrongly if it has few registers left: it exchanges
--- the low halves of the two results, one of which is an address, and the process ends with a segmentation
--- fault. Therefore the replacement is a C function, which the JIT calls as it is. Programs without the core,
--- which are tests, get a function that the JIT does not compile.

local error, jit, next, type = error, jit, next, type

local function check(value, name)
  if type(value) ~= "table" then
    error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, type(value)), 3)
  end
end

local function uncompiled(source, key)
  check(source, "next")
  return next(source, key)
end

jit.off(uncompiled)

local has_core, core = pcall(require, "perigee.core")
local step = has_core and core.table_next or uncompiled

_G.next = step

function _G.pairs(source)
  if type(source) ~= "table" then
    check(source, "pairs")
  end
  return step, source
end
