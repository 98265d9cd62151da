--- Makes the environments of scripts. Each version of a game gets its own environment, whose libraries it can
--- read but not change, so that it cannot affect another version or the host. Some functions would return the
--- real global table, so everything else is removed from that table.

local allowed = require "perigee.guard.allowed"
local core = require "perigee.core"
local coroutines = require "perigee.guard.coroutines"
local iterate = require "perigee.util.iterate"
local fault = require "perigee.util.fault"
local library = require "perigee.guard.library"
local patterns = require "perigee.guard.patterns"
local order = core.is_simulated and require "perigee.host.order"
local simulated = core.is_simulated and require "perigee.host.simulated"

local sandbox = {}

local getmetatable, date, os_time = debug.getmetatable, os.date, os.time
local globals = _G

local WORDS_MAX = 64 -- most words that core.nearest accepts
local DATE_FORMAT_MAX = 200 -- bytes

local function pick(from, names)
  local picked = {}
  for _, name in ipairs(names) do
    picked[name] = from[name]
  end
  return picked
end

-- Copies of the allowed globals, for environments. They are made before sandbox.close empties the global
-- table.
local base = pick(globals, allowed.base)
local libraries = {}
for name, names in next, allowed.libraries do
  libraries[name] = pick(globals[name], names)
end

function libraries.os.time(when)
  if when == nil then
    return core.time()
  end
  return os_time(when) -- a tail call, so that errors name the game's line
end

function libraries.os.date(format, when)
  if format ~= nil then
    fault.check("the format", format, "string")
    if #format > DATE_FORMAT_MAX then
      fault.raise("the format of a date has at most %d bytes", DATE_FORMAT_MAX)
    end
  end
  return date(format, when or core.time())
end

-- Replaces functions that could ignore the deadline.
libraries.debug.traceback = core.traceback
for _, name in ipairs { "resume", "running", "wrap" } do
  libraries.coroutine[name] = coroutines[name]
end

for name, functions in next, { string = library.string, table = library.table } do
  for key, fn in next, functions do
    libraries[name][key] = fn
  end
end
for key, fn in next, library.base do
  base[key] = fn
end

if simulated then
  libraries.os.clock, date = simulated.clock, simulated.date
end
if order then
  base.next, base.pairs, base.tostring = order.next, order.pairs, order.tostring
  libraries.string.format = order.format(libraries.string.format)
end

-- Returns the names in an environment, including names that a game has set with rawset.
local function names_of(environment)
  local names = {}
  for name in iterate(environment) do
    if type(name) == "string" and #names < WORDS_MAX then
      names[#names + 1] = name
    end
  end
  return names
end

local function explain(environment, name)
  if type(name) ~= "string" then
    return ""
  end
  local reason = allowed.reasons[name]
  return reason and " (" .. reason .. ")" or fault.hint(name, names_of(environment))
end

local function on_read(environment, name)
  fault.raise("there is no global %s%s", tostring(name), explain(environment, name))
end

local function on_write(_, name)
  name = tostring(name)
  fault.raise("%s is not declared; write `%s`", name,
    name:find "^on_" and "function game." .. name or "local " .. name)
end

-- Returns a read-only view of a library, for one version of the game. A rawset changes only that view, so
-- other versions do not see it. The view costs nothing in compiled code.
local function freeze(name, functions)
  return setmetatable({}, {
    __index = functions,
    __newindex = function(_, key)
      fault.raise("%s.%s cannot be set: the libraries are not to be changed", name, tostring(key))
    end,
    __metatable = "library",
  })
end


--- Returns the result of `require` for a library, for one version; nil for other names.
---@param name string
---@return table?
function sandbox.library(name)
  local functions = name == "lpeg" and patterns.lpeg or name == "re" and patterns.load_re()
  return functions and freeze(name, functions) or nil
end


--- Returns an environment for the code of one version.
---@param functions table<string, function> additional globals: print, require
---@return table
function sandbox.environment(functions)
  local environment = pick(base, allowed.base)
  for name in next, libraries do
    environment[name] = freeze(name, libraries[name])
  end
  for name, fn in next, functions do
    environment[name] = fn
  end
  environment._G = environment
  return setmetatable(environment, {
    __index = on_read,
    __newindex = on_write,
    __metatable = "environment",
  })
end


--- Removes everything that scripts may not have from the global table. The host's own files have already
--- stored the functions that they need in locals.
function sandbox.close()
  for name in next, globals do
    if base[name] == nil and not libraries[name] and name ~= "_G" then
      globals[name] = nil
    end
  end
  for name in next, libraries do
    globals[name] = pick(libraries[name], names_of(libraries[name]))
  end
  local strings = getmetatable ""
  strings.__index = globals.string
  strings.__metatable = "string"
end

return sandbox
