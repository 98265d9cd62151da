--- The methods of the Model Context Protocol.

local calls = require "perigee.mcp.calls"
local core = require "perigee.core"
local exchange = require "perigee.mcp.exchange"
local json = require "perigee.mcp.json"
local permit = require "perigee.mcp.permit"
local registry = require "perigee.mcp.registry"
local session_of = require("perigee.mcp.session").of
local LEVELS = require("perigee.mcp.session").LEVELS
local sessions = require "perigee.mcp.sessions"

local rpc = {}

local INVALID_PARAMS, NO_METHOD, NO_RESOURCE = -32602, -32601, -32002
local BUSY = -32000
local PAGE = 50 -- most entries of a list in one answer
local COMPLETIONS_MAX = 100
local CALL_SECONDS = 30
local OFFERS = { "sampling", "elicitation", "roots" } -- capabilities of clients
local CLIENT_MAX = 100 -- most bytes of a client's name that are stored
local URI_MAX, SUBSCRIPTIONS_MAX = 4096, 256 -- most bytes of a URI, most URIs of a session

rpc.VERSIONS = { "2025-11-25", "2025-06-18", "2025-03-26" } -- versions of the protocol, the newest first

--- Result of methods that will answer later.
rpc.LATER = {}

local CAPABILITIES = {
  tools = { listChanged = true },
  resources = { subscribe = true, listChanged = true },
  prompts = { listChanged = true },
  logging = {}, completions = {},
}


--- Opens a session. Returns the session and the result; or nil, a code and a message.
---@param params table
---@return perigee.mcp.SessionState?
---@return table|integer
---@return string?
function rpc.initialize(params)
  local wanted, client = params.protocolVersion, params.clientInfo
  if type(wanted) ~= "string" or type(client) ~= "table" or type(client.name) ~= "string"
    or type(params.capabilities) ~= "table" then
    return nil, INVALID_PARAMS, "initialize needs protocolVersion, capabilities and clientInfo"
  end
  local version = rpc.VERSIONS[1]
  for _, known in ipairs(rpc.VERSIONS) do
    version = known == wanted and known or version
  end
  local offers = {} -- only known capabilities, because the session stores them
  for _, name in ipairs(OFFERS) do
    offers[name] = params.capabilities[name] ~= nil
  end
  local session = sessions.open(version, {
    name = json.cut(client.name, CLIENT_MAX),
    version = json.cut(tostring(client.version or ""), CLIENT_MAX),
  }, offers)
  if not session then
    return nil, BUSY, "there are too many sessions"
  end
  return session, {
    protocolVersion = version, capabilities = CAPABILITIES,
    serverInfo = { name = "perigee", title = "Perigee", version = core.product_version() },
  }
end

-- Lists ------------------------------------------------------------------------------------

-- Returns a page of a list, and the position of the next page.
local function page(kind, field, params, is_wanted)
  local from = 1
  if params.cursor ~= nil then
    from = type(params.cursor) == "string" and tonumber(params.cursor:match "^at:(%d+)$")
    if not from then
      return nil, INVALID_PARAMS, "cursor: there is no such place in the list"
    end
  end
  local shown, at, following = {}, 0, nil
  for _, item in ipairs(registry.list(kind)) do
    if not is_wanted or is_wanted(item) then
      at = at + 1
      if at >= from and #shown < PAGE then
        shown[#shown + 1] = item.shown
      elseif at >= from + PAGE then
        following = "at:" .. from + PAGE
      end
    end
  end
  return { [field] = json.list(shown), nextCursor = following }
end

-- Returns a name from a client for the text of an error; "of that name" for a wrong or long name.
local function name_of(name)
  return type(name) == "string" and #name <= URI_MAX and name or "of that name"
end

local methods = {}
rpc.methods = methods

function methods.ping()
  return {}
end

methods["tools/list"] = function(_, params)
  return page("tools", "tools", params, function(item) return permit.is_on(item.shown.name, item) end)
end

methods["resources/list"] = function(_, params)
  return page("resources", "resources", params, function(item)
    return not item.is_template and permit.is_shown(item)
  end)
end

methods["resources/templates/list"] = function(_, params)
  return page("resources", "resourceTemplates", params, function(item)
    return item.is_template and permit.is_shown(item)
  end)
end

methods["prompts/list"] = function(_, params)
  return page("prompts", "prompts", params)
end

-- Calls ------------------------------------------------------------------------------------

local function start(call)
  local problem = calls.start(call)
  if problem then
    return nil, BUSY, problem
  end
  return rpc.LATER
end

local function call_of(context, params, name)
  local meta = type(params._meta) == "table" and params._meta or {}
  return {
    exchange = context.exchange, session = context.session, id = context.id,
    method = context.method, name = name, progress_token = meta.progressToken,
    seconds = CALL_SECONDS,
  }
end

methods["tools/call"] = function(context, params)
  local name, arguments = params.name, params.arguments
  local tool = type(name) == "string" and registry.find("tools", name)
  if not tool or not permit.is_on(name, tool) then
    return nil, INVALID_PARAMS, "there is no tool " .. name_of(name)
  elseif arguments ~= nil and type(arguments) ~= "table" then
    return nil, INVALID_PARAMS, "arguments must be an object"
  end
  arguments = arguments or {}
  local call = call_of(context, params, name)
  call.seconds, call.handler = tool.seconds or CALL_SECONDS, tool.handler
  call.arguments, call.describe_failure = arguments, json.failure
  function call.run()
    local wrong = tool.check and tool.check(arguments)
    if wrong then
      return json.failure(wrong)
    end
    return tool.run(json.without_null(arguments), session_of(call), call)
  end
  return start(call)
end

-- Returns the resource with a URI, and the parameters of its template.
local function find_resource(uri)
  local item = registry.find("resources", uri)
  if item and not item.is_template then
    return item, {}
  end
  for _, template in ipairs(registry.list "resources") do
    local parameters = template.is_template and template.match(uri)
    if parameters then
      return template, parameters
    end
  end
end

methods["resources/read"] = function(context, params)
  local uri = params.uri
  if type(uri) ~= "string" then
    return nil, INVALID_PARAMS, "uri is missing"
  end
  local item, parameters = find_resource(uri)
  if not item then
    return nil, NO_RESOURCE, "there is no resource " .. name_of(uri)
  end
  local is_shown, refusal = permit.is_shown(item)
  if not is_shown then
    return nil, NO_RESOURCE, refusal
  end
  local call = call_of(context, params, uri)
  call.handler = item.handler
  function call.run()
    return item.run(uri, session_of(call), parameters)
  end
  return start(call)
end

methods["resources/subscribe"] = function(context, params)
  local uri, list, count = params.uri, context.session.subscriptions, 0
  if type(uri) ~= "string" or #uri > URI_MAX or not find_resource(uri) then
    return nil, NO_RESOURCE, "there is no resource " .. name_of(uri)
  end
  for _ in next, list do
    count = count + 1
  end
  if count >= SUBSCRIPTIONS_MAX and not list[uri] then
    return nil, BUSY, "this session has subscribed to too many resources"
  end
  list[uri] = true
  return {}
end

methods["resources/unsubscribe"] = function(context, params)
  if type(params.uri) ~= "string" then
    return nil, INVALID_PARAMS, "uri is missing"
  end
  context.session.subscriptions[params.uri] = nil
  return {}
end

methods["prompts/get"] = function(context, params)
  local name, arguments = params.name, params.arguments or {}
  local prompt = type(name) == "string" and registry.find("prompts", name)
  if not prompt then
    return nil, INVALID_PARAMS, "there is no prompt " .. name_of(name)
  end
  local wrong = prompt.check(arguments)
  if wrong then
    return nil, INVALID_PARAMS, wrong
  end
  local call = call_of(context, params, name)
  call.handler, call.arguments = prompt.handler, arguments
  function call.run()
    return prompt.run(json.without_null(arguments), session_of(call))
  end
  return start(call)
end

-- Other methods ----------------------------------------------------------------------------

methods["logging/setLevel"] = function(context, params)
  local level = LEVELS[params.level]
  if not level then
    return nil, INVALID_PARAMS, "level is one of debug, info, notice, warning, error, critical, "
      .. "alert, emergency"
  end
  context.session.level = level
  return {}
end

methods["completion/complete"] = function(_, params)
  local ref, argument = params.ref, params.argument
  if type(ref) ~= "table" or type(argument) ~= "table" or type(argument.value) ~= "string" then
    return nil, INVALID_PARAMS, "completion/complete needs ref and argument"
  end
  local prompt = ref.type == "ref/prompt" and registry.find("prompts", tostring(ref.name))
  local values, total = {}, 0
  for _, value in ipairs(prompt and prompt.values[argument.name] or {}) do
    if value:sub(1, #argument.value) == argument.value then
      total = total + 1
      values[#values + 1] = total <= COMPLETIONS_MAX and value or nil
    end
  end
  return {
    completion = { values = json.list(values), total = total, hasMore = total > COMPLETIONS_MAX },
  }
end

-- Notifications ----------------------------------------------------------------------------

local notifications = {}

notifications["notifications/cancelled"] = function(session, params)
  local id = params.requestId
  if type(id) == "string" or type(id) == "number" then
    calls.cancel(session, id)
  end
end


--- Handles a notification.
function rpc.notified(session, message)
  local handler = notifications[message.method]
  if handler then
    handler(session, type(message.params) == "table" and message.params or {})
  end
end


--- Handles a request of a session. The exchange gets the answer, now or later.
function rpc.request(session, message, out)
  local method, params = methods[message.method], message.params
  local context = { session = session, exchange = out, id = message.id, method = message.method }
  local result, code, text
  if not method then
    code, text = NO_METHOD, "there is no method " .. message.method
  elseif params ~= nil and type(params) ~= "table" then
    code, text = INVALID_PARAMS, "params must be an object"
  else
    result, code, text = method(context, params or {})
  end
  if result == rpc.LATER then
    return
  elseif result then
    exchange.reply(out, { jsonrpc = "2.0", id = message.id, result = result })
  else
    exchange.reply(out, {
      jsonrpc = "2.0", id = message.id, error = { code = code, message = text },
    })
  end
end


function registry.on_change(kind)
  for _, session in ipairs(sessions.list()) do
    sessions.notify(session, json.notification("notifications/" .. kind .. "/list_changed"))
  end
end

return rpc
