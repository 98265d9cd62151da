--- perigee.leaderboard: scores by id, with ranks. Checks arguments; host/stores.lua waits for the store.

local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local periods = require "perigee.util.periods"
local replacements = require "perigee.api.replacements"
local store = require "perigee.api.store"
local stores = require "perigee.host.stores"
local tasks = require "perigee.host.tasks"
local transactions = require "perigee.host.transactions"

local DATA_MAX, ROWS_MAX, PAST_MAX = core.board.data_max, core.board.rows_max, core.board.past
local KEEP = { best = 0, last = 1, sum = 2 }
local ORDERS = { high = false, low = true }
local CHECKED = { order = true, keep = true, resets = true }
local OPTIONS = { "order", "keep", "resets" }
local RESERVED = { "rank", "id", "score" } -- fields of entries

local board_class = { __metatable = "leaderboard" }

-- Declarations -------------------------------------------------------------------------------

local function choice(options, name, choices, default)
  local value = options[name]
  if value == nil then
    return choices[default]
  end
  fault.check(name .. " of perigee.leaderboard", value, "string")
  if choices[value] == nil then
    local names = {}
    for key in pairs(choices) do names[#names + 1] = key end
    table.sort(names)
    fault.raise("%s cannot be %s of perigee.leaderboard%s", fault.quote(value), name,
      fault.hint_or_names(value, names))
  end
  return choices[value]
end

local function period_of(resets)
  if resets == nil then
    return function() return 0 end
  end
  fault.check("resets of perigee.leaderboard", resets, "string")
  local period = periods.read(resets)
  if not period then
    fault.raise("%s cannot be resets of perigee.leaderboard, which are as \"monday 00:00 UTC\", \"daily\", "
      .. "\"daily 06:00 UTC\" or \"monthly\"", fault.quote(resets))
  end
  return period
end


--- Declares a leaderboard. Works only at the top level of a game.
---@param name string
---@param options? perigee.LeaderboardOptions
---@return perigee.Leaderboard
local function leaderboard(name, options)
  store.check_name("a leaderboard", name)
  options = options or {}
  fault.check("the options of perigee.leaderboard", options, "table")
  for key in next, options do
    if not CHECKED[key] then
      fault.raise("perigee.leaderboard has no option %s%s", fault.quote(key),
        fault.hint_or_names(key, OPTIONS))
    end
  end
  local declared = {
    name = name, is_board = true, is_low = choice(options, "order", ORDERS, "high"),
    keep = choice(options, "keep", KEEP, "best"), period = period_of(options.resets),
  }
  stores.declare(declared)
  return setmetatable({ _board = declared, _past = 0, _resets = options.resets ~= nil }, board_class)
end

-- Methods ------------------------------------------------------------------------------------

local methods = {}

local function period(self)
  return self._board.period(core.time()) - self._past
end

local function check_present(self, what)
  if self._past > 0 then
    fault.raise("%s belongs to the present board, not to one of the past", what)
  end
end

local function check_count(what, count, default, max)
  if count == nil then
    return default
  end
  fault.check_whole(what, count, 0, max)
  return count
end

local function data_json(data)
  if data == nil then
    return ""
  end
  fault.check("the data of an entry", data, "table")
  for _, field in ipairs(RESERVED) do
    if data[field] ~= nil then
      fault.raise("the data of an entry cannot have the field %s, which each entry has anyway", field)
    end
  end
  local json, problem, code = core.store_json(data)
  if not json and not code then
    fault.raise("%s", problem)
  elseif not json or #json > DATA_MAX then
    fault.raise("the data of an entry have at most %d bytes of JSON", DATA_MAX)
  elseif json:sub(1, 1) ~= "{" and json ~= "[]" then
    fault.raise("the data of an entry cannot be a list; they are named, as { name = \"ann\" }")
  end
  return json ~= "[]" and json or ""
end

-- Adds a submission, or a removal, to the writes of the handler or of its transaction.
local function write(add, self, id, at, score, json)
  local index = self._board.index
  if live.transaction then
    transactions.score { add = add, index = index, id = id, period = at, score = score, json = json }
    return true
  end
  return add(index, id, at, score, json)
end


function methods:submit(id, score, data)
  check_present(self, "submit")
  store.check_may_write "submit"
  store.check_key(id)
  fault.check("a score", score, "number")
  if score ~= score or score == math.huge or score == -math.huge then
    fault.raise("a score cannot be %s", tostring(score))
  end
  return write(core.board_submit, self, id, period(self), score, data_json(data))
end


function methods:remove(id)
  check_present(self, "remove")
  store.check_may_write "remove"
  store.check_key(id)
  local present, message, code = period(self), nil, nil
  for past = 0, self._resets and PAST_MAX or 0 do
    local ok, problem, why = write(core.board_remove, self, id, present - past)
    if not ok then
      message, code = problem, why
    end
  end
  if code then
    return nil, message, code
  end
  return true
end

-- Returns a list of entries; or nil, message and code.
local function read(self, id, count)
  local json, problem, code = stores.wait(core.board_read, self._board.index, id, period(self), count)
  if not json then
    return nil, problem, code
  end
  local entries = {}
  for i, row in ipairs(messages.decode_json(json)) do
    local entry = row.data or {}
    entry.rank, entry.id, entry.score = row.rank, row.id, row.score
    entries[i] = entry
  end
  return entries
end


function methods:top(count)
  count = check_count("the number of entries", count, 10, ROWS_MAX)
  tasks.check_may_wait "top"
  return read(self, "", count)
end


function methods:around(id, count)
  store.check_key(id)
  count = check_count("the number of entries on each side", count, 5, ROWS_MAX / 2)
  tasks.check_may_wait "around"
  return read(self, id, count)
end


function methods:rank(id)
  store.check_key(id)
  tasks.check_may_wait "rank"
  local entries, problem, code = read(self, id, 0)
  if not entries then
    return nil, problem, code
  elseif not entries[1] then
    return nil
  end
  return entries[1].rank, entries[1].score
end


function methods:past(number)
  fault.check_whole("the number of past boards", number, 1, PAST_MAX)
  if not self._resets then
    fault.raise("the leaderboard %s has no past boards, because it has no resets", self._board.name)
  end
  check_present(self, "past")
  return setmetatable({ _board = self._board, _past = number, _resets = true }, board_class)
end

local getters = {}


function getters:name()
  return self._board.name
end

class.define(board_class, methods, getters, replacements.leaderboard)

return leaderboard
