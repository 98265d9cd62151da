--- Finds the part of a value that JSON cannot express, after encoding has failed.

local describe = require "perigee.util.describe"

local DEPTH_MAX = 64

local function describe_problem(value, is_utf8)
  if type(value) == "string" then
    return is_utf8 and not is_utf8(value)
      and "is not UTF-8; bytes go through room:relay or peer:send_packet" or nil
  elseif type(value) == "number" then
    return value - value ~= 0 and "is NaN or infinite, which JSON has no word for" or nil
  end
  return "is " .. describe.kind(value) .. "; messages hold strings, numbers, booleans and tables"
end

-- Returns the first problem below `path`, or nil. `on_path` has the tables that contain `value`; `clean` has
-- the tables that were checked without a problem.
local function search(how, value, path, depth, on_path, clean)
  if type(value) == "boolean" or type(value) == "userdata" then -- userdata is a JSON null
    return nil
  elseif type(value) ~= "table" then
    local problem = describe_problem(value, how.is_utf8)
    return problem and path .. " " .. problem
  elseif on_path[value] then
    return path .. " is a table that holds it"
  elseif depth > DEPTH_MAX then
    return path .. " is nested deeper than " .. DEPTH_MAX
  elseif clean[value] then
    return nil
  end
  on_path[value] = true
  for key, entry in how.pairs(value) do
    if type(key) ~= "string" and type(key) ~= "number" then
      return ("%s has %s as a key; keys are strings or numbers"):format(path, describe.kind(key))
    end
    local found = search(how, key, "a key of " .. path, depth, on_path, clean)
      or search(how, entry, path .. describe.step(key), depth + 1, on_path, clean)
    if found then
      return found
    end
  end
  on_path[value], clean[value] = nil, true
end


--- Returns a text such as "value.items[3] is a function; ...", or nil if the value is valid.
---@param value any
---@param how { pairs: function, is_utf8: nil|fun(text: string): boolean } `is_utf8` nil: texts stay unchecked
---@return string?
return function(value, how)
  return search(how, value, "value", 1, {}, {})
end
