--- Completes names and fields in a line of the console. It reads tables, and runs no code of the game.

local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"

local getmetatable = debug.getmetatable

local NAMES_MAX = 200 -- most names of an answer
local LOOK_MAX = 20000 -- most keys that are looked at

local console_names = {}

local KEYWORDS = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
  "not", "or", "repeat", "return", "then", "true", "until", "while",
}

local function starts_with(text, prefix)
  return text:sub(1, #prefix) == prefix
end

local function is_word(key)
  return type(key) == "string" and key:find "^[%a_][%w_]*$"
end

-- Adds the keys of a table, and those of the tables behind it.
local function add_keys(found, source, prefix, hides_own)
  local looked = 0
  for key in next, source do
    looked = looked + 1
    if looked > LOOK_MAX then
      return
    elseif is_word(key) and starts_with(key, prefix) and not (hides_own and starts_with(key, "_")) then
      found[key] = true
    end
  end
end

local function add_fields(found, value, prefix)
  local class = (registry.is_peer(value) or registry.is_room(value)) and getmetatable(value)
  if class then
    add_keys(found, value, prefix, true)
    for _, name in ipairs(class._names) do
      found[name] = starts_with(name, prefix) or nil
    end
  elseif type(value) == "table" then
    add_keys(found, value, prefix)
    local meta = getmetatable(value)
    local index = meta and rawget(meta, "__index")
    if type(index) == "table" then
      add_keys(found, index, prefix)
    end
  end
end

-- Returns a field without running code, or nil.
local function field(value, key)
  if type(value) ~= "table" then
    return nil
  end
  local found = rawget(value, key)
  local meta = getmetatable(value)
  local index = meta and rawget(meta, "__index")
  if found == nil and type(index) == "table" then
    return rawget(index, key)
  end
  return found
end

-- Returns the value before the last dot, without running code. `base` finds globals.
local function evaluate(chain, base)
  local what, name, rest = chain:match '^(%a+)%s*%(?%s*"([^"]*)"%s*%)?(.*)$'
  local value
  if what then
    value = base(what, name)
  else
    name, rest = chain:match "^([%a_][%w_]*)(.*)$"
    value = name and base(name)
  end
  for key in (rest or ""):gmatch "[.:]([%a_][%w_]*)" do
    value = field(value, key)
  end
  return value
end

local function sorted(found)
  local names = sorted_keys(found)
  for i = #names, NAMES_MAX + 1, -1 do
    names[i] = nil
  end
  return names
end


--- Returns the names that can follow at the end of a line, and the position where they begin.
---@param line string
---@param scope { find: fun(name: string, argument: string?): any; globals: table[]; rooms: fun(): string[];
--- peers: fun(): string[] }
---@return string[] names
---@return integer from
function console_names.complete(line, scope)
  local found = {}
  local what, from, part = line:match '([%a_]+)%s*%(?%s*"()([^"]*)$'
  if what == "room" or what == "peer" then
    for _, name in ipairs(what == "room" and scope.rooms() or scope.peers()) do
      found[name] = starts_with(name, part) or nil
    end
    return sorted(found), from
  elseif part then
    return {}, #line + 1
  end
  local chain, at, last = line:match '([%a_][%w_.:%s()"]-)[.:]()([%w_]*)$'
  if chain then
    -- The shortest end of the line that is a chain of names.
    local tail = chain:match '(%a+%s*%(?%s*"[^"]*"%s*%)?[%w_.:]*)$' or chain:match "([%a_][%w_.:]*)$"
    add_fields(found, tail and evaluate(tail, scope.find), last)
    return sorted(found), at
  end
  at, last = line:match "()([%a_][%w_]*)$"
  at, last = at or #line + 1, last or ""
  for _, globals in ipairs(scope.globals) do
    add_keys(found, globals, last)
  end
  for _, word in ipairs(last ~= "" and KEYWORDS or {}) do
    found[word] = starts_with(word, last) or nil
  end
  return sorted(found), at
end

return console_names
