--- The functions that catch errors, for scripts. They do what Lua's do, but for one error: that of
--- a call over its budget is raised again, so that nothing keeps such a call alive.
---
--- The handler of xpcall runs where the error is, as in Lua, so that it sees the stack. It is
--- interrupted like any other function, so it does not outlive the budget either.

local core = require "perigee.core"
local fault = require "perigee.util.fault"

local error, pcall, xpcall, select, type = error, pcall, xpcall, select, type
local getinfo = debug.getinfo
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local sub, match = string.sub, string.match

local OWN = "lua/perigee/guard/protected_call.lua:"
local PLACES_MAX = 1000 -- bytes of an error to which places are added

local protected_call = {}

-- An error's level may have led here, one step from the function that it would have led to if
-- pcall were Lua's: to the caller.
local function with_place(problem)
  if type(problem) ~= "string" or sub(problem, 1, #OWN) ~= OWN then
    return problem
  end
  local caller, rest = getinfo(3, "Sl"), match(problem, "^.-:%d+: (.*)$")
  if not caller or caller.currentline < 0 then
    return rest
  end
  return ("%s:%d: %s"):format(caller.short_src, caller.currentline, rest)
end

-- What a protected call returned.
local function pass(ok, ...)
  if ok then
    return true, ...
  end
  core.check_over()
  return false, with_place((...)), select(2, ...)
end


function protected_call.pcall(...)
  return pass(pcall(...))
end


function protected_call.xpcall(...)
  local handler = select(2, ...)
  if type(handler) ~= "function" then
    fault.raise("bad argument #2 to 'xpcall' (function expected, got %s)", type(handler))
  end
  return pass(xpcall(...))
end

-- What nests on the C stack has to end before that does: Lua's own limits do not cover it.
local function check_stack()
  if not core.has_stack() then
    fault.raise "stack overflow"
  end
end


function protected_call.resume(co, ...)
  check_stack()
  if type(co) ~= "thread" then
    fault.raise("bad argument #1 to 'resume' (coroutine expected)")
  end
  return pass(resume(co, ...))
end


-- What a coroutine gave that somebody has wrapped. Like Lua, adds to an error where it came out;
-- but not to one that has come a long way, which would grow with each step.
local function deliver(ok, ...)
  if ok then
    return ...
  end
  local problem = ...
  error(problem, type(problem) == "string" and #problem < PLACES_MAX and 2 or 0)
end


function protected_call.wrap(fn)
  fault.check("the coroutine", fn, "function")
  local co = create(fn)
  return function(...)
    check_stack()
    return deliver(resume(co, ...))
  end
end


--- The coroutines of handlers are the host's to resume; in them it is nil, as in a main program.
function protected_call.running()
  if core.may_wait() then
    return nil
  end
  return running()
end

return protected_call
