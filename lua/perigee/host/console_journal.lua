--- Finds and reverts what a line of the console changes directly. A snapshot has all tables and upvalues of
--- the game that can be reached from the line's environment.
---
--- Host functions record their own changes in the journal (journal.lua), so the walk does not enter them.
--- The contents of coroutines cannot be reverted.

local core = require "perigee.core"
local describe = require "perigee.util.describe"
local live = require "perigee.host.live"
local registry = require "perigee.host.registry"
local show = require "perigee.util.show"

local getmetatable, setmetatable = debug.getmetatable, debug.setmetatable
local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue
local upvalueid = debug.upvalueid

local STEPS, ENTRY_STEPS = 60, 10 -- charges for a table and for an entry
local SECONDS_MAX = 0.05 -- longest time of a snapshot
local LOOK = 256 -- tables between two looks at the clock

--- A snapshot.
---@class perigee.console.Snapshot
---@field values any[] tables and functions, each once
---@field paths string[] how each was reached
---@field entries table[] copies of the entries of a table, or of the upvalues of a function
---@field metas table[] metatables of tables, by their number
---@field numbers table<any, integer> numbers of the values

local console_journal = {}

local function note(snapshot, value, path)
  local is_code = type(value) == "function" and live.version_of(value) ~= nil
  if not is_code and type(value) ~= "table" or snapshot.numbers[value] then
    return
  end
  local number = #snapshot.values + 1
  snapshot.values[number], snapshot.paths[number], snapshot.numbers[value] = value, path, number
end

local function copy_entries(from)
  local copy = {}
  for key, value in next, from do
    copy[key] = value
  end
  return copy
end

local function copy_upvalues(fn)
  local copy, i = {}, 1
  while true do
    local name, value = getupvalue(fn, i)
    if not name then
      return copy
    end
    copy[i] = { name = name, value = value }
    i = i + 1
  end
end

local function take_function(snapshot, number)
  local copy = copy_upvalues(snapshot.values[number])
  snapshot.entries[number] = copy
  for _, upvalue in ipairs(copy) do
    note(snapshot, upvalue.value, upvalue.name)
  end
  core.charge(STEPS + #copy * ENTRY_STEPS)
end

local function take_table(snapshot, number)
  local value, path = snapshot.values[number], snapshot.paths[number]
  local copy, count = copy_entries(value), 0
  snapshot.entries[number], snapshot.metas[number] = copy, getmetatable(value)
  for key, inner in next, copy do
    count = count + 1
    if type(inner) == "table" or type(inner) == "function" then
      note(snapshot, inner, path .. describe.step(key))
    end
    note(snapshot, key, path .. "[key]")
  end
  local meta = snapshot.metas[number]
  if meta and not registry.is_peer(value) and not registry.is_room(value) then
    note(snapshot, meta, "getmetatable(" .. path .. ")")
  end
  core.charge(STEPS + count * ENTRY_STEPS)
end


--- Takes a snapshot of everything that can be reached from the roots. Returns nil if that takes too long.
---@param roots { [1]: any, [2]: string }[] values with their paths; earlier ones name what both reach
---@return perigee.console.Snapshot?
function console_journal.take(roots)
  local snapshot = { values = {}, paths = {}, entries = {}, metas = {}, numbers = {} }
  local finish = core.read_clock() + SECONDS_MAX
  for _, root in ipairs(roots) do
    note(snapshot, root[1], root[2])
  end
  local at = 1
  while snapshot.values[at] do
    if type(snapshot.values[at]) == "function" then
      take_function(snapshot, at)
    else
      take_table(snapshot, at)
    end
    if at % LOOK == 0 and core.read_clock() > finish then
      return nil
    end
    at = at + 1
  end
  return snapshot
end

-- Changes ------------------------------------------------------------------------------------

local function add(changes, most, path, before, after)
  changes.count = changes.count + 1
  if #changes < most then
    changes[#changes + 1] = { path = path, before = before, after = after }
  end
end

local function compare_table(changes, most, value, before, path)
  for _, key in ipairs(show.keys(before)) do
    local now = rawget(value, key)
    if not rawequal(now, before[key]) then
      add(changes, most, path .. describe.step(key), before[key], now)
    end
  end
  for _, key in ipairs(show.keys(value)) do
    if before[key] == nil then
      add(changes, most, path .. describe.step(key), nil, rawget(value, key))
    end
  end
end

local function is_same_table(value, before)
  for key, inner in next, before do
    if not rawequal(rawget(value, key), inner) then
      return false
    end
  end
  for key in next, value do
    if before[key] == nil then
      return false
    end
  end
  return true
end


--- Returns the changes since a snapshot.
---@param snapshot perigee.console.Snapshot
---@param most integer most changes that are listed
---@return { path: string, before: any, after: any }[] changes, with the `count` of all
function console_journal.changes(snapshot, most)
  local changes, known = { count = 0 }, {}
  for number, value in ipairs(snapshot.values) do
    local before, path = snapshot.entries[number], snapshot.paths[number]
    if type(value) == "function" then
      for i, upvalue in ipairs(before) do
        local _, now = getupvalue(value, i)
        local id = tostring(upvalueid(value, i))
        if not rawequal(now, upvalue.value) and not known[id] then
          known[id] = true
          add(changes, most, "local " .. upvalue.name, upvalue.value, now)
        end
      end
    else
      if not is_same_table(value, before) then
        compare_table(changes, most, value, before, path)
      end
      if not rawequal(getmetatable(value), snapshot.metas[number]) then
        add(changes, most, "getmetatable(" .. path .. ")", snapshot.metas[number], getmetatable(value))
      end
    end
  end
  return changes
end


--- Reverts all changes since a snapshot.
---@param snapshot perigee.console.Snapshot
function console_journal.revert(snapshot)
  for number, value in ipairs(snapshot.values) do
    local before = snapshot.entries[number]
    if type(value) == "function" then
      for i, upvalue in ipairs(before) do
        local _, now = getupvalue(value, i)
        if not rawequal(now, upvalue.value) then
          setupvalue(value, i, upvalue.value)
        end
      end
    else
      if not rawequal(getmetatable(value), snapshot.metas[number]) then
        setmetatable(value, snapshot.metas[number])
      end
      if not is_same_table(value, before) then
        for key in next, value do
          rawset(value, key, nil)
        end
        for key, inner in next, before do
          rawset(value, key, inner)
        end
      end
    end
  end
end

return console_journal
