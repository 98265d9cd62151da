--- The session object that handlers of tools, resources and prompts get as an argument.
--- lua/perigee/meta/mcp.lua describes its methods.

local calls = require "perigee.mcp.calls"
local class = require "perigee.util.class"
local exchange = require "perigee.mcp.exchange"
local fault = require "perigee.util.fault"
local json = require "perigee.mcp.json"
local tasks = require "perigee.host.tasks"

local session = {}

local ASK_SECONDS = 60

-- The protocol's levels of severity, the least severe first.
local LEVELS = {}
session.LEVELS = LEVELS
for i, name in ipairs {
  "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
} do
  LEVELS[name] = i
end

-- The client's capability that each request needs.
local NEEDED = {
  ["sampling/createMessage"] = "sampling", ["elicitation/create"] = "elicitation",
  ["roots/list"] = "roots",
}

local Session = {}

local meta = { __metatable = "MCP session" }
local call_of = setmetatable({}, { __mode = "k" }) -- object -> its call

local function send(call, what, method, params)
  local problem = exchange.notify(call.exchange, json.notification(method, params))
  if problem then
    fault.raise("session:%s: %s", what, problem)
  end
end


function Session:log(level, data)
  local call = call_of[self]
  if not LEVELS[level] then
    fault.raise("the level of a log line is one of debug, info, notice, warning, error, critical, "
      .. "alert, emergency, not %s", tostring(level))
  elseif LEVELS[level] >= (call.session.level or LEVELS.debug) then
    send(call, "log", "notifications/message", { level = level, logger = call.name, data = data })
  end
end


function Session:progress(done, total, message)
  local call = call_of[self]
  fault.check("what is done", done, "number")
  if call.progress_token ~= nil then
    send(call, "progress", "notifications/progress", {
      progressToken = call.progress_token, progress = done, total = total, message = message,
    })
  end
end


function Session:ask(method, params, timeout)
  local call = call_of[self]
  fault.check("the method", method, "string")
  fault.check("its parameters", params, "table")
  fault.check_seconds("timeout", timeout or ASK_SECONDS)
  tasks.check_may_wait "session:ask"
  local needed = NEEDED[method]
  if not needed then
    fault.raise("a client can be asked sampling/createMessage, elicitation/create and roots/list, "
      .. "not %s", method)
  elseif not call.session.capabilities[needed] then
    return nil, "the client does not offer " .. needed
  end
  return calls.request(call, method, params, timeout or ASK_SECONDS)
end


function Session:hang_up()
  exchange.hang_up(call_of[self].exchange)
end


local getters = {}
for _, field in ipairs { "channel", "client", "version", "state" } do
  getters[field] = function(self) return call_of[self].session[field] end
end

class.define(meta, Session, getters)

function meta.__newindex(_, key)
  fault.raise("an MCP session's fields cannot be set; session.state.%s is free for the game", tostring(key))
end

function meta.__tostring(self)
  return "MCP session " .. call_of[self].session.channel
end


--- Returns the session's object for the handler of this call.
---@param call perigee.mcp.Call
---@return perigee.mcp.Session
function session.of(call)
  local object = setmetatable({}, meta)
  call_of[object] = call
  return object
end

return session
