--- Failures of expectations: raised at the line of the spec, whatever of ours lies in between, and
--- counted as failures of the test, not as errors in it.

local failure = {}

local OWN = "@lua/perigee/"


--- "spec/duel_spec.lua:12: " of the innermost function that is not ours.
---@return string
local function position()
  for level = 3, 200 do
    local info = debug.getinfo(level, "Sl")
    if not info then return "" end
    local is_own = info.what == "C" or info.source:sub(1, #OWN) == OWN
    if not is_own and info.currentline > 0 then
      return ("%s:%d: "):format(info.source:gsub("^@", ""), info.currentline)
    end
  end
  return ""
end


local function throw(text)
  local busted = package.loaded["busted"]
  if type(busted) == "table" and busted.fail then busted.fail(text, 0) end
  error(text, 0)
end


--- Fails the spec.
---@param format string
---@param ... any
function failure.raise(format, ...)
  local text = select("#", ...) > 0 and format:format(...) or format
  throw(position() .. text)
end


--- Refuses a wrong use of this library: an error at the line of the spec.
---@param format string
---@param ... any
function failure.misuse(format, ...)
  error(position() .. format:format(...), 0)
end


--- Misuse when a value is not of a type.
---@param what string
---@param value any
---@param ... string the types
function failure.check(what, value, ...)
  for _, wanted in ipairs { ... } do
    if type(value) == wanted then return end
  end
  failure.misuse("%s is a %s, not %s", what, table.concat({ ... }, " or a "),
    value == nil and "nil" or "a " .. type(value))
end


--- Misuse when an option is not known, or not of its type.
---@param what string whose options they are
---@param options table
---@param known table<string, string> types by name
function failure.check_options(what, options, known)
  for key, value in pairs(options) do
    if not known[key] then failure.misuse("%s has no option %q", what, tostring(key)) end
    failure.check(key, value, known[key])
  end
end


return failure
