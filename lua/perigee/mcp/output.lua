--- Checks the results of a tool against the schema in its field `output`. A client may refuse a wrong result;
--- the server checks first, because it can name the tool and the error.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local json = require "perigee.mcp.json"
local json_schema = require "perigee.mcp.json_schema"

local output = {}

local COPY_STEPS = 10 -- charge for copying a table

-- Replaces empty tables by JSON's empty list where the schema requires a list, because Lua cannot distinguish
-- an empty list from an empty object. Returns a copy.
local function with_lists(value, schema)
  if type(value) ~= "table" or type(schema) ~= "table" or getmetatable(value) then
    return value
  elseif next(value) == nil then
    return schema.type == "array" and json.EMPTY or value
  end
  core.charge(COPY_STEPS)
  local copy, properties = {}, schema.properties or {}
  for key, entry in next, value do
    local rule = type(key) == "number" and schema.items or properties[key]
    copy[key] = with_lists(entry, rule == nil and schema.additionalProperties or rule)
  end
  return copy
end


--- Compiles the schema. Raises an error without a position if the schema is wrong.
---@param tool { name: string, output: table, handler: function?, channel: string? }
---@return fun(value: any): any check returns the value to send, or raises an error
---@return table shown schema for clients
function output.compile(tool)
  local schema = tool.output
  if schema.type ~= "object" then
    error(('perigee.mcp.tool %s: output.type must be "object"'):format(tool.name), 0)
  end
  local check, shown = json_schema.compile(schema, "output", "result")
  local place = tool.handler and fault.place(tool.handler)
  place = place and place .. ": " or ""
  local from = tool.channel
    and (", as whoever serves the channel %s gave it,"):format(fault.quote(tool.channel)) or ""
  return function(value)
    local problem = check(value)
    if problem then
      error(("%sthe result of the tool %s%s does not fit its output: %s"):format(place, tool.name, from,
        problem), 0)
    end
    return with_lists(value, schema)
  end, shown
end

return output
