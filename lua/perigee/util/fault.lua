--- Errors that the script's author made. They name the script's line, not a line of Perigee's code.

local core = require "perigee.core"
local describe = require "perigee.util.describe"

local error, format = error, string.format

local fault = {
  where = describe.where, a = describe.a, kind = describe.kind, quote = describe.quote, step = describe.step,
  place = describe.place,
}


--- Raises an error at the script's line.
---@param message string
---@param ... any arguments for string.format
function fault.raise(message, ...)
  error(fault.where() .. format(message, ...), 0)
end


--- Raises an error unless the value has the type.
---@param what string purpose of the value
---@param value any
---@param wanted string name of a type
function fault.check(what, value, wanted)
  if type(value) ~= wanted then
    fault.raise("%s must be a %s, not %s", what, wanted, fault.kind(value))
  end
end


--- Raises an error unless the value is a whole number in a range.
---@param what string
---@param value any
---@param first integer
---@param last integer
function fault.check_whole(what, value, first, last)
  fault.check(what, value, "number")
  if value < first or value > last or value % 1 ~= 0 then
    fault.raise("%s must be a whole number from %d to %d, not %s", what, first, last, value)
  end
end


--- Raises an error unless the value is a finite number that is not negative.
---@param what string
---@param value any
function fault.check_seconds(what, value)
  fault.check(what, value, "number")
  if value < 0 or value ~= value or value > 1e9 then
    fault.raise("%s must be seconds from 0 to 1e9, not %s", what, value)
  end
end


--- Returns "; did you mean x?", or "" if no known word is similar.
---@param word string
---@param known string[]
---@return string
function fault.hint(word, known)
  local meant = core.nearest(word, known)
  return meant and format("; did you mean %s?", meant) or ""
end


--- Returns "; did you mean x?". If no word is similar, returns all names; "" if the names are too many.
---@param word any
---@param known string[]
---@return string
function fault.hint_or_names(word, known)
  local hint = fault.hint(tostring(word), known)
  return hint ~= "" and hint or describe.names(known)
end

return fault
