--- Failures of expectations. A failure names the line of the spec, not a line of Perigee's code. It counts as
--- a failure of the test, not as an error in the test.

local sorted_keys = require "perigee.util.sorted_keys"
local describe = require "perigee.util.describe"

local failure = {}


--- Fails the spec with a text that already names the line of the spec.
---@param text string
function failure.throw(text)
  local busted = package.loaded["busted"]
  if type(busted) == "table" and busted.fail then busted.fail(text, 0) end
  error(text, 0)
end


--- Fails the spec.
---@param format string
---@param ... any
function failure.raise(format, ...)
  local text = select("#", ...) > 0 and format:format(...) or format
  failure.throw(describe.where() .. text)
end


--- Raises an error at the line of the spec for a wrong use of this library.
---@param format string
---@param ... any
function failure.misuse(format, ...)
  error(describe.where() .. format:format(...), 0)
end


--- Raises an error if a value does not have one of the types.
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


--- Raises an error if a value is not a number of seconds of at least 0.
---@param call string call with its arguments, such as "server:advance(seconds)"
---@param seconds any
function failure.check_seconds(call, seconds)
  if type(seconds) == "number" and seconds >= 0 then return end
  failure.misuse("%s: seconds must be a number from 0 on, not %s", call,
    type(seconds) == "number" and tostring(seconds) or describe.kind(seconds))
end


--- Raises an error if an option is unknown or has a wrong type.
---@param what string the owner of the options
---@param options table
---@param known table<string, string> type of each option, by name
function failure.check_options(what, options, known)
  for key, value in pairs(options) do
    if not known[key] then
      failure.misuse("%s has no option %q; it has %s", what, tostring(key),
        table.concat(sorted_keys(known), ", "))
    end
    failure.check(key, value, known[key])
  end
end


return failure
