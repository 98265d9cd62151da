--- The types of flow.lua. They are the types of the annotations, and two more kinds: "code" for functions of
--- the game, and "table" for its tables. These two kinds have a `node`.

local types = {}

--- The types of nil, and of a value of unknown type.
types.NIL, types.UNKNOWN = { kind = "nil" }, { kind = "unknown" }


--- Returns the type of a value that has one of two types.
function types.join(a, b)
  if a == types.NIL or a == b then
    return b
  end
  return b == types.NIL and a or types.UNKNOWN
end


--- Adds a type to a slot, for the next pass.
---@param slot table see flow.lua
function types.put(slot, type)
  slot.next = types.join(slot.next, type)
end


--- Returns the first part of a union that passes a test. Any other type is its own only part.
---@param type perigee.check.Type?
---@param satisfies fun(type: perigee.check.Type): boolean
---@return perigee.check.Type?
function types.part(type, satisfies)
  for _, member in ipairs(type and (type.parts or { type }) or {}) do
    if member and satisfies(member) then
      return member
    end
  end
end


--- Returns whether a type is a list or a map.
---@param type perigee.check.Type
---@return boolean
function types.is_collection(type)
  return type.kind == "list" or type.kind == "map"
end

return types
