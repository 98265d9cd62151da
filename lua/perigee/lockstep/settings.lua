--- Reads and checks the field `lockstep` of a room kind when the game is loaded.
--- lua/perigee/meta/lockstep.lua describes the settings.

local core = require "perigee.core"
local sorted_keys = require "perigee.util.sorted_keys"
local wire = require "perigee.lockstep.wire"

local TURN_BYTES = 48 * 1024 -- most bytes of a turn; a packet has at most 64 KiB
local ENTRY_BYTES = 80 -- bytes of a player in a turn besides its input: heads of entries, its name
local MAX_DELAY, MAX_DELAY_SECONDS = 12, 0.6 -- default of max_input_delay: 0.6 s of turns, at least 12

local settings = {}

--- Rules of the settings: { default, least, greatest }. Without `fraction`, numbers must be whole.
local RULES = {
  turn_rate = { 20, 1, 240, fraction = true },
  input_delay = { 2, 1, 60 },
  max_input_delay = { nil, 1, 60 }, -- the default depends on turn_rate
  on_missing = { "wait", words = { "wait", "repeat", "empty" } },
  wait_limit = { 1, 0, 60, fraction = true },
  history = { 12000, 100, 1000000 },
  players = { 8, 1, 64 },
  start = { 1, 0, 64 },
  hash_every = { 1, 1, 255 },
  max_input = { 256, 1, wire.INPUT_BYTES },
  snapshot_limit = { 1024 * 1024, 0, 4 * 1024 * 1024 },
  record = { folder = true },
  record_limit = { 16 * 1024 * 1024, 1024, 1024 * 1024 * 1024 },
}

local NAMES = sorted_keys(RULES)


-- Returns a description of the allowed values; nil if the value is allowed.
local function wanted(rule, value)
  if rule.folder then
    local is_good = type(value) == "string" and value:find "^[%w_][%w_./-]*$"
      and not value:find("..", 1, true) and not value:find "^public%f[/%z]"
    local want = 'the name of a folder in the game\'s own, such as "recordings", and not public'
    return not is_good and want or nil
  elseif rule.words then
    for _, word in ipairs(rule.words) do
      if value == word then
        return nil
      end
    end
    return '"' .. table.concat(rule.words, '", "') .. '"'
  end
  local is_good = type(value) == "number" and value >= rule[2] and value <= rule[3]
    and (rule.fraction or value % 1 == 0)
  return not is_good and ("a %snumber from %s to %s"):format(rule.fraction and "" or "whole ",
    rule[2], rule[3]) or nil
end

local function show(value)
  return type(value) == "string" and '"' .. value .. '"' or tostring(value)
end


local function check_keys(given, where, prefix, warnings)
  for key in next, given do
    if RULES[key] == nil then
      local near = type(key) == "string" and core.nearest(key, NAMES)
      warnings[#warnings + 1] = ("%s: nothing reads %slockstep.%s%s"):format(where, prefix,
        tostring(key), near and ("; did you mean %s?"):format(near) or "")
    end
  end
end


--- Returns the settings in a kind's `lockstep`, with defaults for missing settings; nil without lockstep.
--- Raises an error for impossible settings, and adds warnings about likely mistakes.
---@param given any
---@param where string file of the kind
---@param prefix string prefix of the kind's handlers, such as "duel."
---@param warnings string[]
---@return perigee.LockstepSettings?
function settings.read(given, where, prefix, warnings)
  if given == nil or given == false then
    return nil
  elseif given == true then
    given = {}
  elseif type(given) ~= "table" then
    error(("%s: %slockstep must be a table of settings, not %s"):format(where, prefix, show(given)), 0)
  end
  check_keys(given, where, prefix, warnings)
  local read = {}
  for _, name in ipairs(NAMES) do
    local rule, value = RULES[name], rawget(given, name)
    if value == nil then
      value = rule[1]
    end
    local want = value ~= nil and wanted(rule, value)
    if want then
      error(("%s: %slockstep.%s must be %s, not %s"):format(where, prefix, name, want, show(value)), 0)
    end
    read[name] = value
  end
  local of_time = math.max(MAX_DELAY, math.ceil(MAX_DELAY_SECONDS * read.turn_rate))
  read.max_input_delay = read.max_input_delay or math.min(of_time, RULES.max_input_delay[3])
  local most = math.floor(TURN_BYTES / read.players) - ENTRY_BYTES
  if read.max_input > most then
    error(("%s: %slockstep.max_input must be at most %d with %d players: a turn has to fit into a packet")
      :format(where, prefix, most, read.players), 0)
  end
  read.max_input_delay = math.max(read.max_input_delay, read.input_delay)
  if read.start > read.players then
    warnings[#warnings + 1] = ("%s: %slockstep.start is %d, more than the %d players there can be")
      :format(where, prefix, read.start, read.players)
    read.start = read.players
  end
  return read
end

return settings
