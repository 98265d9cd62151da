--- The libraries lpeg and re for scripts. lpeg matches in C, where no deadline interrupts it. Therefore each
--- repetition and each rule of a grammar gets a *counter*: a pattern that matches nothing and calls
--- core.pattern_count, which charges the match to the running handler and ends it at the deadline.
---
--- Between two counters, a match passes each part of a pattern at most once. Only a set of bytes may repeat
--- without a counter. After the match, lpeg turns captures into values, also in C. Every few captures share a
--- counter, so that this work has no more steps than the match itself had.
---
--- The operators belong to the metatable of all patterns in the Lua state, so the host's patterns also have
--- counters.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local grammars = require "perigee.guard.grammars"
local lpeg = require "lpeg"

local getmetatable, load, pcall, type = debug.getmetatable, load, pcall, type
local setfenv, max = setfenv, math.max

local SIZE_MAX = 128 * 1024 -- most bytes of a pattern; lpeg's time to compile it grows with their square
local NODE = 16 -- bytes of a pattern for each byte of a literal
local DEPTH_MAX = 400 -- depth of nested calls of rules and repetitions; lpeg's own default
local CAPTURES_MAX = 4 -- most captures that share a counter
local RE_PATH = package.searchpath("re", package.path)

local patterns = { lpeg = {}, re = {} }

local guarded = patterns.lpeg
local meta = getmetatable(lpeg.P(true))
meta.raw = meta.raw or {
  mul = meta.__mul, add = meta.__add, sub = meta.__sub, pow = meta.__pow, div = meta.__div,
  len = meta.__len, unm = meta.__unm,
}
local raw = meta.raw

local counter = lpeg.P(core.pattern_count)

local WEAK = { __mode = "k" }
local captures = setmetatable({}, WEAK) -- number of captures since a pattern's last counter
local sets = setmetatable({}, WEAK) -- patterns that match one byte
local shapes = setmetatable({}, WEAK) -- beginnings of patterns (grammars.lua); nil: EMPTY

-- Parts of lpeg's errors, and what to write instead.
local CURES = {
  ["fixed length"] = "lpeg.B takes no repetition and no grammar; write each letter, as in "
    .. 'lpeg.B(lpeg.P "a" * "a")',
  ["left recursive"] = "a rule takes a letter before it calls itself; write a repetition, as in "
    .. 'V "term" * (P "+" * V "term")^0',
}

local function with_cure(problem)
  for part, cure in next, CURES do
    if problem:find(part, 1, true) then
      return problem .. ": " .. cure
    end
  end
  return problem
end

-- Calls a function of lpeg. Its errors name the script's line.
local function call(name, fn, ...)
  local ok, result = pcall(fn, ...)
  if not ok then
    fault.raise("%s", with_cure((result:gsub("to '%?'", "to '" .. name .. "'"))))
  elseif type(result) == "userdata" and core.pattern_size(result) > SIZE_MAX then
    fault.raise("this pattern is too large; a pattern has at most %d KiB", SIZE_MAX / 1024)
  end
  return result
end

local function check_size(bytes)
  if bytes > SIZE_MAX then
    fault.raise("this pattern would have %.0f KiB; a pattern has at most %d", bytes / 1024, SIZE_MAX / 1024)
  end
end

-- Patterns from other values --------------------------------------------------------------------

local to_pattern

local function shape_of(pattern)
  return shapes[pattern] or grammars.EMPTY
end

-- Makes a grammar whose rules have counters.
local function make_grammar(rules)
  local counted, bytes, beginnings, initial = {}, 0, {}, 1
  for key, rule in next, rules do
    if key == 1 and type(rule) == "string" then
      counted[1], initial = rule, rule
    else
      rule = to_pattern(rule)
      counted[key], beginnings[key] = counter * rule, shape_of(rule)
      bytes = bytes + core.pattern_size(counted[key])
      check_size(bytes)
    end
  end
  local shape = grammars.measure(beginnings, initial)
  local grammar = call("P", lpeg.P, counted)
  shapes[grammar] = shape
  return grammar
end


function to_pattern(value)
  local kind = type(value)
  if kind == "table" then
    return make_grammar(value)
  elseif kind == "string" then
    check_size(#value * NODE)
  elseif kind == "number" then
    check_size(max(value, -value) * NODE)
  end
  local pattern = call("P", lpeg.P, value)
  if kind ~= "userdata" then
    local bytes = kind == "string" and #value or kind == "number" and value or 0
    local has_beginning = bytes > 0 or value == false
    sets[pattern], shapes[pattern] = bytes == 1 or nil, has_beginning and grammars.EATS or nil
  end
  return pattern
end

guarded.P = to_pattern

-- Returns the pattern after counting its captures, with a counter if they are many.
local function count_captures(pattern, count)
  if count > CAPTURES_MAX then
    return call("*", raw.mul, pattern, counter)
  end
  captures[pattern] = count > 0 and count or nil
  return pattern
end

local function captures_of(pattern)
  return captures[pattern] or 0
end

-- Operators -------------------------------------------------------------------------------------


function meta.__mul(a, b)
  a, b = to_pattern(a), to_pattern(b)
  local both = count_captures(call("*", raw.mul, a, b), captures_of(a) + captures_of(b))
  shapes[both] = grammars.sequence(shape_of(a), shape_of(b))
  return both
end


function meta.__add(a, b)
  a, b = to_pattern(a), to_pattern(b)
  local sum = count_captures(call("+", raw.add, a, b), max(captures_of(a), captures_of(b)))
  sets[sum], shapes[sum] = sets[a] and sets[b], grammars.choice(shape_of(a), shape_of(b))
  return sum
end


function meta.__sub(a, b)
  a, b = to_pattern(a), to_pattern(b)
  local rest = count_captures(call("-", raw.sub, a, b), captures_of(a))
  sets[rest] = sets[a] and sets[b]
  shapes[rest] = grammars.sequence(grammars.optional(shape_of(b)), shape_of(a))
  return rest
end


function meta.__pow(pattern, count)
  if type(pattern) ~= "userdata" or type(count) ~= "number" then
    return call("^", raw.pow, pattern, count)
  end
  check_size(core.pattern_size(pattern) * (max(count, -count) + 1))
  local result
  if sets[pattern] then
    result = raw.mul(call("^", raw.pow, pattern, count), counter)
  elseif count < 0 and captures_of(pattern) == 0 then
    result = call("^", raw.pow, pattern, count)
  else
    result = call("^", raw.pow, raw.mul(pattern, counter), count)
  end
  local shape = shape_of(pattern)
  local others = grammars.optional(shape)
  shapes[result] = count > 0 and grammars.sequence(shape, others) or others
  return result
end

-- Makes a pattern that adds one capture to the given pattern, and has the same beginning.
local function extend(name, make, pattern, ...)
  pattern = to_pattern(pattern)
  local result = count_captures(call(name, make, pattern, ...), captures_of(pattern) + 1)
  shapes[result] = shape_of(pattern)
  return result
end


function meta.__div(pattern, with)
  return extend("/", raw.div, pattern, with)
end


function meta.__unm(pattern)
  local result = call("-", raw.unm, pattern)
  shapes[result] = grammars.optional(shape_of(pattern))
  return result
end


-- Excludes captures, because lpeg's own #pattern aborts the process if the pattern has values of a Cmt.
function meta.__len(pattern)
  return -(-pattern)
end

-- Functions -------------------------------------------------------------------------------------

for _, name in ipairs { "C", "Cf", "Cg", "Cmt", "Cs", "Ct" } do
  local make = lpeg[name]
  guarded[name] = function(pattern, ...)
    return extend(name, make, pattern, ...)
  end
end

for _, name in ipairs { "Carg", "Cc", "Cp", "R", "S", "V" } do
  local make = lpeg[name]
  guarded[name] = function(...)
    local pattern = call(name, make, ...)
    local is_set = name == "R" or name == "S"
    sets[pattern] = is_set or nil
    shapes[pattern] = is_set and grammars.EATS or name == "V" and grammars.call((...)) or nil
    return count_captures(pattern, name:find "^C" and 1 or 0)
  end
end


-- Replaces lpeg.B. The pattern must have no repetition, not even in a predicate, and no grammar, because
-- their counters count as captures, which lpeg.B refuses.
function guarded.B(pattern)
  return call("B", lpeg.B, to_pattern(pattern))
end


--- Adds a counter, because the time of back captures can be exponential.
function guarded.Cb(name)
  local both = raw.mul(call("Cb", lpeg.Cb, name), lpeg.Cp())
  return count_captures(raw.div(both, core.pattern_pass), 1)
end


--- Uses a tail call, so that errors name the script's line.
function guarded.match(pattern, ...)
  core.pattern_begin()
  return lpeg.match(type(pattern) == "userdata" and pattern or to_pattern(pattern), ...)
end


function guarded.setmaxstack(depth)
  fault.check("the depth of a match", depth, "number")
  if depth > DEPTH_MAX then
    fault.raise("a match nests at most %d deep", DEPTH_MAX)
  end
end


function guarded.locale(into)
  local classes = call("locale", lpeg.locale)
  into = into or {}
  for name, class in next, classes do
    sets[class], shapes[class], into[name] = true, grammars.EATS, class
  end
  return into
end

guarded.type, guarded.version = lpeg.type, lpeg.version

-- re -----------------------------------------------------------------------------------------------

local PATTERN_AT = { compile = 1, find = 2, gsub = 2, match = 2 } -- places of the pattern in the arguments


--- Loads re, which makes its patterns with the functions above.
---@return table
function patterns.load_re()
  if not patterns.re.compile then
    local text = RE_PATH and core.read_file(RE_PATH)
    local chunk = text and load(text, "@lua/perigee/guard/re.lua") -- the chunk name makes errors name the
                                                                    -- script's line
    if not chunk then
      fault.raise "re is missing; on Debian: apt install lua-lpeg"
    end
    setfenv(chunk, {
      error = function(problem) fault.raise("%s", problem) end,
      setmetatable = setmetatable, tonumber = tonumber, type = type,
      require = function() return guarded end, getmetatable = getmetatable, _VERSION = "",
    })
    local re = chunk()
    for name, at in next, PATTERN_AT do
      patterns.re[name] = function(...)
        local pattern = select(at, ...)
        if type(pattern) ~= "userdata" then
          fault.check("the pattern of re." .. name, pattern, "string")
        end
        return re[name](...)
      end
    end
  end
  return patterns.re
end

meta.__index, meta.__metatable = guarded, "pattern"

return patterns
