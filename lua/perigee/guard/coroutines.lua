--- The functions of Lua's coroutine library that scripts get instead of LuaJIT's own. Coroutines that resume
--- coroutines nest on the C stack, which Lua's own limits do not cover.
---
--- pcall and xpcall are LuaJIT's own: code that catches the error of an interrupted call is interrupted
--- again at its next instruction.

local core = require "perigee.core"
local fault = require "perigee.util.fault"

local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local error, type = error, type

local PLACES_MAX = 1000 -- bytes of an error to which places are added

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


-- Returns the results of a wrapped coroutine. Like Lua, adds the place to an error that leaves the
-- coroutine, except to a long one, which would grow with each level.
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


--- Replaces coroutine.running. It returns nil in the coroutine of a handler, as in a main program,
--- because only the host may resume that.
function coroutines.running()
  if core.may_wait() then
    return nil
  end
  return running()
end

return coroutines
