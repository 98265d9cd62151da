--- Makes an object raise an error when a spec reads an unknown name. The error suggests the nearest name.
--- Without this, Lua's error for a misspelt method would only mention "a nil value".

local failure = require "perigee.testing.failure"
local sorted_keys = require "perigee.util.sorted_keys"


-- Returns the names that specs may use: `fields`, and the public names of a class and of its parent classes.
local function names_of(class, fields)
  local names = {}
  for _, field in ipairs(fields) do names[field] = true end
  while class do
    for key in pairs(class) do
      if not key:find "^_" then names[key] = true end
    end
    local meta = getmetatable(class)
    class = meta and meta.__index
  end
  return names
end


--- Completes a class, which is the metatable of its objects and may inherit from another.
---@param class table
---@param name string name of its objects in errors
---@param fields string[] fields of objects other than methods; a field may be nil
return function(class, name, fields)
  local names, meta = names_of(class, fields), getmetatable(class)
  local parent = meta and meta.__index
  setmetatable(class, {
    __index = function(_, key)
      local inherited = parent and parent[key]
      if inherited ~= nil or names[key] or type(key) ~= "string" or key:find "^_" then return inherited end
      local meant = require("perigee.tool").nearest(key, sorted_keys(names))
      failure.misuse("a %s has no %s%s", name, key, meant and ("; did you mean %s?"):format(meant) or "")
    end,
  })
end
