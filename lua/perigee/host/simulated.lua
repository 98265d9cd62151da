--- Replaces, in a simulated server, functions whose results differ from run to run. These functions are pairs
--- and next (the order of keys depends on addresses and on a secret of the string table), clocks, and
--- functions that show addresses as text.

local core = require "perigee.core"
local registry = require "perigee.host.registry"

local clock, next, pairs, sort = core.now, next, pairs, table.sort
local tostring = require("perigee.guard.library").base.tostring
local date, getinfo, getmetatable = os.date, debug.getinfo, debug.getmetatable
local concat, getupvalue = table.concat, debug.getupvalue
local pcall, select, unpack = pcall, select, unpack
local is_peer, is_room = registry.is_peer, registry.is_room

local DEPTH_MAX = 3 -- depth to which tables are compared
local NESTED_MAX = 200 -- bytes of the description of one entry

local simulated = {}

local started_at = clock()

-- Numbers -----------------------------------------------------------------------------------

local HAS_ADDRESS = { ["table"] = true, ["function"] = true, userdata = true, thread = true }

-- Numbers for values with an address, in the order of first use.
local numbers, last_number = setmetatable({}, { __mode = "k" }), 0

local function number_of(value)
  if not numbers[value] then
    last_number = last_number + 1
    numbers[value] = last_number
  end
  return numbers[value]
end

local describe

local function describe_fields(source, depth, known)
  local fields = {}
  for key, value in next, source do
    fields[#fields + 1] = describe(key, depth - 1, known):sub(1, NESTED_MAX) .. "="
      .. describe(value, depth - 1, known):sub(1, NESTED_MAX)
  end
  sort(fields)
  return concat(fields, ",")
end

-- Describes a function by its place in the source and by its upvalues. Omits the contents of these upvalues.
local function describe_function(fn, known)
  local info = getinfo(fn, "Su")
  local parts = { info.source, info.linedefined }
  for i = 1, info.nups do
    local _, value = getupvalue(fn, i)
    parts[#parts + 1] = type(value) == "function" and "function" or describe(value, 0, known)
  end
  return concat(parts, ",")
end

-- Describes a value by its contents, in a text that is the same in each run. `known` stores the descriptions
-- of tables, by depth.
function describe(value, depth, known)
  local kind = type(value)
  if not HAS_ADDRESS[kind] then
    return tostring(value)
  elseif is_peer(value) or is_room(value) then
    return (is_peer(value) and "peer" or "room") .. value.id
  elseif numbers[value] then
    return kind .. numbers[value]
  elseif kind == "function" then
    return describe_function(value, known)
  elseif kind ~= "table" or depth <= 0 then
    return kind
  end
  known[depth] = known[depth] or {}
  local texts = known[depth]
  texts[value] = texts[value] or describe_fields(value, depth, known)
  return texts[value]
end

-- Sorts items [first, last] by their contents; compares items with equal descriptions by deeper contents.
local function sort_alike(items, source, first, last, depth)
  local part, texts, known = {}, {}, {}
  for at = first, last do
    local item = items[at]
    part[#part + 1] = item
    texts[item] = describe(item, depth, known) .. ":" .. describe(source[item], depth - 1, known)
  end
  sort(part, function(a, b)
    return texts[a] < texts[b]
  end)
  local begin = 1
  for i = 1, #part do
    items[first + i - 1] = part[i]
    if i == #part or texts[part[i]] ~= texts[part[i + 1]] then
      if i > begin and depth < DEPTH_MAX then
        sort_alike(items, source, first + begin - 1, first + i - 1, depth + 1)
      end
      begin = i + 1
    end
  end
end

-- Gives numbers to the keys that have none. The order of two keys with equal descriptions is arbitrary, which
-- rarely matters.
local function number_all(keys, source)
  local new = {}
  for _, key in ipairs(keys) do
    new[#new + 1] = not numbers[key] and key or nil
  end
  sort_alike(new, source, 1, #new, 1)
  for _, key in ipairs(new) do
    number_of(key)
  end
end

local function by_number(a, b)
  return numbers[a] < numbers[b]
end

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

-- Adds booleans, peers and rooms in their own order, then values with an address by number.
local function add_others(keys, others, source)
  local known, rest = {}, {}
  for _, key in ipairs(others) do
    local list = rank_of(key) == 6 and rest or known
    list[#list + 1] = key
  end
  sort(known, by_rank)
  number_all(rest, source)
  sort(rest, by_number)
  for _, list in ipairs { known, rest } do
    for _, key in ipairs(list) do
      keys[#keys + 1] = key
    end
  end
end

-- Returns the keys of a table in order: numbers, strings, all others.
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
    add_others(keys, others, source)
  end
  return keys
end

-- Shuffles keys, except the keys 1, 2, ... of a sequence, because Lua itself iterates these in order.
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


--- Implements pairs with an order that is the same in each run.
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

-- The current iteration by `next`: its table, keys and position.
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


--- Implements next with an order that is the same in each run.
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


--- Implements os.clock: returns the seconds since the server's start.
function simulated.clock()
  return clock() - started_at
end


--- Implements os.date, always in UTC.
function simulated.date(format, when)
  format = format or "%c"
  return date(format:sub(1, 1) == "!" and format or "!" .. format, when or core.time())
end


--- Implements tostring: shows a number instead of a value's address. The number is assigned at the first
--- call.
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
  return ("%s: 0x%08x"):format(kind, number_of(value))
end


--- Returns a string.format that also shows numbers instead of addresses.
---@param format fun(...): string function to replace
---@return fun(...): string
function simulated.format(format)
  return function(...)
    local arguments, has_address = { ... }, false
    for i = 2, select("#", ...) do
      if HAS_ADDRESS[type(arguments[i])] then
        arguments[i], has_address = simulated.tostring(arguments[i]), true
      end
    end
    if not has_address or not pcall(format, ...) then
      return format(...)
    end
    return format(unpack(arguments, 1, select("#", ...)))
  end
end

return simulated
