--- Limits the processor time of a test: a test with an endless loop fails, and the next test runs.
---
--- Only interpreted code can be interrupted. Therefore specs, and modules that they require, do not compile
--- functions with a loop that may be endless (while, repeat, goto). All other code is compiled: the library
--- always returns to the specs, and games have their own deadlines.

local bit = require "bit"
local failure = require "perigee.testing.failure"
local jit_util = require "jit.util"
local limits = require "perigee.limit"

local FILES = 3 -- index in package.loaders, after the loaders for preloaded modules and Perigee's own

local limit = {}

local is_watched = {} -- watched sources


local function operation(fn, at)
  local instruction = jit_util.funcbc(fn, at)
  return instruction and bit.band(instruction, 0xff)
end


local LOOP = operation(loadstring "while true do end", 1) -- number of the instruction LOOP


-- Turns compilation off for `fn` and its inner functions if they have such a loop.
local function interpret_loops(fn)
  for at = 1, jit_util.funcinfo(fn).bytecodes - 1 do
    if operation(fn, at) == LOOP then
      jit.off(fn)
      break
    end
  end
  for index = -1, -jit_util.funcinfo(fn).gcconsts, -1 do
    local constant = jit_util.funck(fn, index)
    if type(constant) == "proto" then interpret_loops(constant) end
  end
end


local function watch_file(chunk)
  interpret_loops(chunk)
  is_watched[debug.getinfo(chunk, "S").source] = true
end


--- Also makes the loops in modules of a folder interruptible, if they are loaded from now on.
---@param root string folder in package.path
function limit.watch_modules(root)
  local search, prefix = package.loaders[FILES], "@" .. root .. "/"
  package.loaders[FILES] = function(name)
    local chunk = search(name)
    if type(chunk) == "function" and debug.getinfo(chunk, "S").source:sub(1, #prefix) == prefix then
      watch_file(chunk)
    end
    return chunk
  end
end


-- Returns "file:line: " of the innermost running line in a spec or a watched module.
local function where()
  for level = 2, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return "" end
    if is_watched[info.source] then return ("%s:%d: "):format(info.short_src, info.currentline) end
  end
end


-- Returns a function that interrupts a test function after its limit. Its first call finds the line for the
-- message.
local function over(seconds)
  local message
  return function()
    message = message or ("%sstill running after %g s of processor time: does this loop end? "
      .. "(--timeout SECONDS lets tests run longer)"):format(where(), seconds)
    failure.throw(message)
  end
end


local function place_of(element)
  local trace = element.trace
  return trace and ("%s:%d: "):format(trace.short_src, trace.currentline) or ""
end


--- Makes busted limit the functions of specs: tests, and the functions that run before and after them.
---@param busted table
---@param seconds number limit for each function
function limit.watch(busted, seconds)
  local safe = busted.safe

  function busted.safe(descriptor, run, element)
    local is_spec = run == element.run or descriptor == "finally"
    if not is_spec then return safe(descriptor, run, element) end
    if descriptor == "file" then watch_file(getmetatable(run).__call) end
    local farewell = ('perigee: %s%s "%s" still runs after %g s of processor time, and cannot be stopped: '
      .. "perigee ends"):format(place_of(element), descriptor, element.name or "", seconds)
    local status = safe(descriptor, function()
      limits.call(seconds, run, over(seconds), farewell)
    end, element)
    limits.stop()
    return status
  end
end


return limit
