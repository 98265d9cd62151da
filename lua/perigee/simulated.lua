--- What games get in a simulated server in the place of what differs from run to run there: the
--- order of keys, which hangs on addresses and on a secret of the string table, clocks, and
--- addresses as texts.

local core = require "perigee.core"
local registry = require "perigee.registry"

local clock, next, pairs, sort, tostring = core.now, next, pairs, table.sort, tostring
local date, getmetatable = os.date, debug.getmetatable
local is_peer, is_room = registry.is_peer, registry.is_room

local simulated = {}

local started_at = clock()

-- Keys ------------------------------------------------------------------------------------

local RANKS = { number = 1, string = 2, boolean = 3 }

local function rank_of(key)
  return RANKS[type(key)] or is_peer(key) and 4 or is_room(key) and 5 or 6
end

local function by_rank(a, b)
  local rank_a, rank_b = rank_of(a), rank_of(b)
  if rank_a ~= rank_b then
    return rank_a < rank_b
  elseif rank_a == 3 then
    return not a and b
  end
  return a.id < b.id
end

-- Booleans, peers and rooms in their order; then whatever else there is, in none.
local function add_others(keys, others)
  local known, rest = {}, {}
  for _, key in ipairs(others) do
    local list = rank_of(key) == 6 and rest or known
    list[#list + 1] = key
  end
  sort(known, by_rank)
  for _, list in ipairs { known, rest } do
    for _, key in ipairs(list) do
      keys[#keys + 1] = key
    end
  end
end

-- The keys of a table: numbers, strings, the rest.
local function keys_of(source)
  local keys, count, last, is_sorted = {}, 0, -math.huge, true
  local strings, string_count, others
  for key in next, source do
    local kind = type(key)
    if kind == "number" then
      count = count + 1
      keys[count] = key
      is_sorted = is_sorted and key > last
      last = key
    elseif kind == "string" then
      strings, string_count = strings or {}, (string_count or 0) + 1
      strings[string_count] = key
    else
      others = others or {}
      others[#others + 1] = key
    end
  end
  if not is_sorted then
    sort(keys)
  end
  if strings then
    sort(strings)
    for i = 1, string_count do
      keys[count + i] = strings[i]
    end
  end
  if others then
    add_others(keys, others)
  end
  return keys
end

-- Any order but that of a sequence, which Lua keeps to as well.
local function shuffle(keys)
  local first = 1
  while keys[first] == first do
    first = first + 1
  end
  for i = #keys, first + 1, -1 do
    local j = first + core.seed() % (i - first + 1)
    keys[i], keys[j] = keys[j], keys[i]
  end
end


--- pairs, in an order that is the same in each run.
function simulated.pairs(source)
  if type(source) ~= "table" then
    return pairs(source)
  end
  local keys, at = keys_of(source), 0
  if core.is_shuffled then
    shuffle(keys)
  end
  return function()
    while true do
      at = at + 1
      local key = keys[at]
      if key == nil then
        return nil
      end
      local value = rawget(source, key)
      if value ~= nil then
        return key, value
      end
    end
  end, source, nil
end

-- The traversal by `next` that is under way: its table, keys, and where it is.
local walked, walked_keys, walked_at

local function find_walk(source, key)
  if walked == source and walked_keys[walked_at] == key then
    return true
  end
  local keys = keys_of(source)
  for at = 1, #keys do
    if keys[at] == key then
      walked, walked_keys, walked_at = source, keys, at
      return true
    end
  end
  return false
end


--- next, likewise.
function simulated.next(source, key)
  if type(source) ~= "table" or next(source) == nil then
    return next(source, key)
  elseif key == nil then
    walked, walked_keys, walked_at = source, keys_of(source), 0
  elseif not find_walk(source, key) then
    return next(source, key)
  end
  repeat
    walked_at = walked_at + 1
    key = walked_keys[walked_at]
    local value = key ~= nil and rawget(source, key)
    if value ~= nil and key ~= nil then
      return key, value
    end
  until key == nil
  walked, walked_keys = nil, nil
  return nil
end

-- Clocks and addresses ---------------------------------------------------------------------


--- os.clock: the seconds that the server runs.
function simulated.clock()
  return clock() - started_at
end


--- os.date: in UTC.
function simulated.date(format, when)
  format = format or "%c"
  return date(format:sub(1, 1) == "!" and format or "!" .. format, when or core.time())
end

local numbers, last_number = setmetatable({}, { __mode = "k" }), 0

local HAS_ADDRESS = { ["table"] = true, ["function"] = true, userdata = true, thread = true }


--- tostring: what has an address has a number, given to it when it is first asked for.
function simulated.tostring(...)
  local value = ...
  local kind = type(value)
  if not HAS_ADDRESS[kind] then
    return tostring(...)
  end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring ~= nil then
    return tostring(value)
  end
  if not numbers[value] then
    last_number = last_number + 1
    numbers[value] = last_number
  end
  return ("%s: 0x%08x"):format(kind, numbers[value])
end

return simulated
