--- Describes values for errors: the kind of a value, its place in a table, and the running line of the
--- script.

local getinfo = debug.getinfo
local format = string.format

local NAMES_MAX = 24 -- most names in an error

local describe = {}

-- Returns whether a function's source is a file of Perigee.
local function is_own(source)
  return source:sub(1, 13) == "@lua/perigee/" or source:find "%f[%w]perigee/client[./]" ~= nil
end


--- Returns "file:line" of a function's beginning; nil for a function in C or of Perigee.
---@param fn function
---@return string?
function describe.place(fn)
  local info = getinfo(fn, "S")
  if info.what ~= "C" and not is_own(info.source) then
    return format("%s:%d", (info.source:gsub("^@", "")), info.linedefined)
  end
end


--- Returns "file:line: " of the innermost function that is not Perigee's own, or "".
---@return string
function describe.where()
  for level = 2, 250 do
    local info = getinfo(level, "Sl")
    if not info then
      return ""
    end
    if info.currentline > 0 and not is_own(info.source) then
      return format("%s:%d: ", info.source:gsub("^@", ""), info.currentline)
    end
  end
  return ""
end


--- Returns a noun with its article.
---@param noun string
---@return string
function describe.a(noun)
  return (noun:find "^[aeiou]" and "an " or "a ") .. noun
end


--- Describes a value, such as "a table" or "nil". For a table of the library, adds that its functions are
--- called with a dot.
---@param value any
---@return string
function describe.kind(value)
  local kind = type(value)
  if kind == "table" then
    local class = getmetatable(value)
    if type(class) ~= "string" then
      return "a table"
    end
    return class:find "^perigee" and class .. " (its functions are called with a dot)" or describe.a(class)
  end
  return kind == "nil" and "nil" or "a " .. kind
end


--- Describes a value as it is written: a string in quotes, a number, "a table".
---@param value any
---@return string
function describe.quote(value)
  if type(value) == "string" then
    return format("%q", value)
  end
  return type(value) == "number" and tostring(value) or describe.kind(value)
end


--- Returns "; it has a, b, c", or "" if the names are too many to read.
---@param names string[]
---@return string
function describe.names(names)
  local sorted = { unpack(names, 1, math.min(#names, NAMES_MAX + 1)) }
  table.sort(sorted)
  return #sorted <= NAMES_MAX and "; it has " .. table.concat(sorted, ", ") or ""
end


--- Returns a key as part of a path, such as ".name" or "[3]".
---@param key any
---@return string
function describe.step(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then
    return "." .. key
  end
  return format("[%s]", type(key) == "string" and format("%q", key) or tostring(key))
end

return describe
