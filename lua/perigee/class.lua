--- Objects whose fields are partly read from the server: methods, getters, and a clear error for
--- whatever else a script reads or writes.

local fault = require "perigee.fault"

local class = {}

local function names_of(...)
  local names = {}
  for i = 1, select("#", ...) do
    for name in pairs((select(i, ...))) do
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end


-- A method that says what is wrong with `room.broadcast("x")`.
local function checked(class_name, name, method)
  return function(self, ...)
    if type(self) ~= "table" or getmetatable(self) ~= class_name then
      fault.raise("%s:%s is called with a colon, on a %s", class_name, name, class_name)
    end
    return method(self, ...)
  end
end


--- Completes a metatable.
---@param meta table with __metatable, the class's name
---@param methods table<string, function>
---@param getters table<string, fun(self: table): any>
---@param fields table<string, true> plain fields, set when the object was made
---@param instead table<string, string>? what to write for a name that a script may look for in vain
function class.define(meta, methods, getters, fields, instead)
  local name, checked_methods = meta.__metatable, {}
  for key, method in next, methods do
    checked_methods[key] = checked(name, key, method)
  end

  function meta.__index(self, key)
    local method = checked_methods[key]
    if method then
      return method
    end
    local getter = getters[key]
    if getter then
      return getter(self)
    end
    if fields[key] then
      return nil
    end
    fault.raise("a %s has no %s%s", name, tostring(key), instead and instead[key]
      and "; write " .. instead[key] or fault.hint(tostring(key), names_of(methods, getters, fields)))
  end

  function meta.__newindex(self, key, value)
    if key ~= "state" then
      fault.raise("a %s's fields cannot be set; %s.state.%s is free for the game", name, name,
        tostring(key))
    end
    fault.check(name .. ".state", value, "table")
    rawset(self, key, value)
  end

  function meta.__tostring(self)
    return name .. " " .. self.id .. " (" .. tostring(self.name) .. ")"
  end
end


--- A getter for `state`: a table of the object's own, made when first read.
function class.state(self)
  local state = {}
  rawset(self, "state", state)
  return state
end

return class
