--- Replaces some of Lua's string and table functions by functions with the same results that neither block
--- the server nor make a string of more than 16 MiB. Long work is charged to the running handler, in steps of
--- about 5 ns. C functions charge their own work (core_string.c, core_table.c in src/script/guard).
---
--- If LuaJIT's own function does the work, it is called by a tail call. Its errors then name the script's
--- line and the name by which the script called it. Arguments are passed on as `...`, because errors
--- distinguish "no value" from nil. Short work goes directly to LuaJIT's function, so that compiled code can
--- still contain it inline.
---
--- Some functions are not replaced, because no call of them takes long: string.byte and char and unpack (at
--- most as many values as the stack can have), len, select, and all of bit and math. string.reverse and sub
--- take milliseconds for a string of 16 MiB, so interrupts between two calls are enough.

local core = require "perigee.core"
local fault = require "perigee.util.fault"

local charge = core.charge
local find_pattern, gmatch_next = core.text_find, core.text_gmatch_next
local find, format, gmatch, lower = string.find, string.format, string.gmatch, string.lower
local rep, upper = string.rep, string.upper
local concat = table.concat
local insert, maxn, move, remove = table.insert, table.maxn, table.move, table.remove
local next, select, tonumber, tostring, type, unpack = next, select, tonumber, tostring, type, unpack
local rawget, rawset, max, min = rawget, rawset, math.max, math.min

local TEXT_MAX = core.text_max
local SHORT = 4096 -- bytes or values up to which work costs no charge; some microseconds
local SLICE = 4096   -- values that are moved between two charges
local NUMBER_MAX = 512 -- most bytes of a formatted number: %99.99f of 1e308
local TOSTRING_STEPS = 20 -- charge for a table's __tostring
local WIDTH_MAX = 99 -- largest width that LuaJIT accepts in a format
local PRODUCT_MAX = 2 ^ 16 -- most bytes compared in a short search, which takes 50 us
local FAR = 2 ^ 31 -- from here on, LuaJIT's own functions wrap indexes around

local OPTIONS = "()%%[-+ #0-9]*%.?(%d*)([%a%%])()"

local library = { string = {}, table = {}, base = {} }

-- Strings ----------------------------------------------------------------------------------

local function too_long(name, bytes)
  fault.raise("%s: the result would have %.0f bytes; %d is the most", name, bytes, TEXT_MAX)
end

-- Returns the size of a value that Lua accepts as a string; nil for other values.
local function size_of(value)
  local kind = type(value)
  return kind == "string" and #value or kind == "number" and #tostring(value) or nil
end

library.string.gsub = core.text_gsub
library.string.match = core.text_match


--- Replaces string.find, because the time of LuaJIT's own compiled search is proportional to the product of
--- both sizes.
function library.string.find(...)
  local whole, part, _, is_plain = ...
  if is_plain and type(whole) == "string" and type(part) == "string"
    and #whole * #part <= PRODUCT_MAX then
    return find(...)
  end
  return find_pattern(...)
end


--- Returns a closure in Lua, because compiled code cannot distinguish C closures.
function library.string.gmatch(...)
  local whole, pattern = ...
  if not (size_of(whole) and size_of(pattern)) then
    return gmatch(...)
  end
  local state = { tostring(whole), tostring(pattern), 0 }
  return function()
    return gmatch_next(state)
  end
end

-- Charges for work on a text. Such work takes 10 ms for 16 MiB.
local function charge_text(value)
  if type(value) == "string" and #value > SHORT then
    charge(#value / 8)
  end
end


function library.string.upper(...)
  charge_text((...))
  return upper(...)
end


function library.string.lower(...)
  charge_text((...))
  return lower(...)
end

local function rep_long(...)
  local value, count, separator = ...
  local size, times, gap = size_of(value), tonumber(count), separator == nil and 0 or size_of(separator)
  if not (size and times and gap and type(count) ~= "table") then
    return rep(...)
  elseif times < 1 or times ~= times or size + gap == 0 then
    return ""
  end
  times = times < FAR and times - times % 1 or times
  local total = (size + gap) * times - gap
  if total > TEXT_MAX then
    too_long("string.rep", total)
  end
  charge(total / 16)
  return rep(...)
end


function library.string.rep(...)
  local value, count, separator = ...
  if type(value) == "string" and type(count) == "number" and separator == nil
    and #value * count <= SHORT then
    return rep(...)
  end
  return rep_long(...)
end

-- Returns whether all values are short in every format.
local function are_short(count, a, b, c, ...)
  local of_a, of_b, of_c = type(a), type(b), type(c)
  if (of_a == "number" or of_a == "string" and #a <= SHORT or a == nil)
    and (of_b == "number" or of_b == "string" and #b <= SHORT or b == nil)
    and (of_c == "number" or of_c == "string" and #c <= SHORT or c == nil) then
    return count <= 3 or are_short(count - 3, ...)
  end
  return false
end

-- Returns the largest number of bytes that the option can make of the value.
local function option_size(option, precision, value)
  if option ~= "s" and option ~= "q" then
    return NUMBER_MAX
  end
  local size = size_of(value) or NUMBER_MAX
  if option == "q" then
    return 4 * size + 2
  end
  return max(min(size, tonumber(precision) or size), WIDTH_MAX)
end

-- Formats long values. Calls each __tostring of the script once, before the formatting, so that the length is
-- known.
local function format_long(...)
  local count, values = select("#", ...), { ... }
  local pattern, total, at = values[1], 0, 1
  if not size_of(pattern) then
    return format(...)
  end
  for from, precision, option, to in library.string.gmatch(pattern, OPTIONS) do
    if option ~= "%" then
      total = total + from - to
      at = at + 1
      if option == "s" and not size_of(values[at]) and at <= count then
        values[at] = tostring(values[at])
      end
      total = total + option_size(option, precision, values[at])
    end
  end
  total = total + size_of(pattern)
  if total > TEXT_MAX then
    too_long("string.format", total)
  end
  charge(total / 4)
  return format(unpack(values, 1, count))
end


function library.string.format(...)
  if are_short(select("#", ...), ...) then
    return format(...)
  end
  return format_long(...)
end

-- Tables -----------------------------------------------------------------------------------

library.table.sort = core.table_sort

-- Returns the total bytes of the list's values. `number_size` returns the bytes of a number. Returns nil if a
-- value is neither a string nor a number; the following call of LuaJIT's function reports that error.
local function total_of(list, first, last, number_size)
  local total = 0
  for index = first, last do
    local value = rawget(list, index)
    if type(value) == "string" then
      total = total + #value
    elseif type(value) == "number" then
      total = total + number_size(value)
    else
      return nil
    end
    if index % SLICE == 0 then
      charge(2 * SLICE)
    end
  end
  return total
end

local function most_of_number()
  return 24
end


function library.table.concat(...)
  local list, separator, first, last = ...
  first, last = tonumber(first or 1), tonumber(last or type(list) == "table" and #list)
  local gap = separator == nil and 0 or size_of(separator)
  if type(list) ~= "table" or not (first and last and gap) then
    return concat(...)
  end
  local total, gaps = total_of(list, first, last, most_of_number), gap * max(last - first, 0)
  if not total then
    return concat(...)
  elseif total + gaps > TEXT_MAX then
    total = total_of(list, first, last, size_of)
    if total + gaps > TEXT_MAX then
      too_long("table.concat", total + gaps)
    end
  end
  if total + gaps > SHORT then
    charge((total + gaps) / 16)
  end
  return concat(...)
end

-- Inserts at a position that LuaJIT's own function would handle wrongly or in too long a time.
local function insert_far(list, at, value)
  at = at == at and at or -FAR
  at = at < 0 and at + -at % 1 or at - at % 1
  for index = #list + 1, at + 1, -1 do
    rawset(list, index, rawget(list, index - 1))
    if index % SLICE == 0 then
      charge(SLICE)
    end
  end
  rawset(list, at, value)
end


function library.table.insert(...)
  if select("#", ...) ~= 3 then
    return insert(...)
  end
  local list, at, value = ...
  at = tonumber(at)
  if type(list) == "table" and at then
    if not (at > -SHORT and at < FAR) then
      return insert_far(list, at, value)
    elseif #list - at > SHORT then
      charge((#list - at) / 4)
    end
  end
  return insert(...)
end


function library.table.remove(...)
  local list, at = ...
  if at ~= nil and type(list) == "table" and #list > SHORT then
    charge((#list - (tonumber(at) or 1)) / 4)
  end
  return remove(...)
end

local function move_long(from, first, last, to, list)
  local start, stop, step = 0, last - first, 1
  if to > first and to <= last and from == list then
    start, stop, step = stop, 0, -1
  end
  for offset = start, stop, step do
    list[to + offset] = from[first + offset]
    if offset % SLICE == 0 then
      charge(SLICE)
    end
  end
  return list
end


-- Returns whether a move is short and within range. The result is also false for NaN.
local function is_near(first, last, to)
  return last - first < SHORT and first > -FAR and last < FAR and to > -FAR and to < FAR - SHORT
end


function library.table.move(...)
  local from, first, last, to, list = ...
  first, last, to = tonumber(first), tonumber(last), tonumber(to)
  if first and last and to and not is_near(first, last, to) and type(from) == "table"
    and (list == nil or type(list) == "table") then
    return move_long(from, first - first % 1, last - last % 1, to - to % 1, list or from)
  end
  return move(...)
end


function library.table.maxn(...)
  local list = ...
  if type(list) ~= "table" then
    return maxn(...)
  end
  local most, count = 0, 0
  for key in next, list do
    if type(key) == "number" and key > most then
      most = key
    end
    count = count + 1
    if count % SLICE == 0 then
      charge(4 * SLICE)
    end
  end
  return most
end

-- Other functions --------------------------------------------------------------------------


--- Replaces tonumber, which takes 15 ms for 16 MiB of digits.
function library.base.tonumber(...)
  charge_text((...))
  return tonumber(...)
end


--- Replaces tostring, and charges for each call with a table. LuaJIT's own tostring as __tostring of a
--- metatable would call itself for ever, in code that cannot be interrupted.
function library.base.tostring(...)
  if type((...)) == "table" then
    charge(TOSTRING_STEPS)
  end
  return tostring(...)
end

return library
