--- Calls LuaJIT's own functions and those of perigee.guard.library with the same arguments, made at random
--- from a seed, and fails where results or errors differ. Functions are called by name from the
--- same line, so that errors are compared with their place and name.

local library = require "perigee.guard.library"

local random = math.random

local ours = {
  string = setmetatable(library.string, { __index = string }),
  table = setmetatable(library.table, { __index = table }),
}
local CALL = [[
  local pack, string, table = ...
  return function(...)
    local results = pack(%s(...))
    return results
  end
]]

local function pack(...)
  return { count = select("#", ...), ... }
end

local function callers(name)
  local code = CALL:format(name)
  return assert(load(code, "=call"))(pack, string, table),
    assert(load(code, "=call"))(pack, ours.string, ours.table)
end

local function show(value, depth)
  if type(value) == "string" then
    return #value > 200 and ("a string of %d"):format(#value) or ("%q"):format(value)
  elseif type(value) == "table" and (depth or 0) < 3 then
    local parts = {}
    for key, part in pairs(value) do
      parts[#parts + 1] = ("[%s]=%s"):format(tostring(key), show(part, (depth or 0) + 1))
    end
    table.sort(parts)
    return "{ " .. table.concat(parts, ", ") .. " }"
  end
  return type(value) == "function" and "function" or tostring(value)
end

-- Returns the outcome as one string, which is equal for equal outcomes.
local function outcome(call, ...)
  return show { pcall(call, ...) }
end

local function fail(name, arguments, theirs, mine)
  error(("%s%s\n  LuaJIT: %s\n  ours:   %s"):format(name, show(arguments), theirs, mine), 0)
end

-- Returns a function that compares one call on both sides; `make` returns new arguments for each side.
local function compare(name, make)
  local stock, own = callers(name)
  return function()
    local first, second = make()
    local theirs = outcome(stock, unpack(first, 1, first.count))
    local mine = outcome(own, unpack(second, 1, second.count))
    local after, after_own = show(first), show(second)
    if theirs ~= mine or after ~= after_own then
      fail(name, first, theirs .. after, mine .. after_own)
    end
  end
end

local function pick(list)
  return list[random(#list)]
end

local BYTES = { "a", "b", "a", "b", "c", "A", "1", "2", " ", ",", "-", "(", ")", "[", "]", "%",
  ".", "^", "$", "\n", "\0", "\127", "\200", "_" }
local UNITS = { "a", "b", ".", ".", "%a", "%d", "%s", "%w", "%W", "%p", "%x", "%z", "%g", "%l", "%u",
  "%c", "%A", "%S", "%%", "%.", "%-", "[ab]", "[^ab]", "[a-c]", "[%w_]", "[^%s]", "[]a]", "[^]]",
  "[a-]", "[%a-z]", "[%]]", "[^%z]", "[a-%%]", "[^-b]", "-", "]", ",", " ", "\200" }
local REPEATS = { "", "", "", "", "*", "+", "-", "?" }
local SPECIALS = { "()", "%1", "%2", "%b()", "%bab", "%f[%w]", "%f[^a]", "^", "$", "%0", ")", "(", "%",
  "[", "[^", "[a", "%b", "%f", "%fa", "%b(", "\0", "[%", "*", "+", "?", "(()", "[]", "[^]" }

local function make_text(most)
  local parts = {}
  for i = 1, random(0, most) do
    parts[i] = BYTES[random(random(3) == 1 and #BYTES or 4)]
  end
  return table.concat(parts)
end

local function make_items(most, depth)
  local parts = {}
  for i = 1, random(0, most) do
    local kind = random(12)
    if kind == 1 and depth < 3 then
      parts[i] = "(" .. make_items(3, depth + 1) .. ")"
    elseif kind == 2 and random(3) == 1 then
      parts[i] = pick(SPECIALS)
    elseif kind == 3 then
      parts[i] = make_text(2)
    else
      parts[i] = pick(UNITS) .. pick(REPEATS)
    end
  end
  return table.concat(parts)
end

local function make_pattern()
  return (random(8) == 1 and "^" or "") .. make_items(5, 0) .. (random(8) == 1 and "$" or "")
end

local ODD = { 0, -1, 1, 2, 3, -3, 100, -100, 1.5, "2", " 3 ", "x", 2 ^ 31 - 1, -2 ^ 31, true, {} }

-- Sometimes adds an optional argument.
local function add_odd(arguments)
  if random(3) == 1 then
    arguments.count = arguments.count + 1
    arguments[arguments.count] = pick(ODD)
  end
  return arguments
end

local function twice(arguments)
  return arguments, arguments
end

-- Sometimes gives an argument a wrong type, or leaves it out.
local function spoil(arguments)
  local kind = random(60)
  if kind == 1 then
    arguments[random(arguments.count)] = pick { true, {}, 12, 1.5 }
  elseif kind == 2 then
    arguments.count = random(0, arguments.count)
  elseif kind == 3 then
    arguments[random(arguments.count)] = nil
  end
  return arguments
end

local function find_arguments()
  local arguments = add_odd { make_text(14), make_pattern(), count = 2 }
  if arguments.count == 3 and random(3) == 1 then
    arguments.count, arguments[4] = 4, pick { true, false, 0 }
  end
  return twice(spoil(arguments))
end

local REFERENCES = { "%0", "%1", "%2", "%9", "%%", "%x", "%", "a", "[", "%1%0", "\0", "" }

local function make_replacement()
  local kind = random(8)
  if kind <= 4 then
    local parts = {}
    for i = 1, random(0, 3) do
      parts[i] = REFERENCES[random(random(4) == 1 and #REFERENCES or 2)]
    end
    return table.concat(parts)
  elseif kind == 5 then
    return { a = "<a>", b = false, ab = 12, [1] = "one", [2] = "two", c = random(4) == 1 and {} or nil }
  elseif kind == 6 then
    return 7.5
  elseif kind == 7 then
    return setmetatable({}, { __index = function(_, key) return key == "b" and "B" or nil end })
  end
  local results = { "x", nil, false, 5, "%1", "", nil, "" }
  local at = random(4)
  return function(...)
    at = at + select("#", ...)
    if at % 97 == 96 then
      error({ "thrown" }, 0)
    end
    return results[at % 8 + 1] or (...)
  end
end

local function gsub_arguments()
  local seed = random(2 ^ 30)
  local subject, pattern = make_text(14), make_pattern()
  local spoiling = random(2 ^ 30)
  local function make()
    math.randomseed(seed)
    local arguments = add_odd { subject, pattern, make_replacement(), count = 3 }
    math.randomseed(spoiling)
    return spoil(arguments)
  end
  local first, second = make(), make()
  return first, second
end

-- Returns all results of an iterator, and how it ends.
local function gather(string, ...)
  local results = {}
  local iterate = string.gmatch(...)
  for i = 1, 40 do
    local values = pack(pcall(iterate))
    results[i] = values
    if not values[1] or values[2] == nil then
      break
    end
  end
  return results
end

local function compare_gmatch()
  local subject, pattern = make_text(14), make_pattern()
  local theirs = outcome(gather, string, subject, pattern)
  local mine = outcome(gather, ours.string, subject, pattern)
  if theirs ~= mine then
    fail("string.gmatch", { subject, pattern }, theirs, mine)
  end
end

local function rep_arguments()
  return twice(spoil(add_odd {
    pick { "", "a", "ab", ("x"):rep(5000), 12 }, pick { 0, 1, 2, 3, -1, 1.7, "2", 1000, 0 / 0, "x" },
    count = 2,
  }))
end

local FORMATS = { "%d", "%s", "%5.1s", "%q", "%5d", "%-5d|", "%05.2f", "%g", "%x", "%c", "%%", "%i",
  "%99.99f", "%100d", "%y", "%", "a", "%10s", "%.3s", "%-20s", "%e", "%u", "%o", "%5%", "%.s" }

local function format_arguments()
  local parts, arguments = {}, { "", count = 1 }
  for i = 1, random(0, 7) do
    parts[i] = FORMATS[random(random(3) == 1 and #FORMATS or 4)]
    if random(30) > 1 then
      arguments.count = arguments.count + 1
      arguments[arguments.count] = pick { 1, 2.5, "x", "12", ("y"):rep(5000), -3, "a\nb\0c", true,
        setmetatable({}, { __tostring = function() return "object" end }) }
    end
  end
  arguments[1] = table.concat(parts)
  return twice(spoil(arguments))
end

local function make_list(most)
  local list = {}
  for i = 1, random(0, most) do
    list[i] = random(40) == 1 and pick { true, {} } or random(3) == 1 and make_text(3) or random(50)
  end
  return list
end

local function copy(list)
  local other = {}
  for key, value in pairs(list) do
    other[key] = value
  end
  return other
end

-- Returns the same arguments with copies of the lists, because functions may change lists.
local function with_list(list, arguments)
  arguments.count = arguments.count + 1
  table.insert(arguments, 1, list)
  local other = copy(arguments)
  if arguments[1] == list then
    other[1] = copy(list)
  end
  return arguments, other
end

local function concat_arguments()
  local arguments = add_odd { pick { "", ",", 5, ", " }, count = 1 }
  return with_list(make_list(random(20) == 1 and 900 or 9), add_odd(arguments))
end

local function insert_arguments()
  local arguments = random(3) == 1 and { "new", count = 1 } or { pick(ODD), "new", count = 2 }
  if type(arguments[1]) == "number" and math.abs(arguments[1]) > 1000 and arguments.count == 2 then
    arguments[1] = 2 -- LuaJIT takes seconds for distant indexes
  end
  return with_list(make_list(9), arguments)
end

local function remove_arguments()
  return with_list(make_list(9), add_odd { count = 0 })
end

local function move_arguments()
  local arguments = { random(-2, 6), random(-2, 6), random(-2, 9), count = 3 }
  if random(10) == 1 then
    arguments[random(3)] = pick { 1.5, "2", "x", true }
  end
  return with_list(make_list(9), arguments)
end

-- Returns arguments of table.sort. No two elements are equal, because the order of equal ones is not defined.
local function sort_arguments()
  local list, seen = {}, {}
  local kind = random(3)
  for _ = 1, random(0, random(6) == 1 and 300 or 12) do
    local value = kind == 1 and random(1000) or kind == 2 and make_text(6) or random() * 10
    if not seen[value] then
      seen[value] = true
      list[#list + 1] = value
    end
  end
  local arguments = { count = 0 }
  if random(2) == 1 then
    arguments.count = 1
    arguments[1] = pick { function(a, b) return a > b end, function(a, b) return a < b end }
  elseif random(20) == 1 then
    arguments.count = 1
    arguments[1] = pick { 5, true, "x" }
  end
  return with_list(list, arguments)
end

local function text_arguments()
  return twice(spoil(add_odd(add_odd { pick { make_text(9), ("ab"):rep(4000), 12 }, count = 1 })))
end

local COMPARISONS = {
  { 6, compare("string.find", find_arguments) },
  { 6, compare("string.match", find_arguments) },
  { 6, compare("string.gsub", gsub_arguments) },
  { 4, compare_gmatch },
  { 1, compare("string.rep", rep_arguments) },
  { 1, compare("string.format", format_arguments) },
  { 1, compare("string.sub", text_arguments) },
  { 1, compare("string.upper", text_arguments) },
  { 1, compare("string.lower", text_arguments) },
  { 1, compare("string.reverse", text_arguments) },
  { 1, compare("table.concat", concat_arguments) },
  { 1, compare("table.insert", insert_arguments) },
  { 1, compare("table.remove", remove_arguments) },
  { 1, compare("table.move", move_arguments) },
  { 1, compare("table.sort", sort_arguments) },
  { 1, compare("table.maxn", remove_arguments) },
}

-- Compares every class letter with every byte.
local function compare_classes()
  for letter = 0, 255 do
    for _, form in ipairs { "%%%s", "[%%%s]", "[^%%%s]", "[%s-\200]" } do
      local pattern = form:format(string.char(letter))
      for byte = 0, 255 do
        local subject = string.char(byte)
        local theirs = outcome(string.find, subject, pattern)
        local mine = outcome(library.string.find, subject, pattern)
        if theirs ~= mine then
          fail("string.find", { subject, pattern }, theirs, mine)
        end
      end
    end
  end
end

return function(cases, seed)
  compare_classes()
  local turns = {}
  for _, comparison in ipairs(COMPARISONS) do
    for _ = 1, comparison[1] do
      turns[#turns + 1] = comparison[2]
    end
  end
  for i = 1, cases do
    math.randomseed(seed * 2 ^ 24 + i)
    turns[i % #turns + 1]()
  end
end
