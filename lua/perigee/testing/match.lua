--- Compares values with the values that a spec expects. Of a table, only the fields that the spec names are
--- compared. A function is called with the value. Other values must be equal. Also converts values to short
--- text.

local match = {}

local TEXT_MAX = 240 -- bytes; a longer text of a value is cut


-- Orders keys for comparing and showing fields: first numbers, then texts.
local function is_before(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  return type(a) == "number" and type(b) ~= "number"
end


local function sorted_keys(value)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, is_before)
  return keys
end


-- Text ------------------------------------------------------------------------------------------

local write


local function write_table(value, out, seen)
  if seen[value] then
    out[#out + 1] = "{...}"
    return
  end
  seen[value] = true
  local keys, length = sorted_keys(value), #value
  out[#out + 1] = #keys == 0 and "{" or "{ "
  for i, key in ipairs(keys) do
    if i > 1 then out[#out + 1] = ", " end
    if not (type(key) == "number" and key >= 1 and key <= length) then
      local is_word = type(key) == "string" and key:find "^[%a_][%w_]*$"
      out[#out + 1] = (is_word and "%s = " or "[%s] = "):format(
        is_word and key or match.show(key))
    end
    write(value[key], out, seen)
  end
  out[#out + 1] = #keys == 0 and "}" or " }"
  seen[value] = nil
end


function write(value, out, seen)
  if type(value) == "table" then
    write_table(value, out, seen)
  elseif type(value) == "string" then
    out[#out + 1] = ("%q"):format(value):gsub("\\\n", "\\n"):gsub("%c", function(char)
      return ("\\%d"):format(char:byte())
    end)
  elseif type(value) == "function" then
    out[#out + 1] = "(what a function accepts)"
  else
    out[#out + 1] = tostring(value)
  end
end


--- Returns a value in the form in which a spec would write it, cut if it is long.
---@param value any
---@return string
function match.show(value)
  local out = {}
  write(value, out, {})
  local text = table.concat(out)
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
    for _, key in ipairs(sorted_keys(expected)) do
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
