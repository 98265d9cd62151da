--- Compares values with the values that a spec expects. Of a table, only the fields that the spec names are
--- compared. A function is called with the value. Other values must be equal. Also converts values to short
--- text.

local show = require "perigee.util.show"

local match = {}

local TEXT_MAX = 240 -- bytes; a longer text of a value is cut


-- Text ------------------------------------------------------------------------------------------


local function describe(value)
  return type(value) == "function" and "(what a function accepts)" or nil
end


--- Returns a value in the form in which a spec would write it, cut if it is long.
---@param value any
---@return string
function match.show(value)
  local text = show.value(value, { describe = describe })
  return #text <= TEXT_MAX and text or text:sub(1, TEXT_MAX) .. "..."
end


-- Comparison ------------------------------------------------------------------------------------

---@class perigee.testing.Difference
---@field path string[] path of the wrong field, outermost name first
---@field expected any
---@field actual any


local function join(path, key)
  local longer = {}
  for i, part in ipairs(path) do longer[i] = part end
  longer[#longer + 1] = tostring(key)
  return longer
end


local function compare(expected, actual, path)
  if type(expected) == "function" then
    if expected(actual) then return 1, nil end
  elseif type(expected) ~= "table" or type(actual) ~= "table" then
    if expected == actual then return 1, nil end
  else
    local score, difference = 1, nil
    for _, key in ipairs(show.keys(expected)) do
      local more, found = compare(expected[key], actual[key], join(path, key))
      score, difference = score + more, difference or found
    end
    return score, difference
  end
  return 0, { path = path, expected = expected, actual = actual }
end


--- Compares a value with the expected value (nil: any value). Returns whether they agree, the first
--- difference, and a score. The score is higher if more fields agree, so that a caller can find the closest
--- of several values.
---@param expected any
---@param actual any
---@return boolean ok, perigee.testing.Difference? difference, integer score
function match.compare(expected, actual)
  if expected == nil then return true, nil, 1 end
  local score, difference = compare(expected, actual, {})
  return difference == nil, difference, score
end


--- Returns whether a value is as expected. Faster than `compare`, because it does not describe the
--- difference.
---@param expected any
---@param actual any
---@return boolean
function match.accepts(expected, actual)
  local kind = type(expected)
  if kind == "function" then return not not expected(actual) end
  if kind ~= "table" or type(actual) ~= "table" then return expected == actual end
  for key, item in pairs(expected) do
    if not match.accepts(item, actual[key]) then return false end
  end
  return true
end


--- Describes a difference.
---@param difference perigee.testing.Difference
---@return string
function match.explain(difference)
  local path = #difference.path > 0 and table.concat(difference.path, ".") or "the value"
  if type(difference.expected) == "function" then
    return ("%s is %s, which the spec's function does not accept"):format(path,
      match.show(difference.actual))
  end
  return ("%s is %s, expected %s"):format(path, match.show(difference.actual),
    match.show(difference.expected))
end


return match
