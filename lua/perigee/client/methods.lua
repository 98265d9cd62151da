--- Makes methods explain the error in `client.send("hello")`, which has a dot instead of a colon.

local describe = require "perigee.util.describe"

local names = {} ---@type table<table, string> name by class; a class is the metatable of its objects


local function checked(name, key, method)
  return function(self, ...)
    if names[getmetatable(self) or false] ~= name then
      error(("%s%s:%s is called with a colon, on a %s"):format(describe.where(), name, key, name), 0)
    end
    return method(self, ...)
  end
end


--- Makes the public methods of a complete class check their `self`.
---@param class table
---@param name string name of its objects in errors
return function(class, name)
  names[class] = name
  for key, method in pairs(class) do
    if type(method) == "function" and not key:find "^_" then class[key] = checked(name, key, method) end
  end
end
