--- Finds fields of a value that its type lacks. Their names are misspelt, and the encoder would not send
--- them.

local fault = require "perigee.schema.fault"

local names = {}

local fields_of = setmetatable({}, { __mode = "k" }) -- record -> its fields by name

local function fields_by_name(of)
  local fields = fields_of[of]
  if not fields then
    fields = {}
    for _, field in ipairs(of.fields) do
      fields[field.name] = field
    end
    fields_of[of] = fields
  end
  return fields
end

local find

local FIND = {}

function FIND.optional(of, value)
  return find(of.of, value)
end


function FIND.list(of, value)
  for i = 1, #value do
    local path, problem = find(of.of, rawget(value, i))
    if path then
      return ("[%d]%s"):format(i, path), problem
    end
  end
end

FIND.array = FIND.list

local function problem_of(of, name)
  local known = {}
  for i, field in ipairs(of.fields) do
    known[i] = field.name
  end
  local is_text = type(name) == "string"
  return ("there is no field %s%s"):format(is_text and ("%q"):format(name) or tostring(name),
    is_text and fault.hint(name, known) or "")
end


function FIND.record(of, value)
  local fields = fields_by_name(of)
  for name, item in next, value do
    local field = fields[name]
    if not field then
      return "", problem_of(of, name)
    end
    local path, problem = find(field.type, item)
    if path then
      return "." .. name .. path, problem
    end
  end
end


function find(of, value)
  local with = FIND[of.kind]
  if with and type(value) == "table" then
    return with(of, value)
  end
end

-- Not compiled, because a compiled loop over the keys of a new value sometimes returned keys of another
-- table. This happened once in a few thousand messages.
for _, fn in ipairs { FIND.list, FIND.record, find } do
  jit.off(fn)
end


--- Returns the error in the names of the fields of a valid value; nil without an error.
---@param of table type, see schema/types.lua
---@param value any
---@param path string path of the value
---@return string? problem
function names.check(of, value, path)
  local inner, problem = find(of, value)
  return inner and ("%s%s: %s"):format(path, inner, problem)
end

return names
