--- Finds the functions that timers and tasks call by their names, and the types of their arguments.

local types = require "perigee.tools.check.types"

local part, UNKNOWN, NIL = types.part, types.UNKNOWN, types.NIL

local FUNCTION_NAME = "perigee.FunctionName"

local by_name = {}

local function is_function_name(type)
  return type.kind == "alias" and type.name == FUNCTION_NAME
end

-- Returns whether an API function, such as `room:after`, passes the room to the function that it calls.
local function is_of_room(name)
  return name ~= nil and name:find "^room:" ~= nil
end


--- Returns whether an argument of this type may be the name of a function.
---@param wanted perigee.check.Type?
---@return boolean
function by_name.is_name(wanted)
  return part(wanted, is_function_name) ~= nil
end


--- Returns the tables in which the API searches for the name of a function; nil if one of the tables is
--- unknown.
---@param flow table see flow.lua
---@param name string? the API function, such as "room:after"
---@return perigee.check.Type[]?
function by_name.tables(flow, name)
  local game = flow:slot(flow.files[1], "result").type
  local tables = { game }
  if is_of_room(name) then
    local rooms = game.kind == "table" and game.node.fields.rooms
    if rooms and rooms.type.kind == "table" then
      tables[#tables + 1] = rooms.type
      for _, kind in pairs(rooms.type.node.fields) do
        tables[#tables + 1] = kind.type
      end
    elseif rooms then
      return nil
    end
  end
  for _, type in ipairs(tables) do
    if type.kind ~= "table" or flow:is_open(type.node) then
      return nil
    end
  end
  return tables
end


-- Returns the types that the function gets from a call: the room, and the arguments behind the name.
local function passed(flow, arguments, given, i, name)
  local found = is_of_room(name) and { flow.api.classes["perigee.Room"].type } or {}
  for k = i + 1, #arguments do
    found[#found + 1] = given[k]
  end
  local last = arguments[#arguments].tag
  return found, (last == "call" or last == "method" or last == "vararg") and UNKNOWN or NIL
end


--- Binds the arguments of the function whose name is the i-th argument of an API call. If any call of the
--- game computes the name, no such function has known arguments.
---@param flow table see flow.lua
---@param arguments table[] nodes of the arguments of the call
---@param given perigee.check.Type[] their types
---@param i integer
---@param name string? the API function
function by_name.bind(flow, arguments, given, i, name)
  local argument = arguments[i]
  if argument.tag ~= "string" then
    local is_code = given[i].kind == "code" or given[i].kind == "function"
    if not is_code and not flow.has_unknown_names then
      flow.has_unknown_names, flow.is_new = true, true
    end
    return
  end
  local found, rest = passed(flow, arguments, given, i, name)
  for _, type in ipairs(by_name.tables(flow, name) or {}) do
    local field = type.node.fields[argument.value]
    local fn = field and field.type.kind == "code" and field.type.node
    if fn then
      flow.is_new = flow.is_new or not fn.is_named
      fn.is_named = true
      flow:bind(fn, found, rest)
    end
  end
end


--- Returns whether by_name.bind knows all arguments of a function in a field of a table.
---@param flow table see flow.lua
---@param node table the table
---@param type perigee.check.Type of the function
---@return boolean
function by_name.is_bound(flow, node, type)
  local is_named = type.kind == "code" and type.node.is_named
  return is_named and not flow.has_unknown_names and not flow:is_open(node) or false
end

return by_name
