--- Objects with methods, and with fields that are read from the server. Reading or writing any other name
--- raises a clear error.

local fault = require "perigee.util.fault"
local sorted_keys = require "perigee.util.sorted_keys"

local class = {}


-- Wraps a method, so that `room.broadcast("x")` raises an error that explains the mistake.
local function checked(class_name, name, method)
  return function(self, ...)
    if type(self) ~= "table" or getmetatable(self) ~= class_name then
      fault.raise("%s:%s is called with a colon, on %s", class_name, name, fault.a(class_name))
    end
    return method(self, ...)
  end
end


--- Completes a metatable. The names of an object's own fields begin with '_', so that a script which sets a
--- read-only field gets an error. Only `state` may be set.
---@param meta table with __metatable, the class's name
---@param methods table<string, function>
---@param getters table<string, fun(self: table): any>
---@param instead table<string, string>? right names, by wrong names that scripts may use; "=": what to do
--- instead of setting a field
function class.define(meta, methods, getters, instead)
  local name, checked_methods = meta.__metatable, {}
  for key, method in next, methods do
    checked_methods[key] = checked(name, key, method)
  end

  meta._names = sorted_keys(methods, getters) -- for the console's completion

  function meta.__index(self, key)
    local method = checked_methods[key]
    if method then
      return method
    end
    local getter = getters[key]
    if getter then
      return getter(self)
    end
    fault.raise("%s has no %s%s", fault.a(name), tostring(key), instead and instead[key]
      and "; write " .. instead[key] or fault.hint_or_names(key, meta._names))
  end

  function meta.__newindex(self, key, value)
    if key ~= "state" or not getters.state then
      local hint = getters.state and ("; %s.state.%s is free for the game"):format(name, tostring(key))
      fault.raise("%s's %s cannot be set%s", fault.a(name), tostring(key),
        hint or instead and instead["="] or "")
    end
    fault.check(name .. ".state", value, "table")
    rawset(self, key, value)
  end

  function meta.__tostring(self)
    return getters.id and name .. " " .. self._id .. " (" .. tostring(self.name) .. ")" or name
  end
end


--- Implements the field `state`: each object gets a table of its own when a script first reads the field.
function class.state(self)
  local state = {}
  rawset(self, "state", state)
  return state
end

return class
