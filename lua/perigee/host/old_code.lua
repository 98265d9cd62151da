--- Finds the timers, tasks, waiting handlers and channels that still refer to code of old versions.

local channels = require "perigee.api.channels"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"

local getinfo = debug.getinfo

local BUILT_IN = "a built-in function"

local old_code = {}

-- Returns the place where the outermost game function of a waiting coroutine begins: the handler or task.
local function waiting_in(co)
  local found
  for level = 0, 250 do
    local info = getinfo(co, level, "f")
    if not info then
      return found
    end
    found = fault.place(info.func) or found
  end
  return found
end

-- Returns a description of an entry, and the place where its function begins.
local function describe_code(entry)
  if entry.co then
    return "waiting " .. (entry.task.label or "handler"), waiting_in(entry.co) or BUILT_IN
  end
  return entry.what or "timer", fault.place(entry.fn) or BUILT_IN
end


-- Calls fn(what, place, version) for each place from which code of an old version may still be called.
local function each_place(fn)
  for _, entry in next, pending.timers do
    if entry.version ~= live.number and not entry.is_host and (entry.co or type(entry.fn) == "function") then
      local what, place = describe_code(entry)
      fn(what, place, entry.version)
    end
  end
  for name, entry in next, channels.entries() do
    local handler = entry.handler
    if handler and handler.version ~= live.number then
      fn("channel " .. name, fault.place(handler.fn) or BUILT_IN, handler.version)
    end
  end
end


--- Finds all references to code of old versions, the most numerous first.
---@return { what: string, place: string, count: integer }[] groups
---@return table<integer, true> versions
function old_code.find()
  local groups, by_name, versions = {}, {}, {}
  each_place(function(what, place, version)
    versions[version] = true
    local name = what .. " " .. place
    if not by_name[name] then
      by_name[name] = { what = what, place = place, count = 0 }
      groups[#groups + 1] = by_name[name]
    end
    by_name[name].count = by_name[name].count + 1
  end)
  table.sort(groups, function(a, b)
    if a.count ~= b.count then
      return a.count > b.count
    elseif a.place ~= b.place then
      return a.place < b.place
    end
    return a.what < b.what
  end)
  return groups, versions
end

return old_code
