--- Replacements for functions of LuaJIT's coroutine library. They are needed because coroutines that resume
--- coroutines nest on the C stack, which Lua's own limits do not cover.
---
--- pcall and xpcall are LuaJIT's own: if code catches the error of an interrupted call, it is interrupted
--- again at its next instruction.

local core = require "perigee.core"
local fault = require "perigee.util.fault"

local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local error, type = error, type

local PLACES_MAX = 1000 -- bytes; longer errors get no place

local coroutines = {}

local function check_stack()
  if not core.has_stack() then
    fault.raise "stack overflow"
  end
end


function coroutines.resume(co, ...)
  check_stack()
  if type(co) ~= "thread" then
    fault.raise("bad argument #1 to 'resume' (coroutine expected)")
  end
  return resume(co, ...)
end


-- Returns the results of a wrapped coroutine. Like Lua, adds the place to an error that leaves the coroutine.
-- A long error gets no place, because it would grow with each level of coroutines.
local function deliver(ok, ...)
  if ok then
    return ...
  end
  local problem = ...
  error(problem, type(problem) == "string" and #problem < PLACES_MAX and 2 or 0)
end


function coroutines.wrap(fn)
  fault.check("the coroutine", fn, "function")
  local co = create(fn)
  return function(...)
    check_stack()
    return deliver(resume(co, ...))
  end
end


--- Replaces coroutine.running. In the coroutine of a handler it returns nil, as in a main program, because
--- only the host may resume that coroutine.
function coroutines.running()
  if core.may_wait() then
    return nil
  end
  return running()
end

return coroutines
