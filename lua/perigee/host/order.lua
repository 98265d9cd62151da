--- Replaces, in a simulated server, functions whose results differ from process to process: pairs and next
--- (the order of keys depends on addresses and on a secret of the string table), and functions that show
--- addresses as text.
---
--- Keys are in this order: numbers, strings, booleans, peers and rooms by their ids, and other values in
--- the order in which pairs, next or tostring first met them. Values that pairs meets together are ordered by
--- their contents.

local core = require "perigee.core"
local registry = require "perigee.host.registry"

local next, pairs, sort = next, pairs, table.sort
local tostring = require("perigee.guard.library").base.tostring
local getinfo, getmetatable = debug.getinfo, debug.getmetatable
local concat, getupvalue = table.concat, debug.getupvalue
local pcall, rawget, select, unpack = pcall, rawget, select, unpack
local is_peer, is_room, ordered_keys = registry.is_peer, registry.is_room, core.ordered_keys

local DEPTH_MAX = 3 -- depth to which tables are compared
local NESTED_MAX = 200 -- bytes of the description of one entry
local OF_ROOMS = 2 ^ 32 -- added to the id of a room, for its rank
local OF_OTHERS = 2 * OF_ROOMS -- added to the number of other values

local order = {}

-- Ranks ------------------------------------------------------------------------------------

local HAS_ADDRESS = { ["table"] = true, ["function"] = true, userdata = true, thread = true }

-- Ranks of values with an address, for core.ordered_keys.
local ranks, last_number = setmetatable({}, { __mode = "k" }), 0

-- Returns the rank of a value, which gets one if it has none.
local function rank_of(value)
  if ranks[value] then
    return ranks[value]
  elseif is_peer(value) then
    ranks[value] = value.id
  elseif is_room(value) then
    ranks[value] = OF_ROOMS + value.id
  else
    last_number = last_number + 1
    ranks[value] = OF_OTHERS + last_number
  end
  return ranks[value]
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
  elseif ranks[value] then
    return kind .. ranks[value]
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

-- Gives ranks to values. The order of two values with equal descriptions is arbitrary, which rarely matters.
local function rank_all(values, source)
  sort_alike(values, source, 1, #values, 1)
  for _, value in ipairs(values) do
    rank_of(value)
  end
end

-- Keys ------------------------------------------------------------------------------------

-- Returns the keys of a table in their order; nil if `next` has that order.
local function keys_of(source)
  local keys, new = ordered_keys(source, ranks)
  if new then
    rank_all(new, source)
    keys = ordered_keys(source, ranks)
  end
  return keys
end

-- As keys_of, but always returns the keys.
local function all_keys_of(source)
  local keys = keys_of(source)
  if not keys then
    keys = {}
    for key in next, source do
      keys[#keys + 1] = key
    end
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


-- Returns the next entry of a walk: a position, a table and its keys. It is no closure and has no loop, so
-- that loops over pairs are compiled together with it.
local function step(walk)
  local at = walk[1] + 1
  walk[1] = at
  local key = walk[3][at]
  if key == nil then
    return nil
  end
  local value = rawget(walk[2], key)
  if value ~= nil then
    return key, value
  end
  return step(walk) -- because the entry has been removed
end


--- Implements pairs.
function order.pairs(source)
  if type(source) ~= "table" then
    return pairs(source)
  end
  local keys = core.is_shuffled and all_keys_of(source) or keys_of(source)
  if not keys then
    return next, source
  elseif core.is_shuffled then
    shuffle(keys)
  end
  return step, { 0, source, keys }
end

-- The current iteration by `next`: its table, keys and position.
local walked, walked_keys, walked_at

-- Returns whether the key is one of an iteration, which continues behind it.
local function find_walk(source, key)
  if walked == source and walked_keys and walked_keys[walked_at] == key then
    return true
  end
  local keys = key ~= nil and keys_of(source)
  for at = 1, keys and #keys or 0 do
    if keys[at] == key then
      walked, walked_keys, walked_at = source, keys, at
      return true
    end
  end
  return false
end


--- Implements next.
function order.next(source, key)
  if key == nil and type(source) == "table" then
    walked, walked_keys, walked_at = source, keys_of(source), 0
  end
  if type(source) ~= "table" or not (key == nil and walked_keys or find_walk(source, key)) then
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

-- Addresses --------------------------------------------------------------------------------


--- Implements tostring: shows a number instead of a value's address. The number is assigned at the first
--- call.
function order.tostring(...)
  local value = ...
  local kind = type(value)
  if not HAS_ADDRESS[kind] then
    return tostring(...)
  end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring ~= nil then
    return tostring(value)
  end
  return ("%s: 0x%08x"):format(kind, rank_of(value) % OF_ROOMS)
end


--- Returns a string.format that also shows numbers instead of addresses.
---@param format fun(...): string function to replace
---@return fun(...): string
function order.format(format)
  return function(...)
    local arguments, has_address = { ... }, false
    for i = 2, select("#", ...) do
      if HAS_ADDRESS[type(arguments[i])] then
        arguments[i], has_address = order.tostring(arguments[i]), true
      end
    end
    if not has_address or not pcall(format, ...) then
      return format(...)
    end
    return format(unpack(arguments, 1, select("#", ...)))
  end
end

return order
