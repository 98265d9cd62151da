--- The metatable of perigee.mcp.Session.

local class = require "perigee.util.class"
local fault = require "perigee.util.fault"

local mcp_class = {}

local meta = { __metatable = "MCP session" }
local call_of = setmetatable({}, { __mode = "k" })
local getters = {}

function getters.channel(self) return call_of[self].session.channel end
function getters.client(self) return call_of[self].session.client end
function getters.version(self) return call_of[self].session.version end
function getters.state(self) return call_of[self].session.state end


---@param methods table<string, function>
function mcp_class.set_methods(methods)
  class.define(meta, methods, getters)
  function meta.__newindex(_, key)
    fault.raise("an MCP session's fields cannot be set; session.state.%s is free for the game",
      tostring(key))
  end
  function meta.__tostring(self)
    return "MCP session " .. call_of[self].session.channel
  end
end


---@param call perigee.mcp.Call
function mcp_class.new(call)
  local object = setmetatable({}, meta)
  call_of[object] = call
  return object
end


--- The call for which the object was made.
function mcp_class.call_of(object)
  return call_of[object]
end

return mcp_class
