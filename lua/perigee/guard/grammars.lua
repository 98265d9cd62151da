--- Measures grammars before lpeg reads them. To find the possible beginnings of a rule, lpeg follows each
--- call at the beginning of the rule, then each call at the beginning of the called rules, and so on. If
--- every rule begins with several calls, this takes exponential time. lpeg is C code, so no deadline
--- interrupts it.
---
--- The *shape* of a pattern is its beginning: EATS if it begins with a byte, EMPTY if it may match nothing
--- and begins with no call, and else a table of calls in sequences and choices.

local fault = require "perigee.util.fault"

local EATS, EMPTY = "eats", "empty"
local VISITS_MAX = 10000 -- most visits of rules to find the beginning of one rule; about 0.1 ms

local grammars = { EATS = EATS, EMPTY = EMPTY }


local function is_constant(shape)
  return shape == EATS or shape == EMPTY
end


function grammars.call(name)
  return { kind = "call", name = name }
end


function grammars.sequence(a, b)
  if a == EATS then
    return EATS
  end
  return a == EMPTY and b or { kind = "sequence", a, b }
end


function grammars.choice(a, b)
  if is_constant(a) and is_constant(b) then
    return a == EATS and b or EMPTY
  end
  return { kind = "choice", a, b }
end


function grammars.optional(a)
  return is_constant(a) and EMPTY or { kind = "optional", a }
end

-- Returns whether a shape may match the empty text. `empty` has the rules that are known to match it.
local function is_empty(shape, empty)
  if is_constant(shape) then
    return shape == EMPTY
  elseif shape.kind == "sequence" then
    return is_empty(shape[1], empty) and is_empty(shape[2], empty)
  elseif shape.kind == "choice" then
    return is_empty(shape[1], empty) or is_empty(shape[2], empty)
  end
  return shape.kind == "optional" or empty[shape.name] == true
end

local function find_empty(rules)
  local empty, has_changed = {}, true
  while has_changed do
    has_changed = false
    for name, shape in next, rules do
      if not empty[name] and is_empty(shape, empty) then
        empty[name], has_changed = true, true
      end
    end
  end
  return empty
end

-- Returns how many rules are visited to find the beginning of a shape. A rule that begins with itself counts
-- nothing, because lpeg refuses it.
local function count(shape, self)
  if is_constant(shape) then
    return 0
  elseif shape.kind == "call" then
    local name = shape.name
    if not self.visits[name] and self.rules[name] then
      self.visits[name] = 0
      self.visits[name] = count(self.rules[name], self)
    end
    return 1 + (self.visits[name] or 0)
  elseif shape.kind == "optional" then
    return count(shape[1], self)
  end
  local first = count(shape[1], self)
  local is_over = shape.kind == "sequence" and not is_empty(shape[1], self.empty)
  return first + (is_over and 0 or count(shape[2], self))
end


--- Returns the shape of a grammar. Raises an error for a grammar that lpeg would read for too long.
---@param rules table<any, table|string> shapes by name
---@param initial any the name of the first rule
---@return string
function grammars.measure(rules, initial)
  local self = { rules = rules, empty = find_empty(rules), visits = {} }
  for name, shape in next, rules do
    if count(shape, self) > VISITS_MAX then
      fault.raise("rule %s can begin in more than %d ways; let rules begin with text, or with fewer calls of "
        .. "other rules", tostring(name), VISITS_MAX)
    end
  end
  return self.empty[initial] and EMPTY or EATS
end

return grammars
