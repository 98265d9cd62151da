--- The settings of room kinds, and the settings that a single room may override.

local fault = require "perigee.util.fault"

local room_settings = {}

--- Settings that only kinds have.
room_settings.OF_KINDS = { "tick_rate", "auto_create", "resume", "durable" }
--- Settings that a single room may override.
room_settings.OF_ROOMS = { "capacity", "auto_delete", "hidden", "locked", "password", "permanent" }

-- The rules: { type, least, most, whole = whether only integers are valid }. For strings, `least` and `most`
-- are sizes in bytes.
local RULES = {
  capacity = { "number", 1, 1000000, whole = true },
  tick_rate = { "number", 0.01, 1000 },
  auto_create = { "boolean" },
  auto_delete = { "number", 0, 31536000 },
  hidden = { "boolean" },
  locked = { "boolean" },
  password = { "string", 1, 64 },
  permanent = { "boolean" },
  resume = { "boolean" },
  durable = { "boolean" },
}

local function describe_rule(name)
  local kind, low, high = unpack(RULES[name])
  if kind == "boolean" then
    return "true or false"
  elseif kind == "string" then
    return ("a string of %d to %d bytes, or false for none"):format(low, high)
  end
  return ("a %snumber from %s to %s"):format(RULES[name].whole and "whole " or "", low, high)
end

local function is_good(name, value)
  local kind, low, high = unpack(RULES[name])
  if name == "password" and value == false then
    return true
  elseif type(value) ~= kind then
    return false
  elseif kind == "boolean" then
    return true
  elseif kind == "string" then
    return #value >= low and #value <= high
  end
  return value >= low and value <= high and not (RULES[name].whole and value % 1 ~= 0)
end


--- Returns the error in the value of a setting, or nil.
---@param name string
---@param value any
---@return string?
function room_settings.problem(name, value)
  if not is_good(name, value) then
    local given = type(value) == "number" and tostring(value) or fault.kind(value)
    if type(value) == "string" and RULES[name][1] == "string" then
      given = ("one of %d bytes"):format(#value)
    end
    return ("%s must be %s, not %s"):format(name, describe_rule(name), given)
  end
end


--- Checks the settings that a room overrides. Raises an error at the line of the call.
---@param what string name of the call in errors
---@param settings any
---@return table
function room_settings.check(what, settings)
  fault.check("the settings of " .. what, settings, "table")
  for name, value in next, settings do
    local is_known = false
    for _, known in ipairs(room_settings.OF_ROOMS) do
      is_known = is_known or known == name
    end
    local problem
    if is_known then
      problem = room_settings.problem(name, value)
    elseif RULES[name] then
      problem = ("%s is a setting of kinds alone"):format(name)
    else
      local hint = fault.hint(name, room_settings.OF_ROOMS)
      problem = ("rooms have no setting %s%s"):format(tostring(name), hint)
    end
    if problem then
      fault.raise("%s: %s", what, problem)
    end
  end
  return settings
end

return room_settings
